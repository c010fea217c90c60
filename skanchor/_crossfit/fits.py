"""The fit of all rows, and that of each fold, which starts there.

A fold fits its training rows, solves for weights, and sums up the influence of the rows
held out. Learners that are linear in columns which the features fix keep these columns,
and the folds start from the fit of all rows. Others are fitted anew to the training
rows. What of them is linear in its coefficients is then fitted together with all else,
and the rest is part of the offset of each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from skanchor._crossfit.folds import FoldPlan, rows_held_out, training_set
from skanchor._crossfit.identification import check_identified
from skanchor._crossfit.stages import FittedStages, Stages
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._estimators.riesz import RieszDebiaser, warn_of_unidentified
from skanchor._estimators.votes import fit_bias
from skanchor._model.fit import Fit
from skanchor._model.item_effects import ItemCovariance
from skanchor._model.newton import FitOfAllRows, grams_of
from skanchor._model.riesz import (
    Influence,
    Information,
    RieszWeights,
    influence_of,
    residuals,
    row_influence,
)
from skanchor._model.sources import SourceRows, variance_of
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import by_row
from skanchor._typing import Array
from skanchor.bias.protocol import linearity
from skanchor.bias.registry import learner_for
from skanchor.exceptions import ConvergenceWarning, SkanchorWarning, located
from skanchor.warning_log import WarningLog, warn

NEAR = 1e-6
"""Squared Newton decrement, in squared standard errors, of the last step of a fit to a
training set that is only checked."""


# ------------------------------------------------------------------ all rows
@dataclass(frozen=True)
class FullFit:
    """The fit of all rows.

    Attributes
    ----------
    stages : Stages
        Unfitted.
    sample : Sample
        Rows whose roles are decided.
    plugged : FittedStages
        The plug-in, without item effects and Riesz weights.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.
    chain : FittedStages
        The plug-in with both.
    """

    stages: Stages
    sample: Sample
    plugged: FittedStages
    items: ItemCovariance | None
    chain: FittedStages

    @classmethod
    def of(
        cls,
        stages: Stages,
        sample: Sample,
        plugged: FittedStages,
        items: ItemCovariance | None,
    ) -> FullFit:
        """Add the item effects and the Riesz weights to the plug-in."""
        chain = plugged
        if items is not None:
            chain = with_item_effects(chain, items)
        if stages.debiaser is not None:
            debiaser = _debiaser_of(stages, chain)
            _warn_of_narrow_weights(chain.calibrator, debiaser.learner)
            debiaser.fit_sample(sample.with_battles(chain.X), chain.fit)
            chain = replace(chain, debiaser=debiaser)
        return cls(stages, sample, plugged, items, chain)

    @property
    def has_shared_columns(self) -> bool:
        """Whether biases are linear in fixed columns, and so are the Riesz weights."""
        debiaser, chain = self.chain.debiaser, self.chain
        return (
            chain.is_fixed
            and debiaser is not None
            and debiaser.weighing_.are_biases(chain.learners)
        )

    def start(self) -> FitOfAllRows:
        """Where folds start whose learners are not fitted anew."""
        start = self.start_of(self.chain)
        start = FitOfAllRows.of(start.fit, start.steps, start.sources, start.bounds)
        if self.has_shared_columns and self.chain.debiaser is not None:
            start = replace(start, prior=self.chain.debiaser.solution_.prior)
        return start

    def start_of(self, chain: FittedStages) -> FitOfAllRows:
        """The steps by which a fold is fitted, from fitted stages."""
        plug_in = chain.fit
        steps = plug_in.steps(
            chain.excluded_judges,
            is_joint=chain.is_joint,
            is_unweighted=self.stages.arrival.equation == "unweighted",
        )
        fit, rows = plug_in.fit, plug_in.sources
        return FitOfAllRows(fit, steps, rows, plug_in.bounds, fit.precision)


def with_item_effects(plugged: FittedStages, items: ItemCovariance) -> FittedStages:
    """Fit item effects together with the judges and the new scores.

    Historical rows decide the parameters of the judges and the effects of historical
    models, with the scores fixed unless the history is fitted jointly. Rows of new
    models then decide their scores and effects. What of learners is linear in
    coefficients is fitted again; the rest is held fixed.
    """
    start = plugged.fit.with_item_effects(items.covariance)
    steps = start.steps(plugged.excluded_judges, is_joint=plugged.is_joint)
    # In two steps, votes have decided the scores already.
    fit = start.fitted(steps if plugged.is_joint else steps[1:])
    if not fit.fit.converged:
        warn(
            ConvergenceWarning(
                "The fit of the item effects did not converge.",
                code="item-effects-not-converged",
            )
        )
    X, btl = fit.annotate(plugged.X), copy(plugged.btl)
    X = X.with_columns(item_covariance=items.covariance)
    btl.bias_ = fit.voters()
    return replace(plugged, btl=btl, calibrator=fit.calibrated(), X=X, fit=fit)


def _debiaser_of(stages: Stages, chain: FittedStages) -> RieszDebiaser:
    """Unfitted debiaser, with the choices of learners and ridges that stages made."""
    debiaser: RieszDebiaser = clone(stages.debiaser)
    debiaser.learner = chain.calibrator.follow(debiaser.learner)
    return debiaser.set_params(human_bias=chain.btl.bias_)


def _warn_of_narrow_weights(calibrator: JudgeCalibrator, learner: Any) -> None:
    """Warn where the bias may curve and the weights' functions may not."""
    narrow = [
        judge
        for judge, bias in calibrator.biases_.items()
        if linearity(bias) != "fixed"
        and linearity(learner_for(learner, judge)) == "fixed"
    ]
    if narrow:
        warn(
            SkanchorWarning(
                f"The bias of judges {narrow[:5]} has a flexible learner, but the "
                "Riesz weights have one that is linear in fixed columns: the "
                "correction then misses the part of the bias that is not linear, and "
                "intervals may be too short. Set the debiaser's learner to "
                "'calibrator', or leave debiaser at None.",
                code="narrow-weights",
                subject=narrow,
            )
        )


