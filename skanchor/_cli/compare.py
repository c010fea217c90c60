"""``skanchor compare``: several methods compared on one table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from skanchor._cli.check import left_out_settings, load_judged
from skanchor._cli.output import deliver
from skanchor._cli.rank import check_flags
from skanchor._cli.values import BadInputError, by_name

if TYPE_CHECKING:
    import pandas as pd

    from skanchor.pipeline import AnchorPipeline

ANCHOR = "AnchorPipeline"
NEEDING_MORE = ("Oracle", "HumanOnly", "ConformalRanking")
"""They need true scores, votes on the new models, or another method, which a table of
battles does not have."""

_DEFAULT = [ANCHOR, "JointBTL", "ScalarJudge", "DirectScore", "HistoricalPPI"]
# Parameters of the pipeline that other methods get.
_SHARED = ("new_models", "ties", "weights", "calibrator")


def compare(options: argparse.Namespace) -> None:
    check_flags(options)
    chosen = options.methods or _DEFAULT
    by_name("--methods", [(name, None) for name in chosen])
    settings = by_name("--set", options.set)
    unread = [name for name in settings if name.split("__")[0] not in _SHARED]
    if unread and not {ANCHOR, "all"} & set(chosen):
        raise BadInputError(
            f"{', '.join(chosen)} would not read --set {', '.join(unread)}: leave that "
            f"out, or name {ANCHOR}, too"
        )
    pipeline, rows = load_judged(options)

    import pandas as pd

    from skanchor.baselines import BASELINES
    from skanchor.evaluation import leave_one_model_out
    from skanchor.reports.tables import Table
    from skanchor.reports.text import Readout

    if "all" in chosen:
        chosen = [ANCHOR, *(name for name in BASELINES if name not in NEEDING_MORE)]
    methods = {}
    for name in chosen:
        left_out = leave_one_model_out(
            _method(name, pipeline), **left_out_settings(rows, options)
        )
        methods[name] = _accuracy(left_out)
    frame = pd.DataFrame.from_dict(methods, orient="index").rename_axis("method")
    names = ["rmse", "rank_error", "own_rank_error", "exact", "compatible", "width"]
    shown = frame.filter([*names, "models"])
    tables = [Table.of("methods", shown, "On models with votes, each left out in turn")]
    deliver(Readout("compare", frame, lambda: {"methods": frame}, tables), options)


def _method(name: str, pipeline: AnchorPipeline) -> Any:
    """Make a method with the settings that it shares with the pipeline."""
    if name == ANCHOR:
        return pipeline
    from skanchor._estimators.btl import BTLRegressor
    from skanchor.baselines import BASELINES

    method: Any = BASELINES[name]().set_params(
        btl=BTLRegressor(weights=pipeline.weights, ties=pipeline.ties),
        new_models=pipeline.new_models,
    )
    if pipeline.calibrator is not None and "calibrator" in method.get_params(False):
        method.set_params(calibrator=pipeline.calibrator)
    return method


def _accuracy(left_out: pd.DataFrame) -> dict[str, float]:
    """Measures of the accuracy of a method on the models left out."""
    from skanchor import metrics

    true, rank = left_out["true_rank"], left_out["rank"]
    accuracy = {
        "models": len(left_out),
        "rank_error": metrics.insertion_mae(true, rank),
        "largest_rank_error": int((true - rank).abs().max()),
        "exact": metrics.exact_insertion_rate(true, rank),
    }
    if "fitted_rank" in left_out:
        accuracy["own_rank_error"] = metrics.insertion_mae(
            true, left_out["fitted_rank"]
        )
    if "score" in left_out:
        accuracy["rmse"] = metrics.rmse(left_out["true_score"], left_out["score"])
        accuracy["spearman"] = metrics.spearman(
            left_out["true_score"], left_out["score"]
        )
    if "compatible" in left_out:
        accuracy["held"] = float(left_out["covered"].mean())
        accuracy["compatible"] = float(left_out["compatible"].mean())
        accuracy["width"] = metrics.interval_width(left_out["low"], left_out["high"])
    return accuracy
