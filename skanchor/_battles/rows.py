"""Rows as columns of numbers: constants, equal rows, and the rows of one judge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._typing import Array


def constant(value: float, size: int) -> NDArray[Any]:
    """Return a read-only column of one repeated value; it needs memory for one only."""
    return np.broadcast_to(np.asarray(value), size)


def is_constant(column: NDArray[Any]) -> bool:
    """Whether a column is stored as one repeated value, as by :func:`constant`."""
    return column.strides == (0,)


# ------------------------------------------------------------------------- equal rows
class EqualRows(NamedTuple):
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
    """Number the rows that agree in all columns.

    Parameters
    ----------
    *columns : ndarray of shape (n_rows,)
        Numbers; NaN equals NaN, and comes last.

    Returns
    -------
    EqualRows
    """
    # One number for each row, in mixed radix: the last column varies fastest.
    key, n_keys = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        if len(column) and column.min() == column.max():
            continue
        codes, values = ordered_codes(column)
        if n_keys * len(values) > np.iinfo(np.int64).max:
            key, keys = ordered_codes(key)
            n_keys = len(keys)
        key *= len(values)
        key += codes
        n_keys *= max(len(values), 1)
    codes, keys = ordered_codes(key)
    size = np.bincount(codes, minlength=len(keys))
    kind = (np.cumsum(size > 0) - 1)[codes]
    size = size[size > 0]
    return EqualRows(kind, first_rows(kind, len(size)), size)


def ordered_codes(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Codes in the order of the values, NaN last, and the values.

    Integers of a narrow range need no search: their codes are distances to the least,
    and some of the values may be in no row.
    """
    if column.dtype.kind in "biu" and len(column):
        low, high = int(column.min()), int(column.max())
        if high - low < len(column) and high <= np.iinfo(np.int64).max:
            codes = column.astype(np.int64)
            codes -= low
            return codes, np.arange(low, high + 1).astype(column.dtype)
    return pd.factorize(column, sort=True, use_na_sentinel=False)


def first_rows(kind: NDArray[Any], n_kinds: int) -> NDArray[np.intp]:
    """First row of each kind, from zero; the number of rows where a kind has none."""
    first = np.full(n_kinds, len(kind))
    # Of values written in turn the last remains: backwards, the first row of each.
    first[kind[::-1]] = np.arange(len(kind))[::-1]
    return first


# ------------------------------------------------------------------ rows of one judge
class FeaturePairs:
    """Features of the two responses of each comparison: what a bias learner sees.

    Rows are copied out of the table only when a side or the contrast is first read:
    most learners read the contrast alone.

    Parameters
    ----------
    left, right : ndarray of shape (n_table, n_features)
        Features of the first and of the second response.
    names : tuple of str
        Names of the features.
    rows : ndarray of shape (n_rows,), optional
        Row numbers in the table; None means all rows.
    """

    def __init__(
        self,
        left: Array,
        right: Array,
        names: tuple[str, ...] = (),
        rows: NDArray[np.intp] | None = None,
    ):
        self.names = names
        self._table = left, right
        self._rows = np.arange(len(left)) if rows is None else rows

    @classmethod
    def of(cls, X: Any) -> FeaturePairs:
        """Return pairs as they are; pair an array of responses with zero features."""
        return X if isinstance(X, FeaturePairs) else cls(X, np.zeros_like(X))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rows: Any) -> FeaturePairs:
        part = FeaturePairs(*self._table, self.names, self._rows[rows])
        if "contrast" in vars(self):
            # A contrast that is computed is handed on; transposed, it lies by columns.
            places = np.arange(len(self))[rows]
            vars(part)["contrast"] = self.contrast.T.take(places, axis=1).T
        return part

    @property
    def n_features(self) -> int:
        """Number of features of a response."""
        return self._table[0].shape[1]

    @cached_property
    def left(self) -> Array:
        """Features of the first response, of shape (n_rows, n_features)."""
        return _shared(self._table[0].take(self._rows, axis=0))

    @cached_property
    def right(self) -> Array:
        """Features of the second response, of shape (n_rows, n_features)."""
        return _shared(self._table[1].take(self._rows, axis=0))

    @cached_property
    def contrast(self) -> Array:
        """Features of the first response minus those of the second, read-only."""
        sides = (side.take(self._rows, axis=0) for side in self._table)
        # Stored by columns (Fortran order), as fits multiply whole columns by weights.
        return _shared(np.subtract(*sides, order="F"))


def _shared(columns: Array) -> Array:
    """The same array, read-only: all stages share it, and no learner may change it."""
    columns.flags.writeable = False
    return columns


@dataclass(frozen=True, eq=False)
class JudgeRows:
    """The usable rows of one judge, in contiguous arrays, sorted by the ordered pair.

    ``n`` is the number of rows.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Row numbers in the comparisons that they were taken from.
    left, right, order : ndarray of shape (n,)
        Model codes of the two sides, and display order.
    pairs : FeaturePairs
        Features of the two responses.
    n_models : int
        Number of models in the vocabulary.
    """

    rows: NDArray[np.intp]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    order: Array
    pairs: FeaturePairs
    n_models: int

    @classmethod
    def of(cls, X: Any, judge: int) -> JudgeRows:
        """Select the usable rows of a judge of ``Comparisons``, given its code."""
        rows = np.flatnonzero((X.judge == judge) & X.is_usable)
        pair = X.left[rows] * len(X.models) + X.right[rows]
        # numpy sorts 16-bit integers by radix, in linear time.
        pair = pair.astype(np.min_scalar_type(len(X.models) ** 2))
        rows = rows[np.argsort(pair, kind="stable")]
        pairs = FeaturePairs(X.features_left, X.features_right, X.feature_names, rows)
        sides = X.left[rows], X.right[rows]
        return cls(rows, *sides, X.order[rows], pairs, len(X.models))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, places: NDArray[np.intp]) -> JudgeRows:
        """Rows at some places, in ascending order."""
        if len(places) == len(self):
            return self
        sides = self.left[places], self.right[places]
        of_rows = self.order[places], self.pairs[places]
        return JudgeRows(self.rows[places], *sides, *of_rows, self.n_models)

    def involves(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which rows involve at least one of the flagged models."""
        return flags.take(self.left) | flags.take(self.right)

    def differences(self, values: Array) -> Array:
        """Return the value of each row's first model minus that of its second."""
        return np.asarray(values.take(self.left) - values.take(self.right))
