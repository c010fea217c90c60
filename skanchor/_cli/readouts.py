"""``skanchor sensitivity`` and ``plan``: read-outs of a fit, printed."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from skanchor._cli import rank
from skanchor._cli.battles import typed_label
from skanchor._cli.output import deliver
from skanchor._cli.parser import BadInputError
from skanchor.reports.readout import Readout, benchmarks_json
from skanchor.reports.sentences import IN_FULL, favours_in_words
from skanchor.reports.tables import Table, favours_table, tables_by_model
from skanchor.results import new_by_score


# ----------------------------------------------------------------------- sensitivity
def sensitivity(options: argparse.Namespace) -> None:
    if options.rows and options.goal == "sign" and options.level != 0.95:
        raise BadInputError(
            "--level does not go with --goal sign, which has no interval"
        )
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
        raise BadInputError(
            "--level does not go with the worth of verdicts, which has no interval"
        )
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
