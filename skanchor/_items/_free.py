"""Loss of the item effects by its free parameters, as a problem for Newton's method.

Which parameters are free differs between the fit of the history and that of arrivals;
all others stay fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.arrow import ArrowMatrix
from skanchor._numerics.newton import Curvature, step_within
from skanchor._typing import Array

_FAR_OFF = 1e12
"""Absolute parameter beyond which a fit diverges: neither rows nor prior bound it."""


class Likelihood(Protocol):
    """A likelihood of all parameters, without prior.

    ``parameters`` has the shape (size,), ``factor`` is the square root L of the
    covariance of the item effects, ``weight`` and ``eta`` have the shape (n_rows,).
    """

    def logits(self, parameters: Array, factor: Array, weight: Array) -> Array:
        """Logits of weighted rows, of shape (n_rows,)."""

    def loss(self, eta: Array, weight: Array) -> float:
        """Weighted sum of the logistic losses at these logits."""

    def derivatives(
        self,
        parameters: Array,
        factor: Array,
        weight: Array,
        eta: Array,
        *,
        curved: bool = True,
    ) -> tuple[Array, Any]:
        """Gradient, (size,), and if ``curved`` the expected Hessian."""


@dataclass(frozen=True, slots=True)
class FreeParameters:
    """The penalised loss of weighted rows as a function of the free parameters.

    Attributes
    ----------
    model : Likelihood
        Likelihood of all parameters.
    fixed : ndarray of shape (size,)
        All parameters; the entries of the free ones are not used.
    factor : ndarray of shape (n_judges, n_judges)
        Square root L of the covariance of the item effects.
    weight : ndarray of shape (n_rows,)
        Row weights, sorted by source.
    prior : ndarray of shape (size,)
        Diagonal of the quadratic penalty of all parameters.
    where : ndarray of shape (n_free,)
        Indices of the free parameters.
    lower, upper : ndarray of shape (n_free,)
        Bounds of the free parameters.
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
        """All parameters, of shape (size,), with ``coef`` as the free ones."""
        parameters = self.fixed.copy()
        parameters[self.where] = coef
        return parameters

    def at(self, coef: Array, since: _FreePoint | None = None) -> _FreePoint:
        """Point at the free parameters, clipped to their bounds."""
        inside = np.clip(coef, self.lower, self.upper)
        is_cut, coef = bool((inside != coef).any()), inside
        eta = self.model.logits(self.parameters(coef), self.factor, self.weight)
        if since is None:
            # The first step needs a Hessian, so that it is computed together with the
            # gradient. Most later steps reuse an older one.
            return _FreePoint(self, coef, eta, 0.0, is_cut, is_curved=True)
        change = np.abs(eta - since.eta).max(initial=0.0)
        return _FreePoint(self, coef, eta, change, is_cut)

    def step(self, point: _FreePoint, gradient: Array, curvature: Curvature) -> Array:
        """Newton step; a parameter on a bound moves inwards only."""
        return step_within(point.coef, gradient, curvature, self.lower, self.upper)

    def diverges(self, point: _FreePoint, decrement: float) -> bool:
        """Whether a parameter has grown without bound."""
        return bool(np.abs(point.coef).max(initial=0.0) > _FAR_OFF)


@dataclass(slots=True)
class _FreePoint:
    """Free parameters and their logits; the other values are computed when first used.

    If ``is_curved``, the Hessian is computed together with the gradient.
    """

    problem: FreeParameters
    coef: Array
    eta: Array
    change: float
    is_cut: bool
    is_curved: bool = False
    _slope: Array | None = None
    _second: Any = None
    _loss: float | None = None

    def gradient(self) -> Array:
        """Gradient of the penalised loss, of shape (n_free,)."""
        if self._slope is None:
            problem = self.problem
            parameters = problem.parameters(self.coef)
            gradient, self._second = self._derivatives(parameters, self.is_curved)
            self._slope = (gradient + problem.prior * parameters)[problem.where]
        return self._slope

    def loss(self) -> float:
        """Summed loss plus the penalty."""
        if self._loss is None:
            problem = self.problem
            parameters = problem.parameters(self.coef)
            # The penalty multiplies first: a parameter without a prior may be too large
            # for its square.
            penalty = 0.5 * (problem.prior * parameters) @ parameters
            self._loss = problem.model.loss(self.eta, problem.weight) + float(penalty)
        return self._loss

    def hessian(self) -> Any:
        """Expected Hessian of the penalised loss, of shape (n_free, n_free)."""
        problem = self.problem
        if self._second is None:
            parameters = problem.parameters(self.coef)
            _, self._second = self._derivatives(parameters, curved=True)
            assert self._second is not None
        where = problem.where
        if isinstance(self._second, ArrowMatrix):
            free = np.zeros(self._second.size, dtype=bool)
            free[where] = True
            return self._second.plus_diagonal(problem.prior).restricted(free)
        hessian = self._second.take(where, axis=0).take(where, axis=1)
        hessian.flat[:: len(where) + 1] += problem.prior[where]
        return hessian

    def _derivatives(self, parameters: Array, curved: bool) -> tuple[Array, Any]:
        problem = self.problem
        return problem.model.derivatives(
            parameters, problem.factor, problem.weight, self.eta, curved=curved
        )
