"""The likelihood of item effects by its free parameters, as Newton's method sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.linalg import SymmetricSolver
from skanchor._numerics.newton import Curvature
from skanchor._typing import Array

if TYPE_CHECKING:
    from skanchor.items._likelihood import ItemLikelihood

__all__ = ["FreeParameters"]


_FAR_OFF = 1e12
"""Parameters beyond it have no likely value: rows and prior leave them open."""


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

    model: ItemLikelihood
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
        parameters = self.parameters(coef)
        # The first step needs a Hessian, most others do without.
        eta, gradient, hessian = self.model.derivatives(
            parameters, self.factor, self.weight, curved=since is None
        )
        slope = (gradient + self.prior * parameters)[self.where]
        if since is None:
            return _FreePoint(self, coef, eta, slope, 0.0, hessian, is_cut)
        change = np.abs(eta - since.eta).max(initial=0.0)
        return _FreePoint(self, coef, eta, slope, change, None, is_cut)

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
    """Free parameters with logits and slope; Hessian and loss where asked for."""

    problem: FreeParameters
    coef: Array
    eta: Array
    slope: Array
    change: float
    second: Array | None
    is_cut: bool
    _loss: float | None = None

    def gradient(self) -> Array:
        """Gradient."""
        return self.slope

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
        problem, second = self.problem, self.second
        if second is None:
            parameters = problem.parameters(self.coef)
            _, _, second = problem.model.derivatives(
                parameters, problem.factor, problem.weight
            )
            assert second is not None
        where = problem.where
        return second[np.ix_(where, where)] + np.diag(problem.prior[where])
