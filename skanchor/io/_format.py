"""A file format: its name, its suffixes and the function that reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa

from skanchor.io._source import Source

__all__ = ["EXACT_FLOATS", "Format", "to_pandas"]

EXACT_FLOATS = 1 << 53
"""Whole numbers up to this one are floats, too."""


@dataclass(frozen=True, slots=True)
class Format:
    """A file format that battles tables come in.

    A module of this folder defines one, and `registry.FORMATS` lists it.

    Attributes
    ----------
    name : str
        What messages call it, and in lower case without blanks what users do.
    suffixes : tuple of str
        Endings of its files, in lower case, the usual one first.
    read : callable
        Gives the table of a source, whose text is in the encoding given, if any; told
        to drop what is invalid, it leaves out bad lines and warns of them. What
        the file must not hold it refuses with a ValueError, TypeError, OSError,
        EOFError or pyarrow's exception, in words that can follow "not readable as
        `name`: ".
    packed : bool, default=True
        Whether its files may be packed, as by gzip.
    is_encoded : bool, default=True
        Whether its files are text, so that they have an encoding.
    is_text : bool, default=False
        Whether `read` gives every cell as text, for `columns.typed` to parse.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Source, str | None, bool], pd.DataFrame]
    packed: bool = True
    is_encoded: bool = True
    is_text: bool = False

    @property
    def key(self) -> str:
        """What users call it."""
        return self.suffixes[0][1:]


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """Turn a pyarrow table to pandas, columns of one name kept apart.

    Parameters
    ----------
    table : pyarrow.Table
        What pyarrow has read.

    Returns
    -------
    DataFrame
        The same columns.
    """
    # Integers beside nulls would become floats, which merges large ones.
    columns = [
        column.to_pandas(integer_object_nulls=_has_large(column))
        for column in table.columns
    ]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    return frame.set_axis(table.column_names, axis=1)


def _has_large(column: pa.ChunkedArray) -> bool:
    """Whether a column holds, beside nulls, integers that floats cannot tell apart."""
    if not pa.types.is_integer(column.type) or not column.null_count:
        return False
    from pyarrow import compute

    ends = compute.min_max(column).as_py()
    return any(abs(end or 0) > EXACT_FLOATS for end in ends.values())
