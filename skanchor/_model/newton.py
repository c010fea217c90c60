"""The one fit: damped Newton steps over the parameters of a mask; lists of masks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skanchor._model.fit import PEOPLE, Fit, Layout
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.sources import SourceRows
from skanchor._typing import Array

_ARMIJO = 1e-4
"""Share of the decrease promised by the gradient that a step must reach."""

_SAFE_MOVE = 0.5
"""Change of the logits up to which a step needs no look at the loss: the curvature
changes by less than a factor of exp(1/2), so that the loss falls. A Hessian serves as
long as the logits have moved by no more since it was computed."""

_SLOW, _SLOW_OF_MANY, _MANY = 0.1, 0.4, 200
"""Ratio of successive decrements above which the Hessian is computed anew; and the same
for more than so many parameters, where that costs many more steps with an old one."""

_MOST_STEPS, _MOST_HALVES = 100, 30
"""Most steps of a fit, and most halvings of a step."""

FOLD_TOLERANCE = 1e-10
"""Squared Newton decrement before the last step of the fit of a fold, in squared
standard errors: folds differ from each other by about one. What it leaves changes
results by less than 1e-7 standard errors, for the correction squares it."""

NEW_TOLERANCE = 1e-12
"""The same where new scores are fitted: these depend on few rows, and shall not depend
on where their fit starts."""


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

    def step(self, inner: NDArray[np.bool_], gradient: Array) -> tuple[Array, float]:
        """Newton step of some parameters, those that lie on no bound; its decrement."""
        key, step = inner.tobytes(), np.zeros(len(inner))
        if key not in self._systems:
            self._systems[key] = SymmetricSystem.of(self.matrix[inner][:, inner])
        step[inner] = -self._systems[key].solve(gradient[inner])
        return step, -float(gradient @ step)


def minimise(
    start: Fit,
    sources: Sequence[SourceRows],
    weights: Sequence[Array],
    free: NDArray[np.bool_],
    *,
    bounds: tuple[Array, Array] | None = None,
    hessian: Hessian | None = None,
    tolerance: float = 1e-10,
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

    Returns
    -------
    fit : Fit
        With ``converged``.
    hessian : Hessian or None
        That of the last step; None where no parameter is free.
    """
    at, infinite = np.flatnonzero(free), np.full(len(free), np.inf)
    weights = [
        rows.by_cell(weight) for rows, weight in zip(sources, weights, strict=True)
    ]
    sources = [rows.cells for rows in sources]
    low, high = (one[at] for one in bounds or (-infinite, infinite))
    slow = _SLOW if len(at) <= _MANY else _SLOW_OF_MANY
    fit, logits = start, [start.logits(rows) for rows in sources]
    before = np.inf

    def summed(name: str) -> list[tuple[int, Array]]:
        rows = zip(sources, weights, logits, strict=True)
        return [(one.source, getattr(one, name)(*its)) for one, *its in rows]

    for _ in range(_MOST_STEPS):
        gradient = (fit.gradient(summed("slope")) + fit.prior_slope)[at]
        # A parameter on a bound moves inwards only.
        x, loss = fit.x[at], None
        inner = (x > low) | (gradient < 0.0)
        inner &= (x < high) | (gradient > 0.0)
        decrement = np.inf
        if hessian is not None:
            step, decrement = hessian.step(inner, gradient)
        if decrement > max(slow * before, tolerance) or hessian is None:
            matrix = fit.centred(fit.information(summed("curvature"))) + fit.precision
            hessian = Hessian(matrix[at[:, None], at])
            step, decrement = hessian.step(inner, gradient)
        # The longest of the halved steps that lowers the loss.
        for _ in range(_MOST_HALVES):
            whole = fit.x.copy()
            whole[at] = np.clip(x + step, low, high)
            trial = fit.moved(whole)
            there, walked = [trial.logits(rows) for rows in sources], whole[at] - x
            pairs = zip(there, logits, strict=True)
            moved = max([0.0, *(np.abs(a - b).max(initial=0.0) for a, b in pairs)])
            # But for rounding; ``allclose`` takes as long as a step of few parameters.
            off = np.abs(walked - step) - 1e-12 * np.abs(step)
            if moved <= _SAFE_MOVE and (off <= 1e-8).all():
                break
            loss = fit.loss(sources, weights) if loss is None else loss
            # Differences of the loss below rounding are not compared.
            most = loss + _ARMIJO * float(gradient @ walked) + 1e-14 * (1.0 + abs(loss))
            if trial.loss(sources, weights) <= most:
                break
            step = step / 2.0
        else:
            break
        fit, logits, before = trial, there, decrement
        if decrement <= tolerance:
            return fit.moved(fit.x, converged=True), hessian
        hessian = None if moved > _SAFE_MOVE else hessian
    return fit.moved(fit.x, converged=False), hessian


# ------------------------------------------------------------------ steps of a fit
class Step(NamedTuple):
    """One minimisation: over which parameters, and by which sources of rows.

    Attributes
    ----------
    free : ndarray of shape (size,)
        Mask of the parameters.
    is_new : bool
        Whether rows with a new model decide, or historical rows.
    sources : frozenset of int
        Sources whose rows decide.
    is_unweighted : bool
        Whether the sums of residuals are set to zero as they are, and not multiplied
        with sensitivities, as the likelihood does.
    """

    free: NDArray[np.bool_]
    is_new: bool
    sources: frozenset[int]
    is_unweighted: bool = False


