"""Human-anchored inference for ranking new models with LLM judges."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skanchor.anchor import AnchorPipeline, AnchorResult
    from skanchor.arrivals import ArrivalScorer
    from skanchor.btl import BTLRegressor
    from skanchor.comparisons import Comparisons, split_battles
    from skanchor.folds import SourceKFold
    from skanchor.io import read_battles
    from skanchor.judges import JudgeCalibrator
    from skanchor.kept import AnchorHistory, judge_fingerprint
    from skanchor.riesz import RieszDebiaser

__all__ = [
    "AnchorHistory",
    "AnchorPipeline",
    "AnchorResult",
    "ArrivalScorer",
    "BTLRegressor",
    "Comparisons",
    "JudgeCalibrator",
    "RieszDebiaser",
    "SourceKFold",
    "judge_fingerprint",
    "read_battles",
    "split_battles",
]

# Loaded when first asked for: scikit-learn and pandas take their time.
_HOMES = {
    "AnchorHistory": "kept",
    "AnchorPipeline": "anchor",
    "AnchorResult": "anchor",
    "ArrivalScorer": "arrivals",
    "BTLRegressor": "btl",
    "Comparisons": "comparisons",
    "JudgeCalibrator": "judges",
    "RieszDebiaser": "riesz",
    "SourceKFold": "folds",
    "judge_fingerprint": "kept",
    "read_battles": "io",
    "split_battles": "comparisons",
}
_MODULES = (
    "baselines",
    "bias",
    "datasets",
    "evaluation",
    "exceptions",
    "features",
    "metrics",
    "plotting",
    "reports",
    "simulation",
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"skanchor.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'skanchor' has no attribute {name!r}")
    value = getattr(import_module(f"skanchor.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
