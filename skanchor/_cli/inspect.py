"""``skanchor inspect``: what files are taken for, before any fit."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from skanchor._cli.battles import check_files, load_rows, read_mapping
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
    read, mapping, facts = None, None, {}
    if not options.demo:
        read = read_mapping(options)
        mapping = read[1]
        if options.output:
            from skanchor.io import write_atomically

            # A mapping that was edited is not lost by a command that is typed again.
            text = mapping.to_toml()
            write_atomically(options.output, text, overwrite=options.force)
    if mapping is None or not mapping.unclear:
        from skanchor.reports.facts import overview

        rows = load_rows(options, read=read)
        is_counted = rows.weights == "frequency"
        new = [] if options.no_new else options.new
        facts = overview(**rows.arguments, counted=is_counted, new_models=new)
        if mapping is not None:
            # Columns go by their names in the file, which lacks those that are made.
            names = {new: name for name, new in rows.X.attrs["renamed"].items()}
            ignored = [names.get(name, name) for name in facts["inputs"].ignored]
            ignored = [name for name in ignored if name in mapping.columns]
            facts["inputs"] = replace(facts["inputs"], ignored=tuple(ignored))
    print_result((_as_json if options.json else _as_text)(mapping, facts))


def _as_json(mapping: Any, facts: dict[str, Any]) -> str:
    """The mapping and the facts as JSON."""
    from skanchor.reports.record import as_json_value

    if mapping is not None:
        names = ("layout", "format", "unclear", "notes")
        record = {name: getattr(mapping, name) for name in names}
        decisions = mapping.table.to_dict("records")
        facts = facts | {"mapping": record | {"decisions": decisions}}
    return json_text(as_json_value(facts))


def _as_text(mapping: Any, facts: dict[str, Any]) -> str:
    """The decisions on columns, outcomes and judges, and the facts."""
    from skanchor.io._tables import FILE
    from skanchor.reports.tables import Table
    from skanchor.reports.text import render_text

    decisions = []
    for part in () if mapping is None else ("columns", "outcomes", "judges"):
        rows = mapping.table[mapping.table["part"] == part]
        # The reader's own column, which is in no file.
        rows = rows[(rows["name"] != FILE) | (rows["meaning"] != "ignored")]
        names = rows["name"].map(repr if part == "outcomes" else str)
        rows = rows.set_index(names.str.slice(0, 40)).rename_axis(part[:-1])
        decisions.append(Table.of(part, rows[["meaning", "rows", "reason"]]))
    context = {"mapping": mapping, "decisions": decisions, "facts": facts}
    if facts:
        shown = facts["judges"].drop(columns="both_bad")
        context["judges"] = Table.of("judges", shown)
    return render_text("inspect", **context)
