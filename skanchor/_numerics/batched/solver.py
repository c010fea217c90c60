"""Newton's method for many small systems of equations at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.types import Array, Indices

LONGEST_PARAMETER_STEP = 2.0
"""Largest change of a parameter by one step, in logits."""


def newton(
    equations: Callable[[Array, Indices], tuple[Array, Array]],
    start: Array,
    *,
    tol: float,
    max_iter: int = 20,
) -> tuple[Array, NDArray[np.bool_]]:
    """Solve a system of equations for every replicate.

    Parameters
    ----------
    equations : callable
        Called with parameters of shape (r, n_parameters) and the indices of these r
        replicates; returns the left sides, of shape (r, n_parameters), and their
        Jacobians, of shape (r, n_parameters, n_parameters).
    start : ndarray of shape (n_replicates, n_parameters)
        Start of the parameters.
    tol : float
        Accepted error of the parameters. A Newton step squares the error, so that a
        replicate has converged after a step no longer than the square root of it.
    max_iter : int
        Largest number of steps.

    Returns
    -------
    parameters : ndarray of shape (n_replicates, n_parameters)
    converged : ndarray of shape (n_replicates,)
        Whether each replicate met the tolerance.
    """
    values = np.array(start, dtype=np.float64)
    active = np.arange(len(values))
    converged = np.zeros(len(values), dtype=bool)
    for _ in range(max_iter):
        left, jacobian = equations(values[active], active)
        step = _newton_steps(left, jacobian)
        size = np.abs(step).max(axis=1, initial=0.0)
        # Replicates without a step are given up: they stay as they are, not converged.
        good = np.isfinite(size)
        active, step, size = active[good], step[good], size[good]
        step *= np.minimum(1.0, LONGEST_PARAMETER_STEP / np.maximum(size, 1e-300))[
            :, None
        ]
        values[active] += step
        done = size <= np.sqrt(tol)
        converged[active[done]] = True
        active = active[~done]
        if not len(active):
            break
    return values, converged


def _newton_steps(left: Array, jacobian: Array) -> Array:
    """Newton steps, NaN where there is none."""
    try:
        return np.asarray(-np.linalg.solve(jacobian, left[..., None])[..., 0])
    except np.linalg.LinAlgError:
        # One singular Jacobian fails the call for all: solve by pseudo-inverses.
        pass
    step = np.full_like(left, np.nan)
    # A Jacobian with a value that is not finite would again fail the call for all.
    known = np.flatnonzero(np.isfinite(jacobian).all(axis=(1, 2)))
    step[known] = -(np.linalg.pinv(jacobian[known]) @ left[known][..., None])[..., 0]
    # With a deficient rank the solution of minimum norm depends on the units of the
    # parameters, so that it is not used.
    short = np.linalg.matrix_rank(jacobian[known]) < jacobian.shape[-1]
    step[known[short]] = np.nan
    return step
