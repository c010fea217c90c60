"""JSON: one battle on each line, or one array of battles."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from skanchor.io._encoding import decoded
from skanchor.io._format import EXACT_FLOATS, Format
from skanchor.io._lost_lines import BadLinesError, warn_of_lost_lines
from skanchor.io._plain_tables import terms
from skanchor.io._plain_tables.names import candidates
from skanchor.io._plain_tables.sources import human_like, names_machine
from skanchor.io._source import Source
from skanchor.io._tools.recognition import recognise

_DUE = (
    "Each line must be one battle, as pandas writes it with "
    "to_json(path, orient='records', lines=True)."
)

_FAULT = "are no JSON"

_FIELDS = {*terms.SIDES, *terms.OUTCOMES}
"""Keys of fields that a battle has, and a column of battles has not."""

# Keys of the list of battles in files that hold one object.
_ENVELOPES = ("matches", "battles", "data", "records")


def _read_objects(
    source: Source, encoding: str | None, drop_invalid: bool
) -> pd.DataFrame:
    """Read battles from an array, from lines, or from one object that holds them."""
    with source.open() as file:
        text = decoded(file.read(), encoding)
    start = text.lstrip()[:1]
    bad: list[int] = []
    try:
        if start == "[":
            records = _loaded(text)
        else:
            records, bad = _lines(text, start, drop_invalid)
    except RecursionError:
        raise ValueError("it is nested too deeply.") from None
    warn_of_lost_lines(source.label, bad, len(records), _FAULT)
    if len(records) == 1:
        records = _opened(records[0], source)
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            raise ValueError(
                f"record {number} is {json.dumps(record)[:40]}, not an object. {_DUE}"
            )
    if len(records) == 1 and all(
        isinstance(value, (dict, list)) for value in records[0].values()
    ):
        records = _by_rows(records[0])
    return _exact(pd.DataFrame.from_records(records), records)


def _loaded(text: str) -> Any:
    """Parse one JSON text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        digits = sys.get_int_max_str_digits()
        raise ValueError(
            f"it holds a whole number of more than {digits} digits"
        ) from None


def _exact(table: pd.DataFrame, records: list[dict[str, Any]]) -> pd.DataFrame:
    """Restore large integers of columns with nulls, which pandas made floats."""
    for name in table.columns[table.dtypes == np.float64]:
        if (table[name].abs() >= EXACT_FLOATS).any():
            values = [record.get(name) for record in records]
            if all(value is None or isinstance(value, int) for value in values):
                table[name] = pd.Series(values, index=table.index, dtype=object)
    return table


def _lines(text: str, start: str, drop_bad: bool) -> tuple[list[Any], list[int]]:
    """Records of all lines, and numbers of bad lines.

    A file that is one object over several lines is one record. Bad lines are refused
    unless they may be dropped and other lines remain.
    """
    records: list[Any] = []
    bad: list[int] = []
    first = ""
    # ``splitlines`` would also split at U+2028 and similar characters in a string.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            records.append(_loaded(line))
        except ValueError as error:
            if not bad:
                # The first line is no JSON: the text may be one object.
                if start == "{" and not records:
                    try:
                        return [_loaded(text)], []
                    except ValueError:
                        pass
                first = f"line {number}: {error}"
            bad.append(number)
    if bad and not (drop_bad and records):
        raise BadLinesError(first, len(bad), len(records), _FAULT)
    return records, bad


def _opened(record: Any, source: Source) -> list[Any]:
    """Battles in an object that holds one list of them; else the object itself.

    Texts beside the list, such as the name of a judge, are those of every battle.
    """
    lists = _lists_in(record)
    known = {name: each for name, each in lists.items() if name in _ENVELOPES}
    lists = known if len(known) == 1 else lists
    if len(lists) > 1 and _are_of_judges(lists):
        return [
            {"judge": name, **row} for name, each in lists.items() for row in each[0]
        ]
    if len(lists) > 1:
        named = " and ".join(
            f"{name!r} ({len(each[0])})" for name, each in lists.items()
        )
        commands = "; ".join(
            f"jq '{_path_in(name)}' {source.path} > {name}.json" for name in lists
        )
        raise ValueError(
            f"it holds several lists of objects, {named}. Write each list of battles "
            f"to a file of its own, and give these: {commands}"
        )
    for rows, beside in lists.values():
        texts = {key: value for key, value in beside.items() if isinstance(value, str)}
        return [{**texts, **row} for row in rows]
    return [record]


def _path_in(name: str) -> str:
    """Path of a list, as the program jq takes it."""
    return "".join(f'."{key}"' for key in name.split("."))


def _are_of_judges(lists: Mapping[str, tuple[list[Any], dict]]) -> bool:
    """Whether lists are those of a judge or of people each, by their keys."""
    people = human_like(lists)
    rest = [name for name in lists if name not in people]
    rows = [row for each, _ in lists.values() for row in each]
    named = any(candidates(row, terms.JUDGES) for row in rows)
    return bool(people and rest) and all(map(names_machine, rest)) and not named


def _by_rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Battles of an object that holds a table by columns, as lists or by row names."""
    parts = list(columns.values())
    if all(isinstance(part, dict) and candidates(part, _FIELDS) for part in parts):
        # An object of battles, each under its name.
        return [{"battle_id": name, **part} for name, part in columns.items()]
    rows = [
        list(part) if isinstance(part, dict) else range(len(part)) for part in parts
    ]
    cells = [cell for part in parts if isinstance(part, dict) for cell in part.values()]
    deeper = cells and all(isinstance(cell, dict) for cell in cells)
    if not rows or deeper or any(list(each) != list(rows[0]) for each in rows):
        raise ValueError(
            f"its one object holds columns of different rows, or no columns, such as "
            f"{next(iter(columns), '')!r}. {_DUE} Counts may stand in "
            'a line as {"model_a": "owl", "model_b": "elk", "judge": "gpt-4", '
            '"wins_a": 12, "wins_b": 7, "ties": 3}'
        )
    return [{name: part[row] for name, part in columns.items()} for row in rows[0]]


def _lists_in(record: Any, deeper: int = 2) -> dict[str, tuple[list[Any], dict]]:
    """Lists of objects in an object, by their keys, and what stands beside each.

    Those of a battle itself, such as its two responses, are none: it has an outcome, or
    a tool is known to write it. Neither are the turns of a conversation.
    """
    if not isinstance(record, dict) or candidates(record, terms.OUTCOMES):
        return {}
    if recognise(pd.DataFrame([record])) is not None:
        return {}
    found = {}
    for name, value in record.items():
        if isinstance(value, list) and value:
            if all(isinstance(each, dict) and "role" not in each for each in value):
                found[str(name)] = value, record
        elif deeper:
            for key, (rows, beside) in _lists_in(value, deeper - 1).items():
                found[f"{name}.{key}"] = rows, {**record, **beside}
    return found


JSON_LINES = Format("JSON Lines", (".jsonl", ".ndjson", ".json"), _read_objects)
