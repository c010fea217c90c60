"""Small logistic regressions of many folds, fitted side by side.

What `fit_logistic` does for one fold is here done for all of them at once, by arrays
with an axis of folds, where every fit has an inner solution; None says that one has
not, and that each must be looked at by itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.logistic import sigmoid
from skanchor._typing import Array

__all__ = ["fit_stacked"]


_CONVERGED = 1e-7
"""Change of the logits by a whole Newton step whose error is below rounding."""

_MOST_STEPS = 15
"""Newton steps, after which a fit is no easy one."""

_FAR = 8.0
"""Coefficients beyond it, of scores or of item effects, may be on their way out."""


def fit_stacked(
    signs: Array,
    source: NDArray[np.intp],
    share: Array,
    offset: Array,
    y: Array,
    weight: Array,
    penalty: Array,
) -> tuple[Array, Array] | None:
    """Fit several logistic regressions of the same outcomes by Newton steps.

    The logit of a row is linear in what each score has of its source; a coefficient of
    kind k adds ``share[source, k]`` times itself to that.

    Parameters
    ----------
    signs : ndarray of shape (n_rows, n_scores)
        What the logit of a row takes of each score.
    source : ndarray of shape (n_rows,)
        Codes of the sources.
    share : ndarray of shape (n_fits, n_sources, n_kinds)
        What each kind of coefficient adds to the scores of a source.
    offset : ndarray of shape (n_fits, n_rows)
        Known parts of the logits.
    y : ndarray of shape (n_rows,)
        Outcomes in [0, 1].
    weight : ndarray of shape (n_fits, n_rows)
        Row weights.
    penalty : ndarray of shape (n_kinds,)
        Quadratic penalty of each kind, beside the summed loss.

    Returns
    -------
    coef : ndarray of shape (n_fits, n_kinds, n_scores)
    eta : ndarray of shape (n_fits, n_rows)
        Logits.
    None
        Where a fit has no minimum nearby, or whole steps do not lead there.
    """
    (n_fits, n_sources, n_kinds), n = share.shape, signs.shape[1]
    size = n_kinds * n
    # Sums by source: rows enter the coefficients through these alone.
    own = np.zeros((len(signs), n_sources, n))
    own[np.arange(len(signs)), source] = signs
    squares = (own[..., None] * signs[:, None, None]).reshape(len(signs), -1)
    by_source = own.reshape(len(signs), -1)
    pairs = share[..., None] * share[:, :, None]
    pairs = pairs.reshape(n_fits, n_sources, -1).transpose(0, 2, 1)
    turned = np.ascontiguousarray(share.transpose(0, 2, 1))
    eta, coef = offset.copy(), np.zeros((n_fits, n_kinds, n))
    ridge = np.diag(np.repeat(penalty, n))
    for _ in range(_MOST_STEPS):
        p = sigmoid(eta)
        expected = weight * p
        gradient = (expected - weight * y) @ by_source
        gradient = turned @ gradient.reshape(n_fits, n_sources, n)
        gradient += penalty[:, None] * coef
        expected *= 1.0 - p
        hessian = pairs @ (expected @ squares).reshape(n_fits, n_sources, -1)
        hessian = hessian.reshape(n_fits, n_kinds, n_kinds, n, n).swapaxes(2, 3)
        hessian = hessian.reshape(n_fits, size, size) + ridge
        try:
            step = np.linalg.solve(hessian, gradient.reshape(n_fits, size, 1))
        except np.linalg.LinAlgError:
            return None
        step = step.reshape(coef.shape)
        coef -= step
        move = (share @ step).reshape(n_fits, -1) @ by_source.T
        eta -= move
        if not np.abs(coef).max(initial=0.0) < _FAR:
            return None
        if np.abs(move).max(initial=0.0) < _CONVERGED:
            return coef, eta
    return None
