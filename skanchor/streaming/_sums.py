"""Sums over a judge's rows by its local columns, by the fold that holds a row out.

A *view* is a training set with its own nuisances: view 0 is all rows, view k + 1 all
rows but those of fold k. For one judge, the nuisances are one vector of local
coefficients, which multiplies the columns of the items, the display order and the span
of the bias function. The score difference is a combination of the items' columns and
needs no column of its own.

Scores (``w eps x``) and information (``w V x x'``) are summed about a point that all
views share, by the fold that holds a row out: the sum over a training set is that over
all rows less that of one fold. The rows that each fold holds out are summed once more,
at the fold's own nuisances.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._model.graph import laplacian, pair_sums
from skanchor._model.link import sigmoid
from skanchor._numerics.sums import SourceSums, information_weights
from skanchor._typing import Array
from skanchor.streaming._groups import ColumnTable, GroupedHeld, GroupTable
from skanchor.streaming._local_columns import streamed_columns

PAIRED = ("residual", "curvature", "mixed", "square")
"""Sums by pair of items: of ``w eps``, ``w V``, their product and ``(w V)^2``."""


@dataclass(frozen=True, eq=False)
class StreamedRows:
    """Rows of one judge, sorted by the fold of the first repeat that holds them out.

    Attributes
    ----------
    left, right : ndarray of shape (n,)
        Codes of the two items.
    columns : ndarray of shape (n, n_columns)
        Display order and span.
    y, weight : ndarray of shape (n,)
        Outcomes and weights.
    fold : ndarray of shape (n_repeats, n)
        Fold that holds each row out; the first repeat is sorted.
    squares : ndarray of shape (n, 2 n_span) or None
        Values of the span's functions, summed over the two responses, and their squares
        likewise. None where no ridge needs their variance.
    group : ndarray of shape (n,) or None
        Number of the group of each row; None where rows are independent.
    """

    left: NDArray[np.intp]
    right: NDArray[np.intp]
    columns: Array
    y: Array
    weight: Array
    fold: NDArray[np.intp]
    squares: Array | None = None
    group: NDArray[np.int32] | None = None

    def logits(self, theta: Array) -> Array:
        """Logits of the rows, of shape (n,), at local coefficients (n_local,)."""
        # The local coefficients are those of the items, then those of ``columns``.
        n_items = len(theta) - self.columns.shape[1]
        eta: Array = self.columns @ theta[n_items:]
        eta += theta[:n_items].take(self.left, axis=0)
        eta -= theta[:n_items].take(self.right, axis=0)
        return eta

    def together(self, n_items: int) -> FoldedRows:
        """The rows as if they were all in one fold."""
        fold = np.zeros(len(self.y), dtype=np.intp)
        return FoldedRows(self.left, self.right, self.columns, fold, None, 1, n_items)

    def by_fold(self, repeat: int, n_folds: int, n_items: int) -> FoldedRows:
        """The rows, sorted by the folds of a repeat."""
        fold = self.fold[repeat]
        if not repeat:
            # By the folds of the first repeat the rows are sorted already.
            return FoldedRows(
                self.left, self.right, self.columns, fold, None, n_folds, n_items
            )
        order = np.argsort(fold.astype(np.int16), kind="stable")
        return FoldedRows(
            self.left[order],
            self.right[order],
            self.columns[order],
            fold[order],
            order,
            n_folds,
            n_items,
        )


def _incidence(
    left: NDArray[np.intp], right: NDArray[np.intp], size: Array, n_columns: int
) -> csr_array:
    """Sparse (n, n_columns) matrix: ``size`` at the first item, minus it at the second.

    ``left`` and ``right`` are columns of the matrix.
    """
    # Built directly in CSR format: every row has two entries.
    n = len(left)
    sides = np.empty((n, 2), dtype=np.int32)
    sides[:, 0], sides[:, 1] = left, right
    values = np.empty((n, 2))
    values[:, 0] = size
    np.negative(values[:, 0], out=values[:, 1])
    starts = np.arange(0, 2 * n + 1, 2, dtype=np.int32)
    return csr_array((values.ravel(), sides.ravel(), starts), (n, n_columns))


@dataclass(frozen=True, eq=False)
class FoldedRows:
    """Rows of one judge, sorted by the fold of one repeat that holds them out.

    Attributes
    ----------
    left, right, columns
        As in :class:`Rows`.
    fold : ndarray of shape (n,)
        Fold of each row, sorted.
    order : ndarray of shape (n,) or None
        Index of each row in the :class:`Rows` it was taken from; None where the order
        is the same.
    n_folds, n_items : int
        Number of folds of the repeat, and of items.
    """

    left: NDArray[np.intp]
    right: NDArray[np.intp]
    columns: Array
    fold: NDArray[np.intp]
    order: NDArray[np.intp] | None
    n_folds: int
    n_items: int

    def logits(self, theta: Array) -> Array:
        """Logits of the rows, each at the local coefficients of its fold.

        Parameters
        ----------
        theta : ndarray of shape (n_folds, n_local)
            Local coefficients of each fold.

        Returns
        -------
        ndarray of shape (n,)
        """
        K = self.n_items
        # Item i in fold k has the index k K + i in the flat array, here and below.
        by_item = np.ascontiguousarray(theta[:, :K]).ravel()
        found: Array = by_item.take(self.fold * K + self.left)
        found -= by_item.take(self.fold * K + self.right)
        for rows, own in zip(self._slices, theta[:, K:], strict=True):
            found[rows] += self.columns[rows] @ own
        return found

    def totals(self, values: Array) -> Array:
        """Sums of values (n,) by fold, of shape (n_folds,)."""
        found: Array = np.bincount(self.fold, values, self.n_folds).astype(np.float64)
        return found

    def scores(self, values: Array) -> Array:
        """Sums of values times local columns, of shape (n_folds, n_local)."""
        K = self.n_items
        found = np.empty((self.n_folds, K + self.columns.shape[1]))
        size = self.n_folds * K
        first = np.bincount(self.fold * K + self.left, values, size)
        first -= np.bincount(self.fold * K + self.right, values, size)
        found[:, :K] = first.reshape(self.n_folds, K)
        for k, rows in enumerate(self._slices):
            found[k, K:] = values[rows] @ self.columns[rows]
        return found

    def by_group(self, group: NDArray[np.int32], values: Array) -> ColumnTable:
        """Values times local columns of each row, with the number of its group."""
        items = _incidence(self.left, self.right, values, self.n_items)
        return ColumnTable([(group, items, values[:, None] * self.columns)])

    def grams(self, weight: Array) -> Array:
        """Gram matrices of the local columns, of shape (n_folds, n_local, n_local)."""
        K = self.n_items
        width = self.columns.shape[1]
        found = np.empty((self.n_folds, K + width, K + width))
        root = np.sqrt(weight)
        # The sparse product is faster with an array in row order.
        scaled = np.multiply(self.columns, root[:, None], order="C")
        # Items times other columns, for all folds in one product: item i in fold k is
        # column k K + i of the incidence matrix.
        shift = self.fold * K
        incidence = _incidence(
            self.left + shift, self.right + shift, root, self.n_folds * K
        )
        across = (incidence.T @ scaled).reshape(self.n_folds, K, width)
        # Items times items: a Laplacian of the weights summed by fold and pair.
        pair = (shift + self.left) * K + self.right
        by_pair = np.bincount(pair, weight, self.n_folds * K * K)
        pairs = by_pair.reshape(self.n_folds, K, K)
        for k, rows in enumerate(self._slices):
            found[k, :K, :K] = laplacian(pairs[k])
            found[k, K:, K:] = scaled[rows].T @ scaled[rows]
        found[:, :K, K:] = across
        found[:, K:, :K] = across.transpose(0, 2, 1)
        return found

    def blocks(self, values: Array, weight: Array) -> Array:
        """Weighted sums by fold of values (n, n_values): (n_folds, n_values)."""
        return np.stack([weight[rows] @ values[rows] for rows in self._slices])

    def own(self, values: NDArray[Any]) -> NDArray[Any]:
        """Bring values (n, ...) from the order of the :class:`Rows` to that of these.

        All other methods take values in the order of these rows.
        """
        return values if self.order is None else values[self.order]

    @property
    def _slices(self) -> list[slice]:
        """Rows of each fold."""
        stops = np.searchsorted(self.fold, np.arange(self.n_folds + 1)).tolist()
        return [slice(a, b) for a, b in pairwise(stops)]


@dataclass(frozen=True, eq=False)
class PointSums:
    """Sums over the rows of one judge about a point, by the fold that holds them out.

    Attributes
    ----------
    sums : SourceSums
        Information and score by the columns :func:`streamed_columns`, with a first axis
        of n_folds: the folds of all repeats, one repeat after another.
    weight : ndarray of shape (n_folds,)
        Sum of ``w``.
    span_moments : ndarray of shape (2, n_folds, 2 n_span)
        Sums of the values of the span's functions and of their squares, weighted by
        ``w`` and by ``w V``; the last axis has length zero without a ridge.
    pairs : ndarray of shape (4, n_items, n_items)
        Sums by pair of items over all rows, as ``PAIRED`` names them.
    squares : ndarray of shape ()
        Sum of ``(w eps)^2`` over all rows.
    bent : ndarray of shape (n_local + 2,)
        Sums over all rows with the column b that tests for a curved scale: of
        ``w V b x``, then of ``w V b^2`` and ``w eps b``. Zero where it is not tested.
    grouped : GroupTable or None
        Sums of ``w eps`` and ``w V`` by ordered pair of items and by group, of a sample
        of the groups; None where rows are independent.
    """

    sums: SourceSums
    weight: Array
    span_moments: Array
    pairs: Array
    squares: Array
    bent: Array
    grouped: GroupTable | None = None

    @classmethod
    def of(
        cls,
        rows: StreamedRows,
        theta: Array,
        n_folds: int,
        bends: Array | None = None,
        limit: int | None = None,
    ) -> Self:
        """Sum rows about a point.

        Parameters
        ----------
        rows : Rows
            Rows of one judge.
        theta : ndarray of shape (n_local,)
            The point: local coefficients of items, display order and span.
        n_folds : int
            Number of folds of a repeat.
        bends : ndarray of shape (n_items, n_items), optional
            Column that tests for a curved scale, by pair of items.
        limit : int, optional
            Largest number of the groups whose sums are taken; None takes all.

        Returns
        -------
        PointSums
        """
        n_items = len(theta) - rows.columns.shape[1]
        # w eps and w V of each row; ``seen`` counts the rows with information.
        p = sigmoid(rows.logits(theta))
        residual = rows.y - p
        residual *= rows.weight
        curvature = information_weights(p, rows.weight)
        seen = (curvature > 0.0).astype(np.float64)
        found = []
        for repeat in range(len(rows.fold)):
            own = rows.by_fold(repeat, n_folds, n_items)
            values = (residual, curvature, rows.weight, seen)
            error, known, weight, used = map(own.own, values)
            span_moments = np.zeros((2, n_folds, 0))
            if rows.squares is not None:
                squares = own.own(rows.squares)
                span_moments = np.stack(
                    [own.blocks(squares, w) for w in (weight, known)]
                )
            totals = map(own.totals, (known, weight, used))
            found.append((own.scores(error), own.grams(known), *totals, span_moments))
        # From tuples by repeat to lists by kind, which are joined along the folds.
        scores, grams, curvatures, weights, n_rows, moments = (
            list(part) for part in zip(*found, strict=True)
        )
        sums = SourceSums(
            streamed_columns(n_items, rows.columns.shape[1] - 1),
            information=np.concatenate(grams),
            curvature=np.concatenate(curvatures),
            n_rows=np.concatenate(n_rows),
            score=np.concatenate(scores),
        )
        return cls(
            sums,
            np.concatenate(weights),
            np.concatenate(moments, axis=1),
            _by_pair(rows, residual, curvature, n_items),
            np.array(residual @ residual),
            _bent(rows, residual, curvature, n_items, bends),
            _by_group(rows, residual, curvature, n_items, limit),
        )

    def __add__(self, other: PointSums) -> PointSums:
        names = [field.name for field in fields(self) if field.name != "grouped"]
        grouped = None
        if self.grouped is not None and other.grouped is not None:
            grouped = self.grouped + other.grouped
        added = {n: getattr(self, n) + getattr(other, n) for n in names}
        return PointSums(**added, grouped=grouped)

    def gain(self, other: PointSums) -> None:
        """Add the sums of other rows to these, in place."""
        self.sums.gain(other.sums)
        for name in ("weight", "span_moments", "pairs", "squares", "bent"):
            mine = getattr(self, name)
            np.add(mine, getattr(other, name), out=mine)
        if self.grouped is not None and other.grouped is not None:
            self.grouped.gain(other.grouped)

    def training(self, name: str, view: int, n_splits: int) -> Any:
        """Sum of one kind over the rows that a view trains on.

        Parameters
        ----------
        name : str
            ``weight``, ``span_moments``, or the name of an array of
            :class:`SourceSums`.
        view : int
            The training set: zero is all rows, k + 1 is all rows but those of fold k.
        n_splits : int
            Number of folds of a repeat.

        Returns
        -------
        ndarray
            The array without its axis of folds.
        """
        values = getattr(
            self if name in ("weight", "span_moments") else self.sums, name
        )
        if name == "span_moments":
            # The axis of folds comes first, as in all other arrays.
            values = values.swapaxes(0, 1)
        if view == 0:
            # The folds of any one repeat hold all rows.
            return values[:n_splits].sum(axis=0)
        # First fold of the repeat to which this view belongs.
        first = (view - 1) // n_splits * n_splits
        return values[first : first + n_splits].sum(axis=0) - values[view - 1]


def held_out_sums(
    rows: StreamedRows, theta: Array, n_folds: int
) -> SourceSums | GroupedHeld:
    """Sum the residuals of the rows that each fold holds out, at its nuisances.

    Parameters
    ----------
    rows : Rows
        Rows of one judge.
    theta : ndarray of shape (n_repeats n_folds, n_local)
        Local coefficients of items, display order and span in each fold.
    n_folds : int
        Number of folds of a repeat.

    Returns
    -------
    SourceSums or GroupedHeld
        The residual part, with a first axis of the folds of all repeats, one repeat
        after another. By group where there are groups.
    """
    n_items = theta.shape[1] - rows.columns.shape[1]
    scores, outers, tables = [], [], []
    for repeat in range(len(rows.fold)):
        own = rows.by_fold(repeat, n_folds, n_items)
        at = theta[repeat * n_folds : (repeat + 1) * n_folds]
        residual = own.own(rows.y) - sigmoid(own.logits(at))
        residual *= own.own(rows.weight)
        # The sums of w eps x and of (w eps)^2 x x'.
        scores.append(own.scores(residual))
        if rows.group is None:
            outers.append(own.grams(residual**2))
        else:
            tables.append(own.by_group(own.own(rows.group), residual))
    blocks = streamed_columns(n_items, rows.columns.shape[1] - 1)
    if rows.group is not None:
        return GroupedHeld(np.concatenate(scores), tables)
    outer = np.concatenate(outers)
    return SourceSums(blocks, score=np.concatenate(scores), outer=outer)


def _by_group(
    rows: StreamedRows,
    residual: Array,
    curvature: Array,
    n_items: int,
    limit: int | None,
) -> GroupTable | None:
    """Sums by group, up to a number, and by ordered pair; None without groups."""
    if rows.group is None:
        return None
    some: Any = slice(None) if limit is None else np.flatnonzero(rows.group <= limit)
    pair = rows.left[some] * n_items + rows.right[some]
    values = np.column_stack([residual[some], curvature[some]])
    return GroupTable.of((rows.group[some], pair), values)


def _by_pair(
    rows: StreamedRows, residual: Array, curvature: Array, n_items: int
) -> Array:
    """Sums by ordered pair in the order of ``PAIRED``: (4, n_items, n_items)."""
    return np.stack(
        [
            pair_sums(rows.left, rows.right, values, n_items)
            for values in (residual, curvature, residual * curvature, curvature**2)
        ]
    )


def _bent(
    rows: StreamedRows,
    residual: Array,
    curvature: Array,
    n_items: int,
    bends: Array | None,
) -> Array:
    """Sums with the column that tests for a curved scale; zero without it."""
    found = np.zeros(n_items + rows.columns.shape[1] + 2)
    if bends is None:
        return found
    # The column depends on the pair of items alone.
    column = bends.ravel().take(rows.left * n_items + rows.right)
    weighted = curvature * column
    # Products with the items' columns, 1 at the first item and -1 at the second.
    found[:n_items] = np.bincount(rows.left, weighted, n_items)
    found[:n_items] -= np.bincount(rows.right, weighted, n_items)
    found[n_items:-2] = weighted @ rows.columns
    found[-2:] = weighted @ column, residual @ column
    return found
