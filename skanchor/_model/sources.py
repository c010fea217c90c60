"""Rows of one source, or sums in their place, with their loss by local column."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._model.graph import laplacian, pair_sums
from skanchor._typing import Array

_NOT_BY_ROW = ("source", "is_new", "n_items")
"""Attributes of :class:`SourceRows` that have no entry for each row."""

_LOOKED_AT = 500
"""First rows of a source, of which most differ if hardly two rows are equal."""

CERTAIN = 1e-8
"""Variance of an outcome below which it is certain, and its row has no information.

A judge that always follows the display order has its position effect at the bound,
where the variance is 2e-9. Dividing by a value this small would carry rounding errors
into all scores.
"""


def sigmoid(eta: Array) -> Array:
    """Logistic function, more than twice as fast as ``scipy.special.expit``."""
    values = np.negative(eta)
    with np.errstate(over="ignore"):
        np.exp(values, out=values)
    values += 1.0
    return np.reciprocal(values, out=values)


def log_loss_terms(y: Array, eta: Array) -> Array:
    """Logistic loss of each row, ``log(1 + exp(eta)) - y eta``."""
    return np.logaddexp(0.0, eta) - y * eta


def variance_of(probability: Array) -> Array:
    """Variance of outcomes; zero where the outcome is certain."""
    variance = probability * (1.0 - probability)
    return np.where(variance < CERTAIN, 0.0, variance)


def _joint_codes(columns: list[NDArray[Any]]) -> NDArray[np.intp] | None:
    """Number the rows of several columns, equal rows alike, by first appearance.

    None where more than half of them differ.
    """
    # Of 64 bits: two rows that differ have the same one in no table of today.
    marks = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        # Both zeros are one number.
        marks = marks * np.uint64(31) + pd.util.hash_array(column + 0)
    codes, levels = pd.factorize(marks)
    return None if 2 * len(levels) > len(codes) else codes


def extra_columns(order: Array, span: Array) -> Array:
    """Display order and span, (n, 1 + n_span), each column together in memory."""
    # Sums over many rows run along the columns.
    columns = np.empty((1 + span.shape[1], len(order)))
    columns[0], columns[1:] = order, span.T
    return columns.T


@dataclass(frozen=True, eq=False)
class SourceSums:
    """Sums over rows of one source by local column: items, display order, span.

    Sums of other rows of the source are added by ``+``. They do not contain the score
    difference, which is a combination of the columns of the items, so that they serve
    any scores.

    Attributes
    ----------
    gram : ndarray of shape (n_columns, n_columns)
        Sum of weight times variance of the outcome times the products of the columns.
    score : ndarray of shape (n_columns,)
        Sum of weight times residual times the columns.
    outer : ndarray of shape (n_columns, n_columns)
        Sum of the products of the scores of rows that are groups of their own.
    n : float
        Number of rows.
    """

    gram: Annotated[Array, "tested tested"]
    score: Annotated[Array, "tested"]
    outer: Annotated[Array, "none none"]
    n: float

    def __add__(self, other: SourceSums) -> SourceSums:
        return SourceSums(
            *(getattr(self, f.name) + getattr(other, f.name) for f in fields(self))
        )


@dataclass(frozen=True, eq=False)
class SourceRows:
    """Rows of people or of one judge, either historical or with a new model.

    They are sorted by the pair of items, so that sums are first taken by pair.

    Attributes
    ----------
    source : int
        ``PEOPLE``, or the code of the judge.
    is_new : bool
        Whether the rows have a new model.
    rows : ndarray of shape (n,)
        Row numbers in the sample.
    left, right : ndarray of shape (n,)
        Codes of the two items.
    extra : ndarray of shape (n, 1 + n_span)
        Local columns that follow those of the items, as :func:`extra_columns` puts them
        together: display order and span.
    offset : ndarray of shape (n,)
        Part of the logit that no parameter changes: contrasts of what of the bias is
        fixed.
    y : ndarray of shape (n,)
        Preference for the left item, in [0, 1].
    weight : ndarray of shape (n,)
        Row weights.
    count : ndarray of shape (n,)
        How many equal rows each row stands for; its weight is the sum of theirs.
    group : ndarray of shape (n,)
        Code of the group of dependent rows; -1 for a row that is a group of its own.
    rater : ndarray of shape (n,)
        Code of the rater of a vote, whose votes depend on each other; -1 without one.
    n_items : int
        Number of items.
    """

    source: int
    is_new: bool
    rows: NDArray[np.intp]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    extra: Array
    offset: Array
    y: Array
    weight: Array
    count: Array
    group: NDArray[np.intp]
    rater: NDArray[np.intp]
    n_items: int

    @property
    def order(self) -> Array:
        """Display order: 1 if the left item was first, -1 if second, else 0."""
        return self.extra[:, 0]

    @property
    def span(self) -> Array:
        """Contrasts of the columns in which the source's bias is linear."""
        return self.extra[:, 1:]

    @classmethod
    def apart(
        cls,
        left: NDArray[np.intp],
        right: NDArray[np.intp],
        y: Array,
        weight: Array,
        n_items: int,
        *,
        offset: Array | float = 0.0,
        span: Array | None = None,
        **columns: Any,
    ) -> SourceRows:
        """Historical rows of people without a display order.

        Each stands for one row, and is a group of its own, but for further columns.
        """
        n, alone = len(y), np.full(len(y), -1)
        extra = extra_columns(np.zeros(n), np.zeros((n, 0)) if span is None else span)
        rows = cls(
            0, False, np.arange(n), left, right, extra, np.broadcast_to(offset, n), y,
            weight, np.ones(n), alone, alone, n_items,
        )  # fmt: skip
        further = {name: one for name, one in columns.items() if one is not None}
        return replace(rows, **further)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> SourceRows:
        """Some rows, by mask or by ascending place."""
        names = [f.name for f in fields(self) if f.name not in _NOT_BY_ROW]
        # One look for the rows, not one for each column.
        at = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        return replace(
            self, **{name: getattr(self, name).T.take(at, axis=-1).T for name in names}
        )

    def in_blocks(self, block: NDArray[np.integer], n_blocks: int) -> list[SourceRows]:
        """Rows of each block, given the block of each row."""
        order = np.argsort(block, kind="stable")
        stops = np.cumsum(np.bincount(block, minlength=n_blocks))
        return [self[places] for places in np.split(order, stops[:-1])]

    @cached_property
    def cells(self) -> SourceRows:
        """Rows that differ, each with the weight of all that are equal to it.

        What a fit needs of rows are sums in which equal ones have equal terms. Their
        groups and raters, which only errors ask for, are not kept.
        """
        if self._cell is None:
            return self
        n_cells = int(self._cell.max()) + 1
        # Of equal rows the first one stands for all, so that pairs stay together.
        at = np.zeros(n_cells, dtype=np.intp)
        at[self._cell[::-1]] = np.arange(len(self))[::-1]
        first_rows, alone = self[at], np.full(n_cells, -1)
        weight, count = self.by_cell(self.weight), self.by_cell(self.count)
        return replace(first_rows, weight=weight, count=count, group=alone, rater=alone)

    def by_cell(self, values: Array) -> Array:
        """Sums of values, (n,), over the rows of each cell."""
        if self._cell is None:
            return values
        return np.asarray(np.bincount(self._cell, values), dtype=np.float64)

    @cached_property
    def _cell(self) -> NDArray[np.intp] | None:
        """Cell of each row; None where hardly two rows are equal."""
        # Some rows tell whether it is worth it: continuous features, which come first,
        # hardly ever agree.
        columns = [*self.extra.T[::-1], self.offset, self.y, self._pair_of_row]
        looked_at = _joint_codes([column[:_LOOKED_AT] for column in columns])
        return None if looked_at is None else _joint_codes(columns)

    @cached_property
    def _starts(self) -> NDArray[np.intp]:
        """First row of each ordered pair of items."""
        is_first = np.ones(len(self), dtype=bool)
        is_first[1:] = self.left[1:] != self.left[:-1]
        is_first[1:] |= self.right[1:] != self.right[:-1]
        return np.flatnonzero(is_first)

    @cached_property
    def _pair_of_row(self) -> NDArray[np.intp]:
        sizes = np.diff(self._starts, append=len(self))
        return np.repeat(np.arange(len(sizes)), sizes)

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Left and right item of each pair."""
        return self.left[self._starts], self.right[self._starts]

    def differences(self, by_item: Array) -> Array:
        """Value of the left item less that of the right one, by row."""
        # Taken by pair first, whose number is far below that of rows.
        left, right = self._pairs
        by_pair = by_item[left] - by_item[right]
        return np.asarray(by_pair[self._pair_of_row])

    def _by_item(self, values: Array) -> Array:
        """Sum of values over the rows of each item, minus where it is on the right."""
        by_pair, n = np.add.reduceat(values, self._starts), self.n_items
        left, right = self._pairs
        sums = np.bincount(left, by_pair, n) - np.bincount(right, by_pair, n)
        return np.asarray(sums)

    def sums(self, values: Array) -> Array:
        """Sum of values, of shape (n,), times the local columns: (n_columns,)."""
        return np.concatenate([self._by_item(values), values @ self.extra])

    def gram(self, values: Array) -> Array:
        """Sum of values times products of local columns: (n_columns, n_columns)."""
        n, size = self.n_items, self.n_items + self.extra.shape[1]
        gram = np.zeros((size, size))
        by_pair = np.add.reduceat(values, self._starts)
        gram[:n, :n] = laplacian(pair_sums(*self._pairs, by_pair, n))
        weighted = self.extra * values[:, None]
        gram[:n, n:] = np.column_stack([self._by_item(one) for one in weighted.T])
        gram[n:, :n] = gram[:n, n:].T
        gram[n:, n:] = self.extra.T @ weighted
        return gram

    def cross(self, values: Array) -> Array:
        """Sum of values times products of own columns with those of the weights.

        Own columns are those whose coefficients are in the logit.
        """
        return self.gram(values)

    def products(self, local: Array) -> Array:
        """Columns of each row times local weights, (n_columns, k): of shape (n, k)."""
        n = self.n_items
        return self.differences(local[:n]) + self.extra @ local[n:]

    # ------------------------------------------- the loss, by local coefficients
    def logits(self, coefficients: Array) -> Array:
        """Logit of each row, from the coefficients of the local columns."""
        n = self.n_items
        logits = self.differences(coefficients[:n])
        logits += self.extra @ coefficients[n:]
        logits += self.offset
        return logits

    def loss(self, weight: Array, logits: Array) -> float:
        """Weighted log loss."""
        return float(weight @ log_loss_terms(self.y, logits))

    def slope(self, weight: Array, logits: Array) -> Array:
        """Derivative of the loss by the coefficients, (n_columns,)."""
        return self.sums(weight * (sigmoid(logits) - self.y))

    def curvature(self, weight: Array, logits: Array) -> Array:
        """Expected second derivative of the loss, (n_columns, n_columns)."""
        return self.gram(weight * sigmoid(logits) * sigmoid(-logits))

    def information(self, weight: Array, probability: Array) -> Array:
        """Gram matrix of rows with these weights, at these probabilities."""
        return self.gram(weight * variance_of(probability))

    def scores(self, residual: Array) -> tuple[Array, Array]:
        """Sum of the rows' scores, and of the products of those in no group.

        Parameters
        ----------
        residual : ndarray of shape (n,)
            Weight times outcome less probability.
        """
        # Of k equal rows with the scores s, together S = k s: k s s' = S S' / k.
        share = np.where(self.group < 0, residual**2 / self.count, 0.0)
        return self.sums(residual), self.gram(share)

    def statistics(self, weight: Array, probability: Array) -> SourceSums:
        """Sums of rows with these training or test weights, at these probabilities."""
        return SourceSums(
            self.information(weight, probability),
            *self.scores(weight * (self.y - probability)),
            float(self.count[weight > 0].sum()),
        )


@dataclass(frozen=True, eq=False)
class ResidualRows(SourceRows):
    """Rows whose local columns are what functions of the features leave of them.

    Their span is empty: the whole bias is part of the offset.

    Attributes
    ----------
    residual : ndarray of shape (n, n_items + 1)
        Columns of the items and of the display order, less their projections on
        contrasts of functions of the features.
    """

    residual: Array

    def sums(self, values: Array) -> Array:
        """Sum of values, of shape (n,), times the local columns: (n_columns,)."""
        return np.asarray(values @ self.residual)

    def gram(self, values: Array) -> Array:
        """Sum of values times products of local columns: (n_columns, n_columns)."""
        return np.asarray(self.residual.T @ (values[:, None] * self.residual))

    def cross(self, values: Array) -> Array:
        """Sum of values times products of own columns with those of the weights."""
        weighted = values[:, None] * self.residual
        items = np.column_stack([self._by_item(one) for one in weighted.T])
        return np.concatenate([items, self.extra.T @ weighted])

    def products(self, local: Array) -> Array:
        """Columns of each row times local weights, (n_columns, k): of shape (n, k)."""
        return np.asarray(self.residual @ local)
