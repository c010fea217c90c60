"""New models placed by the state of a history."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from skanchor._assembly import assemble, with_undetermined_apart
from skanchor._crossfit.cross_fit import Repeat, RowInfluence, collect_folds
from skanchor._crossfit.fits import FullFit, warn_of_fold
from skanchor._crossfit.folds import (
    FoldPlan,
    check_training_sets,
    rows_held_out,
    scales_of_training,
    training_set,
)
from skanchor._crossfit.item_effects import judges_of_arrivals
from skanchor._crossfit.stages import FittedStages, Stages
from skanchor._diagnostics.sums import FitSums
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._estimators.riesz import Weighing, WeightFunctions
from skanchor._model.riesz import Information
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import source_rows, spans_of
from skanchor.exceptions import located
from skanchor.history._state import HistoryState, with_codes
from skanchor.results import AnchorResult
from skanchor.warning_log import WarningLog


def place(
    state: HistoryState,
    stages: Stages,
    arrivals: Sample,
    plans: list[FoldPlan],
    codes: NDArray[np.int64] | None,
) -> AnchorResult:
    """Place new models.

    Parameters
    ----------
    state : HistoryState
        The history.
    stages : Stages
        Unfitted.
    arrivals : Sample
        Rows with new models, in their roles.
    plans : list of FoldPlan
        Their folds.
    codes : ndarray or None
        Code of each of their groups.

    Returns
    -------
    AnchorResult
        Without the warnings of its diagnostics.
    """

    def infer(sample: Sample) -> tuple[AnchorResult, FullFit]:
        full, folds, influence = _fit_arrivals(state, stages, sample, plans, codes)
        # Sums over the arrivals are added to those of the history.
        X, plug_in, noise = full.chain.X, full.chain.fit, state.sums.noise
        new_sums = FitSums.of(plug_in.fit, plug_in.sources, X.order, noise)
        sums = state.sums.among(np.flatnonzero(~X.is_new), len(X.models)) + new_sums
        return assemble(full, folds, influence, sums, state.check, plans), full

    # New models that their rows do not determine are left out of the scores of the
    # others, as in the pipeline.
    return with_undetermined_apart(infer, arrivals)


def _fit_arrivals(
    state: HistoryState,
    stages: Stages,
    arrivals: Sample,
    plans: list[FoldPlan],
    codes: NDArray[np.int64] | None,
) -> tuple[FullFit, list[Repeat], RowInfluence]:
    """Fit new models in all folds of a history.

    The fit of all rows has the arrivals as its rows, in the vocabulary of all models;
    those of the history are in its sums. The influence is that of the arrivals.
    """
    learners = [None, *state.learners]
    rows = source_rows(arrivals, spans_of(learners, arrivals))
    rows, folds = with_codes(rows, arrivals, codes), []
    for plan in plans:
        check_training_sets(arrivals, plan, is_joint=True)
        for number, scales in enumerate(scales_of_training(arrivals, plan)):
            share = plan.held_out(number)
            weight = training_set(arrivals, share, scales).weight
            test = rows_held_out(rows, share)
            folds.append(([weight[part.rows] for part in rows], test))
    X, bounds = arrivals.X, stages.arrival.score_bounds
    placed = state.fits.with_new_models(X.is_new, rows, folds, bounds)
    fit, layout, items, effects = placed.fit, placed.fit.layout, state.items, None
    if items is not None:
        # What its estimation adds to errors depends on who compares the new models.
        items = items.for_judges(judges_of_arrivals(X))
        effects = fit.x[layout.item_effects].reshape(-1, layout.n_items)
    X = state.calibrator.transform(X).with_columns(
        scores=fit.scores,
        deviations=effects,
        item_covariance=None if items is None else items.covariance,
    )
    new = layout.is_new
    # The weights have the columns of the biases, and the ridges of the history.
    ridge = placed.prior.diagonal()
    ridges = [ridge[layout.span(source)] for source in range(layout.n_sources)]
    functions = tuple(
        WeightFunctions(learner if len(of_source) else None, of_source)
        for learner, of_source in zip(learners, ridges, strict=True)
    )
    solution = Information.of(fit, placed.grams.items(), placed.prior)
    assert stages.debiaser is not None
    chain = FittedStages(
        state.btl(stages),
        state.calibrator,
        copy(stages.arrival).with_scores(X.models[new], fit.scores[new]),
        X,
        PipelineFit(arrivals, state.calibrator, learners, fit, rows),
        is_joint=stages.fits_jointly(X),
        debiaser=copy(stages.debiaser).keep(X, Weighing(functions), solution),
    )
    full, done = FullFit(stages, arrivals, chain, items, chain), []
    numbers = (number for plan in plans for number in range(len(plan)))
    for number, one in zip(numbers, placed.folds, strict=True):
        with located(f"Fold {number}"), WarningLog() as log:
            warn_of_fold(one.weights, X.models)
        done.append(replace(one, warnings=log.warnings))
    return full, *collect_folds(full, plans, done)
