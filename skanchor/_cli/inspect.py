"""``skanchor inspect``: what a table holds, before any fit."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from typing import Any

from skanchor._cli.battles import load_rows, read_mapping
from skanchor._cli.output import deliver, write_content
from skanchor.io._tables import FILE
from skanchor.reports.facts import overview
from skanchor.reports.readout import Readout
from skanchor.reports.tables import Table


def inspect(options: argparse.Namespace) -> None:
    facts: dict[str, Any] = {}
    read, mapping, decisions = None, None, []
    if not options.demo:
        read = read_mapping(options)
        mapping = read[1]
        decisions = _decisions(mapping)
        if options.output:
            # A mapping that was edited is not lost by a command that is typed again.
            write_content(mapping.to_toml(), options)
            options.output = None
    if mapping is None or not mapping.unclear:
        rows = load_rows(options, read)
        counted = rows["sample_weight"] is not None and options.weights != "importance"
        new = [] if options.no_new else options.new
        facts = overview(**rows, counted=counted, new_models=new)
        if mapping is not None:
            # Columns go by their names in the file, which lacks those that are made.
            in_file = {new: name for name, new in rows["X"].attrs["renamed"].items()}
            ignored = [in_file.get(name, name) for name in facts["inputs"].ignored]
            ignored = [name for name in ignored if name in mapping.columns]
            facts["inputs"] = replace(facts["inputs"], ignored=tuple(ignored))
    record = {**facts, "inputs": asdict(facts["inputs"])} if facts else {}
    if mapping is not None:
        names = ("layout", "format", "unclear", "notes")
        about = {name: getattr(mapping, name) for name in names}
        record["mapping"] = about | {"decisions": mapping.table.to_dict("records")}
    values: dict[str, Any] = {"mapping": mapping, "facts": facts}
    if facts:
        shown = facts["judges"].drop(columns="both_bad")
        values["judges"] = Table.of("judges", shown)
    deliver(Readout("inspect", record, tables=decisions, values=values), options)


def _decisions(mapping: Any) -> list[Table]:
    """Tables of the decisions on columns, outcomes and judges."""
    tables = []
    for part in ("columns", "outcomes", "judges"):
        rows = mapping.table[mapping.table["part"] == part]
        # The reader's own column, which is in no file.
        rows = rows[(rows["name"] != FILE) | (rows["meaning"] != "ignored")]
        names = rows["name"].map(repr if part == "outcomes" else str)
        rows = rows.set_index(names.str.slice(0, 40)).rename_axis(part[:-1])
        tables.append(Table.of(part, rows[["meaning", "rows", "reason"]]))
    return tables
