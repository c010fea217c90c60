"""New models placed by the state of a history."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from skanchor._assembly import assemble, set_undetermined_apart
from skanchor._battles import Comparisons, count_rows
from skanchor._battles.labels import argsort_labels, same_labels
from skanchor._crossfit.cross_fit import (
    CrossFit,
    FullFit,
    RowInfluence,
    collect_folds,
    warn_of_fold,
)
from skanchor._crossfit.fold_fits import sources_of
from skanchor._crossfit.folds import (
    FoldPlan,
    HeldOutShares,
    rows_held_out,
    training_set,
)
from skanchor._crossfit.item_effects import judges_of_arrivals
from skanchor._crossfit.stages import FittedStages, Stages
from skanchor._crossfit.state import PlacedFit
from skanchor._diagnostics import FitSums
from skanchor._model.solution import Solution
from skanchor._model.sources import SourceRows
from skanchor._pipeline_fit import PipelineFit
from skanchor._riesz import RieszDebiaser, Weighing, WeightFunctions
from skanchor.exceptions import located
from skanchor.history._arrivals import with_models
from skanchor.history._state import HistoryState, with_all_groups
from skanchor.results import AnchorResult
from skanchor.sample import Sample
from skanchor.warning_log import WarningLog


def place(
    state: HistoryState,
    stages: Stages,
    everyone: Sample,
    admitted: Sample,
    plans: list[FoldPlan],
) -> AnchorResult:
    """Place arrivals.

    Parameters
    ----------
    state : HistoryState
        The history.
    stages : Stages
        Unfitted.
    everyone, admitted : Sample
        Arrivals with decided roles: all of them, and those that can be used.
    plans : list of FoldPlan
        Folds of the admitted arrivals in each repeat.

    Returns
    -------
    AnchorResult
    """
    result = _placed(state, stages, admitted, plans)
    if state.all_models is None:
        return result
    # Add the models that were left out: their scores are those of the votes, and the
    # numbers of rows are those of the history plus those of the arrivals.
    historical, X = state.all_models, everyone.X.without_rows()
    models = with_models(historical.models, X.models[X.is_new])
    X = X.relabel(models, X.judges)
    late = count_rows(everyone.X.relabel(models, X.judges), everyone.weight)
    early = (
        pd.Series(number, historical.models).reindex(models, fill_value=0).to_numpy()
        for number in (historical.n_human, historical.n_judge)
    )
    counts = (a + b for a, b in zip(early, late, strict=True))
    scores = pd.Series(historical.scores, historical.models)
    return result.extended(X, scores, *counts)


def _placed(
    state: HistoryState, stages: Stages, admitted: Sample, plans: list[FoldPlan]
) -> AnchorResult:
    """Place arrivals that can be used, beside the models that were fitted.

    New models that their rows do not determine are left out of the scores of the
    others, as in the pipeline.
    """

    def first() -> tuple[AnchorResult, FullFit]:
        full, folds = fit_arrivals(state, stages, admitted, plans)
        # Sums over the arrivals are added to those of the history.
        chain, arrivals = full.chain, full.sample
        assert chain.debiaser is not None
        fit = chain.debiaser.solution_.fit
        rows, noise = sources_of(chain.learners, arrivals), state.sums.noise
        late = FitSums.of(fit, rows, arrivals.X.order, noise)
        old = np.flatnonzero(~chain.X.is_new)
        sums = state.sums.among(old, len(chain.X.models)) + late
        return assemble(full, folds, sums, state.check, plans), full

    return set_undetermined_apart(
        first, lambda others: _placed(state, stages, others, plans)
    )


def fit_arrivals(
    state: HistoryState, stages: Stages, arrivals: Sample, plans: list[FoldPlan]
) -> tuple[FullFit, CrossFit]:
    """Fit new models in all folds of a history.

    Parameters
    ----------
    state, stages, plans
        As in :func:`place`.
    arrivals : Sample
        Rows with a new model, in their roles.

    Returns
    -------
    full : FullFit
        Fit of all rows, those of the history by their sums. Its rows are the arrivals,
        in the vocabulary of all models.
    folds : CrossFit
        What the folds add up to; its influence is that of the arrivals.
    """
    arrivals = _in_vocabulary(state, arrivals)
    X = arrivals.X
    learners = [None, *state.learners]
    rows = with_all_groups(sources_of(learners, arrivals), arrivals)
    shares, folds = [HeldOutShares(plan, idle=plan.idle) for plan in plans], []
    for repeat in shares:
        for number in range(len(repeat)):
            with located(f"Fold {number}"):
                weight = training_set(arrivals, repeat.kept(number)).weight
            test = with_all_groups(rows_held_out(rows, repeat[number]), arrivals)
            folds.append(([weight[part.rows] for part in rows], test))
    placed = state.fits.place(X.is_new, rows, folds, stages.arrival.score_bounds)
    items = state.items_for(judges_of_arrivals(X))
    chain = _fitted(state, stages, arrivals, rows, placed, items)
    full = FullFit(stages, arrivals, replace(chain, debiaser=None), items, chain)
    done, numbers = [], (number for plan in plans for number in range(len(plan)))
    for number, one in zip(numbers, placed.folds, strict=True):
        with located(f"Fold {number}"), WarningLog() as log:
            warn_of_fold(one.weights, X.models)
        done.append((one, one.weights, log.found))
    result = collect_folds(full, shares, done)
    assert isinstance(result.influence, RowInfluence)
    return full, replace(
        result, influence=replace(result.influence, learners=chain.learners)
    )


def _in_vocabulary(state: HistoryState, arrivals: Sample) -> Sample:
    """Encode rows by all models and judges, models sorted by label."""
    X = arrivals.X
    models = np.concatenate([state.models, X.models[X.is_new]])
    models = models[argsort_labels(models, "model_a and model_b")]
    if same_labels(models, X.models) and same_labels(state.judges, X.judges):
        # The same object, so that what it has cached is used again.
        return arrivals
    return arrivals.with_battles(X.relabel(models, state.judges))


def _fitted(
    state: HistoryState,
    stages: Stages,
    arrivals: Sample,
    rows: list[SourceRows],
    placed: PlacedFit,
    items: Any,
) -> FittedStages:
    """Stages of the fit of all rows, and the arrivals with what these have learned."""
    fit, layout = placed.fit, placed.fit.layout
    effects, shape = None, (layout.n_sources - 1, layout.n_items)
    if layout.has_item_effects:
        effects = fit.x[layout.item_effects].reshape(shape)
    X = state.calibrator.transform(arrivals.X).with_columns(
        scores=fit.scores,
        deviations=effects,
        item_covariance=None if items is None else items.covariance,
    )
    new = layout.is_new
    arrival = copy(stages.arrival).with_scores(X.models[new], fit.scores[new])
    no_bounds = np.full(layout.size, np.inf)
    known = PipelineFit(
        arrivals, state.calibrator, None, fit, rows, (-no_bounds, no_bounds)
    )
    return FittedStages(
        state.btl(stages),
        state.calibrator,
        arrival,
        X,
        known,
        is_joint=stages.fits_jointly(X),
        debiaser=_debiaser(state, stages, X, placed),
    )


def _debiaser(
    state: HistoryState, stages: Stages, X: Comparisons, placed: PlacedFit
) -> RieszDebiaser:
    """Riesz weights of the fit of all rows, from the information of each source."""
    fit, learners = placed.fit, [WeightFunctions()]
    for source, learner in enumerate(state.learners, start=1):
        at = fit.layout.span(source)
        known = at.stop > at.start
        learners.append(
            WeightFunctions(learner, np.diag(placed.prior)[at])
            if known
            else WeightFunctions()
        )
    solution = Solution.of_grams(fit, dict(enumerate(placed.grams)), placed.prior)
    weighing = Weighing(tuple(learners))
    assert stages.debiaser is not None
    return stages.debiaser.with_solution(X.models, X.judges, weighing, solution)
