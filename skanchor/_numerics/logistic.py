"""Logistic regression by damped Newton steps, without an intercept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.linalg import Columns, SymmetricSolver
from skanchor._typing import Array

__all__ = ["SAFE_MOVE", "LogisticFit", "fit_logistic", "log_loss_terms", "sigmoid"]


SAFE_MOVE = 0.5
"""Change of the logits up to which a Newton step needs no check of the loss."""

_STALE_MOVE = 0.003
"""Change of the logits up to which the Hessian is kept: it changes by no larger a
share."""

_SHORT_MOVE = 0.1
"""Longest move, in logits, of a step that ends in convergence."""

_FLAT_LOGIT, _FLAT_LOSS = 30.0, 1e-9
"""Logit beyond which the likelihood is flat to rounding, and the gain in mean loss
below which a step that leads there says separation."""


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

    coef: Array
    converged: bool
    at_bound: NDArray[np.bool_]
    n_iter: int
    hessian: Array


def sigmoid(eta: Array) -> Array:
    """Logistic function, several times faster than ``scipy.special.expit``."""
    values = np.negative(eta)
    with np.errstate(over="ignore"):
        np.exp(values, out=values)
    values += 1.0
    return np.reciprocal(values, out=values)


def log_loss_terms(y: Array, eta: Array) -> Array:
    """Logistic loss of each row, ``log(1 + exp(eta)) - y eta``."""
    return np.logaddexp(0.0, eta) - y * eta


def fit_logistic(
    design: Array | Columns,
    y: Array,
    weight: Array,
    *,
    offset: Array | None = None,
    penalty: Array | None = None,
    lower: Array | None = None,
    upper: Array | None = None,
    start: Array | None = None,
    hessian: Array | None = None,
    tol: float = 1e-11,
    max_iter: int = 100,
) -> LogisticFit:
    """Minimise the weighted mean logistic loss plus half a diagonal quadratic.

    The loss of eq:human-estimation-v2, eq:calibration-estimation-v2 and
    eq:arrival-estimation-v2, for parameters in which the logit is linear.

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
    problem = _PenalisedLoss.of(design, y, weight, penalty, (lower, upper))
    point = problem.point(start, offset)
    curvature = _Curvature(hessian)
    converged, n_iter = False, 0
    while n_iter < max_iter:
        n_iter += 1
        mean = sigmoid(point.eta)
        expected = problem.weight * mean
        gradient = problem.gradient(point, expected)
        if curvature.is_stale:
            curvature.renew(problem.hessian(mean, expected))
        step = curvature.step(gradient, problem.free(point, gradient))
        decrement = -float(gradient @ step)
        trial, change, whole = _line_search(problem, point, gradient, step)
        if curvature.is_inherited and change > _SHORT_MOVE:
            # The other fit was not near enough to lend its Hessian.
            curvature.forget()
            continue
        point = trial
        curvature.age(change)
        if change > _SHORT_MOVE:
            # Under separation the loss is flat while logits still move by one.
            if decrement <= _FLAT_LOSS and problem.largest(point.eta) > _FLAT_LOGIT:
                break
            continue
        # A step leaves an error of its own length times the share by which the
        # curvature has changed since the Hessian was computed.
        share = min(curvature.drift, 1.0) if whole else 1.0
        if np.sqrt(max(decrement, 0.0)) * share <= tol:
            converged = True
            break
    hessian = curvature.hessian
    if hessian is None:
        hessian = np.diag(problem.penalty)
    at_bound = (point.coef <= problem.lower) | (point.coef >= problem.upper)
    return LogisticFit(point.coef, converged, at_bound, n_iter, hessian)


@dataclass(slots=True)
class _Point:
    """Coefficients, their logits, and their loss once it has been asked for."""

    coef: Array
    eta: Array
    loss: float | None = None


