"""New models placed by the state of a history."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

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
from skanchor._sample.row_rules import RowRules
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import source_rows, spans_of
from skanchor.exceptions import located
from skanchor.history._rows import (
    admit_arrivals,
    admit_rows,
    arrival_plans,
    group_codes,
)
from skanchor.history._state import HistoryState, with_codes
from skanchor.results import AnchorResult
from skanchor.warning_log import WarningLog


def place(
    state: HistoryState,
    stages: Stages,
    rules: RowRules,
    rows: tuple[Any, Any, Any, Any],
    cv: Any,
    random_state: Any,
) -> AnchorResult:
    """Place the new models of a table.

    Parameters
    ----------
    state : HistoryState
        The history.
    stages : Stages
        Unfitted.
    rules : RowRules
        What becomes of ties and of weights.
    rows : tuple of (X, y, sample_weight, groups)
        As in :meth:`skanchor.AnchorHistory.place`.
    cv, random_state
        Folds of the rows, or None, and the seed by which they are then drawn.

    Returns
    -------
    AnchorResult
        Without the warnings of its diagnostics.
    """
    are_stored = state.n_groups is not None
    sample, labels = admit_rows(rules, rows, are_stored=are_stored, lists_rows=True)
    codes = group_codes(labels, are_stored=are_stored)
    old_folds = None if codes is None else state.folds_of(codes)
    sample = sample.in_units(state.unit)
    admitted = admit_arrivals(sample, state)
    state.compare_grades(admitted)
    plans = arrival_plans(cv, admitted, state.repeats, random_state, old_folds)

    def infer(sample: Sample) -> tuple[AnchorResult, FullFit]:
        full, folds, influence = _fit_arrivals(state, stages, sample, plans, codes)
        # Sums over the arrivals are added to those of the history.
        X, plug_in, noise = full.chain.X, full.chain.fit, state.sums.noise
        new_sums = FitSums.of(plug_in.fit, plug_in.sources, X.order, noise)
        sums = state.sums.among(np.flatnonzero(~X.is_new), len(X.models)) + new_sums
        return assemble(full, folds, influence, sums, state.check, plans), full

    # New models that their rows do not determine are left out of the scores of the
    # others, as in the pipeline.
    return with_undetermined_apart(infer, admitted)


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
    ridge, functions = np.diag(placed.prior), []
    for source, learner in enumerate([None, *state.learners]):
        of_source = ridge[layout.span(source)]
        functions.append(
            WeightFunctions(learner if len(of_source) else None, of_source)
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
        debiaser=copy(stages.debiaser).keep(X, Weighing(tuple(functions)), solution),
    )
    full, done = FullFit(stages, arrivals, chain, items, chain), []
    numbers = (number for plan in plans for number in range(len(plan)))
    for number, one in zip(numbers, placed.folds, strict=True):
        with located(f"Fold {number}"), WarningLog() as log:
            warn_of_fold(one.weights, X.models)
        done.append(replace(one, warnings=log.warnings))
    return full, *collect_folds(full, plans, done)
