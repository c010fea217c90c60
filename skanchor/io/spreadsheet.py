"""Text that a spreadsheet would run as a formula: marked in CSV, unmarked on reading.

A cell of text that begins with ``=``, ``+``, ``-``, ``@``, a tab, a carriage return or
a line feed is written with an apostrophe in front, which spreadsheets take as the mark
of text. The same is done if such a character follows apostrophes. Reading removes one
apostrophe, so that it restores the text that was written. Only characters that a
terminal would run, or that turn the direction of a text, stay the escapes that they
were written as.
"""

from __future__ import annotations

import csv
import re
from typing import Any

import pandas as pd
import pyarrow as pa

_FORMULA = r"[=+@\t\r\n-]"
# Control characters but tab, line feed and carriage return, and those that turn the
# direction of a text: a terminal runs the former, and the latter hide what is there.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def separated(table: pd.DataFrame, separator: str) -> str:
    """Write a table as CSV in which spreadsheets find no formulas.

    Parameters
    ----------
    table : DataFrame
        Table whose data are all in columns; the index is not written.
    separator : str
        Separator of cells.

    Returns
    -------
    str
    """
    marked = _marked_table(table)
    texts = marked.select_dtypes(exclude="number")
    returns = any("\r" in cell for cell in texts.to_numpy().ravel()
                  if isinstance(cell, str))  # fmt: skip
    text: str = marked.to_csv(
        index=False,
        sep=separator,
        lineterminator="\n",
        # With minimal quoting, pandas would not quote a carriage return.
        quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL,
    )
    return text


def workbook(table: pd.DataFrame) -> bytes:
    """Write a table as an Excel workbook in which there are no formulas.

    Parameters
    ----------
    table : DataFrame
        Table whose data are all in columns; the index is not written.

    Returns
    -------
    bytes
        Content of the file.

    Raises
    ------
    ImportError
        If openpyxl is not installed.
    """
    from io import BytesIO

    file = BytesIO()
    # NaN and infinite numbers become empty cells.
    _marked_table(table).to_excel(
        file, sheet_name="skanchor", index=False, inf_rep="", engine="openpyxl"
    )
    return file.getvalue()


def unmarked(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Remove the marks from a column of text.

    Parameters
    ----------
    column : pyarrow.ChunkedArray of strings
        Column as it is in the file.

    Returns
    -------
    pyarrow.ChunkedArray
    """
    from pyarrow import compute

    quoted = compute.starts_with(column, "'")
    if not compute.any(quoted).as_py():
        return column
    marked = compute.match_substring_regex(column, f"^'+{_FORMULA}")
    return compute.if_else(marked, compute.utf8_slice_codeunits(column, 1), column)


def _marked_table(table: pd.DataFrame) -> pd.DataFrame:
    """Table in whose texts spreadsheets find no formulas."""
    numeric = pd.api.types.is_numeric_dtype
    marked = {
        name: column if numeric(column) else column.map(_marked)
        for name, column in table.items()
    }
    return pd.DataFrame(marked, index=table.index)


def _marked(cell: Any) -> Any:
    """Cell with an apostrophe in front, if a spreadsheet could run it.

    Characters that a terminal would run, or that hide others, become escapes.
    """
    if not isinstance(cell, str):
        return cell
    cell = _UNSEEN.sub(lambda sign: sign[0].encode("unicode_escape").decode(), cell)
    return f"'{cell}" if re.match(f"'*{_FORMULA}", cell) else cell
