"""Sums by group of dependent rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from skanchor._model.linalg import positive_part
from skanchor._numerics.types import Array


def are_alone(groups: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether each row is the only one of its group, by the codes of the groups."""
    return np.asarray((np.bincount(groups) == 1)[groups])


@dataclass(frozen=True, slots=True)
class GroupTotals:
    """Sums of values of rows, by group of dependent rows.

    Attributes
    ----------
    groups : ndarray of shape (n_groups,)
        Codes of the groups that are there, ascending.
    totals : ndarray of shape (n_groups, n_columns)
        The sums of each.
    """

    groups: NDArray[np.intp]
    totals: Array

    def __add__(self, other: GroupTotals) -> GroupTotals:
        return GroupTotals.joined([self, other])

    @classmethod
    def joined(cls, parts: Sequence[GroupTotals]) -> GroupTotals:
        """Sums over the rows of all parts."""
        first = parts[0]
        some = [one for one in parts if len(one.groups)] or [first]
        groups = some[0].groups
        if all(np.array_equal(one.groups, groups) for one in some[1:]):
            return cls(groups, reduce(add, [one.totals for one in some]))
        groups, at = np.unique(
            np.concatenate([one.groups for one in some]), return_inverse=True
        )
        totals = np.zeros((len(groups), first.totals.shape[1]))
        stops = np.cumsum([len(one.groups) for one in some])
        for one, own in zip(some, np.split(at, stops[:-1]), strict=True):
            totals[own] += one.totals
        return cls(groups, totals)


@dataclass(frozen=True, eq=False, slots=True)
class ColumnTotals:
    """Sums of the local columns of a source's rows, by group of dependent rows.

    A row compares two items, and a group has few rows, so that most of its sums by item
    are zero: only the others are stored.

    Attributes
    ----------
    groups : ndarray of shape (n_groups,)
        Codes of the groups that are there, ascending, each once.
    items : csr_array of shape (n_groups, n_items)
        Sums over the rows of each item, minus those where it is second.
    others : ndarray of shape (n_groups, n_others)
        Sums of the columns that follow those of the items.
    """

    groups: NDArray[np.int64]
    items: csr_array
    others: Array

    def __post_init__(self) -> None:
        # Narrow indices take less memory, and are not copied in products.
        most = np.iinfo(np.int32).max
        if self.items.nnz < most:
            for name in ("indices", "indptr"):
                own = getattr(self.items, name).astype(np.int32, copy=False)
                setattr(self.items, name, own)

    @classmethod
    def of(cls, codes: NDArray[np.int64], items: csr_array, others: Array) -> Self:
        """Sum rows with these codes of groups, in the order of the rows."""
        groups, place = np.unique(codes, return_inverse=True)
        return cls.at_places(groups, place, items, others)

    @classmethod
    def at_places(
        cls,
        groups: NDArray[np.int64],
        place: NDArray[np.intp],
        items: csr_array,
        others: Array,
    ) -> Self:
        """Sum rows by the place of their group among these, which all have rows."""
        n_rows = len(place)
        entries = np.ones(n_rows), (place, np.arange(n_rows))
        gather = csr_array(entries, (len(groups), n_rows))
        if len(groups) == n_rows:
            # Each row is the sum of its group.
            by_item, others = items[gather.indices], others[gather.indices]
        else:
            by_item, others = gather @ items, np.asarray(gather @ others)
        # Products with these sums then have the same bits, however rows were put
        # together before.
        by_item.sort_indices()
        return cls(groups, by_item, others)


