"""``skanchor inspect``: what files are understood to hold, before any fit."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command, lines_of
from skanchor._cli.method import add_dependence
from skanchor._cli.output import add_json, json_text
from skanchor._cli.streams import check_stdout, print_result
from skanchor._cli.table import add_table, check_table, groups_of, load_battles

if TYPE_CHECKING:
    import pandas as pd


def _inspect(options: argparse.Namespace) -> None:
    from skanchor._cli.following import followed
    from skanchor._cli.wording import cases_of, worded
    from skanchor.reports import overview
    from skanchor.warning_log import WarningLog

    check_stdout()
    check_table(options)
    # What must be decided is a finding here, not an error: all rows are described.
    asked = ""
    all_human = options.all_human
    try:
        # A second reading below would say again what was assumed.
        with WarningLog() as log:
            X, y, _ = load_battles(options)
        log.issue()
    except BadInputError as error:
        if not error.cases or all_human:
            log.issue()
            raise
        asked, cases = str(error), error.cases
        options.all_human = True
        X, y, _ = load_battles(options)
    found = overview(X, y, groups_of(X, options), [] if options.no_new else options.new)
    rank = ["rank", *options.typed[1:]]
    rank = [word for word in rank if word != "--json"]
    files = _files(X)
    if asked:
        cases = followed(cases, options.battles, options.parse)
        cases = [(case, ["rank", *words[1:]]) for case, words in cases]
    elif found.refusal is not None:
        cases = cases_of(found.refusal, rank, options.battles)
        cases = followed(cases, options.battles, options.parse)
    else:
        cases = [("", rank)]
    go_on = lines_of(cases)
    if options.json:
        commands = [line.strip() for line in go_on if line.startswith("  ")]
        record: Any = {"files": files, **found.to_dict(worded), "commands": commands}
        print_result(json_text(record))
        return
    lines = [f"{path}: read as {kind}." for path, kind in files["formats"].items()]
    for path, said in files["assumed"].items():
        lines += [f"  {path}: assumed that {each}." for each in said]
    lines += found.lines(worded)
    if go_on:
        lines += ["", *(["To decide:", asked] if asked else ["Go on with:"]), *go_on]
    print_result("\n".join(lines) + "\n")


def _files(X: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """By file, the format that it was read as, and what was assumed."""
    return {name: dict(X.attrs.get(name, {})) for name in ("formats", "assumed")}


INSPECT = Command(
    name="inspect",
    help="say what skanchor understands of the files, without ranking",
    description="Say what skanchor understands of the files: rows, models, judges, "
    "people, outcomes, features, groups, display orders and connectivity; what will be "
    "left out; and which command to run next.",
    examples=(
        ("a table of your own", "battles.csv"),
        ("votes and verdicts in two files", "votes.csv gpt-4.jsonl"),
        ("for a program", "battles.csv --json | jq .judges"),
    ),
    arguments=(add_table, add_dependence, add_json),
    run=_inspect,
)
