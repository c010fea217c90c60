"""``skanchor inspect``: what files are taken for, before any fit."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
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
    mapping, found = None, None
    if not options.demo:
        mapping = read_mapping(options)[1]
        if options.output:
            from skanchor.io import write_atomically

            # A mapping that was edited is not lost by a command that is typed again.
            text = mapping.to_toml()
            write_atomically(options.output, text, overwrite=options.force)
    if mapping is None or not mapping.unclear:
        from skanchor.reports.overview import overview

        X, y, _ = read_table(options)
        new = [] if options.no_new else options.new
        found = overview(X, y, groups_of(X, options.groups), new)
    if options.json:
        print_result(json_text(_record(mapping, found or {})))
        return
    from skanchor.reports.text import render_text

    decisions = [] if mapping is None else list(_decisions(mapping.table))
    shown: dict[str, Any] = {
        "mapping": mapping,
        "decisions": decisions,
        "has_overview": bool(found),
    }
    print_result(render_text("inspect", **shown, **(found or {})))


def _decisions(table: Any) -> Iterator[Any]:
    """Tables of what each column, outcome and label of a judge is taken for."""
    from skanchor.reports.tables import table_of

    for part in ("columns", "outcomes", "judges"):
        rows = table[table["part"] == part]
        names = rows["name"].map(repr if part == "outcomes" else str)
        shown = rows.set_index(names.str.slice(0, 40)).rename_axis(part[:-1])
        yield table_of("mapping", shown)


def _record(mapping: Any, found: dict[str, Any]) -> dict[str, Any]:
    """The mapping and the overview as plain data."""
    from skanchor.reports.tables import records_of

    record = dict(found)
    for name in {"models", "judges"} & found.keys():
        record[name] = records_of(found[name])
    if mapping is not None:
        decisions = mapping.table.astype(object)
        record["mapping"] = {
            "layout": mapping.layout,
            "format": mapping.format,
            "decisions": decisions.where(decisions.notna(), None).to_dict("records"),
            "unclear": list(mapping.unclear),
            "notes": list(mapping.notes),
        }
    return record
