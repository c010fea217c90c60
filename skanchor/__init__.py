"""Human-anchored inference for ranking new models with LLM judges."""

from skanchor.anchor import AnchorPipeline, AnchorResult
from skanchor.arrivals import ArrivalScorer
from skanchor.btl import BTLRegressor
from skanchor.comparisons import Comparisons, split_battles
from skanchor.folds import SourceKFold
from skanchor.judges import JudgeCalibrator
from skanchor.riesz import RieszDebiaser

__all__ = [
    "AnchorPipeline",
    "AnchorResult",
    "ArrivalScorer",
    "BTLRegressor",
    "Comparisons",
    "JudgeCalibrator",
    "RieszDebiaser",
    "SourceKFold",
    "split_battles",
]
