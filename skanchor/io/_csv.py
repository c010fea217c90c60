"""Text separated by commas, tabs, semicolons or bars, recognised by the header."""

from __future__ import annotations

import csv as csv_of_text
import io
import re
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from skanchor.exceptions import AssumptionWarning
from skanchor.io._encoding import encoding_of, require_encoding
from skanchor.io._format import Format, to_pandas
from skanchor.io._lost_lines import BadLinesError, warn_of_lost_lines
from skanchor.io._source import Source
from skanchor.io.spreadsheet import unmarked
from skanchor.warning_log import warn

if TYPE_CHECKING:
    from pyarrow import csv

# Sizes in bytes of the blocks that are parsed at once. A block must hold a whole row:
# if one does not, the next size is tried.
_BLOCKS = (1 << 20, 1 << 26, (1 << 31) - 1)

_DELIMITERS = ",\t;|"

_TITLES = 30
"""Rows in which a header below titles is looked for."""
_FAULT = "have not a cell a column"
_OF_ONE_LINE = re.compile(r"Expected \d+ columns, got \d+")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


def _read_separated(
    source: Source, encoding: str | None, drop_invalid: bool, usual: str
) -> pd.DataFrame:
    """Read a table as text; ``usual`` is the separator that the suffix suggests."""
    try:
        table, bad = _parsed_lines(source, encoding, usual, lenient=drop_invalid)
    except pa.ArrowInvalid as error:
        if drop_invalid or not _OF_ONE_LINE.search(str(error)):
            raise
        # Read again to find all bad lines, for the error below.
        table, bad = _parsed_lines(source, encoding, usual, lenient=True)
        drop_invalid = not bad
    if bad and not (drop_invalid and len(table)):
        row = bad[0]
        raise BadLinesError(
            f"line {row.number}: Expected {row.expected_columns} columns, got "
            f"{row.actual_columns}: {(row.text or '')[:40]!r}",
            len(bad),
            len(table),
            _FAULT,
        )
    numbers = [row.number for row in bad]
    warn_of_lost_lines(source.label, numbers, len(table), _FAULT)
    return table


def _parsed_lines(
    source: Source, encoding: str | None, usual: str, *, lenient: bool
) -> tuple[pd.DataFrame, list[csv.InvalidRow]]:
    """Table with all cells as text, and its bad lines.

    Bad lines raise pyarrow's exception unless ``lenient``.
    """
    head = source.head()
    encoding = encoding_of(head, encoding)
    if lenient:
        # Checked before: the handler of bad lines cannot refuse another encoding.
        with source.open() as file:
            require_encoding(file, encoding)
    text = head.decode(encoding, "ignore").lstrip("\ufeff")
    skipped = _lines_before(text)
    lines = text.split("\n")
    separator = _delimiter("\n".join(lines[skipped:]), usual)
    above = [line.strip(f'{_DELIMITERS} "\r') for line in lines[:skipped]]
    titles = [line for line in above[_comments(text) :] if line]
    if titles:
        warn(
            AssumptionWarning(
                f"{source.label}: the names of columns are in line {skipped + 1}; what "
                f"stands above, such as {titles[0][:40]!r}, is not read.",
                code="text-above-header",
                subject=(),
            ),
            stacklevel=6,
        )
    # pyarrow drops the byte order mark of UTF-8 itself.
    name = "utf8" if encoding in ("utf-8", "utf-8-sig") else encoding
    read = partial(_read_blocks, source, separator, name, lenient, skipped)
    for size in _BLOCKS[:-1]:
        try:
            return read(size)
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error):
                raise
    return read(_BLOCKS[-1])


def _read_blocks(
    source: Source,
    separator: str,
    encoding: str,
    lenient: bool,
    skipped: int,
    block_size: int,
) -> tuple[pd.DataFrame, list[csv.InvalidRow]]:
    """Table and bad lines, read in blocks of one size after some lines."""
    from pyarrow import csv

    bad: list[csv.InvalidRow] = []

    def skip(row: csv.InvalidRow) -> str:
        bad.append(row)
        return "skip"

    parse = csv.ParseOptions(
        delimiter=separator,
        newlines_in_values=True,
        invalid_row_handler=skip if lenient else None,
    )
    # With several threads pyarrow does not give the numbers of bad rows.
    read = csv.ReadOptions(
        encoding=encoding,
        use_threads=not lenient,
        block_size=block_size,
        skip_rows=skipped,
    )
    # The first opening gives the names only. All columns are then read as text, since
    # pyarrow would guess types from the first block of the file.
    with source.open() as file, csv.open_csv(file, read, parse) as opened:
        names = opened.schema.names
    text = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
    )
    # Bad lines of the first block were found already when the names were read.
    bad.clear()
    with source.open() as file:
        raw = csv.read_csv(file, read, parse, text)
    columns = [unmarked(column) for column in raw.columns]
    return to_pandas(pa.Table.from_arrays(columns, names)), bad


def _comments(text: str) -> int:
    """Number of lines of comments before the header: they begin with ``#``.

    A header may begin so, too: it has as many separators as the next line.
    """
    lines = text.split("\n")
    at = next((n for n, line in enumerate(lines) if not line.startswith("#")), 0)
    if 0 < at < len(lines):
        header, first = (
            [line.count(sign) for sign in _DELIMITERS]
            for line in (lines[at - 1], lines[at])
        )
        at -= header == first and any(header)
    return at


def _lines_before(text: str) -> int:
    """Number of lines before the header: comments, and titles as of a spreadsheet.

    A title has few filled cells above a table of three columns or more, whose first
    rows have a cell in each.
    """
    start = _comments(text)
    body = "\n".join(text.split("\n")[start:])
    own = _delimiter(body, "")
    # Where the first line has cells as the rows below it, no other separator is tried.
    for separator in (own, *_DELIMITERS.replace(own, "")):
        found = csv_of_text.reader(io.StringIO(body), delimiter=separator)
        rows, ends = [], [0]
        try:
            for row in islice(found, _TITLES):
                rows.append(row)
                ends.append(found.line_num)
        except csv_of_text.Error:
            # A cell of more characters than Python reads is in no title.
            return start
        # The last row may be cut off.
        width = len(rows[-2]) if len(rows) > 2 else 0
        filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
        if filled and 2 * filled[0] > width > 1:
            return start
        if width < 3:
            continue
        at = next((n for n, held in enumerate(filled) if 2 * held > width), 0)
        if 0 < at < len(rows) - 2 and all(len(r) == width for r in rows[at:-1]):
            return start + ends[at]
    return start


def _delimiter(head: str, usual: str) -> str:
    """The most frequent separator in the header; the usual one if several are."""
    header = _QUOTED.sub("", head.lstrip("\ufeff\r\n")).partition("\n")[0]
    return max(usual + _DELIMITERS, key=header.count)


CSV = Format("CSV", (".csv", ".txt"), partial(_read_separated, usual=","), is_text=True)
TSV = Format("TSV", (".tsv",), partial(_read_separated, usual="\t"), is_text=True)
