"""Logistic regression by damped Newton steps, without an intercept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.linalg import Columns, SymmetricSolver

__all__ = ["LogisticFit", "fit_logistic", "log_loss_terms", "sigmoid"]


# Change of the logits up to which a Newton step needs no check of the loss.
SAFE_MOVE = 0.5

# Change of the logits up to which the Hessian is kept: it changes by no larger a share.
_STALE_MOVE = 0.003

# In logits: the longest move of a step that ends in convergence, and the logit
# beyond which the likelihood is flat to rounding; then the gain in mean loss is small.
_SHORT_MOVE, _FLAT_LOGIT, _FLAT_LOSS = 0.1, 30.0, 1e-9


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
    hessian : ndarray of shape (n_columns, n_columns)
        Hessian of the mean loss, from the last step that needed a new one.
    """

    coef: NDArray[np.float64]
    converged: bool
    at_bound: NDArray[np.bool_]
    n_iter: int
    hessian: NDArray[np.float64]


def sigmoid(eta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logistic function, several times faster than ``scipy.special.expit``."""
    values = np.negative(eta)
    with np.errstate(over="ignore"):
        np.exp(values, out=values)
    values += 1.0
    return np.reciprocal(values, out=values)


def log_loss_terms(
    y: NDArray[np.float64], eta: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Logistic loss of each row, ``log(1 + exp(eta)) - y eta``."""
    return np.logaddexp(0.0, eta) - y * eta


def fit_logistic(
    design: NDArray[np.float64] | Columns,
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    *,
    offset: NDArray[np.float64] | None = None,
    penalty: NDArray[np.float64] | None = None,
    lower: NDArray[np.float64] | None = None,
    upper: NDArray[np.float64] | None = None,
    start: NDArray[np.float64] | None = None,
    hessian: NDArray[np.float64] | None = None,
    tol: float = 1e-11,
    max_iter: int = 100,
) -> LogisticFit:
    """Minimise the weighted mean logistic loss plus half a diagonal quadratic.

    Parameters
    ----------
    design : ndarray or Columns of shape (n_rows, n_columns)
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
    hessian : ndarray of shape (n_columns, n_columns), optional
        Hessian of a fit on nearly the same rows that ended at ``start``; serves the
        first step.
    tol : float
        Bound on the error left by the last step, in the norm of the Hessian.
    max_iter : int
        Most Newton steps.

    Returns
    -------
    LogisticFit
    """
    columns = Columns.of(design)
    n_columns = columns.shape[1]
    penalty = np.zeros(n_columns) if penalty is None else penalty
    lower = np.full(n_columns, -np.inf) if lower is None else lower
    upper = np.full(n_columns, np.inf) if upper is None else upper
    coef = np.zeros(n_columns) if start is None else np.clip(start, lower, upper)
    weight = weight / weight.sum()
    weighted_y = weight * y
    target = columns.sums(weighted_y)

    eta = columns.dot(coef)
    if offset is not None:
        eta += offset
    counted = (weight > 0).astype(np.float64)
    loss: float | None = None
    converged, n_iter = False, 0
    inherited = hessian is not None
    solver: SymmetricSolver | None = None
    # How far the logits have moved since the Hessian was computed.
    drift = 0.0
    while n_iter < max_iter:
        n_iter += 1
        mean = sigmoid(eta)
        expected = weight * mean
        gradient = columns.sums(expected) - target + penalty * coef
        # A coefficient on its bound moves only inwards.
        free = ~(
            ((coef <= lower) & (gradient > 0)) | ((coef >= upper) & (gradient < 0))
        )
        if hessian is None or drift > _STALE_MOVE:
            # The product of a matrix with itself costs half of another one.
            expected *= np.subtract(1.0, mean, out=mean)
            scaled = columns.scaled(np.sqrt(expected, out=expected))
            hessian = scaled.T @ scaled
            hessian[np.diag_indices(n_columns)] += penalty
            drift, inherited, solver = 0.0, False, None
        if free.all():
            if solver is None:
                solver = SymmetricSolver.factorise(hessian)
            step = -solver.solve(gradient)
        else:
            inner = SymmetricSolver.factorise(hessian[np.ix_(free, free)])
            step = np.zeros(n_columns)
            step[free] = -inner.solve(gradient[free])
        decrement = -float(gradient @ step)
        length = 1.0
        while True:
            whole = coef + length * step
            trial = np.clip(whole, lower, upper)
            moved = trial - coef
            trial_eta = columns.dot(moved)
            change = _largest(trial_eta, counted)
            trial_eta += eta
            inside = length == 1.0 and np.array_equal(trial, whole)
            if inside and change <= SAFE_MOVE:
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
        if inherited and change > _SHORT_MOVE:
            # The other fit was not near enough to lend its Hessian.
            hessian = None
            continue
        coef, eta, loss = trial, trial_eta, trial_loss
        drift = np.inf if inherited else drift + change
        if change > _SHORT_MOVE:
            # Under separation the loss is flat while logits still move by one.
            if decrement <= _FLAT_LOSS and _largest(eta, counted) > _FLAT_LOGIT:
                break
            continue
        # A step leaves an error of its own length times the share by which the
        # curvature has changed since the Hessian was computed.
        share = drift if inside and not inherited else 1.0
        if np.sqrt(max(decrement, 0.0)) * share <= tol:
            converged = True
            break
    at_bound = (coef <= lower) | (coef >= upper)
    if hessian is None:
        hessian = np.diag(penalty)
    return LogisticFit(coef, converged, at_bound, n_iter, hessian)


def _largest(values: NDArray[np.float64], counted: NDArray[np.float64]) -> float:
    """Largest size of the values that count."""
    inside = values * counted
    low, high = inside.min(initial=0.0), inside.max(initial=0.0)
    return float(np.maximum(high, -low))


def _objective(
    eta: NDArray[np.float64],
    weighted_y: NDArray[np.float64],
    coef: NDArray[np.float64],
    weight: NDArray[np.float64],
    penalty: NDArray[np.float64],
) -> float:
    smooth = weight @ np.logaddexp(0.0, eta) - weighted_y @ eta
    return float(smooth + 0.5 * np.sum(penalty * coef**2))
