"""The four unfitted stages, and how the historical rows are to be fitted."""

from __future__ import annotations

from dataclasses import dataclass

from skanchor._arrivals import ArrivalScorer
from skanchor._btl import BTLRegressor
from skanchor._comparisons import Comparisons
from skanchor._judges import JudgeCalibrator
from skanchor._riesz import RieszDebiaser

__all__ = ["Stages"]


@dataclass(frozen=True, slots=True)
class Stages:
    """Unfitted stages; without a debiaser the chain ends in the plug-in.

    ``historical_fit`` is ``"two-step"``, or ``"joint"`` if historical scores are fitted
    to votes and verdicts together. ``target`` says whether scores include style.
    """

    btl: BTLRegressor
    calibrator: JudgeCalibrator
    arrival: ArrivalScorer
    debiaser: RieszDebiaser | None
    historical_fit: str = "two-step"
    target: str = "style_controlled"

    def fits_jointly(self, X: Comparisons) -> bool:
        """Whether votes and verdicts of X are fitted jointly: asked for, and judges."""
        return self.historical_fit == "joint" and len(X.judges) > 0