def steps_of(
    layout: Layout,
    *,
    is_joint: bool,
    excluded_judges: Collection[int] = (),
    is_unweighted: bool = False,
) -> list[Step]:
    """List the minimisations of a fit, in their order.

    Parameters
    ----------
    layout : Layout
        Where the parameters lie.
    is_joint : bool
        Whether votes and verdicts decide the historical scores together. Otherwise
        votes alone do, and judges are calibrated against them.
    excluded_judges : collection of int
        Sources without a finite sensitivity. They are calibrated to the scores that the
        others determine.
    is_unweighted : bool
        Whether the sum of the residuals of each new model is zero, instead of the
        derivative of the likelihood. Item effects need the likelihood.

    Returns
    -------
    list of Step
    """
    old, new = ~layout.is_new, layout.is_new
    judges = frozenset(range(1, layout.n_sources))
    votes = layout.of_scores(old) | layout.of_source(PEOPLE)
    calibration = layout.of_item_effects(old)
    for judge in judges:
        calibration |= layout.of_source(judge)
    free, sources, excluded = votes, frozenset([PEOPLE]), frozenset(excluded_judges)
    if is_joint:
        free, sources = votes | calibration, sources | judges - excluded
        for judge in excluded:
            free &= ~layout.of_source(judge)
    steps = [Step(free, False, sources)]
    if excluded or not is_joint:
        steps.append(Step(calibration, False, judges))
    arrivals = layout.of_scores(new) | layout.of_item_effects(new)
    is_unweighted &= not layout.has_item_effects
    return [*steps, Step(arrivals, True, frozenset([PEOPLE]) | judges, is_unweighted)]


@dataclass(frozen=True, eq=False)
class FitOfAllRows:
    """The fit of all rows, which every fold starts from.

    Attributes
    ----------
    fit : Fit
        Fitted to all rows.
    steps : sequence of Step
        The minimisations that it took.
    sources : sequence of SourceRows
        All rows.
    bounds : tuple of ndarray
        Lower and upper bounds of all parameters.
    prior : ndarray of shape (size, size)
        Precision that enters the Riesz weights: the prior of the item effects, and
        ridges of spans.
    hessians : sequence of Hessian or None
        Hessian of each minimisation at its minimum, where it is known.
    """

    fit: Fit
    steps: Sequence[Step]
    sources: Sequence[SourceRows]
    bounds: tuple[Array, Array]
    prior: Array
    hessians: Sequence[Hessian | None] = ()

    @classmethod
    def of(
        cls,
        start: Fit,
        steps: Sequence[Step],
        sources: Sequence[SourceRows],
        bounds: tuple[Array, Array],
        tolerance: float = 1e-10,
    ) -> FitOfAllRows:
        """Fit all rows, from a start that may be far.

        ``tolerance`` is the squared Newton decrement of the last step of each
        minimisation.
        """
        first = cls(start, steps, sources, bounds, start.precision)
        return first.refitted([rows.weight for rows in sources], tolerance)

    def refitted(
        self, weights: Sequence[Array], tolerance: float | None = None
    ) -> FitOfAllRows:
        """Fit rows of these weights, such as the training rows of a fold, from here.

        Parameters
        ----------
        weights : sequence of ndarray
            Weights of the rows of each source, scaled to stand for all rows.
        tolerance : float, optional
            As above; by default that of folds.

        Returns
        -------
        FitOfAllRows
        """
        tolerance = FOLD_TOLERANCE if tolerance is None else tolerance
        fit, ends, converged = self.fit, [], True
        for step, hessian in zip_longest(self.steps, self.hessians):
            sources, shares = [], []
            for rows, weight in zip(self.sources, weights, strict=True):
                if rows.is_new != step.is_new or rows.source not in step.sources:
                    continue
                if step.is_unweighted:
                    # The derivative of a row's loss by a score has the sensitivity as a
                    # factor. A judge without any has no say.
                    slope = abs(fit.sensitivity(rows.source))
                    weight = weight / slope if slope else 0.0 * weight
                sources.append(rows)
                shares.append(weight)
            last = min(tolerance, NEW_TOLERANCE) if step.is_new else tolerance
            fit, end = minimise(
                fit, sources, shares, step.free,
                bounds=self.bounds, hessian=hessian, tolerance=last,
            )  # fmt: skip
            ends.append(end)
            converged = converged and fit.converged
        return replace(self, fit=fit.moved(fit.x, converged), hessians=ends)


def grams_of(
    fit: Fit, sources: Sequence[SourceRows], weights: Sequence[Array]
) -> list[tuple[int, Array]]:
    """Information of rows with these weights, by source."""
    grams = []
    for rows, weight in zip(sources, weights, strict=True):
        cells = rows.cells
        p = fit.probabilities(cells)
        grams.append((rows.source, cells.information(rows.by_cell(weight), p)))
    return grams
