"""Small logistic regressions of many folds, fitted side by side.

What `fit_logistic` does for one fold is here done for all of them at once, by arrays
with an axis of folds, where every fit has an inner solution; None says that one has
not, and that each must be looked at by itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.batched import newton
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.types import Array, Indices

_TOL = 1e-14
"""Accepted error of the coefficients; Newton's last step is no longer than its root."""

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

    def logits(coef: Array, at: Indices | slice) -> Array:
        """Logits of the rows, of shape (n_active, n_rows)."""
        by_kind = coef.reshape(len(coef), n_kinds, n)
        scores = (share[at] @ by_kind).reshape(len(coef), -1)
        return np.asarray(offset[at] + scores @ by_source.T)

    def equations(coef: Array, at: Indices) -> tuple[Array, Array]:
        """Gradient and Hessian of the summed loss of some fits."""
        # All fits, most often: then there is nothing to copy.
        active: Indices | slice = slice(None) if len(at) == n_fits else at
        w, p = weight[active], sigmoid(logits(coef, active))
        expected = w * p
        gradient = ((expected - w * y) @ by_source).reshape(-1, n_sources, n)
        gradient = (turned[active] @ gradient).reshape(coef.shape) + coef @ ridge
        expected *= 1.0 - p
        # By source, then by kind and kind; kinds and scores change places.
        hessian = (expected @ squares).reshape(-1, n_sources, n * n)
        hessian = (pairs[active] @ hessian).reshape(-1, n_kinds, n_kinds, n, n)
        hessian = hessian.swapaxes(2, 3).reshape(-1, size, size) + ridge
        return gradient, hessian

    coef, converged = newton(equations, np.zeros((n_fits, size)), tol=_TOL)
    if not (converged.all() and np.abs(coef).max(initial=0.0) < _FAR):
        return None
    return coef.reshape(n_fits, n_kinds, n), logits(coef, slice(None))
