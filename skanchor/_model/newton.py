"""The one fit: damped Newton steps over the free parameters of a mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skanchor._model.fit import Fit
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.sources import SourceRows
from skanchor._typing import Array

_ARMIJO = 1e-4
"""Share of the decrease promised by the gradient that a step must reach."""

_SAFE_MOVE = 0.5
"""Change of the logits up to which a step needs no look at the loss: the curvature
changes by less than a factor of exp(1/2), so that the loss falls. A Hessian serves as
long as the logits have moved by no more since it was computed."""

_SLOW = 0.1
"""Ratio of successive decrements above which the Hessian is computed anew."""

_MOST_HALVES = 30
"""Most halvings of a step."""


@dataclass(frozen=True, eq=False)
class Hessian:
    """Hessian by free parameters, which is factorised once for all who start from it.

    Attributes
    ----------
    matrix : ndarray of shape (n_free, n_free)
        The Hessian.
    """

    matrix: Array
    _systems: dict[bytes, SymmetricSystem] = field(default_factory=dict)

    def system(self, inner: NDArray[np.bool_]) -> SymmetricSystem:
        """The system of some parameters, those that lie on no bound."""
        key = inner.tobytes()
        if key not in self._systems:
            self._systems[key] = SymmetricSystem.of(self.matrix[inner][:, inner])
        return self._systems[key]


class _Point(NamedTuple):
    """A fit and the logits of the rows there, source by source."""

    fit: Fit
    logits: list[Array]

    def moved_from(self, other: _Point) -> float:
        """Largest change of a logit from another point."""
        pairs = zip(self.logits, other.logits, strict=True)
        moves = (float(np.abs(a - b).max(initial=0.0)) for a, b in pairs)
        return max(moves, default=0.0)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The penalised log loss of rows as a function of the free parameters."""

    sources: Sequence[SourceRows]
    weights: Sequence[Array]
    free: NDArray[np.intp]
    low: Array
    high: Array

    def at(self, fit: Fit) -> _Point:
        return _Point(fit, [fit.logits(rows) for rows in self.sources])

    def step_to(self, point: _Point, step: Array) -> _Point:
        x = point.fit.x.copy()
        x[self.free] = np.clip(x[self.free] + step, self.low, self.high)
        return self.at(point.fit.moved(x))

    def loss(self, point: _Point) -> float:
        return point.fit.loss(self.sources, self.weights)

    def gradient(self, point: _Point) -> Array:
        fit = point.fit
        sums = (
            (rows.source, rows.slope(weight, logits))
            for rows, weight, logits in self._rows(point)
        )
        return (fit.gradient(sums) + fit.prior_slope)[self.free]

    def hessian(self, point: _Point) -> Hessian:
        """Expected Hessian by the free parameters."""
        grams = (
            (rows.source, rows.curvature(weight, logits))
            for rows, weight, logits in self._rows(point)
        )
        fit = point.fit
        matrix = fit.penalised(fit.information(grams))
        return Hessian(matrix[self.free[:, None], self.free])

    def _rows(self, point: _Point) -> zip[tuple[SourceRows, Array, Array]]:
        return zip(self.sources, self.weights, point.logits, strict=True)

    def newton_step(self, point: _Point, gradient: Array, hessian: Hessian) -> Array:
        """Step to the minimum of the quadratic; one on a bound moves inwards only."""
        x = point.fit.x[self.free]
        inner = (x > self.low) | (gradient < 0.0)
        inner &= (x < self.high) | (gradient > 0.0)
        step = np.zeros(len(x))
        step[inner] = -hessian.system(inner).solve(gradient[inner])
        return step


def minimise(
    start: Fit,
    sources: Sequence[SourceRows],
    weights: Sequence[Array],
    free: NDArray[np.bool_],
    *,
    bounds: tuple[Array, Array] | None = None,
    hessian: Hessian | None = None,
    tolerance: float = 1e-10,
    max_iter: int = 100,
) -> tuple[Fit, Hessian | None]:
    """Minimise the penalised log loss over the free parameters.

    Parameters
    ----------
    start : Fit
        Where to start; parameters that are not free stay there.
    sources : sequence of SourceRows
        Rows that decide.
    weights : sequence of ndarray
        Weights of the rows of each source.
    free : ndarray of shape (size,)
        Mask of the parameters to fit.
    bounds : tuple of ndarray, optional
        Lower and upper bounds of all parameters, each of shape (size,).
    hessian : Hessian, optional
        Hessian of a fit to nearly the same rows, which serves the first steps.
    tolerance : float
        Squared Newton decrement, in squared standard errors, of the last step.
    max_iter : int
        Most steps.

    Returns
    -------
    fit : Fit
        With ``converged``.
    hessian : Hessian or None
        That of the last step; None where no parameter is free.
    """
    at = np.flatnonzero(free)
    low, high = bounds or (np.full(len(free), -np.inf), np.full(len(free), np.inf))
    problem = _Problem(sources, weights, at, low[at], high[at])
    point, before, is_exact = problem.at(start), np.inf, False
    for _ in range(max_iter):
        gradient = problem.gradient(point)
        if hessian is None:
            hessian, is_exact = problem.hessian(point), True
        step = problem.newton_step(point, gradient, hessian)
        decrement = -float(gradient @ step)
        if not is_exact and decrement > max(_SLOW * before, tolerance):
            hessian, is_exact = problem.hessian(point), True
            step = problem.newton_step(point, gradient, hessian)
            decrement = -float(gradient @ step)
        trial = _searched(problem, point, gradient, step)
        if trial is None:
            break
        point, moved = trial
        if decrement <= tolerance:
            return point.fit.moved(point.fit.x, converged=True), hessian
        before, is_exact = decrement, False
        if moved > _SAFE_MOVE:
            hessian = None
    return point.fit.moved(point.fit.x, converged=False), hessian


def _searched(
    problem: _Problem, point: _Point, gradient: Array, step: Array
) -> tuple[_Point, float] | None:
    """The longest of the halved steps that lowers the loss; None where none does.

    With it comes the largest change of a logit.
    """
    loss, x = None, point.fit.x[problem.free]
    for _ in range(_MOST_HALVES):
        trial = problem.step_to(point, step)
        walked = trial.fit.x[problem.free] - x
        # But for rounding. With few parameters ``allclose`` takes as long as the step.
        is_whole = bool((np.abs(walked - step) <= 1e-8 + 1e-12 * np.abs(step)).all())
        moved = trial.moved_from(point)
        if is_whole and moved <= _SAFE_MOVE:
            return trial, moved
        loss = problem.loss(point) if loss is None else loss
        # Differences of the loss below rounding are not compared.
        slack = 1e-14 * (1.0 + abs(loss))
        if problem.loss(trial) <= loss + _ARMIJO * float(gradient @ walked) + slack:
            return trial, moved
        step = step / 2.0
    return None
