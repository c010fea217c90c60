"""``skanchor sensitivity``: what an unrecorded favour, or few rows, would change."""

from __future__ import annotations

import argparse
import math
from typing import Any

import skanchor._cli.fit as fit
from skanchor._cli.command import BadInputError, Command, Flags, refuse_unread
from skanchor._cli.output import Output, add_output, deliver
from skanchor._cli.table import add_table, typed_label

_OF_ROWS = ("--goal", "--by", "--model", "--opponent", "--max-seconds")


def _add_arguments(flags: Flags) -> None:
    add_table(flags)
    fit.add_fit(flags)
    favours = flags.group("favours")
    favours.value(
        "--gamma",
        "SIZE",
        "sizes of favours, in judge logits, that intervals and rank sets allow for",
        nargs="+",
        type=float,
    )
    favours.names("--favouring", "JUDGE", "judges that may have favours (default: all)")
    favours.names("--family", "MODEL", "models that judges may like together")
    rows = flags.group("few rows")
    rows.value(
        "--rows",
        "WHICH",
        "say how few rows change the ranking: any (default), human, arrival or history",
        nargs="?",
        const="any",
        choices=("any", "human", "arrival", "history"),
    )
    rows.value(
        "--goal",
        "GOAL",
        "sign of a difference (default), or whether its interval contains zero",
        choices=("sign", "interval"),
    )
    rows.value("--by", "UNIT", "drop each row, or each group", choices=("row", "group"))
    rows.value("--model", "NAME", "the new model (default: all of them)")
    rows.value("--opponent", "NAME", "what it is compared with (default: all in turn)")
    rows.value("--max-seconds", "SECONDS", "stop after this time", type=float)
    add_output(flags)


def _sensitivity(options: argparse.Namespace) -> None:
    if options.gamma is not None and not all(0 <= one < 1e9 for one in options.gamma):
        raise BadInputError("--gamma must be finite and not negative")
    if options.rows is None:
        refuse_unread(options, _OF_ROWS, "goes with --rows")
    else:
        idle = ("--gamma", "--family", "--favouring")
        refuse_unread(options, idle, "does not go with --rows")
        seconds = options.max_seconds
        if seconds is not None and not 0.0 <= seconds < math.inf:
            raise BadInputError("--max-seconds takes a number of seconds")
        if options.goal != "interval":
            fit.refuse_level(options, "--goal sign")
    fit.check_flags(options)
    deliver((_favours if options.rows is None else _fragility)(options), options)


def _favours(options: argparse.Namespace) -> Output:
    """Fit, and say how large favours change what is said of the new models."""
    from skanchor.readouts import breakdown_sentences
    from skanchor.reports.document import benchmarks_json
    from skanchor.reports.sentences import IN_FULL
    from skanchor.reports.tables import records_of, table_of
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
        tables = [(one, table_of("sensitivity", rows.loc[one])) for one in models]
    elif len(models) > IN_FULL:
        tables = [("", first_favours_table(broken, options.level))]
    else:
        tables = [(one, favours_table(broken, one, options.level)) for one in models]
    lines: list[str] = []
    if kind == "favour" and options.favouring is None:
        first = broken[broken.index.isin(models[:IN_FULL], level="model")]
        lines = [f"{line}\n" for line in breakdown_sentences(first, marks)]
    record = {
        "level": options.level,
        "kind": kind,
        "breakdown": records_of(broken),
        "sensitivity": [] if wider is None else records_of(wider),
        "benchmarks": benchmarks_json(marks),
    }
    frame = broken if wider is None else wider
    frame = frame.reset_index().set_index("model")
    return Output.of(kind, frame, record, tables, lines)


def _fragility(options: argparse.Namespace) -> Output:
    """Fit, and look for few rows that change what is said of the new models."""
    from skanchor.reports.tables import table_of

    task = fit.load_task(options)
    anchor = task.pipeline.fit(**task.rows)
    found = anchor.fragility(
        **task.rows,
        opponent=typed_label(anchor.models_, options.opponent),
        goal=options.goal or "sign",
        rows=options.rows,
        by=options.by or "row",
        model=typed_label(anchor.models_, options.model),
        level=options.level,
        max_seconds=options.max_seconds,
    )
    by_model = found.table.reset_index("opponent")
    models = by_model.index.unique()
    tables = [(one, table_of("fragility", found.table.loc[one])) for one in models]
    if len(found.table) == 1:
        # Equal rows share a line.
        names = ["model_a", "model_b", "judge", "outcome"]
        count = found.rows(*found.table.index[0]).groupby(names)["count"].sum()
        count = count.sort_values(ascending=False, kind="stable")
        rows = count.to_frame("count").reset_index(names[1:])
        tables.append(("Which rows", table_of("rows", rows)))
    statements = [
        {
            **row,
            "rows": found.rows(row["model"], row["opponent"])
            .reset_index()
            .to_dict("records"),
            "path": found.path(row["model"], row["opponent"]).to_dict("records"),
        }
        for row in found.to_dict()["rows"]
    ]
    record = {
        **{name: getattr(found, name) for name in ("goal", "by", "source", "finished")},
        "level": options.level,
        "fragility": statements,
    }
    return Output.of("fragility", by_model, record, tables, found.sentences)


SENSITIVITY = Command(
    name="sensitivity",
    help="see which favour of judges, or how few rows, would change the ranking",
    examples=(
        ("which favour would undo it", "battles.csv"),
        ("what favours of two sizes leave", "battles.csv --gamma 0.1 0.2"),
        ("favours for a family", "battles.csv --family owl owl-mini"),
        ("how few rows change an order", "battles.csv --rows"),
        ("which votes", "battles.csv --rows human --opponent gpt-4"),
    ),
    arguments=_add_arguments,
    run=_sensitivity,
)
