"""The four stages: unfitted with their settings, and fitted with their rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._battles import Comparisons
from skanchor._estimators.arrivals import ArrivalScorer
from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._estimators.riesz import RieszDebiaser
from skanchor._model.item_effects import ItemCovariance
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.bias import LinearBias
from skanchor.bias.protocol import linearity
from skanchor.bias.registry import learner_for, make_learner
from skanchor.exceptions import ConvergenceWarning, SkanchorWarning
from skanchor.warning_log import warn


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
        is_linear = bias is None or linearity(bias) == "fixed"
        return is_linear and len(X.judges) == 0

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
    def unbounded(self) -> NDArray[np.bool_]:
        """Models whose score lies at a bound, or has none."""
        btl, arrival = self.btl, self.arrival
        lost = [
            *btl.models_[btl.unbounded_].tolist(),
            *arrival.new_models_[arrival.at_bound_].tolist(),
        ]
        return np.array([model in lost for model in self.X.models.tolist()], dtype=bool)


@dataclass(frozen=True, slots=True)
class FullFit:
    """The fit of all rows, which every fold starts from.

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
        X, calibrator, debiaser = plugged.X, plugged.calibrator, None
        btl = copy(plugged.btl)
        fit = plugged.fit.with_score_bounds(stages.arrival.score_bounds)
        if items is not None:
            fit = fit_item_effects(
                fit.with_item_effects(items.covariance),
                is_joint=plugged.is_joint,
                excluded_judges=plugged.excluded_judges,
            )
            X = fit.annotate(X).with_columns(item_covariance=items.covariance)
            if fit.has_history:
                calibrator = fit.calibrated()
            btl.bias_ = fit.voters()
        if stages.debiaser is not None:
            debiaser = clone(stages.debiaser)
            # Choices that the calibrator has made, of learners and ridges, are taken
            # over.
            debiaser.learner = calibrator.follow(debiaser.learner)
            debiaser.set_params(human_bias=btl.bias_)
            _warn_of_narrow_weights(calibrator, debiaser)
            debiaser.fit_sample(sample.with_battles(X), fit)
        chain = replace(
            plugged, btl=btl, calibrator=calibrator, X=X, debiaser=debiaser, fit=fit
        )
        return cls(stages, sample, plugged, items, chain)


def fit_item_effects(
    start: PipelineFit, *, is_joint: bool, excluded_judges: Collection[Any] = ()
) -> PipelineFit:
    """Fit the item effects together with the judges and the new scores.

    Historical rows decide the parameters of the judges and the effects of historical
    models, with the scores fixed unless the history is fitted jointly. Rows of new
    models then decide their scores and effects. Without historical rows, the parameters
    of the history stay as they are.

    Parameters
    ----------
    start : PipelineFit
        The plug-in, with the prior of the item effects. What of its learners is linear
        in coefficients is fitted again; the rest is held fixed.
    is_joint : bool
        Whether votes and verdicts decide the scores of historical models together.
    excluded_judges : collection of labels
        Judges excluded from these scores. They are calibrated to the scores that the
        others determine.

    Returns
    -------
    PipelineFit
    """
    steps = start.steps(excluded_judges, is_joint=is_joint)
    if not start.has_history:
        steps = steps[-1:]
    elif not is_joint:
        # Votes have decided the scores already.
        steps = steps[1:]
    found = start.fitted(steps)
    if not found.fit.converged:
        warn(
            ConvergenceWarning(
                "The fit of the item effects did not converge.",
                code="item-effects-not-converged",
            )
        )
    return found


def _warn_of_narrow_weights(calibrator: JudgeCalibrator, debiaser: Any) -> None:
    """Warn where the bias may curve and the weights' functions may not."""
    narrow = [
        judge
        for judge, learner in calibrator.biases_.items()
        if linearity(learner) != "fixed"
        and linearity(learner_for(debiaser.learner, judge)) == "fixed"
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
