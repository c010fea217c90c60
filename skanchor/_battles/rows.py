"""Rows as columns of numbers: constants, equal rows, and the rows of one judge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._typing import Array


def constant(value: float, size: int) -> NDArray[Any]:
    """Return a read-only column of one repeated value; it needs memory for one only."""
    return np.broadcast_to(np.asarray(value), size)


def is_constant(column: NDArray[Any]) -> bool:
    """Whether a column is stored as one repeated value, as by :func:`constant`."""
    return column.strides == (0,)


# ------------------------------------------------------------------------- equal rows
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
    n_rows, n_keys = len(columns[0]), 1
    key = np.zeros(n_rows, dtype=np.int64)
    for column in columns:
        if is_constant(column):
            continue
        codes, n_codes = _codes_in_order(column)
        if n_keys * n_codes > np.iinfo(np.int64).max:
            key, values = pd.factorize(key, sort=True)
            n_keys = len(values)
        n_keys *= n_codes
        key *= n_codes
        key += codes
    if n_keys <= max(n_rows, 1 << 16):
        # Counting takes no search.
        size = np.bincount(key, minlength=n_keys)
        kind = (np.cumsum(size > 0) - 1).take(key)
        size = size[size > 0]
    else:
        kind, values = pd.factorize(key, sort=True)
        size = np.bincount(kind, minlength=len(values))
    return EqualRows(kind, first_rows(kind, len(size)), size)


def _codes_in_order(column: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Codes from zero in the order of the values, and their number; some lie idle."""
    whole = column
    if column.dtype.kind == "f":
        # Outcomes and display orders are halves or whole, so that their doubles count.
        with np.errstate(invalid="ignore", over="ignore"):
            whole = (2.0 * column).astype(np.int64)
            whole = whole if (whole == 2.0 * column).all() else column
    found = distances(whole)
    if found is not None:
        return found.codes, found.size
    codes, values = pd.factorize(column, sort=True, use_na_sentinel=False)
    return codes, max(len(values), 1)


class Distances(NamedTuple):
    """Distance of each integer of a column from the least one, and their range."""

    codes: NDArray[np.int64]
    low: int
    size: int


def distances(column: NDArray[Any]) -> Distances | None:
    """Distances of integers in a narrow range, which are codes; else None."""
    if column.dtype.kind not in "bi" or not len(column):
        return None
    low, high = int(column.min()), int(column.max())
    if high - low > len(column):
        return None
    codes = column.astype(np.int64, copy=False)
    return Distances(codes - low if low else codes, low, high - low + 1)


def first_rows(kind: NDArray[Any], n_kinds: int) -> NDArray[np.intp]:
    """First row of each kind, from zero; the number of rows where a kind has none."""
    first = np.full(n_kinds, len(kind))
    # Of values written in turn the last remains: backwards, the first row of each.
    first[kind[::-1]] = np.arange(len(kind))[::-1]
    return first


def digest_of(labels: Any, columns: Iterable[NDArray[Any]]) -> str:
    """Return the SHA-256 of labels and columns, whatever types their integers have."""
    found = sha256(repr(labels).encode())
    for column in columns:
        kind = np.int64 if column.dtype.kind in "iu" else column.dtype
        # A column of one value is the same in both ways to store it.
        values = column[:1] if (column == column[:1]).all() else column
        found.update(repr((column.shape, values.shape, np.dtype(kind).str)).encode())
        found.update(np.ascontiguousarray(values, dtype=kind).data)
    return found.hexdigest()


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

    @property
    def incidence(self) -> csr_array:
        """Sparse (n, n_models) matrix with +1 at the first model, -1 at the second."""
        n = len(self)
        signs = np.tile([1.0, -1.0], n)
        sides = np.column_stack([self.left, self.right]).ravel()
        return csr_array((signs, sides, np.arange(0, 2 * n + 1, 2)), (n, self.n_models))

    def involves(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which rows involve at least one of the flagged models."""
        return flags.take(self.left) | flags.take(self.right)

    def differences(self, values: Array) -> Array:
        """Return the value of each row's first model minus that of its second."""
        return np.asarray(values.take(self.left) - values.take(self.right))
