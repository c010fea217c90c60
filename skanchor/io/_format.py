"""A file format: its name, its suffixes and the function that reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa

from skanchor.io._source import Source

__all__ = ["EXACT_FLOATS", "Format", "to_pandas"]

EXACT_FLOATS = 1 << 53
"""Whole numbers up to this one have an exact 64-bit float."""


@dataclass(frozen=True, slots=True)
class Format:
    """A file format of battles tables.

    A module of this folder defines one, and `registry.FORMATS` lists it.

    Attributes
    ----------
    name : str
        Name of the format in messages.
    suffixes : tuple of str
        Endings of its files, in lower case, the usual one first.
    read : callable
        Function of a source, an encoding or None, and whether to drop invalid lines. It
        returns the table; dropped lines are warned of. It refuses invalid content with
        a ValueError, TypeError, OSError, EOFError or pyarrow's exception, in words that
        can follow "not readable as `name`: ".
    packed : bool, default=True
        Whether its files may be compressed, as by gzip.
    is_encoded : bool, default=True
        Whether its files are text, and so have an encoding.
    is_text : bool, default=False
        Whether `read` returns all cells as text, which `columns.typed` then parses.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Source, str | None, bool], pd.DataFrame]
    packed: bool = True
    is_encoded: bool = True
    is_text: bool = False

    @property
    def key(self) -> str:
        """Name of the format as an argument: its first suffix without the dot."""
        return self.suffixes[0][1:]


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """Turn a pyarrow table into a pandas one; names may occur more than once.

    Parameters
    ----------
    table : pyarrow.Table
        Table as pyarrow has read it.

    Returns
    -------
    DataFrame
        The same columns.
    """
    # Integers in a column with nulls would become floats, where large ones may become
    # equal: those columns get Python integers.
    columns = [
        column.to_pandas(integer_object_nulls=_has_large(column))
        for column in table.columns
    ]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    return frame.set_axis(table.column_names, axis=1)


def _has_large(column: pa.ChunkedArray) -> bool:
    """Whether a column has nulls and integers that are too large for exact floats."""
    if not pa.types.is_integer(column.type) or not column.null_count:
        return False
    from pyarrow import compute

    ends = compute.min_max(column).as_py()
    return any(abs(end or 0) > EXACT_FLOATS for end in ends.values())
