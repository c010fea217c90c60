"""``skanchor sensitivity``: what an unrecorded favour, or few rows, would change."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from skanchor._cli import fit
from skanchor._cli.battles import typed_label
from skanchor._cli.output import deliver
from skanchor._cli.values import refuse_typed

if TYPE_CHECKING:
    from skanchor.reports.text import Readout

_FAVOURS = ("--gamma", "--favouring", "--family")
_OF_ROWS = ("--goal", "--by", "--model", "--opponent")


def sensitivity(options: argparse.Namespace) -> None:
    if options.rows is None:
        refuse_typed(options, _OF_ROWS, "goes with --rows")
    else:
        refuse_typed(options, _FAVOURS, "does not go with --rows")
        if options.goal != "interval":
            why = "does not go with --goal sign, which has no interval"
            refuse_typed(options, ["--level"], why)
    fit.check_flags(options)
    deliver((_favours if options.rows is None else _fragility)(options), options)


def _favours(options: argparse.Namespace) -> Readout:
    """Fit, and say how large favours change what is said of the new models."""
    from skanchor.reports.record import benchmarks_json
    from skanchor.reports.sentences import IN_FULL, favours_in_words
    from skanchor.reports.tables import Table
    from skanchor.reports.text import Readout
    from skanchor.reports.views import favours_table
    from skanchor.results import new_by_score

    anchor = fit.fit_rows(options)
    kind = "favour" if options.family is None else "family"
    chosen: dict[str, Any] = {
        "kind": kind,
        "judges": options.favouring,
        "family": options.family,
        "level": options.level,
    }
    found = broken = anchor.breakdown(**chosen)
    marks = anchor.benchmarks()
    is_known = broken["gamma_sign"].notna().groupby(level="model").any()
    models = [model for model in new_by_score(anchor.result_) if is_known[model]]
    if options.gamma:
        found = anchor.sensitivity(options.gamma, **chosen).table
        rows = found.reset_index("gamma")
        rows = rows[["gamma", "low", "high", "rank_low", "rank_high"]]
        tables = [Table.of("sensitivity", rows.loc[one], str(one)) for one in models]
    else:
        shown = models[:IN_FULL]
        tables = [favours_table(broken, one, options.level) for one in shown]
    is_plain = kind == "favour" and options.favouring is None
    record = {
        "level": options.level,
        "kind": kind,
        "breakdown": broken,
        "sensitivity": found if options.gamma else [],
        "benchmarks": benchmarks_json(marks),
    }
    frame = found.reset_index().set_index("model")
    lines = favours_in_words(broken, marks, models) if is_plain else []
    hidden = len(models) - len(tables)
    if hidden:
        lines.append(f"-o FILE.csv has the {hidden} more new models, too.")
    return Readout(kind, frame, record, tables, lines)


def _fragility(options: argparse.Namespace) -> Readout:
    """Fit, and look for few rows that change what is said of the new models."""
    from skanchor.reports.tables import Table
    from skanchor.reports.text import Readout

    anchor, rows = fit.load(options)
    anchor.fit(**rows.arguments)
    found = anchor.fragility(
        **rows.arguments,
        opponent=typed_label(anchor.models_, options.opponent),
        goal=options.goal or "sign",
        rows=options.rows,
        by=options.by or "row",
        model=typed_label(anchor.models_, options.model),
        level=options.level,
    )
    names = ["difference", "t", "allowed", "first_order", "re_solved", "k", "share"]
    shown = found.table[[*names, "status"]]
    tables = [
        Table.of("fragility", shown.loc[model], str(model))
        for model in shown.index.unique("model")
    ]
    if len(shown) == 1:
        # Equal rows share a line.
        columns = ["model_a", "model_b", "judge", "outcome"]
        count = found.rows(*shown.index[0]).groupby(columns)["count"].sum()
        count = count.sort_values(ascending=False, kind="stable")
        dropped = count.to_frame("rows").reset_index(columns[1:])
        tables.append(Table.of("rows", dropped, "Which rows"))
    names = ["goal", "by", "source"]
    record = {name: getattr(found, name) for name in names} | {"level": options.level}
    record["fragility"] = [
        {**row, "rows": found.rows(row["model"], row["opponent"])}
        for row in found.to_dict()["rows"]
    ]
    frame = found.table.reset_index("opponent")
    return Readout("fragility", frame, record, tables, found.sentences)
