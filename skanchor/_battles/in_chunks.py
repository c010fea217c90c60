"""Passes over many rows, a part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_STEP = 1 << 16
"""Rows of a chunk that stays in the processor's cache."""


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
    """First row of each kind; the number of rows where a kind has none.

    Parameters
    ----------
    kind : ndarray of shape (n_rows,)
        Kind of each row, from zero.
    n_kinds : int
        Number of kinds.

    Returns
    -------
    ndarray of shape (n_kinds,)
    """
    n_rows = len(kind)
    first = np.full(n_kinds, n_rows)
    # Of values written in turn the last remains: backwards, the first row of each.
    for rows in reversed(list(chunks(n_rows))):
        first[kind[rows][::-1]] = np.arange(rows.start, min(rows.stop, n_rows))[::-1]
    return first


def look_up(values: NDArray[Any], codes: NDArray[Any]) -> NDArray[Any]:
    """Return the value of each code, without a wide copy of all codes.

    Parameters
    ----------
    values : ndarray of shape (n_codes,)
        Values; the last one is that of code -1.
    codes : ndarray of shape (n_rows,)
        Integers, which may be narrow.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    found = np.empty(len(codes), dtype=values.dtype)
    for rows in chunks(len(codes)):
        found[rows] = values.take(codes[rows])
    return found
