"""JSON, one battle a line or one array of battles."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pandas as pd

from skanchor.io._format import Format

__all__ = ["JSON_LINES"]

_DUE = (
    "Each line must be one battle, as pandas writes it with "
    "to_json(path, orient='records', lines=True)."
)


def _read_objects(path: Path) -> pd.DataFrame:
    if path.suffix.lower() == ".gz":
        with gzip.open(path, "rb") as file:
            text = file.read().decode("utf-8-sig")
    else:
        text = path.read_text(encoding="utf-8-sig")
    if text.lstrip().startswith("["):
        records = json.loads(text)
    else:
        records = []
        # Not splitlines: a string may hold U+2028 and its like.
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                try:
                    records.append(json.loads(line))
                except ValueError as error:
                    raise ValueError(f"line {number}: {error}") from None
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            raise ValueError(
                f"record {number} is {json.dumps(record)[:40]}, not an object. {_DUE}"
            )
    if len(records) == 1 and all(
        isinstance(value, (dict, list)) for value in records[0].values()
    ):
        raise ValueError(f"its one object holds a table by columns. {_DUE}")
    return pd.DataFrame.from_records(records)


JSON_LINES = Format("JSON Lines", (".jsonl", ".ndjson", ".json"), _read_objects)
