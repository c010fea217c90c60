"""``skanchor inspect``: what files are taken for, before any fit."""

from __future__ import annotations

import argparse
from typing import Any

from skanchor._cli.battles import check_files, groups_of, read_mapping, read_table
from skanchor._cli.output import json_text
from skanchor._cli.streams import check_stdout, print_result
from skanchor._cli.values import BadInputError


def inspect(options: argparse.Namespace) -> None:
    check_stdout()
    check_files(options)
    if options.output and options.demo:
        raise BadInputError("-o goes with a FILE, not with --demo")
    if options.output and not options.output.endswith(".toml"):
        raise BadInputError(f"-o {options.output}: a mapping is a .toml file")
    read, mapping, found = None, None, {}
    if not options.demo:
        read = read_mapping(options)
        mapping = read[1]
        if options.output:
            from skanchor.io import write_atomically

            # A mapping that was edited is not lost by a command that is typed again.
            text = mapping.to_toml()
            write_atomically(options.output, text, overwrite=options.force)
    if mapping is None or not mapping.unclear:
        from skanchor.reports.overview import overview

        X, y, counts = read_table(options, read)
        new = [] if options.no_new else options.new
        found = overview(X, y, groups_of(X, options.groups), new, counts)
        if mapping is not None:
            # Columns go by their names in the file, which lacks those that are made.
            names = {standard: name for name, standard in X.attrs["renamed"].items()}
            ignored = [names.get(name, name) for name in found["ignored"]]
            found["ignored"] = [name for name in ignored if name in mapping.columns]
    print_result((_as_json if options.json else _as_text)(mapping, found))


def _as_json(mapping: Any, found: dict[str, Any]) -> str:
    """The mapping and the overview as JSON."""
    from skanchor.reports.record import as_json_value

    if mapping is not None:
        names = ("layout", "format", "unclear", "notes")
        record = {name: getattr(mapping, name) for name in names}
        decisions = mapping.table.to_dict("records")
        found = found | {"mapping": record | {"decisions": decisions}}
    return json_text(as_json_value(found))


def _as_text(mapping: Any, found: dict[str, Any]) -> str:
    """The decisions on columns, outcomes and judges, and the overview."""
    from skanchor.reports.tables import Table
    from skanchor.reports.text import render_text

    decisions = []
    for part in () if mapping is None else ("columns", "outcomes", "judges"):
        rows = mapping.table[mapping.table["part"] == part]
        names = rows["name"].map(repr if part == "outcomes" else str)
        rows = rows.set_index(names.str.slice(0, 40)).rename_axis(part[:-1])
        decisions.append(Table.of(part, rows[["meaning", "rows", "reason"]]))
    judges = Table.of("judges", found["judges"]) if found else None
    known = {"mapping": mapping, "decisions": decisions, "judges_table": judges}
    return render_text("inspect", has_overview=bool(found), **known, **found)
