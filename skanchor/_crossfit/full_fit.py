"""The fit of all rows, with item effects and Riesz weights: every fold starts there."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sklearn.base import clone

from skanchor._crossfit.stages import FittedStages, Stages
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._model.item_effects import ItemCovariance
from skanchor._model.newton import FitOfAllRows
from skanchor._sample.sample import Sample
from skanchor.bias.protocol import linearity
from skanchor.bias.registry import learner_for
from skanchor.exceptions import ConvergenceWarning, SkanchorWarning
from skanchor.warning_log import warn


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
        fit = plugged.fit.with_score_bounds(stages.arrival.score_bounds)
        chain = replace(plugged, fit=fit)
        if items is not None:
            chain = with_item_effects(chain, items)
        if stages.debiaser is not None:
            debiaser = clone(stages.debiaser)
            # Choices that the calibrator has made, of learners and ridges, are taken
            # over.
            debiaser.learner = chain.calibrator.follow(debiaser.learner)
            debiaser.set_params(human_bias=chain.btl.bias_)
            _warn_of_narrow_weights(chain.calibrator, debiaser.learner)
            debiaser.fit_sample(sample.with_battles(chain.X), chain.fit)
            chain = replace(chain, debiaser=debiaser)
        return cls(stages, sample, plugged, items, chain)

    @cached_property
    def has_shared_columns(self) -> bool:
        """Whether biases are linear in fixed columns, and so are the Riesz weights."""
        debiaser, chain = self.chain.debiaser, self.chain
        return (
            chain.is_fixed
            and debiaser is not None
            and debiaser.weighing_.are_biases(chain.learners)
        )

    @cached_property
    def start(self) -> FitOfAllRows:
        """Where folds start whose learners are not fitted anew."""
        start = self.start_of(self.chain)
        start = FitOfAllRows.of(start.fit, start.steps, start.sources, start.bounds)
        if self.has_shared_columns and self.chain.debiaser is not None:
            start = replace(start, prior=self.chain.debiaser.solution_.prior)
        return start

    def share(self) -> None:
        """Compute what folds share, once: before copies go to other processes."""
        _ = self.has_shared_columns
        if self.chain.is_fixed:
            _ = self.start

    def start_of(self, chain: FittedStages) -> FitOfAllRows:
        """The steps by which a fold is fitted, from fitted stages."""
        known = chain.fit
        steps = known.steps(
            chain.excluded_judges,
            is_joint=chain.is_joint,
            is_unweighted=self.stages.arrival.equation == "unweighted",
        )
        prior = known.fit.precision
        return FitOfAllRows(known.fit, steps, known.sources, known.bounds, prior, ())


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
