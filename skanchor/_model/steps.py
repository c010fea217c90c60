"""The steps of a fit: which parameters each frees, and which rows decide them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skanchor._model.fit import Fit
from skanchor._model.layout import PEOPLE, Layout
from skanchor._model.newton import Hessian, minimise
from skanchor._model.sources import SourceRows
from skanchor._typing import Array

FOLD_TOLERANCE = 1e-10
"""Squared Newton decrement before the last step of the fit of a fold, in squared
standard errors: folds differ from each other by about one. What it leaves changes
results by less than 1e-7 standard errors, for the correction squares it."""

NEW_TOLERANCE = 1e-12
"""The same where new scores are fitted: these depend on few rows, and shall not depend
on where their fit starts."""


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
    calibration = layout.of_judges() | layout.of_item_effects(old)
    if not is_joint:
        steps = [
            Step(votes, False, frozenset([PEOPLE])),
            Step(calibration, False, judges),
        ]
    else:
        free, excluded = votes | calibration, frozenset(excluded_judges)
        for judge in excluded:
            free &= ~layout.of_source(judge)
        steps = [Step(free, False, frozenset([PEOPLE]) | judges - excluded)]
        if excluded:
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
    hessians : sequence of Hessian
        Hessian of each minimisation at its minimum; empty where it is not known.
    """

    fit: Fit
    steps: Sequence[Step]
    sources: Sequence[SourceRows]
    bounds: tuple[Array, Array]
    prior: Array
    hessians: Sequence[Hessian | None]

    @classmethod
    def of(
        cls,
        start: Fit,
        steps: Sequence[Step],
        sources: Sequence[SourceRows],
        bounds: tuple[Array, Array],
        prior: Array | None = None,
    ) -> FitOfAllRows:
        """Fit all rows, from a start that may be far."""
        weights = [rows.weight for rows in sources]
        fit, hessians = fitted(start, steps, sources, weights, bounds)
        prior = fit.precision if prior is None else prior
        return cls(fit, steps, sources, bounds, prior, hessians)

    def refitted(self, weights: Sequence[Array]) -> Fit:
        """Fit the training rows of a fold, from here.

        Parameters
        ----------
        weights : sequence of ndarray
            Weights of the rows of each source in training, scaled to stand for all
            rows.

        Returns
        -------
        Fit
        """
        found, _ = fitted(
            self.fit,
            self.steps,
            self.sources,
            weights,
            self.bounds,
            self.hessians,
            FOLD_TOLERANCE,
        )
        return found


def fitted(
    start: Fit,
    steps: Sequence[Step],
    sources: Sequence[SourceRows],
    weights: Sequence[Array],
    bounds: tuple[Array, Array],
    hessians: Sequence[Hessian | None] | None = None,
    tolerance: float = 1e-10,
) -> tuple[Fit, list[Hessian | None]]:
    """Fit rows step by step.

    Parameters
    ----------
    start : Fit
        Where to start.
    steps : sequence of Step
        The minimisations.
    sources : sequence of SourceRows
        The rows.
    weights : sequence of ndarray
        Weights of the rows of each source.
    bounds : tuple of ndarray
        Lower and upper bounds of all parameters.
    hessians : sequence of Hessian, optional
        Those of a fit to nearly the same rows.
    tolerance : float
        Squared Newton decrement of the last step of each minimisation.

    Returns
    -------
    fit : Fit
        With ``converged``.
    hessians : list of Hessian
        Of each minimisation, where it ended.
    """
    fit, ends, converged = start, [], True
    for step, hessian in zip(steps, hessians or [None] * len(steps), strict=True):
        chosen = [
            number
            for number, rows in enumerate(sources)
            if rows.is_new == step.is_new and rows.source in step.sources
        ]
        shares = [weights[number] for number in chosen]
        if step.is_unweighted:
            # The derivative of a row's loss by a score has the sensitivity as a factor.
            slopes = [fit.sensitivity(sources[number].source) for number in chosen]
            # A judge without any has no say.
            shares = [
                one / abs(c) if c else 0.0 * one
                for one, c in zip(shares, slopes, strict=True)
            ]
        fit, end = minimise(
            fit,
            [sources[number] for number in chosen],
            shares,
            step.free,
            bounds=bounds,
            hessian=hessian,
            tolerance=min(tolerance, NEW_TOLERANCE) if step.is_new else tolerance,
        )
        ends.append(end)
        converged = converged and fit.converged
    return fit.moved(fit.x, converged), ends


def grams_of(
    fit: Fit, sources: Sequence[SourceRows], weights: Sequence[Array]
) -> list[tuple[int, Array]]:
    """Information of rows with these weights, by source."""
    return [
        (rows.source, rows.information(weight, fit.probabilities(rows)))
        for rows, weight in zip(sources, weights, strict=True)
    ]
