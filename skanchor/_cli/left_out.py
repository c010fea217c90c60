"""``skanchor check`` and ``compare``: models with votes are left out, one by one."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import pandas as pd

from skanchor import metrics
from skanchor._battles import HUMAN
from skanchor._cli.battles import find_unvoted
from skanchor._cli.output import deliver
from skanchor._cli.parser import BadInputError
from skanchor._cli.rank import load
from skanchor._cli.streams import is_watched
from skanchor._estimators.btl import BTLRegressor
from skanchor.baselines import BASELINES
from skanchor.evaluation import check_intervals, leave_one_model_out
from skanchor.exceptions import DiagnosticWarning
from skanchor.pipeline import AnchorPipeline
from skanchor.reports.readout import Readout
from skanchor.reports.sentences import check_record
from skanchor.reports.tables import Table, check_table

ANCHOR = "AnchorPipeline"
NEEDING_MORE = ("Oracle", "HumanOnly", "ConformalRanking")
"""They need true scores, votes on the new models, or another method, which a table of
battles does not have."""

_DEFAULT = [ANCHOR, "JointBTL", "ScalarJudge", "DirectScore", "HistoricalPPI"]
# Parameters of the pipeline that other methods get.
_SHARED = ("new_models", "ties", "weights", "calibrator")
_SHOWN = ["rmse", "rank_error", "own_rank_error", "exact", "compatible", "width"]


def check(options: argparse.Namespace) -> None:
    pipeline, rows, settings = _load_judged(options)
    # As ``skanchor rank`` fits all rows, or the historical models alone: this decides
    # the treatment of the item effects, and issues the warnings once.
    pipeline.set_params(new_models=find_unvoted(rows["X"])[0])
    with warnings.catch_warnings():
        # What they say concerns the intervals of the new models, which rank shows.
        warnings.simplefilter("ignore", DiagnosticWarning)
        pipeline.fit(**rows)
    result = check_intervals(pipeline, **rows, **settings)
    record = check_record(result)
    findings = [f"- {line}" for line in record["findings"]]
    lines = [record["verdict"], *findings, *filter(None, [record["advice"]])]
    tables = [check_table(result)]
    deliver(Readout("check", record, result.table, tables, lines), options)


def compare(options: argparse.Namespace) -> None:
    chosen = list(dict.fromkeys(options.methods or _DEFAULT))
    unread = [name for name in options.set if name.split("__")[0] not in _SHARED]
    if unread and not {ANCHOR, "all"} & set(chosen):
        raise BadInputError(
            f"{', '.join(chosen)} would not read --set {', '.join(unread)}: leave that "
            f"out, or name {ANCHOR}, too"
        )
    pipeline, rows, settings = _load_judged(options)
    if "all" in chosen:
        chosen = [ANCHOR, *(name for name in BASELINES if name not in NEEDING_MORE)]
    accuracy = {}
    for name in chosen:
        method = _method(name, pipeline)
        accuracy[name] = _accuracy(leave_one_model_out(method, **rows, **settings))
    frame = pd.DataFrame.from_dict(accuracy, orient="index").rename_axis("method")
    caption = "On models with votes, each left out in turn"
    tables = [Table.of("methods", frame.filter([*_SHOWN, "models"]), caption)]
    deliver(Readout("compare", {"methods": frame}, frame, tables), options)


def _load_judged(
    options: argparse.Namespace,
) -> tuple[AnchorPipeline, dict[str, Any], dict[str, Any]]:
    """Pipeline and battles, which need a judge, and how models are left out in turn."""
    pipeline, rows = load(options)
    if "judge" not in rows["X"] or (rows["X"]["judge"] == HUMAN).all():
        raise BadInputError("without rows of judges, no model is placed without votes")
    settings = {name: getattr(options, name) for name in ("models", "level", "n_jobs")}
    return pipeline, rows, {**settings, "verbose": int(is_watched())}


def _method(name: str, pipeline: AnchorPipeline) -> Any:
    """Make a method with the settings that it shares with the pipeline."""
    if name == ANCHOR:
        return pipeline
    method: Any = BASELINES[name]().set_params(
        btl=BTLRegressor(weights=pipeline.weights, ties=pipeline.ties),
        new_models=pipeline.new_models,
    )
    if pipeline.calibrator is not None and "calibrator" in method.get_params(False):
        method.set_params(calibrator=pipeline.calibrator)
    return method


def _accuracy(left_out: pd.DataFrame) -> dict[str, float]:
    """Measures of the accuracy of a method on the models left out."""
    true, rank = left_out["true_rank"], left_out["rank"]
    accuracy = {
        "models": len(left_out),
        "rank_error": metrics.insertion_mae(true, rank),
        "largest_rank_error": int((true - rank).abs().max()),
        "exact": metrics.exact_insertion_rate(true, rank),
    }
    if "fitted_rank" in left_out:
        fitted_rank = left_out["fitted_rank"]
        accuracy["own_rank_error"] = metrics.insertion_mae(true, fitted_rank)
    if "score" in left_out:
        true_score, score = left_out["true_score"], left_out["score"]
        accuracy["rmse"] = metrics.rmse(true_score, score)
        accuracy["spearman"] = metrics.spearman(true_score, score)
    if "compatible" in left_out:
        accuracy["held"] = float(left_out["covered"].mean())
        accuracy["compatible"] = float(left_out["compatible"].mean())
        accuracy["width"] = metrics.interval_width(left_out["low"], left_out["high"])
    return accuracy
