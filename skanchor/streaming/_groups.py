"""Groups of dependent rows in a stream: which there are, and sums by group.

A group is known by a hash of its label, which needs no other row, so that its fold is
the same in every batch and pass. Its rows may lie anywhere: sums by group are gathered
over the whole stream, and take memory in proportion to the number of groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from skanchor._model.graph import laplacian, pair_sums
from skanchor._numerics.groups import ColumnTotals, are_alone
from skanchor._numerics.linalg import SymmetricSolver
from skanchor._numerics.sums import SourceSums
from skanchor._typing import Array
from skanchor.streaming._hashes import group_hashes, group_texts, row_hash
from skanchor.streaming._local_columns import streamed_columns

_PART = 64
"""One in so many groups is looked at, to see how many sums a merge would leave."""

_SKETCH = 1 << 16
"""Groups in a sketch of a stream: those of the lowest hashes."""


@dataclass(eq=False)
class _Gathered:
    """Sums by group that are gathered in parts.

    Attributes
    ----------
    parts : list of tuple of arrays
        Different parts, and the rows of one, may be of the same group, until
        :meth:`merged`. The first array has a row for each sum.
    """

    parts: list[Any] = field(default_factory=list)
    _looked: int = 0

    def gain(self, other: Self) -> None:
        """Add the sums of other rows to these, in place."""
        self._merge_many()
        self.parts = [*self.parts, *other.parts]

    def __add__(self, other: Self) -> Self:
        # Merged here and not in the sum, so that no part is in memory twice.
        self._merge_many()
        return type(self)([*self.parts, *other.parts], self._looked)

    def _merge_many(self) -> None:
        """Merge sums if this halves their number; look whenever that has doubled."""
        names = [part[0] for part in self.parts]
        size = sum(map(len, names))
        if size <= 2 * self._looked:
            return
        # Groups whose hashes have a remainder of zero are as good as any.
        some = [
            one[(one if one.ndim == 1 else one[:, 0]) % _PART == 0] for one in names
        ]
        if 2 * _PART * len(np.unique(np.concatenate(some), axis=0)) <= size:
            self.merged()
            size = len(self.parts[0][0])
        self._looked = size

    def merged(self) -> Any:
        """The only part, in which no group is twice; it replaces all others."""
        raise NotImplementedError


@dataclass(eq=False)
class GroupTable(_Gathered):
    """Sums of values of rows by group, and maybe by a further key.

    A part has keys of shape (n, n_keys), of which the first is the hash of the group,
    and sums of shape (n, n_values).
    """

    _merged: bool = False

    @classmethod
    def of(cls, keys: Iterable[NDArray[Any]], values: Array) -> Self:
        """Values of rows, of shape (n_rows, n_values), with these keys."""
        return cls([(np.column_stack([*keys]), values)])

    def merged(self) -> tuple[NDArray[np.int64], Array]:
        """Keys, each once, and the sums of each."""
        keys, values = zip(*self.parts, strict=True)
        if len(keys) > 1 or not self._merged:
            self.parts = [_summed_by_key(np.concatenate(keys), np.concatenate(values))]
            self._merged = True
        keys, values = self.parts[0]
        return keys, values


@dataclass(eq=False)
class GroupLabels(_Gathered):
    """Labels of groups.

    A part has hashes of groups, of shape (n,), their labels as texts, and whether these
    are numbers.
    """

    @classmethod
    def of(cls, hashes: NDArray[np.int64], column: pa.ChunkedArray, start: int) -> Self:
        """Labels of the groups of some rows, the first of which has a number."""
        # Rows of a group often come one after another.
        begins = np.flatnonzero(_changes(hashes))
        known, first = _distinct(hashes[begins])
        first = begins[first]
        kind = column.type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        is_number = np.full(len(known), is_number)
        if column.null_count:
            is_number &= column.is_valid().to_numpy().take(first)
        return cls([(known, group_texts(column, first, start), is_number)])

    def merged(self) -> tuple[NDArray[np.int64], pa.Array, NDArray[np.bool_]]:
        """Hashes, ascending, each once, and their labels."""
        if len(self.parts) > 1 or not _ascends(self.parts[0][0]):
            hashes, texts, numbers = zip(*self.parts, strict=True)
            known, at = _distinct(np.concatenate(hashes))
            labels = pa.concat_arrays(texts).take(pa.array(at))
            self.parts = [(known, labels, np.concatenate(numbers).take(at))]
        return self.parts[0]  # type: ignore[no-any-return]

    @property
    def hashes(self) -> NDArray[np.int64]:
        """Hash of each group, ascending."""
        return self.merged()[0]

    @property
    def labels(self) -> NDArray[Any]:
        """Label of each group in this order: a number or a text, as in the column."""
        _, texts, is_number = self.merged()
        numbers = _as_numbers(texts.filter(pa.array(is_number)))
        if len(numbers) == len(texts):
            return numbers
        if len(numbers):
            labels = np.asarray(texts.to_numpy(zero_copy_only=False))
            labels[is_number] = numbers.tolist()
            return labels
        # A few at a time, as objects take several times as much memory.
        labels = np.empty(len(texts), np.dtypes.StringDType())
        for start in range(0, len(texts), _SKETCH):
            some = texts.slice(start, _SKETCH)
            labels[start : start + len(some)] = some.to_numpy(zero_copy_only=False)
        return labels


def _as_numbers(texts: pa.Array) -> NDArray[Any]:
    """Numbers that were turned into texts."""
    # Whole numbers that are hashes may need all 64 bits.
    for kind in (pa.int64(), pa.uint64()):
        with suppress(pa.ArrowInvalid):
            return np.asarray(texts.cast(kind))
    return np.asarray(texts.cast(pa.float64()))


@dataclass(eq=False)
class ColumnTable(_Gathered):
    """Sums of the local columns of a judge's rows, by group.

    A part has numbers of groups, of shape (n,), sparse sums by item (n, n_items) and
    sums of other columns (n, n_others).
    """

    def merged(self) -> tuple[NDArray[Any], csr_array, Array]:
        """Numbers, ascending, each once, and the sums of each."""
        if len(self.parts) > 1 or not _ascends(self.parts[0][0]):
            found = ColumnTotals.of(*self._rows())
            self.parts = [(found.groups, found.items, found.others)]
        return self.parts[0]  # type: ignore[no-any-return]

    def of_folds(self, fold: NDArray[Any], n_folds: int) -> Iterator[ColumnTotals]:
        """Sums by group that each fold holds out, one fold after another.

        Parameters
        ----------
        fold : ndarray of shape (n_groups,)
            Fold of each group.
        n_folds : int
            Number of folds.
        """
        # One part, so that the rows are not in memory twice.
        self.parts = [self._rows()]
        groups, items, others = self.parts[0]
        # 16-bit integers sort in linear time.
        own = fold[groups].astype(np.int16)
        order = np.argsort(own, kind="stable").astype(np.int32)
        stops = np.cumsum(np.bincount(own, minlength=n_folds)).tolist()
        for start, stop in pairwise([0, *stops]):
            rows = order[start:stop]
            yield ColumnTotals.of(groups[rows], items[rows], others[rows])

    def _rows(self) -> tuple[NDArray[Any], csr_array, Array]:
        """The rows of all parts."""
        if len(self.parts) == 1:
            return self.parts[0]
        groups, items, others = zip(*self.parts, strict=True)
        return np.concatenate(groups), vstack(items, format="csr"), np.vstack(others)


@dataclass(frozen=True, eq=False)
class GroupedHeld:
    """Residuals of the rows of a judge that each fold holds out, by group.

    Attributes
    ----------
    score : ndarray of shape (n_folds, n_local)
        Sum of ``w eps x``, with an axis of the folds of all repeats.
    by_group : list of ColumnTable
        For each repeat, the same by group.
    """

    score: Array
    by_group: list[ColumnTable]

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

    def of_folds(self, folds: NDArray[Any]) -> Iterator[SourceSums]:
        """Sums of each fold of all repeats, one after another.

        Parameters
        ----------
        folds : ndarray of shape (n_repeats, n_groups)
            Fold of each group.

        Yields
        ------
        SourceSums
        """
        n_folds = len(self.score) // len(self.by_group)
        found = chain.from_iterable(
            table.of_folds(fold, n_folds)
            for table, fold in zip(self.by_group, folds, strict=True)
        )
        for score, by_group in zip(self.score, found, strict=True):
            n_items, n_others = by_group.items.shape[1], by_group.others.shape[1]
            blocks = streamed_columns(n_items, n_others - 1)
            yield SourceSums(blocks, score=score, by_group=by_group)


def _summed_by_key(
    keys: NDArray[np.int64], values: Array
) -> tuple[NDArray[np.int64], Array]:
    """Sum values by key, in the order of the rows."""
    # One number for all keys of a row, mixed after each of them, as their order counts.
    one = keys[:, 0]
    for other in keys.T[1:]:
        one = row_hash(one, 0).view(np.int64) + other
    names, code = np.unique(one, return_inverse=True)
    at = np.empty(len(names), dtype=np.intp)
    at[code] = np.arange(len(code))
    sums = [np.bincount(code, column, len(names)) for column in values.T]
    return keys[at], np.column_stack(sums).astype(np.float64)


def _ascends(hashes: NDArray[np.int64]) -> bool:
    """Whether hashes are in ascending order, each once."""
    return bool((hashes[1:] > hashes[:-1]).all())


def places_of(hashes: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.int32]:
    """Place of the hash of each row among all, which are in ascending order."""
    # Rows of a group often come one after another.
    begins = _changes(hashes)
    places = np.searchsorted(known, hashes[begins]).astype(np.int32)
    return places[np.cumsum(begins) - 1]


def _changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value differs from the one before."""
    found = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found


