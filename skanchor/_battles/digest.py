"""SHA-256 of the columns of a table."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._battles.in_chunks import chunks
from skanchor._battles.labels import is_constant, value_range


def digest_of(
    labels: Any, columns: Iterable[NDArray[Any]], listing: NDArray[Any] | None = None
) -> str:
    """Return the SHA-256 of labels and columns, whatever types their integers have.

    Parameters
    ----------
    labels : lists of plain objects
        What the columns are about.
    columns : iterable of ndarray of shape (n_rows,) or (n_rows, n)
        Columns, or blocks of them.
    listing : ndarray of integers, optional
        Rows of which the columns consist; by default each once, in its order. Each
        occurs.

    Returns
    -------
    str
        In hexadecimal digits.
    """
    found = sha256(repr(labels).encode())
    for column in columns:
        # The time is in proportion to the bytes: those of one row where all are equal,
        # and of narrow integers.
        kind = _narrowest(column)
        n_rows = len(column) if listing is None else len(listing)
        values, chosen = (column[:1], None) if _all_equal(column) else (column, listing)
        size = len(values) if chosen is None else n_rows
        shape = column.shape[1:]
        found.update(repr(((n_rows, *shape), (size, *shape), kind.str)).encode())
        for rows in chunks(size):
            part = values[rows] if chosen is None else values.take(chosen[rows], 0)
            found.update(np.ascontiguousarray(part, dtype=kind).data)
    return found.hexdigest()


def _narrowest(column: NDArray[Any]) -> np.dtype[Any]:
    """The narrowest type that holds a column of integers; other columns keep theirs."""
    if column.dtype.kind not in "iu" or not len(column):
        return column.dtype
    return np.result_type(*map(np.min_scalar_type, value_range(column)))


def _all_equal(column: NDArray[Any]) -> bool:
    """Whether all rows of a column, or of a block of columns, are equal."""
    if is_constant(column):
        return True
    return all((column[rows] == column[:1]).all() for rows in chunks(len(column)))
