"""From the fit of all rows to the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._battles import Comparisons, Inputs, count_rows
from skanchor._cells import Cells
from skanchor._crossfit.cross_fit import (
    FARTHEST,
    Repeat,
    RowInfluence,
    cross_fit,
    undetermined_scores,
)
from skanchor._crossfit.folds import FoldPlan
from skanchor._crossfit.historical import fit_stages
from skanchor._crossfit.item_effects import ItemChoice, judges_of_arrivals
from skanchor._crossfit.stages import FittedStages, FullFit, Stages
from skanchor._crossfit.votes_alone import likelihood_fit
from skanchor._diagnostics import FitSums, ItemCheck, check_arrivals, diagnose
from skanchor._model.item_effects import ItemCovariance
from skanchor._open_models import with_open_rows
from skanchor._sample.sample import Sample
from skanchor._text import first_five
from skanchor._typing import Array, InfluenceSource
from skanchor.exceptions import InstabilityWarning
from skanchor.readouts import FittedRows
from skanchor.results import AnchorResult, ContextResult
from skanchor.warning_log import WarningLog, warn


@dataclass(frozen=True, slots=True)
class Inference:
    """What the result is made from.

    Attributes
    ----------
    stages : Stages
        Unfitted.
    cells : Cells
        Rows of the table, put together where they are equal.
    everyone, admitted : Sample
        All cells in their roles, and those that are fitted: models whose scores have
        no limit are on the board, but take no part.
    plugged : FittedStages
        The plug-in of the rows that are fitted.
    check : ItemCheck
        Whether verdicts deviate by model.
    choice : ItemChoice
        Whether item effects enter the fit, and why.
    fold_plan : list of FoldPlan
        Folds of the rows of the table in each repeat.
    folds : list of FoldPlan
        The same with the cells, in each repeat.
    n_jobs, verbose
        As in :class:`skanchor.AnchorPipeline`.
    mix : mapping of label to float or None
        Share of each context in what is reported; None without contexts.
    """

    stages: Stages
    cells: Cells
    everyone: Sample
    admitted: Sample
    plugged: FittedStages | None
    check: ItemCheck
    choice: ItemChoice
    fold_plan: list[FoldPlan]
    folds: list[FoldPlan]
    n_jobs: int | None
    verbose: int
    mix: Mapping[Any, float] | None = None

    def fit(self) -> FullFit:
        """Fit all rows."""
        assert self.plugged is not None
        return self.fit_with(self.choice.covariance(self.plugged.fit))

    def fit_with(self, items: ItemCovariance | None) -> FullFit:
        """Fit all rows with a covariance of the item effects; None leaves them out."""
        assert self.plugged is not None
        return FullFit.of(self.stages, self.admitted, self.plugged, items)

    def result(self, full: FullFit) -> AnchorResult:
        """Cross-fit, and assemble the result."""
        if full.chain.debiaser is None:
            result = self._plug_in(full)
        else:
            result = set_undetermined_apart(
                lambda: (self._cross_fit(full), full),
                lambda rest: self._refit(full, rest),
            )
        others = models_left_out(self.stages, self.everyone, self.admitted)
        if others is not None:
            result = result.extended(self.everyone.X, *others)
            result = with_open_rows(result, full, self.everyone)
        return result if self.mix is None else ContextResult.of(result, self.mix)

    def _cross_fit(self, full: FullFit) -> AnchorResult:
        influence: InfluenceSource
        if self.folds:
            repeats, influence = cross_fit(full, self.folds, self.n_jobs, self.verbose)
        else:
            repeats, influence = likelihood_fit(full, self.cells.cell)
        sums, plan = sums_of(full), self.fold_plan
        return assemble(full, repeats, influence, sums, self.check, plan)

    def _refit(self, full: FullFit, admitted: Sample) -> AnchorResult:
        """Result of the same rows and folds with fewer new models than ``full`` has."""
        with WarningLog():
            # The fit of all rows has issued these warnings already.
            plugged = fit_stages(self.stages, admitted)
        items = full.items
        if items is not None:
            items = items.for_judges(judges_of_arrivals(admitted.X))
        rest = replace(self, everyone=admitted, admitted=admitted, mix=None)
        return rest.result(FullFit.of(self.stages, admitted, plugged, items))

    def _plug_in(self, full: FullFit) -> AnchorResult:
        X, n_models = full.chain.X, len(full.chain.X.models)
        scores = full.chain.scores[None]
        return AnchorResult(
            X.models,
            X.is_new,
            scores,
            np.full((1, n_models, n_models), np.nan),
            np.zeros(n_models, dtype=bool),
            *count_rows(X, full.sample.weight, full.sample.multiplicity),
            rows=RowInfluence(self.cells.rows_of(full.sample)),
            part_covariances=np.full((1, 4, n_models, n_models), np.nan),
            lower_bound=np.full(n_models, np.nan),
            plug_in=scores,
            fold_plan=self.fold_plan,
            inputs=_inputs(full),
            fitted=_fitted_rows(full),
        )


def sums_of(full: FullFit) -> FitSums:
    """Sums over all rows, with the dispersion of each source."""
    known = full.chain.fit
    noise = known.without_item_effects().dispersions(without_items=True)
    return FitSums.of(known.fit, known.sources, full.sample.X.order, noise)


def set_undetermined_apart(
    first: Callable[[], tuple[AnchorResult, FullFit]],
    again: Callable[[Sample], AnchorResult],
) -> AnchorResult:
    """Leave new models that rows do not determine out of the scores of the others.

    A fold that has such a model on its bound has a system that is nearly singular, and
    moves the scores of all models. The rows of the model say nothing about the others,
    so these get the results of a table without it. Folds stay as they are.

    Parameters
    ----------
    first : callable
        Gives the result of all rows, and the fit of all rows.
    again : callable
        Gives the result of a sample in which rows of some new models are unusable.

    Returns
    -------
    AnchorResult
        Of all models; those set apart keep the plug-in, with an infinite error.
    """
    with WarningLog() as log:
        found, full = first()
    lost = found.unbounded & found.is_new
    if not lost.any():
        log.hand_on()
        return found
    with WarningLog() as later:
        rest = again(_without_models(full.sample, lost))
    if rest.unbounded.all():
        # Nothing is determined, with these models or without them.
        log.hand_on()
        return found
    if (found.unbounded & ~found.is_new).any():
        # The second result warns of the others.
        names = found.models[lost].tolist()
        log.found = [
            undetermined_scores(names) if isinstance(one, InstabilityWarning) else one
            for one in log.found
        ]
    log.hand_on()
    later.hand_on()
    X = full.sample.X
    scores = pd.Series(full.chain.scores, X.models)
    result = rest.extended(X, scores, found.n_human, found.n_judge)
    return with_open_rows(result, full, full.sample)


def _without_models(sample: Sample, lost: NDArray[np.bool_]) -> Sample:
    """Make the rows of the ``lost`` new models unusable; no row moves.

    New models that met only these leave the vocabulary, too: they have no row any more.
    """
    X, kept = sample.X, ~lost
    left = X.relabel(X.models[kept], X.judges)
    active = left.is_usable & (sample.weight > 0)
    kept[kept] = ~left.is_new | (left.appearances(active) > 0)
    return sample.with_battles(X.relabel(X.models[kept], X.judges))


LeftOut = tuple[pd.Series, NDArray[np.intp], NDArray[np.intp]]
"""Scores by votes alone, and numbers of people's and of judges' rows of each model."""


def models_left_out(
    stages: Stages, everyone: Sample, admitted: Sample
) -> LeftOut | None:
    """What is reported of the models of a fit, where some take no part in it.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    everyone, admitted : Sample
        All rows in their roles, and those that are fitted.

    Returns
    -------
    scores : Series
        Of the fit of the votes, by historical model.
    n_human, n_judge : ndarray of shape (n_models,)
        Rows of each model.
    None
        Where none was left out.
    """
    if len(everyone.X.models) == len(admitted.X.models):
        return None
    btl = clone(stages.btl)
    if stages.fits_jointly(everyone.X):
        btl.set_params(disconnected="warn")
    with WarningLog():
        # The admission has issued these warnings already.
        scores = btl.fit_sample(everyone).scores_
    return scores, *count_rows(everyone.X, everyone.weight, everyone.multiplicity)


def assemble(
    full: FullFit,
    repeats: list[Repeat],
    influence: InfluenceSource,
    sums: FitSums,
    check: ItemCheck,
    fold_plan: list[FoldPlan],
) -> AnchorResult:
    """Make the result of a cross-fit, of rows at hand or of kept sums and arrivals.

    Parameters
    ----------
    full : FullFit
        The fit of all rows; its sample holds those at hand.
    repeats : list of Repeat
        What the folds of each add up to.
    influence : InfluenceSource
        Influence of each row on each score.
    sums : FitSums
        Over all rows.
    check : ItemCheck
        Whether verdicts deviate by model.
    fold_plan : list of FoldPlan
        Folds of the rows at hand, in each repeat.

    Returns
    -------
    AnchorResult
    """
    chain, items = full.chain, full.items
    X, debiaser = chain.X, chain.debiaser
    assert debiaser is not None

    def stacked(name: str) -> Any:
        return np.array([getattr(repeat, name) for repeat in repeats])

    plug_in = stacked("plug_in")
    fit = debiaser.solution_.fit if chain.fit is None else chain.fit.fit
    arrivals = check_arrivals(X.models, X.judges, fit, sums, widens=full.stages.widens)
    # Where judges disagree about a new model, its error is scaled up if so asked.
    scale = arrivals.scale
    square, covariance = np.outer(scale, scale), stacked("covariance")
    with np.errstate(over="ignore"):
        # A score that nothing determines may have a variance beyond all numbers.
        covariance = covariance * square
    lost = stacked("undetermined").any(axis=0) | chain.unbounded
    hidden = _hidden_scale(X, debiaser.solution_.own_item_variance, items, lost)
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    result = AnchorResult(
        X.models,
        X.is_new,
        stacked("estimate"),
        covariance,
        # A judge whose verdicts seem free of noise may disagree beyond measure.
        lost | hidden | (variance > FARTHEST**2).any(axis=0),
        *sums.counts,
        None if items is None else stacked("part_covariances")[:, 3] * square,
        np.inf if items is None else items.df,
        rows=influence,
        part_covariances=stacked("part_covariances") * square,
        lower_bound=debiaser.solution_.lower_bound,
        plug_in=plug_in,
        fold_plan=fold_plan,
        fitted=replace(_fitted_rows(full), fit=fit, sums=sums),
        inputs=_inputs(full),
    )
    diagnostics = diagnose(
        full.sample.with_battles(X),
        sums,
        debiaser.solution_,
        chain.btl,
        result.moments,
        np.median(plug_in, axis=0),
        stacked("largest").max(axis=0),
        check,
        arrivals,
        is_joint=chain.is_joint,
    )
    # In two steps the scale is no factor of everything: judges do not help to place the
    # old models. Weights, ties and groups change the noise of votes.
    scale_z = np.inf
    if chain.is_joint:
        scale_z = diagnostics.scale_z / float(sums.noise[-1]) ** 0.5
    return replace(result, diagnostics=diagnostics, scale_z=scale_z)


def _hidden_scale(
    X: Comparisons, own: Array, items: ItemCovariance | None, lost: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Warn of new models whose judges deviate more than the historical scores differ.

    Deviations u_m move the sensitivity of judge m by ``u_m' theta / |theta|^2``, and so
    the score s of a new model by ``s`` times that, over the sensitivity. The variance
    of the factor is that of the new model's own deviation over ``|theta|^2``. Where it
    is one, sensitivities are as likely noise as not. An interval, in which they are
    first-order, is then far too short.

    Parameters
    ----------
    X : Comparisons
        Rows that carry the scores theta.
    own : ndarray of shape (n_models,)
        Variance that the deviations from a model leave in its own score.
    items : ItemCovariance or None
        Covariance of the deviations.
    lost : ndarray of shape (n_models,)
        Models whose scores are not determined anyway.
    """
    if items is None:
        return np.zeros(len(own), dtype=bool)
    assert X.scores is not None
    context = X.items.context
    theta = np.where(X.is_new, 0.0, X.scores)
    spread = np.bincount(context, theta**2)[context]
    hidden = np.asarray(X.is_new & (items.inflation * own > spread) & ~lost)
    if hidden.any():
        names = X.models[hidden].tolist()
        warn(
            InstabilityWarning(
                f"The scores of {first_five(names)} are not determined: people's "
                f"scores of the {(~X.is_new).sum()} historical models are so close to "
                "each other that what judges like or dislike in single models hides "
                "how sensitive they are to quality. Add historical models that are "
                "clearly better or worse. They keep the plug-in score, with an "
                "infinite error.",
                code="hidden-scale",
                subject=names,
            )
        )
    return hidden


def _fitted_rows(full: FullFit) -> FittedRows:
    """What read-outs are computed from."""
    chain, sample = full.chain, full.sample.with_battles(full.chain.X)
    return FittedRows(sample, chain.learners, chain.debiaser, full.items)


def _inputs(full: FullFit) -> Inputs:
    """What was read, and what scores then say."""
    if full.stages.btl.bias is None:
        return full.sample.inputs
    return replace(full.sample.inputs, style_controlled=True)
