"""Groups of dependent rows in a stream: which there are, and sums by group.

A group is known by a hash of its label, which needs no other row, so that its fold is
the same in every batch and pass. Its rows may lie anywhere: sums by group are gathered
over the whole stream, and take memory in proportion to the number of groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._numerics.btl import laplacian, pair_sums
from skanchor._numerics.groups import GroupTotals
from skanchor._numerics.linalg import SymmetricSolver
from skanchor._typing import Array

__all__ = [
    "GroupSketch",
    "GroupTable",
    "GroupedHeld",
    "group_hashes",
    "grouped_dispersion",
    "item_totals",
    "label_hashes",
    "row_hash",
]

# Multipliers and increment of SplitMix64 (Steele, Lea and Flood 2014).
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_GOLDEN = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1


_SKETCH = 1 << 16
"""Groups in a sketch of a stream: those of the lowest hashes."""


def row_hash(number: NDArray[np.integer], seed: int) -> NDArray[np.uint64]:
    """Hash of row numbers: output of the generator SplitMix64 at these positions.

    Parameters
    ----------
    number : ndarray of shape (n_rows,)
        Row numbers.
    seed : int
        Seed of the generator; other seeds give unrelated hashes.

    Returns
    -------
    ndarray of shape (n_rows,)
        Unsigned 64-bit integers.
    """
    # The seed is mixed, too: else the hashes of seed + 1 would be those of this seed,
    # shifted by one row.
    start = np.array([(seed + 1) * _GOLDEN & _WORD], dtype=np.uint64)
    value = number.astype(np.uint64) + np.uint64(1)
    value *= np.uint64(_GOLDEN)
    value += _mixed(start)
    return _mixed(value)


def _mixed(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Output function of SplitMix64, modulo 2^64."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(_MIX[0])
    value = (value ^ (value >> np.uint64(27))) * np.uint64(_MIX[1])
    mixed: NDArray[np.uint64] = value ^ (value >> np.uint64(31))
    return mixed


def group_hashes(
    column: pa.ChunkedArray, start: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Hash of the group of each row, and the labels that these stand for.

    Parameters
    ----------
    column : pyarrow.ChunkedArray of length n_rows
        Labels. A row without one is a group of its own.
    start : int
        Number of the first row in the stream.

    Returns
    -------
    hashes : ndarray of shape (n_rows,)
    known : ndarray of shape (n_groups,)
        Different hashes among these.
    labels : ndarray of shape (n_groups,)
        Their labels.
    """
    coded = pc.dictionary_encode(column)
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.unify_dictionaries().combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = pa.concat_arrays(coded.chunks)
    labels = coded.dictionary.to_numpy(zero_copy_only=False)
    codes = coded.indices
    if codes.null_count:
        codes = codes.to_numpy(zero_copy_only=False)
        lost = np.flatnonzero(np.isnan(codes))
        own = [f"row {start + row} without a prompt" for row in lost.tolist()]
        codes[lost] = len(labels) + np.arange(len(lost))
        codes = codes.astype(np.intp)
        labels = np.concatenate([labels.astype(object), np.array(own, dtype=object)])
    else:
        codes = codes.to_numpy(zero_copy_only=False)
    known = label_hashes(labels)
    return known.take(codes), known, labels


