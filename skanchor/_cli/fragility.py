"""``skanchor fragility``: how few rows change what is said of the new models."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command, Flags
from skanchor._cli.method import add_method, check_flags, load_task, refuse_level
from skanchor._cli.output import Forms, add_output, deliver
from skanchor._cli.plan import add_model
from skanchor._cli.table import add_table, typed_label

if TYPE_CHECKING:
    from skanchor.fragility import Fragility


def _add_arguments(flags: Flags) -> None:
    flags.choice(
        "--goal",
        ["sign", "interval"],
        "what is to change: which of two models is better, or whether the interval of "
        "their difference contains zero",
    )
    flags.choice(
        "--of",
        ["any", "human", "arrival", "history"],
        "which rows: all; votes of people; verdicts on the new model; verdicts on "
        "old models",
    )
    flags.switch("--whole-groups", "drop groups of dependent rows as a whole")
    add_model(flags)
    flags.value(
        "--opponent",
        "NAME",
        "the model that it is compared with (default: each in turn)",
    )
    flags.value(
        "--max-seconds",
        "SECONDS",
        "stop after this time with what was found, as Ctrl-C does",
        type=float,
    )


def _fragility(options: argparse.Namespace) -> None:
    check_flags(options)
    seconds = options.max_seconds
    if seconds is not None and not 0.0 <= seconds < math.inf:
        raise BadInputError("--max-seconds takes a number of seconds")
    if options.goal == "sign":
        refuse_level(options, "--goal sign")
    task = load_task(options)
    anchor = task.pipeline.fit(**task.rows)
    found = anchor.fragility(
        **task.rows,
        opponent=typed_label(anchor.models_, options.opponent),
        goal=options.goal,
        rows=options.of,
        by="group" if options.whole_groups else "row",
        model=typed_label(anchor.models_, options.model),
        level=options.level,
        max_seconds=seconds,
    )
    deliver(_forms(found, options), options)


def _forms(found: Fragility, options: argparse.Namespace) -> Forms:
    """Forms of what was found: sentences with a table, JSON, and files."""
    from skanchor.reports import SCHEMA_VERSION, fragility_table, rows_table

    models = found.table.index.unique("model")
    tables: list[Any] = [(model, fragility_table(found, model)) for model in models]
    if len(found.table) == 1:
        tables.append(("Which rows", rows_table(found, *found.table.index[0])))
    statements = [(row, (row["model"], row["opponent"])) for row in found.to_dict()]
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
        lines=found.lines(),
        tables=tables,
    )


_NOTE = (
    "first order: by influence. re-solved: with weights that are solved again as rows "
    "are dropped. needed: the number that a refit without these rows confirms, or else "
    "re-solved. more: more than a tenth of the votes and of the verdicts on other "
    "models, and a quarter of those on the new model. t: difference over its error; a "
    "large t often needs more rows, but not always."
)

FRAGILITY = Command(
    name="fragility",
    help="see how few rows change the ranking, if they are dropped",
    description="Rank the new models, and say how few votes or verdicts would have to "
    "be dropped to change what the ranking says about them. Refits without these rows "
    "confirm it.",
    examples=(
        ("how few rows change an order", "battles.csv"),
        (
            "how few verdicts on the new model put it in doubt who is better",
            "battles.csv --goal interval --of arrival",
        ),
        (
            "which votes to look at, for one opponent",
            "battles.csv --opponent gpt-4 --of human -o votes.json",
        ),
        (
            "whether one prompt puts a difference in doubt, within five minutes",
            "battles.csv --goal interval --whole-groups --max-seconds 300",
        ),
    ),
    arguments=(add_table, add_method, _add_arguments, add_output),
    run=_fragility,
)
