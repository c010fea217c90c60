"""A file format: its name, its suffixes and the function that reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa

__all__ = ["Format", "to_pandas"]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format that battles tables come in.

    A module of this folder defines one, and `registry.FORMATS` lists it.

    Attributes
    ----------
    name : str
        What messages call it.
    suffixes : tuple of str
        Endings of its files, in lower case, the usual one first.
    read : callable
        Gives the table of a path. What the file must not hold it refuses with a
        ValueError, TypeError, OSError, EOFError or pyarrow's exception, in words that
        can follow "not readable as `name`: ".
    gzipped : bool, default=True
        Whether ``.gz`` may stand behind the suffix; `read` unpacks it.
    is_text : bool, default=False
        Whether `read` gives every cell as text, for `columns.typed` to parse.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Path], pd.DataFrame]
    gzipped: bool = True
    is_text: bool = False


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
    columns = [column.to_pandas() for column in table.columns]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    return frame.set_axis(table.column_names, axis=1)