@dataclass(frozen=True, slots=True)
class _PenalisedLoss:
    """Mean logistic loss and half a diagonal quadratic, within bounds.

    The weights sum to one. ``target`` is the weighted sum of outcomes times each
    column, ``counted`` is 1 for the rows that weigh anything.
    """

    columns: Columns
    weight: Array
    weighted_y: Array
    target: Array
    counted: Array
    penalty: Array
    lower: Array
    upper: Array

    @classmethod
    def of(
        cls,
        design: Array | Columns,
        y: Array,
        weight: Array,
        penalty: Array | None,
        bounds: tuple[Array | None, Array | None],
    ) -> _PenalisedLoss:
        columns = Columns.of(design)
        n_columns = columns.shape[1]
        lower, upper = bounds
        weight = weight / weight.sum()
        weighted_y = weight * y
        return cls(
            columns,
            weight,
            weighted_y,
            columns.sums(weighted_y),
            (weight > 0).astype(np.float64),
            np.zeros(n_columns) if penalty is None else penalty,
            np.full(n_columns, -np.inf) if lower is None else lower,
            np.full(n_columns, np.inf) if upper is None else upper,
        )

    def point(self, start: Array | None, offset: Array | None) -> _Point:
        """Where to start: at zero, or at the given coefficients within the bounds."""
        n_columns = self.columns.shape[1]
        coef = np.zeros(n_columns) if start is None else self.within(start)
        eta = self.columns.dot(coef)
        if offset is not None:
            eta += offset
        return _Point(coef, eta)

    def within(self, coef: Array) -> Array:
        """Coefficients moved back to the bounds that they have left."""
        # Several times faster than np.clip, which counts where rows are few.
        inside: Array = np.minimum(np.maximum(coef, self.lower), self.upper)
        return inside

    def value(self, point: _Point) -> float:
        """Loss at a point."""
        if point.loss is None:
            smooth = self.weight @ np.logaddexp(0.0, point.eta)
            smooth -= self.weighted_y @ point.eta
            point.loss = float(smooth + 0.5 * np.sum(self.penalty * point.coef**2))
        return point.loss

    def gradient(self, point: _Point, expected: Array) -> Array:
        """Gradient, for ``expected`` the weights times the means at the point."""
        return self.columns.sums(expected) - self.target + self.penalty * point.coef

    def hessian(self, mean: Array, expected: Array) -> Array:
        """Second derivative; works in place on both arguments."""
        expected *= np.subtract(1.0, mean, out=mean)
        # The product of a matrix with itself costs half of another one.
        scaled = self.columns.scaled(np.sqrt(expected, out=expected))
        hessian: Array = scaled.T @ scaled
        hessian[np.diag_indices(len(hessian))] += self.penalty
        return hessian

    def free(self, point: _Point, gradient: Array) -> NDArray[np.bool_]:
        """Coefficients that may move: one on its bound moves only inwards."""
        return ~(
            ((point.coef <= self.lower) & (gradient > 0))
            | ((point.coef >= self.upper) & (gradient < 0))
        )

    def largest(self, values: Array) -> float:
        """Largest size of the values of rows that count."""
        inside = values * self.counted
        low, high = inside.min(initial=0.0), inside.max(initial=0.0)
        return float(np.maximum(high, -low))


class _Curvature:
    """A Hessian that is kept while the logits have hardly moved since it was computed.

    One that another fit lends serves the first step, and no other.

    Attributes
    ----------
    drift : float
        How far the logits have moved since; infinite after a step with a lent one.
    """

    def __init__(self, hessian: Array | None):
        self.hessian = hessian
        self.is_inherited = hessian is not None
        self.drift = 0.0
        self._solver: SymmetricSolver | None = None

    @property
    def is_stale(self) -> bool:
        """Whether the next step needs a new Hessian."""
        return self.hessian is None or self.drift > _STALE_MOVE

    def renew(self, hessian: Array) -> None:
        """Take the Hessian at the present logits."""
        self.hessian, self._solver = hessian, None
        self.is_inherited, self.drift = False, 0.0

    def forget(self) -> None:
        """Ask for a new Hessian."""
        self.hessian = None

    def age(self, change: float) -> None:
        """Note a change of the logits."""
        self.drift = np.inf if self.is_inherited else self.drift + change

    def step(self, gradient: Array, free: NDArray[np.bool_]) -> Array:
        """Newton step of the free coefficients."""
        assert self.hessian is not None
        if free.all():
            if self._solver is None:
                self._solver = SymmetricSolver.factorise(self.hessian)
            return -self._solver.solve(gradient)
        inner = SymmetricSolver.factorise(self.hessian[np.ix_(free, free)])
        step = np.zeros(len(gradient))
        step[free] = -inner.solve(gradient[free])
        return step


def _line_search(
    problem: _PenalisedLoss, point: _Point, gradient: Array, step: Array
) -> tuple[_Point, float, bool]:
    """Go along a step, halved until the loss falls, and back to the bounds.

    Returns
    -------
    trial : _Point
        Where it leads.
    change : float
        Largest change of a logit.
    whole : bool
        Whether that is the whole step, which no bound has cut.
    """
    length = 1.0
    while True:
        aim = point.coef + length * step
        coef = problem.within(aim)
        moved = coef - point.coef
        eta = problem.columns.dot(moved)
        change = problem.largest(eta)
        eta += point.eta
        trial = _Point(coef, eta)
        whole = length == 1.0 and bool((coef == aim).all())
        if whole and change <= SAFE_MOVE:
            # The curvature changes by less than a factor of exp(1/2), so that the
            # whole step lowers the loss: no need to look.
            break
        loss = problem.value(point)
        # Below rounding the loss cannot tell two steps apart.
        slack = 1e-14 * (1.0 + abs(loss))
        if problem.value(trial) <= loss + 1e-4 * float(gradient @ moved) + slack:
            break
        length /= 2.0
        if length < 1e-8:
            break
    return trial, change, whole
