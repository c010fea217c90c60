"""Finds the texts: a single column, or columns or pairs of columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from skanchor._battles import as_frame
from skanchor.exceptions import BattlesError


@dataclass(frozen=True, slots=True)
class TextSource:
    """A column of texts in a table, or a pair of them.

    Attributes
    ----------
    name : str
        Prefix of the names of its features, if there are several sources.
    columns : tuple of str
        Names of one column or two.
    sides : tuple of str
        Suffix of the names of the features of each column.
    """

    name: str
    columns: tuple[str, ...]
    sides: tuple[str, ...]


def open_table(X: Any) -> nw.DataFrame[Any] | None:
    """Wrap a table of any supported type; None for a column of texts."""
    if isinstance(X, str):
        raise ValueError(
            "Iterable over raw text documents expected, string object received: give "
            "a list of texts."
        )
    return as_frame(X)


def find_sources(
    frame: nw.DataFrame[Any], columns: str | Sequence[Any]
) -> tuple[TextSource, ...]:
    """Find the columns of texts that a user has named.

    Parameters
    ----------
    frame : DataFrame
        The table.
    columns : str or list of str and pairs of str
        Names of pairs (without ``_a`` and ``_b``) or of single columns; two names in a
        tuple are a pair.

    Returns
    -------
    tuple of TextSource
        One for each column or pair, in the order given.
    """
    if isinstance(columns, (str, tuple)):
        columns = [columns]
    present = list(frame.columns)
    found = [_find(present, given) for given in columns]
    if not found:
        raise ValueError("columns names no column of texts.")
    return tuple(found)


def _find(present: list[str], given: Any) -> TextSource:
    """The source that a name, or a pair of names, stands for."""
    if isinstance(given, tuple):
        absent = [name for name in given if name not in present]
        if len(given) != 2 or absent:
            raise BattlesError(
                f"There is no pair of columns of texts {given}: the table has "
                f"{present[:20]}."
            )
        # The source of ("text_a", "text_b") is called "text", else as its first column.
        same = given[0][:-2] == given[1][:-2] and given[0][-2:] == "_a"
        return TextSource(given[0][:-2] if same else given[0], given, ("_a", "_b"))
    pair = (f"{given}_a", f"{given}_b")
    if set(pair) <= set(present):
        return TextSource(given, pair, ("_a", "_b"))
    # A single column: the named one, or the only one that the table has.
    single = given if given in present else present[0]
    if given not in present and len(present) > 1:
        raise BattlesError(
            f"There are no columns of texts {pair[0]} and {pair[1]}; the table has "
            f"{present[:20]}. Name the pairs in columns, as in "
            "columns=[('left', 'right')]."
        )
    return TextSource(single, (single,), ("",))


def read_texts(values: Any, name: str) -> tuple[list[str], int]:
    """Read the texts of a column, missing ones as empty.

    Parameters
    ----------
    values : sequence
        Texts; None and NaN are missing ones.
    name : str
        Name of the column in messages.

    Returns
    -------
    texts : list of str
        The texts.
    n_missing : int
        Number of missing texts.
    """
    # Filled in place, because np.array would turn nested lists into more dimensions.
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    missing = np.array([_is_missing(value) for value in array], dtype=bool)
    odd = [i for i in np.flatnonzero(~missing) if not isinstance(array[i], str)]
    if odd:
        value = array[odd[0]]
        raise BattlesError(
            f"{name} must hold texts: row {odd[0]} holds {str(value)[:40]!r}, a "
            f"{type(value).__name__}. Join the turns of a conversation by line ends, "
            "and turn other values into texts first."
        )
    array[missing] = ""
    return [str(text) for text in array], int(missing.sum())


def _is_missing(value: Any) -> bool:
    return value is None or (pd.api.types.is_scalar(value) and bool(pd.isna(value)))


def column_of_texts(X: Any) -> Any:
    """Values of a column of texts: a series, a list, or an array of one column."""
    series = nw.from_native(X, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series.to_list()
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1:
        return X[:, 0]
    if not hasattr(X, "__len__"):
        return list(X)
    if np.ndim(X) > 1 and isinstance(X, np.ndarray):
        raise ValueError(
            f"One column of texts is needed, got an array of shape {X.shape}."
        )
    return X