def label_hashes(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Hash of each label, the same in any process."""
    hashes: NDArray[Any] = pd.util.hash_array(_texts(labels), categorize=False)
    return hashes.view(np.int64)


def _texts(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as numpy's texts or whole numbers, which can be hashed."""
    if labels.dtype.kind in "iu":
        return labels.astype(np.int64)
    if labels.dtype == object and all(type(label) is str for label in labels):
        return labels
    return np.array([str(label) for label in labels.tolist()], dtype=object)


@dataclass(eq=False)
class GroupTable:
    """Sums of values of rows by group, and maybe by a further key, gathered in parts.

    Attributes
    ----------
    parts : list of (keys, values)
        Keys of shape (n, n_keys), of which the first is the hash of the group, and
        sums of shape (n, n_values). Different parts may have the same keys, until
        :meth:`merged`.
    """

    parts: list[tuple[NDArray[np.int64], Array]] = field(default_factory=list)
    _waiting: int = 0

    @classmethod
    def of(cls, keys: Iterable[NDArray[Any]], values: Array) -> Self:
        """Sum the values, of shape (n_rows, n_values), by these keys of the rows."""
        columns = np.column_stack([np.asarray(key, np.int64) for key in keys])
        return cls([_summed_by_key(columns, values)])

    def gain(self, other: GroupTable) -> None:
        """Add the sums of other rows to these, in place."""
        self.parts = [*self.parts, *other.parts]
        self._waiting += sum(len(keys) for keys, _ in other.parts)
        # As many again as have been merged: each row is merged a few times only.
        if self._waiting > len(self.parts[0][0]):
            self.merged()

    def __add__(self, other: GroupTable) -> GroupTable:
        found = GroupTable(list(self.parts), self._waiting)
        found.gain(other)
        return found

    def merged(self) -> tuple[NDArray[np.int64], Array]:
        """Keys, each once, and the sums of each."""
        if len(self.parts) > 1:
            keys, values = zip(*self.parts, strict=True)
            self.parts = [_summed_by_key(np.concatenate(keys), np.concatenate(values))]
        self._waiting = 0
        return self.parts[0]


@dataclass(frozen=True, eq=False)
class GroupedHeld:
    """Residuals of the rows of a judge that each fold holds out, by group.

    Attributes
    ----------
    score : ndarray of shape (n_folds, n_local)
        Sum of ``w eps x``, with an axis of the folds of all repeats.
    by_group : list of GroupTable
        For each repeat, the same by fold of the repeat and by group.
    """

    score: Array
    by_group: list[GroupTable]

    def __add__(self, other: GroupedHeld) -> GroupedHeld:
        by_group = [
            one + more for one, more in zip(self.by_group, other.by_group, strict=True)
        ]
        return GroupedHeld(self.score + other.score, by_group)

    def gain(self, other: GroupedHeld) -> None:
        """Add the sums of other rows to these, in place."""
        np.add(self.score, other.score, out=self.score)
        for mine, more in zip(self.by_group, other.by_group, strict=True):
            mine.gain(more)

    def of_folds(self, groups: NDArray[np.int64], folds: Any) -> list[GroupTotals]:
        """Sums by group of each fold of all repeats.

        Parameters
        ----------
        groups : ndarray of shape (n_groups,)
            Hashes of all groups, ascending, whose places are the codes.
        folds : ndarray of shape (n_repeats, n_groups)
            Fold of each group.

        Returns
        -------
        list of GroupTotals
        """
        n_folds, found = len(self.score) // len(self.by_group), []
        for table, fold in zip(self.by_group, folds, strict=True):
            keys, totals = table.merged()
            codes = np.searchsorted(groups, keys[:, 0])
            order = np.lexsort((codes, fold[codes]))
            stops = np.searchsorted(fold[codes[order]], np.arange(n_folds + 1))
            for start, stop in pairwise(stops.tolist()):
                own = order[start:stop]
                found.append(GroupTotals(codes[own], totals[own]))
        return found


def _summed_by_key(
    keys: NDArray[np.int64], values: Array
) -> tuple[NDArray[np.int64], Array]:
    """Sum values by key, keys in the order in which they come first."""
    # One number for all keys of a row, mixed after each of them, as their order counts.
    one = keys[:, 0]
    for other in keys.T[1:]:
        one = row_hash(one, 0).view(np.int64) + other
    codes, _ = pd.factorize(one)
    size = int(codes.max(initial=-1)) + 1
    first = np.empty(size, dtype=np.intp)
    # Of values written in turn the last remains: backwards, the first row of each.
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    if values.shape[1] <= 2:
        columns = [np.bincount(codes, column, size) for column in values.T]
        return keys[first], np.column_stack(columns).astype(np.float64)
    gather = csr_array(
        (np.ones(len(codes)), codes, np.arange(len(codes) + 1)), (len(codes), size)
    ).T
    return keys[first], np.asarray(gather @ values, dtype=np.float64)


def item_totals(
    group: NDArray[np.int64],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    values: Array,
    n_items: int,
) -> tuple[NDArray[np.int64], Array]:
    """Sum of values over each item's rows, minus where it is second, by group.

    Returns
    -------
    groups : ndarray of shape (n_groups,)
        Hashes, ascending.
    totals : ndarray of shape (n_groups, n_items)
    """
    groups, at = np.unique(group, return_inverse=True)
    size = len(groups) * n_items
    found = np.bincount(at * n_items + left, values, size).astype(np.float64)
    found -= np.bincount(at * n_items + right, values, size)
    return groups, found.reshape(len(groups), n_items)


def grouped_dispersion(
    keys: NDArray[np.int64], values: Array, n_items: int, *, has_deviations: bool
) -> float:
    """Dispersion of residuals in groups, as :func:`skanchor._items.dispersions`.

    Parameters
    ----------
    keys : ndarray of shape (n_cells, 2)
        Hash of the group of each cell of rows of one group and pair, and their ordered
        pair: the first item times ``n_items``, plus the second.
    values : ndarray of shape (n_cells, 2)
        Sums over the cells of ``w eps`` and of ``w V``.
    n_items : int
        Number of items.
    has_deviations : bool
        Whether deviations by model are fitted and removed first.

    Returns
    -------
    float
        One where the rows carry no information.
    """
    group, pair = keys.T
    left, right = np.divmod(pair.astype(np.intp), n_items)
    residual, information = values.T
    total, taken = float(information.sum()), 0.0
    if not total > 0:
        return 1.0
    if has_deviations:
        weights = pair_sums(left, right, information, n_items)
        solver = SymmetricSolver.factorise(laplacian(weights))
        net = np.bincount(left, residual, n_items).astype(np.float64)
        net -= np.bincount(right, residual, n_items)
        step = solver.solve(net)
        residual = residual - information * (step[left] - step[right])
        used = information > 0
        low, high = np.minimum(left, right)[used], np.maximum(left, right)[used]
        cells, known = _summed_by_key(
            np.column_stack([group[used], low * n_items + high]),
            information[used, None],
        )
        low, high = np.divmod(cells[:, 1], n_items)
        inverse = solver.inverse()
        size = np.diag(inverse)
        variance = size[low] + size[high] - 2.0 * inverse[low, high]
        per_group = len(cells) / len(np.unique(cells[:, 0]))
        taken = per_group * float(np.sum(known[:, 0] ** 2 * variance))
    # By model and group, without an array of all models and groups.
    models, both = np.concatenate([left, right]), np.concatenate([group, group])
    _, sums = _summed_by_key(
        np.column_stack([both, models]), np.concatenate([residual, -residual])[:, None]
    )
    return 0.5 * float(np.sum(sums**2)) / max(total - taken, 0.5 * total)


@dataclass(eq=False)
class GroupSketch:
    """A sample of the groups of a stream, and how many rows each of them has.

    Attributes
    ----------
    sizes : Series
        Number of rows by hash: of the groups with the lowest hashes.
    is_whole : bool
        Whether these are all groups.
    """

    sizes: pd.Series
    is_whole: bool = True

    @classmethod
    def of(cls, columns: Iterable[pa.ChunkedArray]) -> Self:
        """Read the labels of all rows; those without one are no group."""
        sizes, is_whole = pd.Series(dtype=np.int64), True
        for column in columns:
            known = column.drop_null()
            if not len(known):
                continue
            hashes, _, _ = group_hashes(known)
            if not is_whole:
                hashes = hashes[hashes <= sizes.index[-1]]
            own = pd.Series(hashes).value_counts(sort=False)
            sizes = sizes.add(own, fill_value=0).sort_index()
            if len(sizes) > _SKETCH:
                sizes, is_whole = sizes.iloc[:_SKETCH], False
        return cls(sizes, is_whole)

    @property
    def repeats(self) -> bool:
        """Whether a group of the sample has several rows."""
        return bool((self.sizes > 1).any())

    @property
    def n_groups(self) -> int:
        """Number of groups of the stream, estimated if these are not all."""
        if self.is_whole:
            return len(self.sizes)
        # Hashes are spread evenly over all integers of 64 bits.
        share = (float(self.sizes.index[-1]) + 2.0**63) / 2.0**64
        return int(len(self.sizes) / share)
