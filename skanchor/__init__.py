"""Human-anchored inference for ranking new models with LLM judges."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skanchor._battles import Comparisons
    from skanchor._crossfit.source_kfold import SourceKFold
    from skanchor._estimators.arrivals import ArrivalScorer
    from skanchor._estimators.btl import BTLRegressor
    from skanchor._estimators.judges import JudgeCalibrator
    from skanchor._estimators.riesz import RieszDebiaser
    from skanchor.history import AnchorHistory, judge_fingerprint
    from skanchor.io import read_battles, split_battles
    from skanchor.pipeline import AnchorPipeline
    from skanchor.results import AnchorResult

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
_MODULE_OF = {
    "AnchorHistory": "history",
    "AnchorPipeline": "pipeline",
    "AnchorResult": "results",
    "ArrivalScorer": "_estimators.arrivals",
    "BTLRegressor": "_estimators.btl",
    "Comparisons": "_battles",
    "JudgeCalibrator": "_estimators.judges",
    "RieszDebiaser": "_estimators.riesz",
    "SourceKFold": "_crossfit.source_kfold",
    "judge_fingerprint": "history",
    "read_battles": "io",
    "split_battles": "io",
}
_PUBLIC_MODULES = (
    "baselines bias bootstrap datasets evaluation exceptions features history io large "
    "metrics pipeline plotting readouts reports results simulation warning_log"
).split()


def __getattr__(name: str) -> Any:
    if name in _PUBLIC_MODULES:
        return import_module(f"skanchor.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'skanchor' has no attribute {name!r}")
    value = getattr(import_module(f"skanchor.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PUBLIC_MODULES})