# -------------------------------------------------------------------- a fold
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


def fit_fold(
    full: FullFit,
    start: FitOfAllRows | None,
    plan: FoldPlan,
    number: int,
    scales: Array,
    is_placed: bool,
    seed_offset: int,
) -> FoldResult:
    """Fit the training rows of a fold, and sum up the influence of those held out.

    Parameters
    ----------
    full : FullFit
        The fit of all rows.
    start : FitOfAllRows or None
        Where folds start; None where learners are fitted anew.
    plan : FoldPlan
        Folds of the repeat.
    number : int
        Number of the fold there.
    scales : ndarray of shape (n_sources + 1,)
        As in :func:`skanchor._crossfit.folds.training_set`.
    is_placed : bool
        Whether votes in training alone place all historical models.
    seed_offset : int
        Its number among all folds, by which learners have another seed in each, and the
        cross-fit averages them.

    Returns
    -------
    FoldResult
    """
    chain, share = full.chain, plan.held_out(number)
    with located(f"Fold {number}"), WarningLog() as log:
        training = training_set(full.sample.with_battles(chain.X), share, scales)
        if not is_placed:
            check_placed(full, training)
        if start is None:
            chain = _learned_anew(full, training, seed_offset)
            start = full.start_of(chain)
        weights = [training.weight[rows.rows] for rows in start.sources]
        fit, sources, prior = start.refitted(weights).fit, start.sources, start.prior
        if not full.has_shared_columns:
            fit, sources, prior = _weighed(
                full, chain, fit, sources, training, seed_offset
            )
        grams = grams_of(fit, sources, weights)
        riesz = Information.of(fit, grams, prior).weights
        warn_of_fold(riesz, training.X.models)
    held_out, values = rows_held_out(sources, share), None
    if not full.has_shared_columns:
        values = influence_by_row(riesz, held_out, len(training))[share > 0]
    raters = training.raters
    n_raters = 0 if raters is None else int(raters.max(initial=-1)) + 1
    return FoldResult(
        fit.layout.targets.T @ fit.x,
        riesz,
        influence_of(riesz, held_out, n_raters),
        riesz.expected_parts(grams),
        values,
        log.warnings,
    )


