"""The stages of the plug-in, unfitted and fitted.

Votes alone decide the historical scores (two steps), or votes and verdicts do so
together (jointly), from a start in two steps. Rows of new models then decide theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._battles import Comparisons, align
from skanchor._crossfit.identification import check_identified
from skanchor._estimators.arrivals import ArrivalScorer
from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._estimators.riesz import RieszDebiaser
from skanchor._estimators.votes import fit_bias
from skanchor._model.fit import PEOPLE
from skanchor._model.logistic import separation_of
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.bias import LinearBias
from skanchor.bias.protocol import linearity
from skanchor.bias.registry import make_learner
from skanchor.exceptions import ConvergenceWarning, WeakJudgeWarning
from skanchor.warning_log import WarningLog, warn

ROUNDS = 2
"""Times that a learner without a span is fitted again on jointly fitted scores."""

RUNAWAY = 2.0
"""Times its sensitivity beside fixed scores, from which one on its bound is taken to
have run there, not to be held back by it."""


@dataclass(frozen=True, slots=True)
class Stages:
    """Unfitted stages; without a debiaser the chain ends in the plug-in.

    ``historical_fit`` is ``"two-step"``, or ``"joint"`` if historical scores are fitted
    to votes and verdicts together. ``widens`` says whether errors are scaled up where
    judges disagree about a new model.
    """

    btl: BTLRegressor
    calibrator: JudgeCalibrator
    arrival: ArrivalScorer
    debiaser: RieszDebiaser | None
    historical_fit: str = "two-step"
    widens: bool = True

    @property
    def reads_sums(self) -> bool:
        """Whether all fits to features are sums over rows: linear in the features.

        Then rows that are equal may be fitted as one. A feature map learns from single
        rows, other learners draw some of them, and a bias of people has errors by row.
        """
        riesz = None if self.debiaser is None else self.debiaser.learner
        linear = _is_linear(self.calibrator.bias) and _is_linear(riesz)
        return self.btl.bias is None and linear

    def is_likelihood(self, X: Comparisons) -> bool:
        """Whether the scores of X are a maximum likelihood fit: of votes alone.

        Votes with a bias of people that is not linear in fixed columns are not: what
        such a learner takes from them needs the correction by rows held out.
        """
        bias = self.btl.bias
        if isinstance(bias, str):
            bias = make_learner(bias)
        return len(X.judges) == 0 and (bias is None or linearity(bias) == "fixed")

    def fits_jointly(self, X: Comparisons) -> bool:
        """Whether votes and verdicts of X are fitted jointly: asked for, and judges."""
        return self.historical_fit == "joint" and len(X.judges) > 0


def _is_linear(bias: Any) -> bool:
    """Whether a bias, as the stages are given it, is linear in the features."""
    if isinstance(bias, Mapping):
        return all(map(_is_linear, bias.values()))
    if type(bias) is LinearBias:
        return bias.feature_map is None
    return bias in (None, "linear", "calibrator")


@dataclass(frozen=True, slots=True)
class FittedStages:
    """Fitted stages, and the rows with all that they learned.

    Attributes
    ----------
    btl, calibrator, arrival : estimators
        Stages 1 to 3.
    X : Comparisons
        The rows.
    fit : PipelineFit
        The stages in one parameter vector.
    is_joint : bool
        Whether votes and verdicts decide the historical scores together.
    excluded_judges : frozenset of labels
        Judges without whose verdicts these scores are fitted, as they separate them.
    two_step : FittedStages or None
        The fit that a joint fit started from, if votes alone gave every score a finite
        value.
    debiaser : RieszDebiaser or None
        Stage 4; None before it is fitted, and where it is left out.
    """

    btl: BTLRegressor
    calibrator: JudgeCalibrator
    arrival: ArrivalScorer
    X: Comparisons
    fit: PipelineFit
    is_joint: bool = False
    excluded_judges: frozenset[Any] = frozenset()
    two_step: FittedStages | None = None
    debiaser: RieszDebiaser | None = None

    @property
    def scores(self) -> Array:
        """Plug-in scores of all models."""
        assert self.X.scores is not None
        return self.X.scores

    @property
    def learners(self) -> list[Any]:
        """Fitted bias learner of each source, people first; None without a bias."""
        judges = self.X.judges.tolist()
        return [self.btl.bias_, *map(self.calibrator.biases_.get, judges)]

    @property
    def is_fixed(self) -> bool:
        """Whether all biases are linear in columns that the features fix."""
        return all(b is None or linearity(b) == "fixed" for b in self.learners)

    @property
    def unbounded(self) -> NDArray[np.bool_]:
        """Models whose score lies at a bound, or has none."""
        btl, arrival = self.btl, self.arrival
        lost = [
            *btl.models_[btl.unbounded_].tolist(),
            *arrival.new_models_[arrival.at_bound_].tolist(),
        ]
        return np.array([model in lost for model in self.X.models.tolist()], dtype=bool)


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
    history = fit_history(stages, sample)
    arrival = clone(stages.arrival)
    arrival.fit_sample(sample.with_battles(history.X), history.fit)
    X = arrival.transform(history.X)
    return replace(history, arrival=arrival, X=X, fit=history.fit.with_new_scores(X))


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
    start, is_finite = _start_jointly(stages, sample)
    # A judge whose verdicts the scores separate has no finite sensitivity. It would fix
    # score differences without error, so it takes no part in the scores.
    excluded = judges_without_sensitivity(start)
    joint = _fit_jointly(stages, start, excluded)
    drifted = judges_without_sensitivity(joint, start.calibrator) - excluded
    if drifted:
        named = sorted(drifted, key=str)
        warn(
            WeakJudgeWarning(
                f"Where judges {named[:5]} help to place the historical models, their "
                "verdicts are separated by the scores, or nearly so: no finite "
                "sensitivity fits them. They are calibrated, but are excluded from the "
                "joint fit of those scores. If intervals are wide, leave them out "
                "(without).",
                code="separated-in-joint-fit",
                subject=named,
            )
        )
        excluded |= drifted
        joint = _fit_jointly(stages, start, excluded)
    # A learner without a span sees only the scores that it is given: it is fitted again
    # on those of the joint fit, in turn with it.
    for _ in range(0 if start.is_fixed else ROUNDS):
        with WarningLog():
            btl, X = copy(joint.btl), joint.X
            if btl.bias_ is not None:
                rows, scores = sample.with_battles(X), joint.scores
                btl.bias_ = fit_bias(rows, scores, btl.bias, btl.bias_)
                X = btl.transform(X).with_columns(scores=scores)
            again = _calibrated(stages, sample, btl, X, joint.calibrator)
        joint = _fit_jointly(stages, again, excluded)
    return replace(joint, two_step=start if is_finite else None)


def _start_jointly(stages: Stages, sample: Sample) -> tuple[FittedStages, bool]:
    """The two-step fit, from which the joint fit starts, and whether it is valid.

    Where votes alone give no finite scores on one scale, it has those of a slight
    ridge, which serve as a start only.
    """
    with WarningLog() as log:
        btl = clone(stages.btl).set_params(disconnected="warn").fit_sample(sample)
        voted = np.isfinite(btl.scores_for(sample.X.models)) | sample.X.is_new
        is_finite = bool(
            btl.connectivity_.is_connected and not btl.unbounded_.any() and voted.all()
        )
        if not is_finite:
            votes = sample.X.is_human & sample.X.is_usable & ~sample.X.involves_new
            btl.set_params(alpha=1.0 / sample.weight[votes].sum())
            btl.fit_sample(sample)
            # What votes lack does not concern the joint fit.
            log.warnings.clear()
        X = btl.transform(sample.X)
        # A model without votes starts at zero, in the middle.
        X = X.with_columns(scores=np.where(voted, X.scores, 0.0))
        start = _calibrated(stages, sample, btl, X)
    for warning in log.warnings:
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
    calibrator = clone(stages.calibrator).fit_sample(sample.with_battles(X), near)
    X = calibrator.transform(X)
    fit = PipelineFit.of(
        sample.with_battles(X),
        calibrator,
        btl.bias_,
        alpha=stages.btl.alpha,
        score_bounds=stages.arrival.score_bounds,
    )
    return FittedStages(btl, calibrator, clone(stages.arrival), X, fit)


def _fit_jointly(
    stages: Stages, start: FittedStages, excluded_judges: frozenset[Any]
) -> FittedStages:
    """Minimise the loss of all historical rows, from a fit of the history.

    The loss of votes and verdicts is not convex in scores, sensitivities, position
    effects and coefficients of spans together, but it only falls from where the fit
    starts. What of learners is not linear in coefficients is held fixed.
    """
    start_fit = start.fit
    first, *others = start_fit.steps(excluded_judges, is_joint=True)[:-1]
    fit = start_fit.fitted([first])
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


def judges_without_sensitivity(
    history: FittedStages, before: JudgeCalibrator | None = None
) -> frozenset[Any]:
    """Judges on a bound of the sensitivity whose verdicts fix no finite one.

    Parameters
    ----------
    history : FittedStages
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
    fit, separated = history.fit.fit, set()
    slopes, judges = history.calibrator.sensitivities_, history.X.judges.tolist()
    limits = history.calibrator.sensitivity_bounds
    for rows in history.fit.sources:
        if rows.is_new or rows.source == PEOPLE:
            continue
        judge = judges[rows.source - 1]
        if slopes[judge] not in limits:
            continue
        slope = abs(slopes[judge])
        if before is not None and slope > 0.0:
            if slope >= RUNAWAY * abs(before.sensitivities_[judge]):
                separated.add(judge)
                continue
        columns = [rows.differences(fit.scores)[:, None], rows.span]
        if fit.layout.positions[rows.source]:
            columns.append(rows.order[:, None])
        if 0 in separation_of(np.hstack(columns), rows.y).columns:
            separated.add(judge)
    return frozenset(separated)