@dataclass(frozen=True, eq=False, slots=True)
class Membership:
    """Which rows belong to which groups of dependent rows.

    A row may stand for several rows, of one group or of more. Entries list its groups,
    row after row.

    Attributes
    ----------
    groups : ndarray of shape (n_groups,)
        Codes of the groups, ascending.
    starts : ndarray of shape (n_rows + 1,)
        First entry of each row, and the number of entries.
    place : ndarray of shape (n_entries,)
        Group of each entry, by its place among ``groups``.
    number : ndarray of shape (n_entries,)
        How many rows of the group the row stands for; 1 where each row is one.
    """

    groups: NDArray[np.intp]
    starts: NDArray[np.intp]
    place: NDArray[np.intp]
    number: Array

    @classmethod
    def of(
        cls,
        codes: NDArray[np.intp],
        rows: NDArray[np.intp] | None = None,
        number: Array | None = None,
    ) -> Self:
        """Membership of rows with these codes of groups.

        Parameters
        ----------
        codes : ndarray of shape (n,)
            Codes of groups.
        rows : ndarray of shape (n,), optional
            Row that stands for each of them, from zero; None is one for each.
        number : ndarray of shape (n,), optional
            How many rows each of them is, where another row stands for it.

        Returns
        -------
        Membership
        """
        n = len(codes)
        if codes.max(initial=-1) < 8 * n:
            # Counting finds codes in use without sorting.
            used = np.bincount(codes) > 0
            groups, place = np.flatnonzero(used), (np.cumsum(used) - 1).take(codes)
        else:
            groups, place = np.unique(codes, return_inverse=True)
        if rows is None:
            return cls(groups, np.arange(n + 1), place, np.ones(n))
        shape = int(rows.max(initial=-1)) + 1, len(groups)
        times = np.ones(n) if number is None else number
        return cls(groups, *_sorted_entries(times, rows, place, shape))

    def __getitem__(self, rows: Any) -> Membership:
        """Membership of some of the rows, in groups that may then be empty."""
        sizes = np.diff(self.starts)[rows]
        ends = np.cumsum(sizes)
        first, starts = self.starts[:-1][rows], np.concatenate([[0], ends])
        if starts[-1] == len(self.place) and (np.diff(first[sizes > 0]) > 0).all():
            # All entries, in their order: the rows left out have none.
            return Membership(self.groups, starts, self.place, self.number)
        at = np.repeat(first - (ends - sizes), sizes)
        at += np.arange(len(at))
        return Membership(
            self.groups, starts, self.place.take(at), self.number.take(at)
        )

    def squares(
        self, *sums: tuple[NDArray[np.intp], Array, int]
    ) -> list[tuple[Array, int, int]]:
        """Sum values by group and column, and the squares of these sums by column.

        Parameters
        ----------
        *sums : tuple of (columns, values, n_columns)
            What is summed: the columns of the values of each row, all different, of
            shape (n_rows, n_values); the values, of a row that stands for several
            those of each; and the number of columns.

        Returns
        -------
        list of tuple
            Of each: ``squares`` of shape (n_columns,); ``n_sums``, the number of sums
            (of the columns that a group has values in, for all groups); and
            ``n_groups``, the number of groups that have any.
        """
        n_rows = len(self.starts) - 1
        # Mostly a judge sees a prompt once: then the entry of a group is its sum.
        alone = are_alone(self.place)
        rows = np.repeat(np.arange(n_rows), np.diff(self.starts))
        number = np.bincount(rows, np.where(alone, self.number**2, 0.0), n_rows)
        n_alone = int(np.count_nonzero(alone))
        others = None
        if n_alone < len(alone):
            matrix = self.matrix()
            matrix.data = np.where(alone, 0.0, matrix.data)
            matrix.eliminate_zeros()
            others = matrix.tocsr()
        found = []
        for columns, values, n_columns in sums:
            n_values = values.shape[1]
            each = number[:, None] * values**2
            squares = np.bincount(columns.ravel(), each.ravel(), n_columns)
            n_groups, n_sums = n_alone, n_values * n_alone
            if others is not None:
                starts = np.arange(0, n_rows * n_values + 1, n_values)
                entries = values.ravel(), columns.ravel(), starts
                rest = others @ csr_array(entries, (n_rows, n_columns))
                squares += np.bincount(rest.indices, rest.data**2, n_columns)
                n_sums += len(rest.data)
                n_groups += int(np.count_nonzero(np.diff(rest.indptr)))
            found.append((np.asarray(squares, np.float64), n_sums, n_groups))
        return found

    def totals(self, values: Any) -> GroupTotals:
        """Sum values of rows, of shape (n_rows, n_columns), by group.

        Of a row that stands for several, the value is that of each.
        """
        totals = self.matrix() @ values
        return GroupTotals(self.groups, np.asarray(totals))

    def matrix(self, factor: Array | None = None) -> csc_array:
        """The sparse (n_groups, n_rows) matrix that sums values of rows by group.

        Parameters
        ----------
        factor : ndarray of shape (n_rows,), optional
            What values are multiplied by first.

        Returns
        -------
        csc_array
        """
        number = self.number
        if factor is not None:
            number = number * np.repeat(factor, np.diff(self.starts))
        shape = len(self.groups), len(self.starts) - 1
        return csc_array((number, self.place, self.starts), shape)

    def entries(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        """Group and row of each entry, and how many rows it stands for."""
        sizes = np.diff(self.starts)
        return (
            self.groups[self.place],
            np.repeat(np.arange(len(sizes)), sizes),
            self.number,
        )


def _sorted_entries(
    number: Array,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    shape: tuple[int, int],
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Starts of rows, columns and numbers, with equal entries added up."""
    matrix = csr_array((number, (rows, columns)), shape)
    return matrix.indptr.astype(np.intp), matrix.indices.astype(np.intp), matrix.data


@dataclass(frozen=True, eq=False, slots=True)
class Crossed:
    """Votes by prompt and by rater, two ways in which they may depend on each other.

    A *unit* is the votes of one rater on one prompt.

    Attributes
    ----------
    units : Membership
        Which rows belong to which unit; rows without a rater belong to none.
    prompt : ndarray of shape (n_units,)
        Code of the prompt of each unit.
    rater : ndarray of shape (n_units,)
        Code of its rater.
    """

    units: Membership
    prompt: NDArray[np.intp]
    rater: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        prompts: NDArray[np.intp],
        raters: NDArray[np.intp],
        rows: NDArray[np.intp] | None = None,
        n_rows: int | None = None,
    ) -> Self:
        """Cross codes of prompts and of raters.

        Parameters
        ----------
        prompts : ndarray of shape (n,)
            Code of the prompt of each row of a table.
        raters : ndarray of shape (n,)
            Code of its rater; -1 without one.
        rows : ndarray of shape (n,), optional
            Row that stands for each of them; None is the row itself.
        n_rows : int, optional
            Number of rows that stand for them.

        Returns
        -------
        Crossed
        """
        at = np.flatnonzero(raters >= 0)
        n_raters = int(raters.max(initial=-1)) + 1
        # Each pair of codes has a number of its own.
        key, unit = np.unique(prompts[at] * n_raters + raters[at], return_inverse=True)
        columns = at if rows is None else rows[at]
        shape = len(raters) if n_rows is None else n_rows, len(key)
        entries = _sorted_entries(np.ones(len(at)), columns, unit, shape)
        units = Membership(np.arange(len(key)), *entries)
        return cls(units, key // max(n_raters, 1), key % max(n_raters, 1))

    def __getitem__(self, rows: Any) -> Crossed:
        """The same of some of the rows; units may then be empty."""
        return Crossed(self.units[rows], self.prompt, self.rater)

    def sums(self, values: Array) -> RaterSums:
        """Sums of values of rows, of shape (n_rows, n_columns).

        Of a row that stands for several, the value is that of each.
        """
        totals = self.units.totals(values).totals
        return RaterSums(Membership.of(self.rater).totals(totals), totals.T @ totals)


@dataclass(frozen=True, eq=False, slots=True)
class RaterSums:
    """Sums of values by rater, and squares of the sums by rater and prompt.

    Attributes
    ----------
    by_rater : GroupTotals
        The sum of each rater.
    within : ndarray of shape (n_columns, n_columns)
        Summed products of the sums of the units.
    """

    by_rater: GroupTotals
    within: Array

    def __add__(self, other: RaterSums) -> RaterSums:
        return RaterSums(self.by_rater + other.by_rater, self.within + other.within)

    def excess(self) -> Array:
        """What raters add to a covariance whose rows depend on each other by prompt.

        The sums of two ways add the squares of the sums by rater, and subtract those
        by rater and prompt, which the squares by prompt have already (Cameron, Gelbach
        and Miller 2011). The difference may be negative; only what it adds is taken, so
        that no variance is less than that by prompt.

        Returns
        -------
        ndarray of shape (n_columns, n_columns)
            Positive semidefinite.
        """
        totals = self.by_rater.totals
        return positive_part(totals.T @ totals - self.within)