def check_placed(full: FullFit, training: Sample) -> None:
    """Refuse training rows of a joint fit that put models on no common scale.

    Where votes alone have to do that, the folds have been checked before. It is for
    training sets whose votes alone do not place all historical models.
    """
    plugged = full.plugged
    if not plugged.is_joint:
        return
    # Without item effects, by which scores that run away would seem to be finite.
    step = plugged.fit.steps(plugged.excluded_judges, is_joint=True)[0]
    sources = [
        replace(rows, weight=training.weight[rows.rows]) for rows in plugged.fit.sources
    ]
    plug_in = replace(plugged.fit, sources=sources).fitted([step], NEAR)
    check_identified(plug_in, step, is_shrunk=full.stages.btl.alpha > 0)


def _learned_anew(full: FullFit, training: Sample, seed_offset: int) -> FittedStages:
    """The stages with learners that are fitted to training rows.

    Those whose columns the features fix stay as they are. The others are fitted beside
    the scores of all rows or, where votes alone decide the historical scores, beside
    those of the votes in training.
    """
    stages, plugged, chain = full.stages, full.plugged, full.chain
    btl, scores = copy(plugged.btl), plugged.scores
    if not chain.is_joint:
        btl = clone(stages.btl).fit_sample(training, btl, seed_offset)
        scores = btl.scores_for(training.X.models)
    training_rows = training.with_battles(training.X.with_columns(scores=scores))
    if chain.is_joint and btl.bias_ is not None:
        btl.bias_ = fit_bias(training_rows, scores, btl.bias, btl.bias_, seed_offset)
    calibrator = plugged.calibrator
    if len(training_rows.X.judges):
        calibrator = clone(stages.calibrator)
        calibrator.fit_sample(training_rows, plugged.calibrator, seed_offset)
    new_calibrator, human = copy(chain.calibrator), copy(chain.btl)
    new_calibrator.biases_ = {
        judge: before if linearity(before) == "fixed" else calibrator.biases_[judge]
        for judge, before in new_calibrator.biases_.items()
    }
    if human.bias_ is not None and linearity(human.bias_) != "fixed":
        human.bias_ = btl.bias_
    fit = PipelineFit.of(
        full.sample.with_battles(chain.X),
        new_calibrator,
        human.bias_,
        covariance=chain.X.item_covariance,
        alpha=stages.btl.alpha,
        score_bounds=stages.arrival.score_bounds,
    )
    return replace(chain, btl=human, calibrator=new_calibrator, fit=fit)


def _weighed(
    full: FullFit,
    chain: FittedStages,
    fit: Fit,
    sources: Sequence[SourceRows],
    training: Sample,
    seed_offset: int,
) -> tuple[Fit, list[SourceRows], Array]:
    """Fit and rows with the columns of the Riesz weights, and their prior."""
    debiaser, n_rows = _debiaser_of(full.stages, chain), len(training)
    p = by_row(sources, [fit.probabilities(rows) for rows in sources], n_rows)
    offset = by_row(sources, [fit.bias(rows) for rows in sources], n_rows)
    curvature = training.weight * variance_of(p)
    X = training.X.with_columns(scores=fit.scores)
    training_rows = training.with_battles(X)
    weighing = debiaser.weighing(training_rows, curvature, seed_offset)
    fit = fit.with_spans(weighing.widths)
    biased = full.chain.X.with_columns(biases=offset)
    rows = weighing.rows(full.sample.with_battles(biased))
    return fit, rows, weighing.prior(fit)


def warn_of_fold(weights: RieszWeights, models: np.ndarray) -> None:
    """Warn of a fold that did not converge, or leaves scores open."""
    if not weights.fit.converged:
        warn(
            ConvergenceWarning(
                "The fit did not converge: no finite sensitivities and scores fit "
                "votes and verdicts together. Leave out judges with few rows, or let "
                "votes alone decide the scores (set historical_fit to two-step).",
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
