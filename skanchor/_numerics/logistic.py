"""Logistic regression by damped Newton steps, without an intercept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from skanchor._numerics.linalg import SymmetricSolver

__all__ = ["LogisticFit", "fit_logistic", "log_loss_terms"]


# Change of the logits up to which a Newton step needs no check of the loss.
_SAFE_MOVE = 0.5

# In logits: the longest move of a step that ends in convergence, and the logit
# beyond which the likelihood is flat to rounding.
_SHORT_MOVE, _FLAT_LOGIT = 0.1, 30.0


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """Result of :func:`fit_logistic`.

    Attributes
    ----------
    coef : ndarray of shape (n_columns,)
        Coefficients.
    converged : bool
        Whether the gradient met the tolerance.
    at_bound : ndarray of shape (n_columns,)
        Columns whose coefficient lies on its bound.
    n_iter : int
        Newton steps taken.
    """

    coef: NDArray[np.float64]
    converged: bool
    at_bound: NDArray[np.bool_]
    n_iter: int


def log_loss_terms(
    y: NDArray[np.float64], eta: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Logistic loss of each row, ``log(1 + exp(eta)) - y eta``."""
    return np.logaddexp(0.0, eta) - y * eta


def fit_logistic(
    design: NDArray[np.float64],
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    *,
    offset: NDArray[np.float64] | None = None,
    penalty: NDArray[np.float64] | None = None,
    lower: NDArray[np.float64] | None = None,
    upper: NDArray[np.float64] | None = None,
    start: NDArray[np.float64] | None = None,
    tol: float = 1e-9,
    max_iter: int = 100,
) -> LogisticFit:
    """Minimise the weighted mean logistic loss plus half a diagonal quadratic.

    Parameters
    ----------
    design : ndarray of shape (n_rows, n_columns)
        Columns.
    y : ndarray of shape (n_rows,)
        Outcomes in [0, 1].
    weight : ndarray of shape (n_rows,)
        Row weights; only their proportions matter.
    offset : ndarray of shape (n_rows,), optional
        Known part of the logit.
    penalty : ndarray of shape (n_columns,), optional
        Diagonal of the quadratic penalty, beside the mean loss.
    lower, upper : ndarray of shape (n_columns,), optional
        Bounds; a coefficient that leaves them is held there.
    start : ndarray of shape (n_columns,), optional
        First coefficients, zero by default.
    tol : float
        Bound on the Newton decrement (twice the expected gain in mean loss) at the
        last step, which is quadratic in the error of the coefficients.
    max_iter : int
        Most Newton steps.

    Returns
    -------
    LogisticFit
    """
    n_columns = design.shape[1]
    penalty = np.zeros(n_columns) if penalty is None else penalty
    lower = np.full(n_columns, -np.inf) if lower is None else lower
    upper = np.full(n_columns, np.inf) if upper is None else upper
    coef = np.zeros(n_columns) if start is None else np.clip(start, lower, upper)
    weight = weight / weight.sum()
    weighted_y = weight * y
    target = design.T @ weighted_y

    eta = design @ coef
    if offset is not None:
        eta += offset
    counted = weight > 0
    loss: float | None = None
    converged, n_iter = False, 0
    while n_iter < max_iter:
        n_iter += 1
        mean = expit(eta)
        gradient = design.T @ (weight * mean) - target + penalty * coef
        # A coefficient on its bound moves only inwards.
        free = ~(
            ((coef <= lower) & (gradient > 0)) | ((coef >= upper) & (gradient < 0))
        )
        curvature = weight * mean * (1.0 - mean)
        hessian = design.T @ (design * curvature[:, None])
        hessian[np.diag_indices(n_columns)] += penalty
        step = np.zeros(n_columns)
        step[free] = -SymmetricSolver.factorise(hessian[np.ix_(free, free)]).solve(
            gradient[free]
        )
        decrement = -float(gradient @ step)
        length = 1.0
        while True:
            whole = coef + length * step
            trial = np.clip(whole, lower, upper)
            moved = trial - coef
            shift = design @ moved
            trial_eta = eta + shift
            change = np.abs(shift[counted]).max(initial=0.0)
            inside = length == 1.0 and np.array_equal(trial, whole)
            if inside and change <= _SAFE_MOVE:
                # The curvature changes by less than a factor of exp(1/2), so that
                # the whole step lowers the loss: no need to look.
                trial_loss = None
                break
            if loss is None:
                loss = _objective(eta, weighted_y, coef, weight, penalty)
            trial_loss = _objective(trial_eta, weighted_y, trial, weight, penalty)
            # Below rounding the loss cannot tell two steps apart.
            slack = 1e-14 * (1.0 + abs(loss))
            if trial_loss <= loss + 1e-4 * float(gradient @ moved) + slack:
                break
            length /= 2.0
            if length < 1e-8:
                break
        coef, eta, loss = trial, trial_eta, trial_loss
        # The step just taken squares the error: once it was this short, the
        # coefficients are exact to rounding.
        if decrement <= tol * tol * 1e4 or (length == 1.0 and decrement <= tol):
            # Under separation the loss is flat while logits still move by one.
            converged = bool(change <= _SHORT_MOVE)
            if converged or np.abs(eta[counted]).max() > _FLAT_LOGIT:
                break
    at_bound = (coef <= lower) | (coef >= upper)
    return LogisticFit(coef, converged, at_bound, n_iter)


def _objective(
    eta: NDArray[np.float64],
    weighted_y: NDArray[np.float64],
    coef: NDArray[np.float64],
    weight: NDArray[np.float64],
    penalty: NDArray[np.float64],
) -> float:
    smooth = weight @ np.logaddexp(0.0, eta) - weighted_y @ eta
    return float(smooth + 0.5 * np.sum(penalty * coef**2))
