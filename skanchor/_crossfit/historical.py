"""The fit of the historical rows, in two steps or of votes and verdicts together."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from skanchor._battles import Comparisons, align
from skanchor._crossfit.identification import Placement
from skanchor._crossfit.stages import FittedStages, Stages
from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.human_bias import fit_bias
from skanchor._estimators.judges import JudgeCalibrator, NoJudges
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._model.fit import Fit
from skanchor._model.graph import components, pair_sums
from skanchor._model.layout import PEOPLE
from skanchor._model.logistic import fit_logistic
from skanchor._model.separation import separation_of
from skanchor._sample.sample import Sample
from skanchor.bias.protocol import linearity
from skanchor.exceptions import BattlesError, ConvergenceWarning, WeakJudgeWarning
from skanchor.warning_log import WarningLog, warn

ROUNDS = 2
"""Times that a learner without a span is fitted again on jointly fitted scores."""

FARTHEST = 5.0
"""Factor by which the scale of the scores may move before the fit."""

EXACT, NEAR = 1e-10, 1e-6
"""Squared Newton decrement, in squared standard errors, of the last step: of the fit of
all rows, and of a training set that is only checked."""

RUNAWAY = 2.0
"""Times its sensitivity beside fixed scores, from which one on its bound is taken to
have run there, not to be held back by it."""


def fit_history(stages: Stages, sample: Sample) -> FittedStages:
    """Fit what the historical rows alone decide.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    sample : Sample
        Rows whose roles are decided; weights of zero leave rows out.

    Returns
    -------
    FittedStages
        It does not depend on rows of new models.
    """
    if not stages.fits_jointly(sample.X):
        btl = clone(stages.btl).fit_sample(sample)
        return _calibrated(stages, sample, btl, btl.transform(sample.X))
    first, is_finite = _start_jointly(stages, sample)
    found = _fit_in_turns(stages, sample, first)
    return replace(found, two_step=first if is_finite else None)


def votes_identify(sample: Sample) -> bool:
    """Whether votes alone give all historical models finite scores on one scale."""
    X = sample.X
    votes = X.by_judge(PEOPLE - 1)
    weight = np.where(X.is_usable & ~X.involves_new, sample.weight, 0.0)[votes.rows]
    y = np.where(weight > 0, sample.y[votes.rows], 0.0)
    wins, losses = (
        pair_sums(votes.left, votes.right, weight * won, len(X.models))
        for won in (y, 1.0 - y)
    )
    old, context = ~X.is_new, X.items.context
    parts = components((wins + losses.T)[np.ix_(old, old)] > 0, "strong")
    # Models of different contexts never meet.
    return len(np.unique(parts)) == len(np.unique(context[old]))


def _start_jointly(stages: Stages, sample: Sample) -> tuple[FittedStages, bool]:
    """The two-step fit, from which the joint fit starts, and whether it is valid.

    Where votes alone give no finite scores on one scale, it has those of a slight
    ridge, which serve as a start only.
    """
    with WarningLog() as of_votes:
        btl = clone(stages.btl).set_params(disconnected="warn").fit_sample(sample)
        voted = np.isfinite(btl.scores_for(sample.X.models)) | sample.X.is_new
        is_finite = (
            btl.connectivity_.is_connected
            and not btl.unbounded_.any()
            and bool(voted.all())
        )
        if not is_finite:
            votes = sample.X.is_human & sample.X.is_usable & ~sample.X.involves_new
            btl.set_params(alpha=1.0 / sample.weight[votes].sum())
            btl.fit_sample(sample)
    with WarningLog() as of_judges:
        X = btl.transform(sample.X)
        # A model without votes starts at zero, in the middle.
        X = X.with_columns(scores=np.where(voted, X.scores, 0.0))
        start = _calibrated(stages, sample, btl, X)
    warnings = [*of_votes.found, *of_judges.found]
    if not is_finite:
        # Warnings of votes that give no finite scores do not concern the joint fit, nor
        # do weak sensitivities against the scores of a ridge.
        warnings = [w for w in of_judges.found if not isinstance(w, WeakJudgeWarning)]
    for found in warnings:
        warn(found)
    return start, is_finite


def _calibrated(
    stages: Stages,
    sample: Sample,
    btl: BTLRegressor,
    X: Comparisons,
    near: JudgeCalibrator | None = None,
) -> FittedStages:
    """Calibrate the judges against the scores that the rows carry."""
    calibrator = clone(stages.calibrator) if len(X.judges) else NoJudges()
    calibrator.fit_sample(sample.with_battles(X), near)
    X, alpha = calibrator.transform(X), stages.btl.alpha
    fit = PipelineFit.of(sample.with_battles(X), calibrator, btl.bias_, alpha=alpha)
    return FittedStages(btl, calibrator, clone(stages.arrival), X, fit)


def _fit_in_turns(stages: Stages, sample: Sample, start: FittedStages) -> FittedStages:
    """Fit scores and judges together, from a two-step fit.

    A learner without a span sees only the scores that it is given: it is fitted again
    on those of the joint fit, in turn with it.
    """
    # A judge whose verdicts the scores separate has no finite sensitivity. It would fix
    # score differences without error, so it takes no part in the scores.
    excluded_judges = separated_judges(start)
    found = _step_jointly(stages, start, excluded_judges)
    # Judges that the joint scores separate, or whose sensitivity ran away, follow.
    drifted = separated_judges(found)
    drifted |= runaway_judges(start.calibrator, found.calibrator)
    drifted -= excluded_judges
    if drifted:
        warn(_of_drift(drifted))
        excluded_judges |= drifted
        found = _step_jointly(stages, start, excluded_judges)
    if all(one is None or linearity(one) == "fixed" for one in start.learners):
        return found
    # Flexible learners and scores in turn: the learners see the latest joint scores.
    for _ in range(ROUNDS):
        with WarningLog():
            btl, X = _refit_bias(sample, found.btl, found.X)
            again = _calibrated(stages, sample, btl, X, found.calibrator)
        found = _step_jointly(stages, again, excluded_judges)
    return found


def _of_drift(judges: Collection[Any]) -> WeakJudgeWarning:
    """Warn of judges that would measure scores without error."""
    named = sorted(judges, key=str)[:5]
    return WeakJudgeWarning(
        f"Where judges {named} help to place the historical models, their verdicts "
        "are separated by the scores, or nearly so: no finite sensitivity fits them. "
        "They are calibrated, but are excluded from the joint fit of those scores. "
        f"If intervals are wide, leave them out: without={named}.",
        code="separated-in-joint-fit",
        subject=sorted(judges, key=str),
    )


def _refit_bias(
    sample: Sample, btl: BTLRegressor, X: Comparisons
) -> tuple[BTLRegressor, Comparisons]:
    """Fit people's bias, where they have one, to the scores that the rows carry."""
    if btl.bias_ is None:
        return btl, X
    assert X.scores is not None
    known = sample.with_battles(X)
    btl = copy(btl)
    btl.bias_ = fit_bias(known, X.scores, btl.bias, btl.bias_)
    return btl, btl.transform(X).with_columns(scores=X.scores)


