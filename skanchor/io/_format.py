"""A file format: its name, its suffixes and the function that reads it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa

from skanchor.io._coded import CodedText
from skanchor.io._source import Source

CODED = ("model_a", "model_b", "judge", "winner")
"""Columns that every battle has: few texts in many rows."""

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
    read_codes : callable, optional
        `read` that leaves columns of :data:`CODED` as categories, where the file holds
        them as such.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Source, str | None, bool], pd.DataFrame]
    packed: bool = True
    is_encoded: bool = True
    is_text: bool = False
    read_codes: Callable[[Source, str | None, bool], pd.DataFrame] | None = None

    @property
    def key(self) -> str:
        """Name of the format as an argument: its first suffix without the dot."""
        return self.suffixes[0][1:]


def to_pandas(
    table: pa.Table, coded: Collection[str] = (), kept: Collection[str] = ()
) -> pd.DataFrame:
    """Turn a pyarrow table into a pandas one; names may occur more than once.

    Parameters
    ----------
    table : pyarrow.Table
        Table as pyarrow has read it.
    coded : collection of str, default=()
        Names of columns of text that were read as codes of a dictionary.
    kept : collection of str, default=()
        Names of those of them that become categories.

    Returns
    -------
    DataFrame
        The same columns.
    """
    names, rest = table.column_names, table.columns[::-1]
    # Each column is freed once it is turned, as only `rest` holds it.
    del table
    columns = [_column(rest.pop(), name in coded, name in kept) for name in names]
    # Arrow keeps freed memory for itself unless it is told not to.
    pa.default_memory_pool().release_unused()
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    return frame.set_axis(names, axis=1)


def _column(column: pa.ChunkedArray, coded: bool, kept: bool) -> pd.Series:
    """Column of pandas; text that was read as codes becomes text unless it is kept."""
    if coded and pa.types.is_dictionary(column.type):
        found = CodedText.of_dictionary(column)
        return found.to_categories() if kept else found.to_series()
    # Integers in a column with nulls would become floats, where large ones may become
    # equal: those columns get Python integers.
    return column.to_pandas(integer_object_nulls=_has_large(column))


def _has_large(column: pa.ChunkedArray) -> bool:
    """Whether a column has nulls and integers that are too large for exact floats."""
    if not pa.types.is_integer(column.type) or not column.null_count:
        return False
    from pyarrow import compute

    ends = compute.min_max(column).as_py()
    return any(abs(end or 0) > EXACT_FLOATS for end in ends.values())
