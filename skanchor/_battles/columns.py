"""Columns of numbers with one entry for each row: constants, passes, equal rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_STEP = 1 << 16
"""Rows of a chunk that stays in the processor's cache."""

_MOST = np.iinfo(np.int64).max


def constant(value: float, size: int) -> NDArray[Any]:
    """Return a read-only column of one repeated value; it needs memory for one only."""
    return np.broadcast_to(np.asarray(value), size)


def is_constant(column: NDArray[Any]) -> bool:
    """Whether a column is stored as one repeated value, as by :func:`constant`."""
    return column.strides == (0,)


def value_range(values: NDArray[Any]) -> tuple[Any, Any]:
    """Return the smallest and largest value; NaN if any is NaN; 0, -1 without any."""
    return (values.min().item(), values.max().item()) if len(values) else (0, -1)


def chunks(n_rows: int, at_least: int = 0) -> Iterator[slice]:
    """Rows of one chunk after another, each small enough for the processor's cache.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    at_least : int, default=0
        Least size of a chunk, where work is done for each.

    Returns
    -------
    iterator of slice
    """
    step = max(_STEP, at_least)
    return (slice(start, start + step) for start in range(0, n_rows, step))


def first_rows(kind: NDArray[Any], n_kinds: int) -> NDArray[np.intp]:
    """First row of each kind, from zero; the number of rows where a kind has none."""
    n_rows = len(kind)
    first = np.full(n_kinds, n_rows)
    # Of values written in turn the last remains: backwards, the first row of each.
    for rows in reversed(list(chunks(n_rows))):
        first[kind[rows][::-1]] = np.arange(rows.start, min(rows.stop, n_rows))[::-1]
    return first


def look_up(values: NDArray[Any], codes: NDArray[Any]) -> NDArray[Any]:
    """Return the value of each code, without a wide copy of all codes.

    The last of the values is that of code -1. Codes may be narrow integers.
    """
    found = np.empty(len(codes), dtype=values.dtype)
    for rows in chunks(len(codes)):
        found[rows] = values.take(codes[rows])
    return found


@dataclass(frozen=True, eq=False, slots=True)
class EqualRows:
    """Kinds of equal rows, in the order of their columns, the first column first.

    Attributes
    ----------
    kind : ndarray of shape (n_rows,)
        Kind of each row.
    first : ndarray of shape (n_kinds,)
        First row of each kind.
    size : ndarray of shape (n_kinds,)
        Number of its rows.
    """

    kind: NDArray[np.intp]
    first: NDArray[np.intp]
    size: NDArray[np.intp]


def number_rows(*columns: NDArray[Any]) -> EqualRows:
    """Number the rows that agree in all columns, without a sort of the rows.

    Parameters
    ----------
    *columns : ndarray of shape (n_rows,)
        Numbers; NaN equals NaN, and comes last.

    Returns
    -------
    EqualRows
    """
    # One number for each row, in mixed radix: the last column varies fastest.
    key, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        if is_constant(column):
            continue
        codes, n_codes = _codes(column)
        if size * n_codes > _MOST:
            key, found = pd.factorize(key, sort=True)
            size = len(found)
        size *= n_codes
        key *= n_codes
        key += codes
    kind, found = pd.factorize(key, sort=True)
    size_of_kind = np.bincount(kind, minlength=len(found))
    return EqualRows(kind, first_rows(kind, len(found)), size_of_kind)


def _codes(column: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Codes from zero in the order of the values, and their number; some lie idle."""
    if column.dtype.kind in "iu":
        low, high = value_range(column)
        if high - low <= len(column):
            return (column - low if low else column), max(high - low + 1, 1)
    codes, found = pd.factorize(column, sort=True, use_na_sentinel=False)
    return codes, max(len(found), 1)


def digest_of(labels: Any, columns: Iterable[NDArray[Any]]) -> str:
    """Return the SHA-256 of labels and columns, whatever types their integers have.

    Parameters
    ----------
    labels : lists of plain objects
        What the columns are about.
    columns : iterable of ndarray of shape (n_rows,) or (n_rows, n)
        Columns, or blocks of them.

    Returns
    -------
    str
        In hexadecimal digits.
    """
    found = sha256(repr(labels).encode())
    for column in columns:
        kind = np.int64 if column.dtype.kind in "iu" else column.dtype
        # A column of one value is the same in both ways to store it.
        values = column[:1] if (column == column[:1]).all() else column
        found.update(repr((column.shape, values.shape, np.dtype(kind).str)).encode())
        found.update(np.ascontiguousarray(values, dtype=kind).data)
    return found.hexdigest()
