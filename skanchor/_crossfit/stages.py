"""The four stages: unfitted with their settings, and fitted with their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._battles import Comparisons
from skanchor._estimators.arrivals import ArrivalScorer
from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._estimators.riesz import RieszDebiaser
from skanchor._typing import Array
from skanchor.bias import LinearBias
from skanchor.bias.protocol import linearity
from skanchor.bias.registry import make_learner


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
        flags = np.zeros(len(self.X.models), dtype=bool)
        place = {model: i for i, model in enumerate(self.X.models.tolist())}
        for models, at_bound in (
            (self.btl.models_, self.btl.unbounded_),
            (self.arrival.new_models_, self.arrival.at_bound_),
        ):
            flags[[place[model] for model in models[at_bound].tolist()]] = True
        return flags
