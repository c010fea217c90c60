"""``skanchor inspect``: what files are taken for, before any fit."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command, Flags
from skanchor._cli.fit import add_dependence
from skanchor._cli.output import add_force, add_json, json_text
from skanchor._cli.streams import check_stdout, print_result
from skanchor._cli.table import (
    add_table,
    check_table,
    groups_of,
    read_mapping,
    read_table,
)

if TYPE_CHECKING:
    from skanchor.io import Mapping


_TABLES = ("models", "judges")
"""Tables among the facts of the overview."""


def _add_mapping_file(flags: Flags) -> None:
    flags.value(
        "-o --output",
        "FILE",
        "write the mapping to this file (.toml), to be edited and given as --mapping",
    )
    add_force(flags)


def _inspect(options: argparse.Namespace) -> None:
    check_stdout()
    check_table(options)
    mapping = found = None
    if not options.demo:
        mapping = read_mapping(options)[1]
        if options.output:
            _write(mapping, options)
    elif options.output:
        raise BadInputError("-o goes with a FILE, not with --demo")
    if mapping is None or not mapping.unclear:
        from skanchor.reports.overview import overview

        X, y, _ = read_table(options)
        new = [] if options.no_new else options.new
        found = overview(X, y, groups_of(X, options), new)
    print_result(_json(mapping, found) if options.json else _text(mapping, found))


def _json(mapping: Mapping | None, found: dict[str, Any] | None) -> str:
    """The mapping and the overview as JSON."""
    from skanchor.reports.tables import records_of

    record = dict(found or {})
    record |= {name: records_of(record[name]) for name in _TABLES if name in record}
    if mapping is not None:
        decisions = mapping.table.astype(object)
        record["mapping"] = {
            "layout": mapping.layout,
            "format": mapping.format,
            "decisions": decisions.where(decisions.notna(), None).to_dict("records"),
            "unclear": list(mapping.unclear),
            "notes": list(mapping.notes),
        }
    return json_text(record)


def _text(mapping: Mapping | None, found: dict[str, Any] | None) -> str:
    """The mapping, and below it the overview."""
    from skanchor.reports.page import render_text

    lines = [] if mapping is None else _lines(mapping)
    text = "".join(f"{line}\n" for line in lines)
    return text if found is None else text + render_text("inspect", **found)


def _write(mapping: Mapping, options: argparse.Namespace) -> None:
    """Write the mapping to the file of ``-o``."""
    path = options.output
    if not path.endswith(".toml"):
        raise BadInputError(f"-o {path}: a mapping is a .toml file")
    from skanchor.io import write_atomically

    # A mapping that was edited is not lost by a command that is typed again.
    write_atomically(path, mapping.to_toml(), overwrite=options.force)


def _lines(mapping: Mapping) -> list[str]:
    """The mapping as a table of text, and what is unclear."""
    from skanchor._text import printable

    tool = "" if mapping.format == "table" else f", written by {mapping.format}"
    lines = [f"{mapping.source}: layout {mapping.layout}{tool}."]
    for part, title in (("columns", "Column"), ("outcomes", "Outcome"),
                        ("judges", "Judge")):  # fmt: skip
        decisions = getattr(mapping, part)
        if not decisions:
            continue
        rows = [[title, "is", "rows", "why"]]
        for name, one in decisions.items():
            shown = repr(name) if part == "outcomes" else name
            n = "" if one.rows is None else str(one.rows)
            rows.append([printable(str(c))[:40] for c in (shown, one.meaning, n)])
            rows[-1].append(one.reason)
        wide = [max(len(row[at]) for row in rows) for at in range(3)]
        for name, meaning, n, why in rows:
            lines.append(
                f"  {name:{wide[0]}}  {meaning:{wide[1]}}  {n:>{wide[2]}}  {why}"
            )
    lines += [printable(note) for note in mapping.notes]
    if mapping.unclear:
        lines.append("Unclear:")
        lines += [f"  - {printable(one)}" for one in mapping.unclear]
        inspect, rank = mapping.commands
        lines.append(f'Replace each "?": {inspect}, then {rank}')
    return lines


def _add_arguments(flags: Flags) -> None:
    add_table(flags)
    add_dependence(flags)
    _add_mapping_file(flags)
    add_json(flags)


INSPECT = Command(
    name="inspect",
    help="say what skanchor takes the files for, without ranking",
    more="These flags of files go with every command.",
    examples=(
        ("a table of your own", "battles.csv"),
        ("the mapping into a file, to be edited", "battles.csv -o battles.toml"),
        ("votes and verdicts", "votes.csv gpt-4.jsonl"),
        ("for a program", "battles.csv --json | jq .judges"),
    ),
    arguments=_add_arguments,
    run=_inspect,
)
