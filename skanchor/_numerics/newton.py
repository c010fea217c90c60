"""Damped Newton steps: one loop that asks a problem for gradient and Hessian.

The loop never sees rows. A problem says what it knows at a point, and may get that from
arrays, from counts or from chunks of rows. Logits measure how far a step goes, since
their change bounds that of the curvature.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from skanchor._numerics.linalg import SymmetricSolver
from skanchor._numerics.types import Array

_SAFE_MOVE = 0.5
"""Change of the logits up to which a step needs no check of the loss: the curvature
changes by less than a factor of exp(1/2), so that the loss falls."""

_SHORT_MOVE = 0.1
"""Longest change of the logits by a step that may be the last one."""

_ARMIJO = 1e-4
"""Share of the decrease predicted by the gradient that a step must reach (Armijo)."""


_SLOW = 0.1
"""Ratio of successive decrements above which the Hessian is computed anew."""

_SHORT_STEP = 1.0 / 16.0
"""Length, in Newton steps, below which a step counts as short."""

_MOST_HALVES = 27
"""Most halvings of a step."""


class Point(Protocol):
    """Coefficients, and loss and derivatives there; all but ``coef`` may be lazy."""

    @property
    def coef(self) -> Array:
        """Coefficients."""

    @property
    def change(self) -> float:
        """Largest change of a logit since the point that this one was reached from."""

    @property
    def is_cut(self) -> bool:
        """Whether a bound cut the step to these coefficients short."""

    def gradient(self) -> Array:
        """Gradient of the loss."""

    def loss(self) -> float:
        """Loss; asked for only where a step goes far."""

    def hessian(self) -> Any:
        """Positive semi-definite Hessian; asked for after the gradient, if at all."""


P = TypeVar("P", bound=Point)


class Problem(Protocol[P]):
    """A loss to minimise."""

    def at(self, coef: Array, since: P | None = None) -> P:
        """Point at ``coef``, or where bounds stop the way there.

        ``since`` is the point that it is reached from, None for the first one.
        """

    def step(self, point: P, gradient: Array, curvature: Curvature) -> Array:
        """Newton step from a point; coefficients on a bound may be left out of it."""

    def diverges(self, point: P, decrement: float) -> bool:
        """Whether, after a long step to this point, the minimum lies at infinity."""


class Curvature:
    """A Hessian, reused while the logits have hardly changed.

    Parameters
    ----------
    hessian : ndarray of shape (n_coef, n_coef)
        The Hessian.
    is_borrowed : bool
        Whether it comes from another fit. Such a one serves one step and no other.

    Attributes
    ----------
    drift : float
        Change of the logits since it was computed; infinite after a step with a
        borrowed one.
    """

    def __init__(self, hessian: Any, *, is_borrowed: bool = False):
        self.hessian, self.is_borrowed = hessian, is_borrowed
        self.drift = 0.0

    @cached_property
    def solver(self) -> SymmetricSolver:
        """The Hessian, factorised once."""
        return SymmetricSolver.factorise(self.hessian)

    def age(self, change: float) -> None:
        """Note a change of the logits."""
        self.drift = np.inf if self.is_borrowed else self.drift + change


@dataclass(frozen=True, slots=True)
class Tolerance:
    """When to stop, by any of three signs, and when to compute a new Hessian.

    Attributes
    ----------
    change : float
        Largest change of a logit by a whole step at which it was the last one.
    decrement : float
        Squared Newton decrement (the gradient times the step) at which a step is the
        last one, without a look at where it leads.
    error : float
        Error foreseen after a step, in the norm of the Hessian, at which it was the
        last one.
    drift : float
        Change of the logits up to which a Hessian is kept.
    short_steps : int or None
        Steps below a sixteenth in succession after which the way is given up: it leads
        through rows that are sure of their outcome, which hold nothing, and may never
        end. None goes on.
    """

    change: float = 0.0
    decrement: float = 0.0
    error: float = 0.0
    drift: float = 0.0
    short_steps: int | None = None


@dataclass(frozen=True, slots=True)
class SolverResult:
    """Result of :func:`minimise`.

    Attributes
    ----------
    coef : ndarray of shape (n_coef,)
        Coefficients.
    n_iter : int
        Newton steps begun.
    decrement : float
        Squared Newton decrement before the last step; infinite without one.
    converged : bool
        Whether a tolerance was met.
    hessian : ndarray of shape (n_coef, n_coef) or None
        Hessian of the last step that needed a new one.
    """

    coef: Array
    n_iter: int
    decrement: float
    converged: bool
    hessian: Any


def minimise(
    problem: Problem[P],
    start: Array,
    tolerance: Tolerance,
    *,
    hessian: Any = None,
    max_iter: int = 100,
) -> SolverResult:
    """Minimise a loss by Newton steps, halved until it falls.

    Parameters
    ----------
    problem : Problem
        The loss.
    start : ndarray of shape (n_coef,)
        First coefficients.
    tolerance : Tolerance
        When to stop.
    hessian : ndarray of shape (n_coef, n_coef), optional
        Hessian of a fit to nearly the same problem that ended at ``start``; serves the
        first step.
    max_iter : int
        Most Newton steps.

    Returns
    -------
    SolverResult
    """
    point = problem.at(start)
    coef = point.coef
    curvature = None if hessian is None else Curvature(hessian, is_borrowed=True)
    converged, n_iter, decrement, n_short, length = False, 0, np.inf, 0, 1.0
    while n_iter < max_iter and not converged:
        n_iter += 1
        gradient = point.gradient()
        if curvature is None or curvature.drift > tolerance.drift:
            curvature = Curvature(point.hessian())
        before, step = decrement, problem.step(point, gradient, curvature)
        decrement = -float(gradient @ step)
        if curvature.drift and decrement > max(_SLOW * before, tolerance.decrement):
            # In a direction where the loss is nearly flat, even a slightly outdated
            # Hessian gives a wrong step.
            curvature = Curvature(point.hessian())
            step = problem.step(point, gradient, curvature)
            decrement = -float(gradient @ step)
        if decrement <= tolerance.decrement:
            coef, converged = coef + step, True
            break
        # After a short step the search begins at its length, not at the whole step.
        begin = length if length < _SHORT_STEP else 1.0
        trial, length, has_fallen = _search(problem, point, gradient, step, begin)
        is_whole = length == 1.0 and not trial.is_cut
        if not (has_fallen or curvature.is_borrowed or curvature.drift):
            # The Hessian is exact, and still no step lowers the loss.
            break
        if curvature.is_borrowed and trial.change > _SHORT_MOVE:
            # The other fit was too far away for its Hessian to be of use here.
            curvature = None
            continue
        n_short = n_short + 1 if length < _SHORT_STEP else 0
        point, coef = trial, trial.coef
        curvature.age(point.change)
        if is_whole and point.change <= tolerance.change:
            converged = True
            break
        if n_short == tolerance.short_steps:
            break
        if point.change > _SHORT_MOVE:
            if problem.diverges(point, decrement):
                break
            continue
        # The error after a step is about its length times the relative change of the
        # curvature since the Hessian was computed.
        share = min(curvature.drift, 1.0) if is_whole else 1.0
        converged = decrement**0.5 * share <= tolerance.error
    matrix = None if curvature is None else curvature.hessian
    return SolverResult(coef, n_iter, decrement, converged, matrix)


def step_within(
    coef: Array, gradient: Array, curvature: Curvature, lower: Array, upper: Array
) -> Array:
    """Newton step within bounds: a coefficient on a bound moves inwards only.

    Parameters
    ----------
    coef, gradient : ndarray of shape (n_coef,)
        Coefficients, and the gradient of the loss there.
    curvature : Curvature
        Hessian of the loss.
    lower, upper : ndarray of shape (n_coef,)
        Bounds of the coefficients.

    Returns
    -------
    ndarray of shape (n_coef,)
        Zero for the coefficients that are held on a bound.
    """
    # Coefficients that the gradient pushes out of their bounds are held fixed, and the
    # step is that of the others alone.
    free = ~(((coef <= lower) & (gradient > 0)) | ((coef >= upper) & (gradient < 0)))
    if free.all():
        return -curvature.solver.solve(gradient)
    inner = SymmetricSolver.factorise(curvature.hessian[np.ix_(free, free)])
    step = np.zeros(len(gradient))
    step[free] = -inner.solve(gradient[free])
    return step


def _search(
    problem: Problem[P], point: P, gradient: Array, step: Array, length: float
) -> tuple[P, float, bool]:
    """Search for the longest share of a step, a power of 1/2, that lowers the loss.

    The search begins at the share ``length``. Gives the point, the share of the step
    that leads there, and whether the loss fell at all.
    """

    def tried(share: float) -> tuple[P, bool]:
        trial = problem.at(point.coef + share * step, point)
        if trial.change <= _SAFE_MOVE and not trial.is_cut:
            return trial, True
        loss = point.loss()
        promised = float(gradient @ (trial.coef - point.coef))
        # Differences of the loss below rounding are not compared.
        slack = 1e-14 * (1.0 + abs(loss))
        return trial, trial.loss() <= loss + _ARMIJO * promised + slack

    trial, has_fallen = tried(length)
    if not has_fallen:
        while not has_fallen and length > 0.5**_MOST_HALVES:
            length /= 2.0
            trial, has_fallen = tried(length)
        return trial, length, has_fallen
    while length < 1.0:
        longer, has_fallen = tried(2.0 * length)
        if not has_fallen:
            break
        trial, length = longer, 2.0 * length
    return trial, length, True
