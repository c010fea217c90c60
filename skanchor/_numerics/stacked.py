"""Small logistic regressions of many folds, fitted side by side.

What `fit_logistic` does for one fold is here done for all of them at once, by arrays
with an axis of folds, where every fit has an inner solution; None says that one has
not, and that each must be looked at by itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.types import Array

_LONGEST_STEP = 2.0
"""Largest change of a coefficient by one Newton step."""

_LAST_STEP, _MOST_STEPS = 1e-7, 20
"""Longest step of any fit that is the last one, as the next would be its square; most
steps."""

_FAR = 8.0
"""Size of coefficients beyond which a fit may diverge."""


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
        Where a fit has no minimum nearby.
    """
    (n_fits, n_sources, n_kinds), n = share.shape, signs.shape[1]
    size = n_kinds * n
    # Rows enter only through sums by source: of their signs, of shape
    # (n_rows, n_sources * n), and of products of signs, (n_rows, n_sources * n * n).
    own = np.zeros((len(signs), n_sources, n))
    own[np.arange(len(signs)), source] = signs
    squares = (own[..., None] * signs[:, None, None]).reshape(len(signs), -1)
    by_source = own.reshape(len(signs), -1)
    # Products of the shares of two kinds, (n_fits, n_kinds * n_kinds, n_sources).
    pairs = share[..., None] * share[:, :, None]
    pairs = pairs.reshape(n_fits, n_sources, -1).transpose(0, 2, 1)
    turned = np.ascontiguousarray(share.transpose(0, 2, 1))
    ridge = np.diag(np.repeat(penalty, n))

    def logits(coef: Array) -> Array:
        """Logits of the rows, of shape (n_fits, n_rows)."""
        scores = (share @ coef.reshape(n_fits, n_kinds, n)).reshape(n_fits, -1)
        return np.asarray(offset + scores @ by_source.T)

    coef = np.zeros((n_fits, size))
    for _ in range(_MOST_STEPS):
        p = sigmoid(logits(coef))
        expected = weight * p
        gradient = ((expected - weight * y) @ by_source).reshape(n_fits, n_sources, n)
        gradient = (turned @ gradient).reshape(coef.shape) + coef @ ridge
        expected *= 1.0 - p
        # By source, then by kind and kind; kinds and scores change places.
        hessian = (expected @ squares).reshape(n_fits, n_sources, n * n)
        hessian = (pairs @ hessian).reshape(n_fits, n_kinds, n_kinds, n, n)
        hessian = hessian.swapaxes(2, 3).reshape(n_fits, size, size) + ridge
        try:
            step = -np.linalg.solve(hessian, gradient[..., None])[..., 0]
        except np.linalg.LinAlgError:
            return None
        length = np.abs(step).max(axis=1, initial=0.0)
        coef += (
            step * np.minimum(1.0, _LONGEST_STEP / np.maximum(length, 1e-300))[:, None]
        )
        if not (np.abs(coef) < _FAR).all():
            return None
        if (length <= _LAST_STEP).all():
            return coef.reshape(n_fits, n_kinds, n), logits(coef)
    return None
