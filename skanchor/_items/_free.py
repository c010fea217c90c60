"""The likelihood of item effects by its free parameters, as Newton's method sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.linalg import SymmetricSolver
from skanchor._numerics.newton import Curvature
from skanchor._typing import Array

__all__ = ["FreeParameters"]


_FAR_OFF = 1e12
"""Parameters beyond it have no likely value: rows and prior leave them open."""


class Likelihood(Protocol):
    """A likelihood of all parameters, without prior."""

    def logits(self, parameters: Array, factor: Array, weight: Array) -> Array:
        """Logits of weighted rows."""

    def loss(self, eta: Array, weight: Array) -> float:
        """Loss at these logits."""

    def derivatives(
        self,
        parameters: Array,
        factor: Array,
        weight: Array,
        eta: Array,
        *,
        curved: bool = True,
    ) -> tuple[Array, Array | None]:
        """Gradient and, where ``curved``, the expected Hessian."""


@dataclass(frozen=True, slots=True)
class FreeParameters:
    """The penalised loss of weighted rows, by the free parameters alone.

    Attributes
    ----------
    weight : ndarray
        Of the rows, laid out by source.
    fixed : ndarray
        All parameters; the free ones, ``where``, are replaced.
    lower, upper : ndarray
        Bounds of the free ones.
    """

    model: Likelihood
    fixed: Array
    factor: Array
    weight: Array
    prior: Array
    where: NDArray[np.intp]
    lower: Array
    upper: Array

    def parameters(self, coef: Array) -> Array:
        """All parameters, with these free ones."""
        parameters = self.fixed.copy()
        parameters[self.where] = coef
        return parameters

    def at(self, coef: Array, since: _FreePoint | None = None) -> _FreePoint:
        """Point at the free parameters, moved back to the bounds they have left."""
        inside = np.clip(coef, self.lower, self.upper)
        is_cut, coef = bool((inside != coef).any()), inside
        eta = self.model.logits(self.parameters(coef), self.factor, self.weight)
        if since is None:
            # The first step needs a Hessian, most others do without.
            return _FreePoint(self, coef, eta, 0.0, is_cut, is_curved=True)
        change = np.abs(eta - since.eta).max(initial=0.0)
        return _FreePoint(self, coef, eta, change, is_cut)

    def step(self, point: _FreePoint, gradient: Array, curvature: Curvature) -> Array:
        """Newton step; a parameter on its bound moves only inwards."""
        held = (point.coef <= self.lower) & (gradient > 0)
        held |= (point.coef >= self.upper) & (gradient < 0)
        if not held.any():
            return -curvature.solver.solve(gradient)
        free = ~held
        inner = SymmetricSolver.factorise(curvature.hessian[np.ix_(free, free)])
        step = np.zeros(len(gradient))
        step[free] = -inner.solve(gradient[free])
        return step

    def diverges(self, point: _FreePoint, decrement: float) -> bool:
        """Whether parameters without a prior have left the range of products."""
        return bool(np.abs(point.coef).max(initial=0.0) > _FAR_OFF)


@dataclass(slots=True)
class _FreePoint:
    """Free parameters with logits; the rest is computed once it is asked for.

    The Hessian comes with the gradient where the point ``is_curved``.
    """

    problem: FreeParameters
    coef: Array
    eta: Array
    change: float
    is_cut: bool
    is_curved: bool = False
    _slope: Array | None = None
    _second: Array | None = None
    _loss: float | None = None

    def gradient(self) -> Array:
        """Gradient."""
        if self._slope is None:
            problem = self.problem
            parameters = problem.parameters(self.coef)
            gradient, self._second = self._derivatives(parameters, self.is_curved)
            self._slope = (gradient + problem.prior * parameters)[problem.where]
        return self._slope

    def loss(self) -> float:
        """Loss."""
        if self._loss is None:
            problem = self.problem
            parameters = problem.parameters(self.coef)
            # What has no prior may be too large for a square.
            penalty = 0.5 * (problem.prior * parameters) @ parameters
            self._loss = problem.model.loss(self.eta, problem.weight) + float(penalty)
        return self._loss

    def hessian(self) -> Array:
        """Expected Hessian."""
        problem = self.problem
        if self._second is None:
            parameters = problem.parameters(self.coef)
            _, self._second = self._derivatives(parameters, curved=True)
            assert self._second is not None
        where = problem.where
        return self._second[np.ix_(where, where)] + np.diag(problem.prior[where])

    def _derivatives(
        self, parameters: Array, curved: bool
    ) -> tuple[Array, Array | None]:
        problem = self.problem
        return problem.model.derivatives(
            parameters, problem.factor, problem.weight, self.eta, curved=curved
        )