def _step_jointly(
    stages: Stages, start: FittedStages, excluded_judges: frozenset[Any]
) -> FittedStages:
    """Minimise the joint loss, from a fit of the history."""
    fit = fit_jointly(start.fit, stages.btl.alpha, excluded_judges)
    X, before, btl = fit.annotate(start.X), start.scores, copy(start.btl)
    assert X.scores is not None
    # New scores stay what they are.
    X = X.with_columns(scores=np.where(X.is_new, before, X.scores))
    scores = align(X.scores, X.models, btl.models_)
    btl.scores_ = pd.Series(scores, index=btl.scores_.index, name="score")
    btl.unbounded_, btl.bias_ = np.abs(scores) >= btl.score_bound, fit.voters()
    return replace(
        start,
        btl=btl,
        calibrator=fit.calibrated(),
        X=X,
        fit=fit,
        is_joint=True,
        excluded_judges=excluded_judges,
    )


def fit_jointly(
    start: PipelineFit,
    alpha: float,
    excluded_judges: Collection[Any],
    tolerance: float = EXACT,
) -> PipelineFit:
    """Fit historical scores and judges together.

    Minimises the loss of all rows without a new model, of votes and verdicts, over
    scores, sensitivities, position effects and linear bias coefficients. The loss is
    not convex, but it only falls from where the fit starts.

    Parameters
    ----------
    start : PipelineFit
        Where to start. What of learners is linear in coefficients (the span, or the
        last stage) is fitted again; the rest is held fixed.
    alpha : float
        Its ridge of the scores, as in :class:`skanchor.BTLRegressor`.
    excluded_judges : collection of labels
        Judges that are excluded from the scores: without a finite sensitivity they
        would measure scores without error. They are calibrated to the scores that the
        others determine.

    Returns
    -------
    PipelineFit
        With the historical scores and the parameters of judges.

    Raises
    ------
    DisconnectedError
        If votes and verdicts together do not place all models on one scale.
    """
    excluded = start.codes(excluded_judges)
    first, *others = start.steps(excluded_judges, is_joint=True)[:-1]
    found = start.moved(_rescaled(start, excluded)).fitted([first], tolerance)
    if not found.fit.converged:
        warn(
            ConvergenceWarning(
                "The joint fit of the history did not converge.",
                code="history-not-converged",
            )
        )
    Placement.of(found, first).check(alpha > 0)
    return found.fitted(others, tolerance) if others else found


