"""``skanchor inspect``: what files are understood to hold, before any fit."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command
from skanchor._cli.method import add_dependence
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
    found = overview(X, y, groups_of(X, options), [] if options.no_new else options.new)
    files = _files(X)
    if options.json:
        record: Any = {"files": files, **found.to_dict(), "to_decide": asked or None}
        print_result(json_text(record))
        return
    lines = [f"{path}: read as {kind}." for path, kind in files["formats"].items()]
    for path, said in files["assumed"].items():
        lines += [f"  {path}: assumed that {each}." for each in said]
    lines += found.lines()
    if asked:
        lines.append(f"To decide: {asked}")
    print_result("\n".join(lines) + "\n")


def _files(X: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """By file, the format that it was read as, and what was assumed."""
    return {name: dict(X.attrs.get(name, {})) for name in ("formats", "assumed")}


INSPECT = Command(
    name="inspect",
    help="say what skanchor understands of the files, without ranking",
    description="Say what skanchor understands of the files: rows, models, judges, "
    "people, outcomes, features, groups, display orders and connectivity; and "
    "what will be left out.",
    examples=(
        ("a table of your own", "battles.csv"),
        ("votes and verdicts in two files", "votes.csv gpt-4.jsonl"),
        ("for a program", "battles.csv --json | jq .judges"),
    ),
    arguments=(add_table, add_dependence, add_json),
    run=_inspect,
)
