"""Rows as columns of numbers: constants, equal rows, and the rows of one judge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._typing import Array

_STEP = 1 << 16
"""Rows of a chunk that stays in the processor's cache."""


def constant(value: float, size: int) -> NDArray[Any]:
    """Return a read-only column of one repeated value; it needs memory for one only."""
    return np.broadcast_to(np.asarray(value), size)


def is_constant(column: NDArray[Any]) -> bool:
    """Whether a column is stored as one repeated value, as by :func:`constant`."""
    return column.strides == (0,)


def look_up(values: NDArray[Any], codes: NDArray[Any]) -> NDArray[Any]:
    """Return the value of each code, without a wide copy of all codes.

    The last of the values is that of code -1. Codes may be narrow integers.
    """
    found = np.empty(len(codes), dtype=values.dtype)
    for start in range(0, len(codes), _STEP):
        rows = slice(start, start + _STEP)
        found[rows] = values.take(codes[rows])
    return found


def renumber(codes: NDArray[Any], place: NDArray[Any]) -> NDArray[Any]:
    """Return codes, none of them -1, in other numbers; not copied if none changes."""
    is_same = np.array_equal(place, np.arange(len(place)))
    return codes if is_same else look_up(place, codes)


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
        if size * n_codes > np.iinfo(np.int64).max:
            key, found = pd.factorize(key, sort=True)
            size = len(found)
        size *= n_codes
        key *= n_codes
        key += codes
    kind, found = pd.factorize(key, sort=True)
    sizes = np.bincount(kind, minlength=len(found))
    return EqualRows(kind, first_rows(kind, len(found)), sizes)


def _codes(column: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Codes from zero in the order of the values, and their number; some lie idle."""
    if column.dtype.kind in "iu" and len(column):
        low, high = int(column.min()), int(column.max())
        if high - low <= len(column):
            return (column - low if low else column), high - low + 1
    codes, found = pd.factorize(column, sort=True, use_na_sentinel=False)
    return codes, max(len(found), 1)


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
        self._rows = rows

    @classmethod
    def of(cls, X: Any) -> FeaturePairs:
        """Return pairs as they are; pair an array of responses with zero features."""
        return X if isinstance(X, FeaturePairs) else cls(X, np.zeros_like(X))

    def __len__(self) -> int:
        return len(self._table[0] if self._rows is None else self._rows)

    def __getitem__(self, rows: Any) -> FeaturePairs:
        inside = np.arange(len(self)) if self._rows is None else self._rows
        part = FeaturePairs(*self._table, self.names, inside[rows])
        if "contrast" in vars(self):
            # The part takes over a contrast that is already computed. It is stored by
            # columns, so rows are taken from the transpose, which keeps that order.
            places = np.arange(len(self))[rows]
            vars(part)["contrast"] = self.contrast.T.take(places, axis=1).T
        return part

    @property
    def n_features(self) -> int:
        """Number of features of a response."""
        return self._table[0].shape[1]

    def _side(self, side: int) -> Array:
        """Features of one side, (n_rows, n_features); read-only if rows were chosen."""
        if self._rows is None:
            return self._table[side]
        chosen = self._table[side].take(self._rows, axis=0)
        # All stages share this array, so a learner must not write into it.
        chosen.flags.writeable = False
        return chosen

    @cached_property
    def left(self) -> Array:
        """Features of the first response, of shape (n_rows, n_features)."""
        return self._side(0)

    @cached_property
    def right(self) -> Array:
        """Features of the second response, of shape (n_rows, n_features)."""
        return self._side(1)

    @cached_property
    def contrast(self) -> Array:
        """Features of the first response minus those of the second, read-only."""
        # Stored by columns (Fortran order), as fits multiply whole columns by weights.
        contrast = np.subtract(self._side(0), self._side(1), order="F")
        contrast.flags.writeable = False
        return contrast


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
