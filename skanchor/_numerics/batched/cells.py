"""BTL scores from cells of alike comparisons, for many sets of weights at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from skanchor._numerics.batched.solver import newton
from skanchor._numerics.types import Array, Indices


def fit_scores_on_cells(
    incidence: Array,
    weight: Array,
    first: Array,
    start: Array,
    *,
    slope: Array | None = None,
    alpha: float = 0.0,
    tol: float,
) -> tuple[Array, NDArray[np.bool_]]:
    """Zero-sum BTL scores from cells of alike comparisons.

    Solves eq:human-estimation-v2 for every replicate, with a ridge where asked.

    Parameters
    ----------
    incidence : ndarray of shape (n_cells, n_models)
        +1 at the first model, -1 at the second.
    weight, first : ndarray of shape (n_replicates, n_cells)
        Sum of weights of each cell, and of weights times outcomes.
    start : ndarray of shape (n_models,)
        Start of the scores of every replicate.
    slope : ndarray of shape (n_replicates, n_cells), optional
        Factor of the score difference in the logit, one by default.
    alpha : float
        Ridge: half the squared norm of the scores beside the mean loss.
    tol : float
        Accepted error of the scores.

    Returns
    -------
    scores : ndarray of shape (n_replicates, n_models)
    converged : ndarray of shape (n_replicates,)
        Also False where the maximum is not finite, as for a model without a win.
    """
    n_models = incidence.shape[1]
    # Outer products z z' of the cells, flattened to (n_cells, n_models^2), so that one
    # matrix product gives the Hessians of all replicates.
    outer = (incidence[:, :, None] * incidence[:, None, :]).reshape(len(incidence), -1)
    total = weight.sum(axis=1, keepdims=True)
    weight, first = weight / total, first / total
    # The loss does not change if all scores move together. Along that direction the
    # Hessian gets an arbitrary positive curvature, so that it can be inverted.
    level = np.full((n_models, n_models), 1.0 / n_models**2) + alpha * np.eye(n_models)

    def equations(scores: Array, at: Indices) -> tuple[Array, Array]:
        """Gradient (r, n_models) and Hessian of the mean loss of replicates ``at``."""
        factor = 1.0 if slope is None else slope[at]
        p = expit(factor * (scores @ incidence.T))
        left = -(factor * (first[at] - weight[at] * p)) @ incidence + alpha * scores
        curvature = (factor * factor * weight[at] * p * (1.0 - p)) @ outer
        return left, curvature.reshape(-1, n_models, n_models) + level

    values, converged = newton(equations, np.tile(start, (len(weight), 1)), tol=tol)
    return values - values.mean(axis=1, keepdims=True), converged
