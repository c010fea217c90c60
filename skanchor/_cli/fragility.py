"""``skanchor sensitivity --rows``: how few rows change what is said of new models."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Flags
from skanchor._cli.method import load_task, refuse_level
from skanchor._cli.output import Forms
from skanchor._cli.table import typed_label

if TYPE_CHECKING:
    from skanchor.readouts import Fragility

# Listed here, since importing the search is slow.
ROWS = ("any", "human", "arrival", "history")
GOALS = ("sign", "interval")
BY = ("row", "group")
OF_ROWS = ("--goal", "--by", "--model", "--opponent", "--max-seconds")
"""Flags that go with ``--rows``."""


def add_rows(flags: Flags) -> None:
    """Add the flags of the search for few rows."""
    flags.value(
        "--rows",
        "WHICH",
        "say how few rows change the ranking, if they are dropped: any rows (default), "
        "votes (human), verdicts on the new model (arrival), or verdicts on old models "
        "(history)",
        nargs="?",
        const="any",
        choices=ROWS,
    )
    flags.value(
        "--goal",
        None,
        "with --rows: what is to change, which of two models is better (sign, the "
        "default), or whether the interval of their difference contains zero",
        choices=GOALS,
    )
    flags.value(
        "--by",
        None,
        "with --rows: drop rows (default), or groups of dependent rows as a whole",
        choices=BY,
    )
    flags.value("--model", "NAME", "with --rows: the new model (default: all of them)")
    flags.value(
        "--opponent",
        "NAME",
        "with --rows: the model that it is compared with (default: each in turn)",
    )
    flags.value(
        "--max-seconds",
        "SECONDS",
        "with --rows: stop after this time with what was found, as Ctrl-C does",
        type=float,
    )


def check_rows(options: argparse.Namespace) -> None:
    """Refuse invalid flags of the search before any work."""
    seconds = options.max_seconds
    if seconds is not None and not 0.0 <= seconds < math.inf:
        raise BadInputError("--max-seconds takes a number of seconds")
    if options.goal != "interval":
        refuse_level(options, "--goal sign")


def fragility_forms(options: argparse.Namespace) -> Forms:
    """Fit, and look for few rows that change what is said of the new models."""
    task = load_task(options)
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
    return _forms(found, options)


def _forms(found: Fragility, options: argparse.Namespace) -> Forms:
    """Forms of what was found: sentences with a table, JSON, and files."""
    from skanchor.reports.readouts import fragility_table, rows_table
    from skanchor.reports.records import SCHEMA_VERSION

    models = found.table.index.unique("model")
    tables: list[Any] = [(model, fragility_table(found, model)) for model in models]
    if len(found.table) == 1:
        tables.append(("Which rows", rows_table(found, *found.table.index[0])))
    statements = [
        (row, (row["model"], row["opponent"])) for row in found.to_dict()["rows"]
    ]
    rows = [
        {
            **row,
            "rows": found.rows(*key).reset_index().to_dict("records"),
            "path": found.path(*key).to_dict("records"),
        }
        for row, key in statements
    ]
    record = {
        "schema_version": SCHEMA_VERSION,
        **{name: getattr(found, name) for name in ("goal", "by", "source")},
        "level": options.level,
        "finished": found.finished,
        "fragility": rows,
    }
    return Forms.of(
        fragility_table(found),
        found.table.reset_index("opponent"),
        record,
        _NOTE,
        lines=found.sentences,
        tables=tables,
    )


_NOTE = (
    "first order: by influence. re-solved: with weights that are solved again as rows "
    "are dropped. needed: the number that a refit without these rows confirms, or else "
    "re-solved. more: more than a tenth of the votes and of the verdicts on other "
    "models, and a quarter of those on the new model. t: difference over its error; a "
    "large t often needs more rows, but not always."
)
