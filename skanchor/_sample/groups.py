"""Sums by group of dependent rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from skanchor._typing import Array


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

    def totals(self, values: Array) -> Array:
        """Sums of values of rows, of shape (n_rows, n_columns), by group.

        Of a row that stands for several, the value is that of each.
        """
        return np.asarray(self.matrix() @ values)

    def matrix(self) -> csc_array:
        """The sparse (n_groups, n_rows) matrix that sums values of rows by group."""
        shape = len(self.groups), len(self.starts) - 1
        return csc_array((self.number, self.place, self.starts), shape)

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