def _distinct(hashes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Hashes, ascending, each once, and a row of each: no matter which."""
    order = np.argsort(hashes)
    at = order[_changes(hashes[order])]
    return hashes[at], at


def _cell_sums(
    cell: NDArray[np.int64], values: Array
) -> tuple[NDArray[np.int64], Array]:
    """Cells that have values, ascending, and the sum of the values of each."""
    order = np.argsort(cell)
    cell = cell[order]
    starts = np.flatnonzero(_changes(cell))
    return cell[starts], np.add.reduceat(values[order], starts)


def item_totals(
    group: NDArray[Any],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    values: Array,
    n_items: int,
) -> ColumnTotals:
    """Sum of values over each item's rows, minus where it is second, by group.

    Groups are in ascending order.
    """
    code, n_groups = _dense(group)
    cell, sums = _by_item(code, left, right, values, n_items)
    code, item = np.divmod(cell, n_items)
    stops = np.append(0, np.cumsum(np.bincount(code, minlength=n_groups)))
    items = csr_array((sums, item, stops), (n_groups, n_items))
    return ColumnTotals(group[_changes(group)], items, np.empty((n_groups, 0)))


def item_squares(
    group: NDArray[Any],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    values: Array,
    n_items: int,
) -> Array:
    """Products of these sums, summed over the groups: of shape (n_items, n_items)."""
    # Mostly a group has one row.
    alone = are_alone(_dense(group)[0])
    single, rest = np.flatnonzero(alone), np.flatnonzero(~alone)
    by_pair = pair_sums(left[single], right[single], values[single] ** 2, n_items)
    of_rest = group[rest], left[rest], right[rest], values[rest]
    own = item_totals(*of_rest, n_items).items
    return np.asarray(laplacian(by_pair) + (own.T @ own).toarray())


def _by_item(
    code: NDArray[np.intp],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    values: Array,
    n_items: int,
) -> tuple[NDArray[np.int64], Array]:
    """Sums of values by group and item, minus where it is second.

    Cells are numbered by group, then by item.
    """
    cell = np.concatenate([code * n_items + left, code * n_items + right])
    return _cell_sums(cell, np.concatenate([values, -values]))


def grouped_dispersion(
    group: NDArray[Any],
    pair: NDArray[np.intp],
    values: Array,
    n_items: int,
    *,
    has_deviations: bool,
) -> float:
    """Dispersion of residuals in groups, as :func:`skanchor._items.dispersions`.

    Parameters
    ----------
    group : ndarray of shape (n_cells,)
        Number of the group of each cell of rows of one group and pair.
    pair : ndarray of shape (n_cells,)
        Ordered pair: the first item times ``n_items``, plus the second.
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
    residual, information = values.T
    total, taken = float(information.sum()), 0.0
    if not total > 0:
        return 1.0
    left, right = np.divmod(pair, n_items)
    code, _ = _dense(group)
    if has_deviations:
        weights = pair_sums(left, right, information, n_items)
        solver = SymmetricSolver.factorise(laplacian(weights))
        net = np.bincount(left, residual, n_items).astype(np.float64)
        net -= np.bincount(right, residual, n_items)
        step = solver.solve(net)
        residual = residual - information * (step[left] - step[right])
        inverse = solver.inverse()
        size = np.diag(inverse)
        variance = (size[:, None] + size - 2.0 * inverse).ravel()
        # By group and pair, in either order.
        used = np.flatnonzero(information > 0)
        low, high = np.minimum(left, right)[used], np.maximum(left, right)[used]
        cell, known = code[used] * n_items**2 + low * n_items + high, information[used]
        cell, known = _cell_sums(cell, known)
        own, pair = np.divmod(cell, n_items**2)
        per_group = len(cell) / np.count_nonzero(_changes(own))
        taken = per_group * float(known**2 @ variance[pair])
    # Mostly a group has one row, whose sums by item are its own residual, twice.
    alone = are_alone(code)
    single, rest = residual[alone], np.flatnonzero(~alone)
    of_rest = code[rest], left[rest], right[rest], residual[rest]
    _, sums = _by_item(*of_rest, n_items)
    squares = float(single @ single) + 0.5 * float(sums @ sums)
    return squares / max(total - taken, 0.5 * total)


def _dense(group: NDArray[Any]) -> tuple[NDArray[np.intp], int]:
    """Number of the group of each row, from zero, and how many there are."""
    if (group[1:] < group[:-1]).any():
        known, code = np.unique(group, return_inverse=True)
        return code, len(known)
    first = _changes(group)
    return np.cumsum(first) - 1, int(np.count_nonzero(first))


def sketch_groups(
    columns: Iterable[pa.ChunkedArray], enough: int, name: str = "groups"
) -> tuple[bool, int]:
    """Whether a group has several rows, and how many groups there are.

    Reading ends once a group has several rows and there are enough groups. Of more than
    ``_SKETCH`` groups, those of the lowest hashes are counted.

    Parameters
    ----------
    columns : iterable of pyarrow.ChunkedArray
        Labels of the rows; those without one are no group.
    enough : int
        Number of groups.
    name : str
        Name of the column.

    Returns
    -------
    repeats : bool
    n_groups : int
        Of the rows that were read; at most ``_SKETCH``.
    """
    sizes, repeats = pd.Series(dtype=np.int64), False
    for column in columns:
        hashes = group_hashes(column.drop_null(), name=name)
        if len(sizes) == _SKETCH:
            hashes = hashes[hashes <= sizes.index[-1]]
        own = pd.Series(hashes).value_counts(sort=False)
        sizes = sizes.add(own, fill_value=0).sort_index()
        repeats |= bool((sizes > 1).any())
        sizes = sizes.iloc[:_SKETCH]
        if repeats and len(sizes) >= enough:
            break
    return repeats, len(sizes)
