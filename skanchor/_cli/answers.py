"""``skanchor check``, ``compare``, ``sensitivity``, ``plan``: answers about a fit."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import pandas as pd

from skanchor import metrics
from skanchor._battles import HUMAN
from skanchor._cli import rank
from skanchor._cli.battles import find_unvoted, typed_label
from skanchor._cli.output import deliver
from skanchor._cli.parser import BadInputError
from skanchor._cli.streams import is_watched
from skanchor._estimators.btl import BTLRegressor
from skanchor.baselines import BASELINES
from skanchor.evaluation import check_intervals, leave_one_model_out
from skanchor.exceptions import DiagnosticWarning
from skanchor.pipeline import AnchorPipeline
from skanchor.reports.readout import Readout, benchmarks_json
from skanchor.reports.sentences import IN_FULL, check_record, favours_in_words
from skanchor.reports.tables import Table, check_table, favours_table, tables_by_model
from skanchor.results import new_by_score

ANCHOR = "AnchorPipeline"
NEEDING_MORE = ("Oracle", "HumanOnly", "ConformalRanking")
"""They need true scores, votes on the new models, or another method, which a table of
battles does not have."""

_DEFAULT = [ANCHOR, "JointBTL", "ScalarJudge", "DirectScore", "HistoricalPPI"]
# Parameters of the pipeline that other methods get.
_SHARED = ("new_models", "ties", "weights", "calibrator")
_SHOWN = ["rmse", "rank_error", "own_rank_error", "exact", "compatible", "width"]


# ------------------------------------------------------------------ models left out
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
    pipeline, rows = rank.load(options)
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


# ----------------------------------------------------------------------- sensitivity
def sensitivity(options: argparse.Namespace) -> None:
    if options.rows and options.goal == "sign" and options.level != 0.95:
        # Signs have no interval.
        raise BadInputError("--level does not go with --goal sign")
    deliver((_fragility if options.rows else _favours)(options), options)


def _favours(options: argparse.Namespace) -> Readout:
    """Fit, and say how large favours change what is said of the new models."""
    anchor, level = rank.fit_rows(options), options.level
    table = broken = anchor.breakdown(level=level)
    marks = anchor.benchmarks()
    is_known = broken["gamma_sign"].notna().groupby(level="model").any()
    models = [model for model in new_by_score(anchor.result_) if is_known[model]]
    lines = favours_in_words(broken, marks, models)
    if options.gamma:
        table = anchor.sensitivity(options.gamma, level=level).table
        rows = table.reset_index("gamma")
        rows = rows[["gamma", "low", "high", "rank_low", "rank_high"]]
        tables = tables_by_model("sensitivity", rows, models)
    else:
        tables = [favours_table(broken, one, level) for one in models[:IN_FULL]]
    hidden = len(models) - len(tables)
    if hidden:
        lines.append(f"-o FILE.csv has the {hidden} more new models, too.")
    record = {
        "level": level,
        "kind": "favour",
        "breakdown": broken,
        "sensitivity": table if options.gamma else [],
        "benchmarks": benchmarks_json(marks),
    }
    frame = table.reset_index().set_index("model")
    return Readout("favour", record, frame, tables, lines)


def _fragility(options: argparse.Namespace) -> Readout:
    """Fit, and look for few rows that change what is said of the new models."""
    anchor, rows = rank.load(options)
    anchor.fit(**rows)
    answer = anchor.fragility(
        **rows,
        opponent=typed_label(anchor.models_, options.opponent),
        goal=options.goal,
        rows=options.rows,
        model=typed_label(anchor.models_, options.model),
        level=options.level,
    )
    names = ["difference", "t", "allowed", "first_order", "re_solved", "k", "share"]
    shown = answer.table[[*names, "status"]]
    tables = tables_by_model("fragility", shown)
    if len(shown) == 1:
        # Equal rows share a line.
        columns = ["model_a", "model_b", "judge", "outcome"]
        count = answer.rows(*shown.index[0]).groupby(columns)["count"].sum()
        count = count.sort_values(ascending=False, kind="stable")
        dropped = count.to_frame("rows").reset_index(columns[1:])
        tables.append(Table.of("rows", dropped, "Which rows"))
    record = {
        **{name: getattr(answer, name) for name in ("goal", "by", "source")},
        "level": options.level,
        "fragility": [
            {**row, "rows": answer.rows(row["model"], row["opponent"])}
            for row in answer.to_dict()["rows"]
        ],
    }
    frame = answer.table.reset_index("opponent")
    return Readout("fragility", record, frame, tables, answer.sentences)


# ------------------------------------------------------------------------------ plan
def plan(options: argparse.Namespace) -> None:
    is_worth = options.budget is None and options.widths is None
    if is_worth and options.level != 0.95:
        # What verdicts are worth has no interval.
        raise BadInputError("--level goes with --widths or --budget")
    deliver((_worth if is_worth else _further_rows)(options), options)


def _worth(options: argparse.Namespace) -> Readout:
    """Fit, and say how many votes the verdicts are worth."""
    answer = rank.fit_rows(options).worth()
    frame = answer.table.reset_index("judge")
    tables = tables_by_model("worth", answer.table, digits=3)
    record = {"worth": answer.to_dict()["rows"]}
    return Readout("worth", record, frame, tables, answer.sentences)


def _further_rows(options: argparse.Namespace) -> Readout:
    """Fit, and say how many rows a width needs, or which to buy for a budget."""
    anchor: Any = rank.fit_rows(options)
    if options.budget is None:
        kind = "outlook"
        answer = anchor.outlook(options.widths or None, level=options.level)
        frame = answer.table.reset_index("width")
        # Rows that are needed are whole ones.
        tables = tables_by_model(kind, np.ceil(answer.table), digits=3)
    else:
        kind = "design"
        judges, costs = anchor.judges_, options.costs.items()
        costs = {typed_label(judges, name): price for name, price in costs}
        answer = anchor.design(options.budget, costs, level=options.level)
        frame = answer.table
        bought = frame[["source", "opponent", "rows", "spend", "gain"]]
        bought = bought.assign(gain=bought["gain"].map("{:.2g}".format))
        tables = [Table.of(kind, bought, "What to buy")]
    return Readout(kind, answer.to_dict(), frame, tables, answer.sentences)
