"""Text separated by commas, tabs, semicolons or bars: the header tells which."""

from __future__ import annotations

import re
from functools import partial

import pandas as pd
import pyarrow as pa

from skanchor.io._encoding import encoding_of
from skanchor.io._format import Format, to_pandas
from skanchor.io._lost_lines import warn_of_lost_lines
from skanchor.io._source import Source
from skanchor.io.spreadsheet import unmarked

__all__ = ["CSV", "TSV"]

# Bytes that are parsed at once, which must hold a row; the next if they do not.
_BLOCKS = (1 << 20, 1 << 26, (1 << 31) - 1)

_DELIMITERS = ",\t;|"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


def _read_separated(
    source: Source, encoding: str | None, drop_invalid: bool, usual: str
) -> pd.DataFrame:
    head = source.head()
    encoding = encoding_of(head, encoding)
    separator = _delimiter(head.decode(encoding, "ignore"), usual)
    # pyarrow drops the mark of UTF-8 itself.
    name = "utf8" if encoding in ("utf-8", "utf-8-sig") else encoding
    for size in _BLOCKS:
        try:
            table, bad = _read_blocks(source, separator, name, drop_invalid, size)
            break
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error) or size == _BLOCKS[-1]:
                raise
    warn_of_lost_lines(source.label, bad, len(table), "have not a cell a column")
    return table


def _read_blocks(
    source: Source, separator: str, encoding: str, drop_invalid: bool, block_size: int
) -> tuple[pd.DataFrame, list[int]]:
    """The table, and the numbers of bad lines, from blocks that hold whole rows."""
    from pyarrow import csv

    bad: list[int] = []

    def skip(row: csv.InvalidRow) -> str:
        bad.append(row.number)
        return "skip"

    parse = csv.ParseOptions(
        delimiter=separator,
        newlines_in_values=True,
        invalid_row_handler=skip if drop_invalid else None,
    )
    # Only one thread knows the numbers of bad rows.
    read = csv.ReadOptions(
        encoding=encoding, use_threads=not drop_invalid, block_size=block_size
    )
    # Everything as text: pyarrow guesses types from the first block of the file.
    with source.open() as file, csv.open_csv(file, read, parse) as opened:
        names = opened.schema.names
    text = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
    )
    # The first rows have been looked at for the names alone.
    bad.clear()
    with source.open() as file:
        raw = csv.read_csv(file, read, parse, text)
    columns = [unmarked(column) for column in raw.columns]
    return to_pandas(pa.Table.from_arrays(columns, names)), bad


def _delimiter(head: str, usual: str) -> str:
    """The one that the header holds most of; the usual one where it is level."""
    header = _QUOTED.sub("", head.lstrip("\ufeff\r\n")).partition("\n")[0]
    return max(usual + _DELIMITERS, key=header.count)


CSV = Format("CSV", (".csv",), partial(_read_separated, usual=","), is_text=True)
TSV = Format("TSV", (".tsv",), partial(_read_separated, usual="\t"), is_text=True)
