"""``skanchor inspect``: what files are understood to hold, before any fit."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command, Flags
from skanchor._cli.fit import add_dependence
from skanchor._cli.output import add_json, json_text
from skanchor._cli.streams import check_stdout, print_result
from skanchor._cli.table import (
    NoJudgesError,
    add_table,
    check_table,
    groups_of,
    load_battles,
)

if TYPE_CHECKING:
    import pandas as pd


def _inspect(options: argparse.Namespace) -> None:
    from skanchor.reports.overview import overview
    from skanchor.reports.page import render_text
    from skanchor.reports.tables import records_of
    from skanchor.warning_log import WarningLog

    check_stdout()
    check_table(options)
    # What must be decided is a finding here, not an error: all rows are described.
    asked = ""
    try:
        # A second reading below would say again what was assumed.
        with WarningLog() as log:
            X, y, _ = load_battles(options)
        log.issue()
    except NoJudgesError as error:
        asked = str(error)
        options.all_human = True
        X, y, _ = load_battles(options)
    except BadInputError:
        log.issue()
        raise
    new = [] if options.no_new else options.new
    found = overview(X, y, groups_of(X, options), new)
    found |= {"files": _files(X), "to_decide": asked or None}
    if options.json:
        found |= {name: records_of(found[name]) for name in ("models", "judges")}
        print_result(json_text(found))
    else:
        print_result(render_text("inspect", **found))


def _files(X: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """By file, the format that it was read as, and what was assumed."""
    return {name: dict(X.attrs.get(name, {})) for name in ("formats", "assumed")}


def _add_arguments(flags: Flags) -> None:
    add_table(flags)
    add_dependence(flags)
    add_json(flags)


INSPECT = Command(
    name="inspect",
    help="say what skanchor understands of the files, without ranking",
    more="These flags of files go with every command.",
    examples=(
        ("a table of your own", "battles.csv"),
        ("votes and verdicts", "votes.csv gpt-4.jsonl"),
        ("for a program", "battles.csv --json | jq .judges"),
    ),
    arguments=_add_arguments,
    run=_inspect,
)
