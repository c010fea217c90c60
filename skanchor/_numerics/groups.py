"""Sums by group of dependent rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._numerics.types import Array

__all__ = ["GroupTotals", "Membership"]


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
        both = np.concatenate([self.groups, other.groups])
        groups, at = np.unique(both, return_inverse=True)
        totals = np.zeros((len(groups), self.totals.shape[1]))
        totals[at[: len(self.groups)]] = self.totals
        totals[at[len(self.groups) :]] += other.totals
        return GroupTotals(groups, totals)


@dataclass(frozen=True, eq=False, slots=True)
class Membership:
    """Which rows belong to which groups of dependent rows.

    Attributes
    ----------
    groups : ndarray of shape (n_groups,)
        Codes of the groups, ascending.
    matrix : csr_array of shape (n_groups, n_rows)
        How many rows of each group each row stands for: where each row is one, 1 at its
        group.
    """

    groups: NDArray[np.intp]
    matrix: csr_array

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
        # Codes are small integers, so that counting finds those in use without sorting.
        used = np.bincount(codes) > 0
        groups, place = np.flatnonzero(used), (np.cumsum(used) - 1).take(codes)
        n = len(codes)
        if rows is None:
            # Transposed, each row has one entry, in its place.
            matrix = csr_array(
                (np.ones(n), place, np.arange(n + 1)), (n, len(groups))
            ).T.tocsr()
        else:
            shape = len(groups), int(rows.max(initial=-1)) + 1
            times = np.ones(n) if number is None else number
            matrix = csr_array((times, (place, rows)), shape)
        return cls(groups, matrix)

    def __getitem__(self, rows: Any) -> Membership:
        """Membership of some of the rows, in groups that may then be empty."""
        return Membership(self.groups, self.matrix[:, rows])

    def among(self, some: NDArray[np.bool_]) -> Membership:
        """The groups of a mask alone."""
        return Membership(self.groups[some], self.matrix[np.flatnonzero(some)])

    def totals(self, values: Any) -> GroupTotals:
        """Sum values of rows, of shape (n_rows, n_columns), by group.

        Of a row that stands for several, the value is that of each.
        """
        totals = self.matrix @ values
        return GroupTotals(self.groups, np.asarray(totals))

    def scaled(self, factor: Array) -> csr_array:
        """The matrix with a factor for each row: sums of factor times values."""
        found = self.matrix.copy()
        found.data = found.data * factor[found.indices]
        return found

    def entries(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        """Group and row of each entry, and how many rows it stands for."""
        sizes = np.diff(self.matrix.indptr)
        rows, number = self.matrix.indices.astype(np.intp), self.matrix.data
        return np.repeat(self.groups, sizes), rows, number.astype(np.float64)
