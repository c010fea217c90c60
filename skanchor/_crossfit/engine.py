"""Fit of all rows, the fit of each fold from there, and the sum over folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._crossfit.influence import Influence, influence_of
from skanchor._crossfit.riesz import RieszWeights
from skanchor._model.fit import Fit
from skanchor._model.layout import PEOPLE, Layout
from skanchor._model.linalg import Array
from skanchor._model.newton import minimise
from skanchor._model.sources import SourceRows

FOLD_TOLERANCE = 1e-6
"""Squared Newton decrement at which the fit of a fold ends: it is a millionth of the
squared standard error, while folds differ from each other by about one."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Which rows decide which parameters, in the order of the fits.

    Attributes
    ----------
    layout : Layout
        Where the parameters lie.
    is_joint : bool
        Whether votes and verdicts decide the historical scores together. Otherwise
        votes alone do, and judges are calibrated against them.
    """

    layout: Layout
    is_joint: bool

    @property
    def votes(self) -> NDArray[np.bool_]:
        """Historical scores, and the style of people."""
        layout = self.layout
        return layout.of_scores(~layout.is_new) | layout.of_source(PEOPLE)

    @property
    def judges(self) -> NDArray[np.bool_]:
        """Judges, and their effects on historical items."""
        layout = self.layout
        return layout.of_judges() | layout.of_item_effects(~layout.is_new)

    @property
    def arrivals(self) -> NDArray[np.bool_]:
        """Scores of the new models, and the effects of judges on them."""
        layout = self.layout
        return layout.of_scores(layout.is_new) | layout.of_item_effects(layout.is_new)


@dataclass(frozen=True, eq=False)
class FullFit:
    """The fit of all rows, which every fold starts from.

    Attributes
    ----------
    fit : Fit
        Fitted to all rows.
    steps : Steps
        The fits that it took.
    sources : sequence of SourceRows
        All rows.
    bounds : tuple of ndarray
        Lower and upper bounds of all parameters.
    hessians : tuple of ndarray
        Hessian of each fit at its minimum.
    """

    fit: Fit
    steps: Steps
    sources: Sequence[SourceRows]
    bounds: tuple[Array, Array]
    hessians: tuple[Array | None, ...]

    @classmethod
    def of(
        cls,
        start: Fit,
        steps: Steps,
        sources: Sequence[SourceRows],
        bounds: tuple[Array, Array],
    ) -> FullFit:
        """Fit all rows: votes, judges, both together if asked for, then arrivals."""
        weights = [rows.weight for rows in sources]
        fit, _ = _fitted(start, sources, weights, steps.votes, "votes", bounds)
        fit, _ = _fitted(fit, sources, weights, steps.judges, "judges", bounds)
        fit, hessians = fitted_near(fit, steps, sources, weights, bounds)
        return cls(fit, steps, sources, bounds, hessians)


def fitted_near(
    start: Fit,
    steps: Steps,
    sources: Sequence[SourceRows],
    weights: Sequence[Array],
    bounds: tuple[Array, Array],
    hessians: Sequence[Array | None] = (None, None, None),
    tolerance: float = 1e-10,
) -> tuple[Fit, tuple[Array | None, ...]]:
    """Fit rows from a fit of nearly the same ones, and of the same parameters."""
    if steps.is_joint:
        plan = [("history", steps.votes | steps.judges)]
    else:
        plan = [("votes", steps.votes), ("judges", steps.judges)]
    plan.append(("arrivals", steps.arrivals))
    fit, found, converged = start, [], True
    for (kind, free), hessian in zip(plan, hessians, strict=False):
        fit, last = _fitted(
            fit, sources, weights, free, kind, bounds, hessian, tolerance
        )
        found.append(last)
        converged = converged and fit.converged
    return fit.moved(fit.x, converged), tuple(found)


def _fitted(
    start: Fit,
    sources: Sequence[SourceRows],
    weights: Sequence[Array],
    free: NDArray[np.bool_],
    kind: str,
    bounds: tuple[Array, Array],
    hessian: Array | None = None,
    tolerance: float = 1e-10,
) -> tuple[Fit, Array | None]:
    """Minimise over the rows of one kind: votes, judges, history or arrivals."""
    chosen = [n for n, rows in enumerate(sources) if _decides(rows, kind)]
    return minimise(
        start,
        [sources[number] for number in chosen],
        [weights[number] for number in chosen],
        free,
        bounds=bounds,
        hessian=hessian,
        tolerance=tolerance,
    )


def _decides(rows: SourceRows, kind: str) -> bool:
    """Whether rows of a source decide parameters of one kind."""
    if rows.is_new:
        return kind == "arrivals"
    return kind == "history" or kind == ("votes" if rows.source == PEOPLE else "judges")


@dataclass(frozen=True, eq=False)
class FoldResult:
    """What one fold gives.

    Attributes
    ----------
    scores : ndarray of shape (n_items,)
        Plug-in scores of the training rows, centred.
    influence : Influence
        Of the rows held out.
    prior_score : ndarray of shape (n_items,)
        Correction by the prior of the item effects.
    item_covariance : ndarray of shape (n_items, n_items)
        Covariance that the item effects leave.
    undetermined : ndarray of shape (n_items,)
        Scores that the training rows leave open.
    """

    scores: Array
    influence: Influence
    prior_score: Array
    item_covariance: Array
    undetermined: NDArray[np.bool_]


def fit_fold(
    full: FullFit,
    training: Sequence[Array],
    held_out: Sequence[SourceRows],
    n_raters: int,
) -> FoldResult:
    """Fit the training rows of a fold, and evaluate the correction on the others.

    Parameters
    ----------
    full : FullFit
        The fit of all rows.
    training : sequence of ndarray
        Weights of the rows of each source in training, scaled to stand for all rows.
    held_out : sequence of SourceRows
        Rows held out.
    n_raters : int
        Number of raters of the table.

    Returns
    -------
    FoldResult
    """
    fit, _ = fitted_near(
        full.fit,
        full.steps,
        full.sources,
        training,
        full.bounds,
        full.hessians,
        FOLD_TOLERANCE,
    )
    grams = [
        (rows.source, rows.information(weight, fit.probabilities(rows)))
        for rows, weight in zip(full.sources, training, strict=True)
    ]
    weights = RieszWeights.solve(fit, grams)
    return FoldResult(
        fit.layout.targets.T @ fit.x,
        influence_of(weights, held_out, n_raters),
        weights.prior_score,
        weights.item_covariance,
        weights.undetermined,
    )


@dataclass(frozen=True, eq=False)
class CrossFit:
    """The sum over the folds of one repeat (eq:feasible-anchor-estimator-v2).

    Attributes
    ----------
    plug_in : ndarray of shape (n_items,)
        Mean of the folds' plug-in scores.
    estimate : ndarray of shape (n_items,)
        Corrected scores.
    parts : ndarray of shape (4, n_items, n_items)
        Covariance by people's rows, judges' rows, both together, and item effects.
    largest : ndarray of shape (n_items,)
        Largest influence of a group of rows.
    undetermined : ndarray of shape (n_items,)
        Scores that some training rows leave open.
    """

    plug_in: Array
    estimate: Array
    parts: Array
    largest: Array
    undetermined: NDArray[np.bool_]

    @classmethod
    def of(cls, folds: Sequence[FoldResult]) -> CrossFit:
        """Add up the folds."""

        def mean(name: str) -> Any:
            return np.mean([getattr(fold, name) for fold in folds], axis=0)

        influence = folds[0].influence
        for fold in folds[1:]:
            influence = influence + fold.influence
        plug_in = mean("scores")
        parts = [*influence.covariance_parts(), mean("item_covariance")]
        return cls(
            plug_in,
            # Each fold's influence is already that of its share of all rows.
            plug_in + influence.total + mean("prior_score"),
            np.stack(parts),
            influence.largest,
            np.any([fold.undetermined for fold in folds], axis=0),
        )
