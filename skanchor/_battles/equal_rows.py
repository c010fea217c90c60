"""Rows that agree in all of some columns, numbered: the one place that decides it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles.coded import coded_text
from skanchor._battles.in_chunks import chunks, first_rows
from skanchor._battles.labels import is_constant, value_range

_MODELS = {"model_a", "model_b"}
_OTHERS = {"judge", "shown_first"}

_FEW = 1 << 10
"""Numbers of kinds that are counted however few rows there are."""

_MOST = np.iinfo(np.int64).max


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


def number_rows(*columns: NDArray[Any], narrow: bool = False) -> EqualRows:
    """Number the rows that agree in all columns, without a sort of the rows.

    Parameters
    ----------
    *columns : ndarray of shape (n_rows,)
        Numbers; NaN equals NaN, and comes last.
    narrow : bool, default=False
        Whether the kinds may be narrow integers, for less time and memory.

    Returns
    -------
    EqualRows
    """
    # One number for each row, in mixed radix: the last column varies fastest.
    n_rows, size = len(columns[0]), 1
    key: NDArray[Any] = np.zeros(n_rows, dtype=np.int32 if narrow else np.int64)
    for column in columns:
        if is_constant(column):
            continue
        codes, low, n_codes = _codes(column)
        if size * n_codes > _MOST:
            key, found = pd.factorize(key, sort=True)
            size = len(found)
        size *= n_codes
        if size > np.iinfo(key.dtype).max:
            key = key.astype(np.int64)
        for rows in chunks(n_rows):
            part = key[rows]
            part *= n_codes
            part += codes[rows]
            part -= low
    kind, number = _compact(key, size)
    return EqualRows(kind, first_rows(kind, len(number)), number)


def equal_texts(X: Any, y: Any) -> EqualRows | None:
    """Number the equal rows of a table that has only models, judges and outcomes.

    Parameters
    ----------
    X : object
        Battles table in any form.
    y : object
        Its outcomes.

    Returns
    -------
    EqualRows or None
        With narrow integers. None where the table has other columns, no pandas columns
        of texts, or missing ones, or where not even two rows in the mean must be equal.
    """
    if not isinstance(X, pd.DataFrame) or not isinstance(y, pd.Series):
        return None
    names = X.columns
    if not (names.is_unique and _MODELS <= {*names} <= _MODELS | _OTHERS):
        return None
    size, codes = 2, []
    for column in (*(X[name] for name in names), y):
        found = coded_text(column) if len(X) == len(y) else None
        if found is None or value_range(found.codes)[0] < 0:
            return None
        size *= len(found.texts)
        codes.append(found.codes)
    if size > len(X):
        return None
    equal = number_rows(*codes, narrow=True)
    narrow = equal.kind.astype(np.min_scalar_type(len(equal.first)))
    return replace(equal, kind=narrow)


def _codes(column: NDArray[Any]) -> tuple[NDArray[Any], int, int]:
    """Integers in the order of the values, the least of them, and how many there are.

    Maybe some are not in use.
    """
    if column.dtype.kind == "f":
        halves = _halves(column)
        if halves is None:
            codes, found = pd.factorize(column, sort=True, use_na_sentinel=False)
            return codes, 0, max(len(found), 1)
        column = halves
    elif column.dtype == bool:
        column = column.view(np.int8)
    low, high = value_range(column)
    if high - low > max(len(column), _FEW):
        codes, found = pd.factorize(column, sort=True)
        return codes, 0, len(found)
    return column, low, max(high - low + 1, 1)


def _halves(values: NDArray[Any]) -> NDArray[np.int8] | None:
    """Twice the values, where all are whole and halves from -1 to 1.

    Outcomes and display orders mostly are: then nothing is searched.
    """
    found = np.empty(len(values), dtype=np.int8)
    for rows in chunks(len(values)):
        twice = 2.0 * values[rows]
        if not (np.abs(twice) <= 2.0).all() or (twice != np.round(twice)).any():
            return None
        found[rows] = twice
    return found


def _compact(key: NDArray[Any], size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number of each key among those in use, and how often each is in use."""
    if size > max(4 * len(key), _FEW):
        kind, used = pd.factorize(key, sort=True)
        return kind, np.bincount(kind, minlength=len(used))
    # Counting numbers the keys in use much faster than hashing.
    number = np.zeros(size, dtype=np.intp)
    for rows in chunks(len(key), 4 * size):
        number += np.bincount(key[rows], minlength=size)
    in_use = number > 0
    if not in_use.all():
        place = np.cumsum(in_use) - 1
        for rows in chunks(len(key)):
            key[rows] = place.take(key[rows])
    return key, number[in_use]