def _rescaled(known: PipelineFit, excluded: Collection[int]) -> Fit:
    """Move scores and sensitivities along the curve that judges cannot see.

    Verdicts know scores only times sensitivities, so that people alone decide the
    scale. Along its curve the loss of verdicts is flat, and straight steps are short.
    """
    fit, layout = known.fit, known.layout
    votes = [
        rows for rows in known.sources if rows.source == PEOPLE and not rows.is_new
    ]
    x = fit.x.copy()
    for rows in votes:
        delta = rows.differences(fit.scores)
        scale = fit_logistic(
            delta[:, None],
            rows.y,
            rows.weight,
            offset=fit.logits(rows) - delta,
            lower=np.array([1.0 / FARTHEST]),
            upper=np.array([FARTHEST]),
            start=np.ones(1),
        ).coef[0]
        x[layout.scores] *= scale
        # Excluded judges keep their sensitivity.
        moved = np.ones(layout.n_sources, dtype=bool)
        moved[[PEOPLE, *excluded]] = False
        x[layout.sensitivities][moved] /= scale
    return fit.moved(x)


def _judges_on_a_bound(calibrator: JudgeCalibrator) -> frozenset[Any]:
    known = calibrator.sensitivities_
    at_bound = np.isin(known.to_numpy(np.float64), calibrator.sensitivity_bounds)
    return frozenset(known.index[at_bound]) if at_bound.any() else frozenset()


def runaway_judges(before: JudgeCalibrator, after: JudgeCalibrator) -> frozenset[Any]:
    """Judges whose sensitivity runs to its bound once scores bend to their verdicts.

    Where few verdicts speak against a judge, scores that make these models equal leave
    it without error: the larger its sensitivity, the smaller the differences that this
    takes.

    Parameters
    ----------
    before, after : JudgeCalibrator
        Fitted beside the scores of people's votes, and together with the scores.

    Returns
    -------
    frozenset of labels
    """
    at_bound = _judges_on_a_bound(after)
    if not at_bound:
        return at_bound
    was, known = before.sensitivities_, after.sensitivities_
    far = known.abs() >= RUNAWAY * was.reindex(known.index).abs()
    return at_bound.intersection(known.index[far & (known != 0.0)])


def separated_judges(known: FittedStages) -> frozenset[Any]:
    """Judges whose historical verdicts the score difference helps to separate.

    Only a judge whose sensitivity lies on its bound may be one.
    """
    at_bound = _judges_on_a_bound(known.calibrator)
    fit, judges, found = known.fit.fit, known.X.judges.tolist(), []
    for rows in known.fit.sources:
        if rows.is_new or rows.source == PEOPLE:
            continue
        judge = judges[rows.source - 1]
        if judge not in at_bound:
            continue
        columns = [rows.differences(fit.scores)[:, None], rows.span]
        if fit.layout.positions[rows.source]:
            columns.append(rows.order[:, None])
        if 0 in separation_of(np.hstack(columns), rows.y).columns:
            found.append(judge)
    return frozenset(found)


def check_training_set(stages: Stages, full: FittedStages, training: Sample) -> None:
    """Refuse a training set that places models worse than all rows do.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    full : FittedStages
        Fitted to all rows.
    training : Sample
        The rows with their weights in training.

    Raises
    ------
    BattlesError
        If its rows leave scores without a limit, or on no common scale.
    """
    if votes_identify(training):
        return
    if full.is_joint:
        X = full.calibrator.transform(full.btl.transform(training.X))
        X = X.with_columns(
            scores=np.where(X.is_new, np.nan, full.scores),
            deviations=None,
            item_covariance=None,
        )
        rows, alpha = training.with_battles(X), stages.btl.alpha
        known = PipelineFit.of(rows, full.calibrator, full.btl.bias_, alpha=alpha)
        fit_jointly(known, alpha, full.excluded_judges, NEAR)
        return
    btl, whole = clone(stages.btl).fit_sample(training, full.btl), full.btl
    advice = (
        "Use fewer folds (cv), add votes on them, or name them in new_models, so that "
        "judge rows place them, too."
    )
    absent = [m for m in whole.models_.tolist() if m not in set(btl.models_.tolist())]
    if absent:
        raise BattlesError(
            f"The training set keeps no human row of models {absent[:5]}. {advice}"
        )
    loose = set(btl.models_[btl.unbounded_].tolist())
    loose -= set(whole.models_[whole.unbounded_].tolist())
    if loose:
        raise BattlesError(
            "Without the votes held out, the scores of models "
            f"{sorted(loose, key=str)[:5]} have no limit on one side (they never won, "
            f"or never lost). {advice}"
        )
