"""One fold: fit of its training rows, weights, and influence of the rows held out.

Learners that are linear in columns which the features fix keep these columns, and the
folds start from the fit of all rows. Others are fitted anew to the training rows. What
of them is linear in its coefficients is then fitted together with all else, and the
rest is part of the offset of each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from skanchor._crossfit.folds import (
    FoldPlan,
    rows_held_out,
    training_set,
    wins_of_votes,
)
from skanchor._crossfit.identification import check_identified
from skanchor._crossfit.stages import FittedStages, FullFit
from skanchor._estimators.human_bias import fit_bias
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._estimators.riesz import warn_of_unidentified
from skanchor._estimators.weighing import Weighing
from skanchor._model.fit import Fit
from skanchor._model.graph import components
from skanchor._model.influence import Influence, influence_of, residuals, row_influence
from skanchor._model.newton import FitOfAllRows, grams_of
from skanchor._model.riesz import RieszWeights
from skanchor._model.sources import SourceRows, variance_of
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import by_row
from skanchor._typing import Array
from skanchor.bias.fitting import same_settings
from skanchor.bias.protocol import linearity
from skanchor.exceptions import BattlesError, ConvergenceWarning, located
from skanchor.warning_log import WarningLog, warn

NEAR = 1e-6
"""Squared Newton decrement, in squared standard errors, of the last step of a fit to a
training set that is only checked."""


@dataclass(frozen=True, eq=False)
class FoldResult:
    """What one fold gives.

    Attributes
    ----------
    scores : ndarray of shape (n_items,)
        Plug-in scores of the training rows, centred.
    weights : RieszWeights
        Of the training rows, with their fit.
    influence : Influence
        Of the rows held out.
    expected : ndarray of shape (3, n_items, n_items)
        Parts of the sampling covariance if outcomes were independent votes.
    values : ndarray of shape (n_test, n_items) or None
        Influence of the rows held out; None where the weights give it by the columns of
        the fit of all rows.
    warnings : sequence of Warning
        What the fold warned of.
    """

    scores: Array
    weights: RieszWeights
    influence: Influence
    expected: Array
    values: Array | None = None
    warnings: Sequence[Warning] = ()


@dataclass(frozen=True, eq=False)
class FoldStart:
    """The fit of all rows, from which folds are fitted.

    Attributes
    ----------
    full : FullFit
        The stages.
    sample : Sample
        The rows with what the stages have learned.
    fit : FitOfAllRows
        The fit in one vector; where learners are fitted anew, its start.
    is_fixed : bool
        Whether all biases are linear in columns that the features fix.
    is_shared : bool
        Whether the Riesz weights are linear in these columns, too.
    wins : ndarray of shape (n_models, n_models)
        One where a vote prefers a model to another.
    is_placed : bool
        Whether votes alone give all historical models finite scores on one scale.
    """

    full: FullFit
    sample: Sample
    fit: FitOfAllRows
    is_fixed: bool
    is_shared: bool
    wins: Array
    is_placed: bool

    @classmethod
    def of(cls, full: FullFit) -> FoldStart:
        """Find out what folds may take over."""
        stages, chain, start = full.stages, full.chain, _start(full, full.chain)
        assert stages.debiaser is not None and chain.debiaser is not None
        is_fixed = all(
            one is None or linearity(one) == "fixed" for one in chain.learners
        )
        if is_fixed:
            start = FitOfAllRows.of(start.fit, start.steps, start.sources, start.bounds)
        learner, solution = stages.debiaser.learner, chain.debiaser.solution_
        is_same = isinstance(learner, str) and learner == "calibrator"
        is_same = is_same or same_settings(learner, stages.calibrator.bias)
        # A judge whose rows say nothing has no columns of weights.
        is_same = is_same and solution.layout.widths == start.fit.layout.widths
        if is_fixed and is_same:
            start = replace(start, prior=solution.prior)
        sample = full.sample.with_battles(chain.X)
        wins, is_shared = wins_of_votes(sample, sample.weight), is_fixed and is_same
        is_placed = _is_placed(wins, sample)
        return cls(full, sample, start, is_fixed, is_shared, wins, is_placed)


def _start(full: FullFit, chain: FittedStages) -> FitOfAllRows:
    """The steps by which a fold is fitted, from the fit of all rows."""
    known = chain.fit
    steps = known.steps(
        chain.excluded_judges,
        is_joint=chain.is_joint,
        is_unweighted=full.stages.arrival.equation == "unweighted",
    )
    fit = known.fit
    return FitOfAllRows(fit, steps, known.sources, known.bounds, fit.precision, ())


def fit_fold(
    start: FoldStart, plan: FoldPlan, number: int, seed_offset: int
) -> FoldResult:
    """Fit the training rows of a fold, and sum up the influence of those held out.

    Parameters
    ----------
    start : FoldStart
        The fit of all rows.
    plan : FoldPlan
        Folds of the repeat.
    number : int
        Number of the fold there.
    seed_offset : int
        Its number among all folds, by which learners have another seed in each, and the
        cross-fit averages them.

    Returns
    -------
    FoldResult
    """
    with located(f"Fold {number}"), WarningLog() as log:
        training = training_set(start.sample, plan.trained(number))
        chain, full = start.full.chain, start.fit
        if not start.is_fixed:
            chain = _learned_anew(start, training, seed_offset)
            full = _start(start.full, chain)
        weights, fit = fit_training_set(start, full, training)
        sources, prior = full.sources, full.prior
        if not start.is_shared:
            fit, sources, prior = _weighed(
                start, chain, fit, sources, training, seed_offset
            )
        grams = grams_of(fit, sources, weights)
        riesz = RieszWeights.solve(fit, grams, prior)
        warn_of_fold(riesz, training.X.models)
        share = plan.held_out(number)
        held_out = rows_held_out(sources, share)
    raters, values = training.raters, None
    if not start.is_shared:
        values = influence_by_row(riesz, held_out, len(training))[share > 0]
    n_raters = 0 if raters is None else int(raters.max(initial=-1)) + 1
    return FoldResult(
        fit.layout.targets.T @ fit.x,
        riesz,
        influence_of(riesz, held_out, n_raters),
        riesz.expected_parts(grams),
        values,
        log.found,
    )


def fit_training_set(
    start: FoldStart, near: FitOfAllRows, training: Sample
) -> tuple[list[Array], Fit]:
    """Fit a training set, and refuse one that places models worse than all rows do.

    Parameters
    ----------
    start : FoldStart
        The fit of all rows.
    near : FitOfAllRows
        The same, from which the training set is fitted.
    training : Sample
        The rows with their weights in training.

    Returns
    -------
    weights : list of ndarray
        Those of the rows of each source.
    fit : Fit

    Raises
    ------
    BattlesError
        If its rows leave scores without a limit, or on no common scale.
    """
    _check_placed(start, training)
    weights = [training.weight[rows.rows] for rows in near.sources]
    return weights, near.refitted(weights)


def _check_placed(start: FoldStart, training: Sample) -> None:
    """Refuse rows that leave scores without a limit, or on no common scale."""
    full, wins = start.full, wins_of_votes(training, training.weight)
    if np.array_equal(wins, start.wins) and (
        start.is_placed or not full.chain.is_joint
    ):
        return
    if _is_placed(wins, training):
        return
    if full.chain.is_joint:
        # Without item effects, by which scores that run away would seem to be finite.
        known = full.plugged.fit
        step = known.steps(full.plugged.excluded_judges, is_joint=True)[0]
        sources = [
            replace(rows, weight=training.weight[rows.rows]) for rows in known.sources
        ]
        known = replace(known, sources=sources).fitted([step], NEAR)
        check_identified(known, step, is_shrunk=full.stages.btl.alpha > 0)
        return
    old = ~training.X.is_new
    kept, whole = (components(one > 0, "strong")[old] for one in (wins, start.wins))
    if len(np.unique(kept)) > len(np.unique(whole)):
        loose, before = (part != np.bincount(part).argmax() for part in (kept, whole))
        names = training.X.models[old][loose & ~before].tolist()
        raise BattlesError(
            f"Without the votes held out, the scores of models {names[:5]} have no "
            "limit on one side (they never won, or never lost). Use fewer folds (cv), "
            "add votes on them, or name them in new_models, so that judge rows place "
            "them, too."
        )


def _is_placed(wins: Array, sample: Sample) -> bool:
    """Whether votes alone give all historical models finite scores on one scale."""
    old, context = ~sample.X.is_new, sample.X.items.context
    parts = components(wins > 0, "strong")[old]
    # Models of different contexts never meet.
    return len(np.unique(parts)) == len(np.unique(context[old]))


def _learned_anew(start: FoldStart, training: Sample, seed_offset: int) -> FittedStages:
    """The stages with learners that are fitted to training rows.

    Those whose columns the features fix stay as they are. The others are fitted beside
    the scores of all rows or, where votes alone decide the historical scores, beside
    those of the votes in training.
    """
    stages, plugged, chain = start.full.stages, start.full.plugged, start.full.chain
    btl, scores = copy(plugged.btl), plugged.scores
    if not chain.is_joint:
        btl = clone(stages.btl).fit_sample(training, btl, seed_offset)
        scores = btl.scores_for(training.X.models)
    known = training.with_battles(training.X.with_columns(scores=scores))
    if chain.is_joint and btl.bias_ is not None:
        btl.bias_ = fit_bias(known, scores, btl.bias, btl.bias_, seed_offset)
    calibrator = plugged.calibrator
    if len(known.X.judges):
        calibrator = clone(stages.calibrator)
        calibrator.fit_sample(known, plugged.calibrator, seed_offset)
    found, human = copy(chain.calibrator), copy(chain.btl)
    found.biases_ = {
        judge: before if linearity(before) == "fixed" else calibrator.biases_[judge]
        for judge, before in found.biases_.items()
    }
    if human.bias_ is not None and linearity(human.bias_) != "fixed":
        human.bias_ = btl.bias_
    fit = PipelineFit.of(
        start.sample,
        found,
        human.bias_,
        covariance=start.sample.X.item_covariance,
        alpha=stages.btl.alpha,
    ).with_score_bounds(stages.arrival.score_bounds)
    return replace(chain, btl=human, calibrator=found, fit=fit)


def _weighed(
    start: FoldStart,
    chain: FittedStages,
    fit: Fit,
    sources: Sequence[SourceRows],
    training: Sample,
    seed_offset: int,
) -> tuple[Fit, list[SourceRows], Array]:
    """Fit and rows with the columns of the Riesz weights, and their prior."""
    debiaser, n_rows = start.full.stages.debiaser, len(training)
    assert debiaser is not None
    p = by_row(sources, [fit.probabilities(rows) for rows in sources], n_rows)
    curvature = training.weight * variance_of(p)
    X = training.X.with_columns(scores=fit.scores)
    weighing = Weighing.of(
        training.with_battles(X),
        curvature,
        # Choices that the calibrator has made, of learners and ridges, are taken over.
        chain.calibrator.follow(debiaser.learner),
        chain.btl.bias_,
        debiaser.inner_folds,
        seed_offset,
    )
    offset = by_row(sources, [fit.bias(rows) for rows in sources], n_rows)
    fit = fit.with_spans(weighing.widths)
    biased = start.sample.X.with_columns(biases=offset)
    rows = weighing.rows(start.sample.with_battles(biased))
    return fit, rows, weighing.prior(fit)


def warn_of_fold(weights: RieszWeights, models: np.ndarray) -> None:
    """Warn of a fold that did not converge, or leaves scores open."""
    if not weights.fit.converged:
        warn(
            ConvergenceWarning(
                "The fit did not converge: no finite sensitivities and scores fit "
                "votes and verdicts together. Leave out judges with few rows, or let "
                "votes alone decide the scores with historical_fit='two-step'.",
                code="fold-not-converged",
            )
        )
    elif weights.undetermined.any():
        warn_of_unidentified(models[weights.undetermined])


def influence_by_row(
    weights: RieszWeights, held_out: Sequence[SourceRows], n_rows: int
) -> Array:
    """Influence of rows held out, in the order of a table; zero for other rows."""
    values = [row_influence(weights, one, residuals(weights, one)) for one in held_out]
    return by_row(held_out, values, n_rows)
