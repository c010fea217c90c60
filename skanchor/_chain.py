"""The chain of stages, fitted on all rows or on a training set."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._arrivals import ArrivalScorer
from skanchor._battles import Comparisons
from skanchor._btl import BTLRegressor
from skanchor._historical import HistoricalFit, fit_history, laid_out
from skanchor._item_fit import fit_item_effects
from skanchor._judges import JudgeCalibrator
from skanchor._model.item_effects import ItemCovariance
from skanchor._pipeline_fit import PipelineFit
from skanchor._riesz import RieszDebiaser
from skanchor._stages import Stages
from skanchor._typing import Array
from skanchor.bias.protocol import linearity
from skanchor.bias.registry import learner_for
from skanchor.exceptions import (
    SkanchorWarning,
)
from skanchor.sample import Sample
from skanchor.warning_log import warn


@dataclass(frozen=True, slots=True)
class Chain:
    """Fitted stages, and the rows with all that they learned.

    ``is_joint``, ``two_step``, ``excluded_judges`` and ``fit`` are as in
    :class:`HistoricalFit`.
    """

    btl: BTLRegressor
    calibrator: JudgeCalibrator
    arrival: ArrivalScorer
    X: Comparisons
    is_joint: bool
    debiaser: RieszDebiaser | None = None
    two_step: HistoricalFit | None = None
    excluded_judges: frozenset[Any] = frozenset()
    fit: PipelineFit | None = None

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
        flags = np.zeros(len(self.X.models), dtype=bool)
        place = {model: i for i, model in enumerate(self.X.models.tolist())}
        for models, at_bound in (
            (self.btl.models_, self.btl.unbounded_),
            (self.arrival.new_models_, self.arrival.at_bound_),
        ):
            flags[[place[model] for model in models[at_bound].tolist()]] = True
        return flags


def fit_stages(
    stages: Stages,
    sample: Sample,
    start: Chain | None = None,
) -> Chain:
    """Fit the stages of the plug-in, each on what the earlier ones have learned.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    sample : Sample
        Rows whose roles are decided; weights of zero leave rows out.
    start : Chain, optional
        Fitted on nearly the same rows. A training set that places models worse than
        it does is refused.

    Returns
    -------
    Chain
        Without Riesz weights.
    """
    history = fit_history(stages, sample, start)
    # Arrival rows have score differences that are linear in the new scores alone.
    arrival = clone(stages.arrival)
    near = None if start is None else start.arrival
    arrival.fit_sample(sample.with_battles(history.X), near)
    X, fit = arrival.transform(history.X), history.fit
    return Chain(
        history.btl,
        history.calibrator,
        arrival,
        X,
        stages.fits_jointly(history.X),
        two_step=history.two_step,
        excluded_judges=history.excluded_judges,
        fit=None if fit is None else fit.with_new_scores(X),
    )


def complete(
    stages: Stages,
    plugged: Chain,
    sample: Sample,
    items: ItemCovariance | None,
) -> Chain:
    """Add the item effects and the Riesz weights.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    plugged : Chain
        What :func:`fit_stages` returned for the sample.
    sample : Sample
        Rows whose roles are decided.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.

    Returns
    -------
    Chain
    """
    X, calibrator, debiaser = plugged.X, plugged.calibrator, None
    btl, fit = copy(plugged.btl), laid_out(stages, plugged, sample)
    fit = fit.with_score_bounds(stages.arrival.score_bounds)
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
        # Choices that the calibrator has made, of learners and ridges, are taken over.
        debiaser.learner = calibrator.follow(debiaser.learner)
        debiaser.set_params(human_bias=btl.bias_)
        _warn_of_narrow_weights(calibrator, debiaser)
        debiaser.fit_sample(sample.with_battles(X), fit)
    return replace(
        plugged, btl=btl, calibrator=calibrator, X=X, debiaser=debiaser, fit=fit
    )


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
