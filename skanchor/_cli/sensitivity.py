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
    from skanchor.readouts import breakdown_sentences
    from skanchor.reports.facts import IN_FULL
    from skanchor.reports.record import benchmarks_json
    from skanchor.reports.tables import records_of, table_of
    from skanchor.reports.text import Readout
    from skanchor.reports.views import favours_table, first_favours_table
    from skanchor.results import new_by_score

    anchor = fit.fit_rows(options)
    kind = "favour" if options.family is None else "family"
    chosen: dict[str, Any] = {
        "kind": kind,
        "judges": options.favouring,
        "family": options.family,
        "level": options.level,
    }
    broken, marks = anchor.breakdown(**chosen), anchor.benchmarks()
    wider = anchor.sensitivity(options.gamma, **chosen).table if options.gamma else None
    is_known = broken["gamma_sign"].notna().groupby(level="model").any()
    models = [model for model in new_by_score(anchor.result_) if is_known[model]]
    if wider is not None:
        rows = wider.reset_index("gamma")
        tables = [table_of("sensitivity", rows.loc[one], one) for one in models]
    elif len(models) > IN_FULL:
        tables = [first_favours_table(broken, options.level)]
    else:
        tables = [favours_table(broken, one, options.level) for one in models]
    lines: list[str] = []
    if kind == "favour" and options.favouring is None:
        first = broken[broken.index.isin(models[:IN_FULL], level="model")]
        lines = list(breakdown_sentences(first, marks))
    record = {
        "level": options.level,
        "kind": kind,
        "breakdown": records_of(broken),
        "sensitivity": [] if wider is None else records_of(wider),
        "benchmarks": benchmarks_json(marks),
    }
    frame = (broken if wider is None else wider).reset_index().set_index("model")
    return Readout(kind, frame, record, tables, lines)


def _fragility(options: argparse.Namespace) -> Readout:
    """Fit, and look for few rows that change what is said of the new models."""
    from skanchor.reports.tables import records_of, table_of
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
    by_model = found.table.reset_index("opponent")
    tables = [
        table_of("fragility", found.table.loc[model], model)
        for model in by_model.index.unique()
    ]
    if len(found.table) == 1:
        # Equal rows share a line.
        columns = ["model_a", "model_b", "judge", "outcome"]
        count = found.rows(*found.table.index[0]).groupby(columns)["count"].sum()
        count = count.sort_values(ascending=False, kind="stable")
        dropped = count.to_frame("count").reset_index(columns[1:])
        tables.append(table_of("rows", dropped, "Which rows"))
    statements = [
        {**row, "rows": records_of(found.rows(row["model"], row["opponent"]))}
        for row in found.to_dict()["rows"]
    ]
    record = {
        **{name: getattr(found, name) for name in ("goal", "by", "source")},
        "level": options.level,
        "fragility": statements,
    }
    return Readout("fragility", by_model, record, tables, found.sentences)
