"""Logistic regression without an intercept, as a problem of damped Newton steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.linalg import Columns
from skanchor._numerics.newton import Curvature, Tolerance, minimise, step_within
from skanchor._numerics.types import Array

_STALE_MOVE = 0.003
"""Change of the logits up to which a Hessian is reused: its own relative change is no
larger."""

_FLAT_LOGIT, _FLAT_LOSS = 30.0, 1e-9
"""Logit beyond which the likelihood is flat up to rounding, and decrease of the mean
loss below which a step to such logits is taken as separation."""


_PILOT_ROWS, _LEAST_STRIDE = 200, 4
"""Rows per column in the pilot fit, which uses every k-th row, and the smallest k for
which a pilot saves time."""

_PILOT_MOVE, _PILOT_STEPS = 0.1, 8
"""Change of the logits at which the pilot fit stops, and its most steps."""


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
        Columns that the logit is linear in.
    y : ndarray of shape (n_rows,)
        Outcomes in [0, 1].
    weight : ndarray of shape (n_rows,)
        Row weights; only their proportions matter.
    offset : ndarray of shape (n_rows,), optional
        Known part of the logit.
    penalty : ndarray of shape (n_columns,), optional
        Diagonal of the quadratic penalty, which is added to the mean loss.
    lower, upper : ndarray of shape (n_columns,), optional
        Bounds of the coefficients.
    start : ndarray of shape (n_columns,), optional
        Start of the coefficients; by default a fit to a few of the rows, or zero.
    hessian : ndarray of shape (n_columns, n_columns), optional
        Hessian of a fit on nearly the same rows that ended at ``start``, used for the
        first step.
    tol : float
        Bound on the error left by the last step, in the norm of the Hessian.
    max_iter : int
        Largest number of Newton steps.

    Returns
    -------
    LogisticFit
    """
    problem = _PenalisedLoss.of(design, y, weight, offset, penalty, (lower, upper))
    if start is None:
        start = problem.pilot()
    found = minimise(
        problem,
        start,
        Tolerance(error=tol, drift=_STALE_MOVE),
        hessian=hessian,
        max_iter=max_iter,
    )
    coef, hessian = found.coef, found.hessian
    if hessian is None:
        hessian = np.diag(problem.penalty)
    at_bound = (coef <= problem.lower) | (coef >= problem.upper)
    return LogisticFit(coef, found.converged, at_bound, found.n_iter, hessian)


@dataclass(slots=True)
class _LogisticPoint:
    """Coefficients and their logits; the other values are computed when first used.

    ``_means`` stores what the gradient computed for the Hessian: the probabilities and
    weight times probability, both of shape (n_rows,).
    """

    problem: _PenalisedLoss
    coef: Array
    eta: Array
    change: float = 0.0
    is_cut: bool = False
    _loss: float | None = None
    _gradient: Array | None = None
    _means: tuple[Array, Array] | None = None

    def loss(self) -> float:
        """Weighted mean loss plus the penalty."""
        if self._loss is None:
            problem = self.problem
            smooth = problem.weight @ np.logaddexp(0.0, self.eta)
            smooth -= problem.weighted_y @ self.eta
            # The penalty multiplies first: without a bound, a coefficient of zero
            # penalty may be too large for its square.
            ridge = 0.5 * (problem.penalty * self.coef) @ self.coef
            self._loss = float(smooth + ridge)
        return self._loss

    def gradient(self) -> Array:
        """Gradient of the penalised loss, of shape (n_columns,)."""
        if self._gradient is None:
            problem, mean = self.problem, sigmoid(self.eta)
            expected = problem.weight * mean
            self._means = mean, expected
            self._gradient = problem.columns.sums(expected) - problem.target
            self._gradient += problem.penalty * self.coef
        return self._gradient

    def hessian(self) -> Array:
        """Hessian; overwrites the means that :meth:`gradient` stored."""
        assert self._means is not None
        mean, expected = self._means
        self._means = None
        # ``expected`` becomes w p (1 - p), in place.
        expected *= np.subtract(1.0, mean, out=mean)
        # A product of a matrix with its own transpose costs half of a general one.
        scaled = self.problem.columns.scaled(np.sqrt(expected, out=expected))
        hessian: Array = scaled.T @ scaled
        hessian.flat[:: len(hessian) + 1] += self.problem.penalty
        return hessian


@dataclass(frozen=True, slots=True)
class _PenalisedLoss:
    """Mean logistic loss plus half a diagonal quadratic penalty, within bounds.

    The weights sum to one. ``target``, of shape (n_columns,), is the sum of w y times
    each column; ``counted``, of shape (n_rows,), is 1 for rows with a positive weight.
    """

    columns: Columns
    weight: Array
    weighted_y: Array
    target: Array
    counted: Array
    offset: Array | None
    penalty: Array
    lower: Array
    upper: Array

    @classmethod
    def of(
        cls,
        design: Array | Columns,
        y: Array,
        weight: Array,
        offset: Array | None,
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
            offset,
            np.zeros(n_columns) if penalty is None else penalty,
            np.full(n_columns, -np.inf) if lower is None else lower,
            np.full(n_columns, np.inf) if upper is None else upper,
        )

    def pilot(self) -> Array:
        """Start for the fit: the minimum over every k-th row, or zero without one."""
        zero = np.zeros(self.columns.shape[1])
        stride = len(self.weight) // (_PILOT_ROWS * max(len(zero), 1))
        if stride < _LEAST_STRIDE or not len(zero):
            return zero
        some = slice(None, None, stride)
        weight, total = self.weight[some], self.weight[some].sum()
        if not total > 0:
            return zero
        columns, weighted_y = self.columns.part(some), self.weighted_y[some] / total
        few = replace(
            self,
            columns=columns,
            weight=weight / total,
            weighted_y=weighted_y,
            target=columns.sums(weighted_y),
            counted=self.counted[some],
            offset=None if self.offset is None else self.offset[some],
        )
        found = minimise(
            few, zero, Tolerance(change=_PILOT_MOVE), max_iter=_PILOT_STEPS
        )
        inside = (found.coef > self.lower) & (found.coef < self.upper)
        return found.coef if found.converged and inside.all() else zero

    def at(self, coef: Array, since: _LogisticPoint | None = None) -> _LogisticPoint:
        """Point at the coefficients, clipped to the bounds."""
        # Several times faster than np.clip, which matters where rows are few.
        inside: Array = np.minimum(np.maximum(coef, self.lower), self.upper)
        if since is None:
            eta = self.columns.dot(inside)
            if self.offset is not None:
                eta += self.offset
            return _LogisticPoint(self, inside, eta)
        # The change of the logits first, since Newton's loop needs its largest size.
        eta = self.columns.dot(inside - since.coef)
        change = self._largest(eta)
        eta += since.eta
        return _LogisticPoint(self, inside, eta, change, bool((inside != coef).any()))

    def step(
        self, point: _LogisticPoint, gradient: Array, curvature: Curvature
    ) -> Array:
        """Newton step; a coefficient on a bound moves inwards only."""
        return step_within(point.coef, gradient, curvature, self.lower, self.upper)

    def diverges(self, point: _LogisticPoint, decrement: float) -> bool:
        """Whether the loss is flat at large logits, as under separation."""
        return decrement <= _FLAT_LOSS and self._largest(point.eta) > _FLAT_LOGIT

    def _largest(self, values: Array) -> float:
        """Largest absolute value among rows with a positive weight."""
        # By minimum and maximum, so that no array of absolute values is made.
        inside = values * self.counted
        low, high = inside.min(initial=0.0), inside.max(initial=0.0)
        return float(np.maximum(high, -low))
