"""``skanchor sensitivity``: what an unrecorded favour, or few rows, would change."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from skanchor._cli import rank
from skanchor._cli.battles import typed_label
from skanchor._cli.output import deliver
from skanchor._cli.values import refuse_typed

if TYPE_CHECKING:
    from skanchor.reports.text import Readout


def sensitivity(options: argparse.Namespace) -> None:
    if options.rows is None:
        refuse_typed(options, ["--goal", "--model", "--opponent"], "goes with --rows")
    else:
        refuse_typed(options, ["--gamma"], "does not go with --rows")
        if options.goal != "interval":
            why = "does not go with --goal sign, which has no interval"
            refuse_typed(options, ["--level"], why)
    rank.check_flags(options)
    deliver((_favours if options.rows is None else _fragility)(options), options)


def _favours(options: argparse.Namespace) -> Readout:
    """Fit, and say how large favours change what is said of the new models."""
    from skanchor.reports.record import benchmarks_json
    from skanchor.reports.sentences import IN_FULL, favours_in_words
    from skanchor.reports.text import Readout
    from skanchor.reports.views import favours_table, tables_by_model
    from skanchor.results import new_by_score

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
    return Readout("favour", frame, lambda: record, tables, lines)


def _fragility(options: argparse.Namespace) -> Readout:
    """Fit, and look for few rows that change what is said of the new models."""
    from skanchor.reports.tables import Table
    from skanchor.reports.text import Readout
    from skanchor.reports.views import tables_by_model

    anchor, rows = rank.load(options)
    anchor.fit(**rows.arguments)
    answer = anchor.fragility(
        **rows.arguments,
        opponent=typed_label(anchor.models_, options.opponent),
        goal=options.goal or "sign",
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
    return Readout("fragility", frame, lambda: record, tables, answer.sentences)
