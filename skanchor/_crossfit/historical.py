"""The plug-in: the fit of the historical rows, in two steps or jointly, then of others.

Jointly, votes and verdicts decide scores and judges together. The fit starts from the
one in two steps.
"""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from skanchor._battles import Comparisons, align
from skanchor._crossfit.identification import check_identified
from skanchor._crossfit.stages import FittedStages, Stages
from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.human_bias import fit_bias
from skanchor._estimators.judges import JudgeCalibrator, NoJudges
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._model.fit import Fit
from skanchor._model.layout import PEOPLE
from skanchor._model.logistic import fit_logistic, separation_of
from skanchor._sample.sample import Sample
from skanchor.bias.protocol import linearity
from skanchor.exceptions import ConvergenceWarning, WeakJudgeWarning
from skanchor.warning_log import WarningLog, warn

ROUNDS = 2
"""Times that a learner without a span is fitted again on jointly fitted scores."""

FARTHEST = 5.0
"""Factor by which the scale of the scores may move before the fit."""

RUNAWAY = 2.0
"""Times its sensitivity beside fixed scores, from which one on its bound is taken to
have run there, not to be held back by it."""


def fit_stages(stages: Stages, sample: Sample) -> FittedStages:
    """Fit the stages of the plug-in, each on what the earlier ones have learned.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    sample : Sample
        Rows whose roles are decided; weights of zero leave rows out.

    Returns
    -------
    FittedStages
        Without Riesz weights.
    """
    known = fit_history(stages, sample)
    arrival = clone(stages.arrival)
    arrival.fit_sample(sample.with_battles(known.X), known.fit)
    X = arrival.transform(known.X)
    return replace(known, arrival=arrival, X=X, fit=known.fit.with_new_scores(X))


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


def _start_jointly(stages: Stages, sample: Sample) -> tuple[FittedStages, bool]:
    """The two-step fit, from which the joint fit starts, and whether it is valid.

    Where votes alone give no finite scores on one scale, it has those of a slight
    ridge, which serve as a start only.
    """
    with WarningLog() as log:
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
            # What votes lack does not concern the joint fit.
            log.found.clear()
        X = btl.transform(sample.X)
        # A model without votes starts at zero, in the middle.
        X = X.with_columns(scores=np.where(voted, X.scores, 0.0))
        start = _calibrated(stages, sample, btl, X)
    for warning in log.found:
        # Nor do weak sensitivities against the scores of a ridge.
        if is_finite or not isinstance(warning, WeakJudgeWarning):
            warn(warning)
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
    excluded = judges_without_sensitivity(start)
    found = _fit_jointly(stages, start, excluded)
    drifted = judges_without_sensitivity(found, start.calibrator) - excluded
    if drifted:
        named = sorted(drifted, key=str)
        warn(
            WeakJudgeWarning(
                f"Where judges {named[:5]} help to place the historical models, their "
                "verdicts are separated by the scores, or nearly so: no finite "
                "sensitivity fits them. They are calibrated, but are excluded from the "
                "joint fit of those scores. If intervals are wide, leave them out: "
                f"without={named[:5]}.",
                code="separated-in-joint-fit",
                subject=named,
            )
        )
        excluded |= drifted
        found = _fit_jointly(stages, start, excluded)
    if all(one is None or linearity(one) == "fixed" for one in start.learners):
        return found
    for _ in range(ROUNDS):
        with WarningLog():
            btl, X = copy(found.btl), found.X
            if btl.bias_ is not None:
                known, scores = sample.with_battles(X), found.scores
                btl.bias_ = fit_bias(known, scores, btl.bias, btl.bias_)
                X = btl.transform(X).with_columns(scores=scores)
            again = _calibrated(stages, sample, btl, X, found.calibrator)
        found = _fit_jointly(stages, again, excluded)
    return found


def _fit_jointly(
    stages: Stages, start: FittedStages, excluded_judges: frozenset[Any]
) -> FittedStages:
    """Minimise the loss of all historical rows, from a fit of the history.

    The loss of votes and verdicts is not convex in scores, sensitivities, position
    effects and coefficients of spans together, but it only falls from where the fit
    starts. What of learners is not linear in coefficients is held fixed.
    """
    known = start.fit
    excluded = known.codes(excluded_judges)
    first, *others = known.steps(excluded_judges, is_joint=True)[:-1]
    fit = known.moved(_rescaled(known, excluded)).fitted([first])
    if not fit.fit.converged:
        warn(
            ConvergenceWarning(
                "The joint fit of the history did not converge.",
                code="history-not-converged",
            )
        )
    check_identified(fit, first, is_shrunk=stages.btl.alpha > 0)
    fit = fit.fitted(others) if others else fit
    X, btl = fit.annotate(start.X), copy(start.btl)
    assert X.scores is not None
    # New scores stay what they are.
    X = X.with_columns(scores=np.where(X.is_new, start.scores, X.scores))
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


def _rescaled(known: PipelineFit, excluded: Collection[int]) -> Fit:
    """Move scores and sensitivities along the curve that judges cannot see.

    Verdicts know scores only times sensitivities, so that people alone decide the
    scale. Along its curve the loss of verdicts is flat, and straight steps are short.
    """
    fit, layout = known.fit, known.layout
    x = fit.x.copy()
    for rows in known.sources:
        if rows.source != PEOPLE or rows.is_new:
            continue
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


def judges_without_sensitivity(
    known: FittedStages, before: JudgeCalibrator | None = None
) -> frozenset[Any]:
    """Judges on a bound of the sensitivity whose verdicts fix no finite one.

    Parameters
    ----------
    known : FittedStages
        Fit of the history.
    before : JudgeCalibrator, optional
        Fitted beside the scores of people's votes. Where few verdicts speak against a
        judge, scores that make these models equal leave it without error: the larger
        its sensitivity, the smaller the differences that this takes. One that grew by
        so much since has run away.

    Returns
    -------
    frozenset of labels
        The score difference helps to separate their verdicts, or they have run away.
    """
    fit, found = known.fit.fit, set()
    slopes, judges = known.calibrator.sensitivities_, known.X.judges.tolist()
    limits = known.calibrator.sensitivity_bounds
    for rows in known.fit.sources:
        judge = judges[rows.source - 1] if rows.source != PEOPLE else None
        if rows.is_new or judge is None or slopes[judge] not in limits:
            continue
        slope = abs(slopes[judge])
        if before is not None and slope > 0.0:
            if slope >= RUNAWAY * abs(before.sensitivities_[judge]):
                found.add(judge)
                continue
        columns = [rows.differences(fit.scores)[:, None], rows.span]
        if fit.layout.positions[rows.source]:
            columns.append(rows.order[:, None])
        if 0 in separation_of(np.hstack(columns), rows.y).columns:
            found.add(judge)
    return frozenset(found)
