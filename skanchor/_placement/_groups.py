"""Influence of the groups of a history, to whose rows arrivals may add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack

from skanchor._numerics.groups import ColumnTotals, GroupTotals, squares_by_kind
from skanchor._riesz import InfluenceSums, SplitSums
from skanchor._typing import Array

__all__ = ["HistoryGroups"]

_FOLD = 1 << 40
"""More than there are groups, so that a group and a fold are one number."""


@dataclass(frozen=True, eq=False)
class HistoryGroups:
    """Sums by group over the rows that each fold of a history holds out.

    Attributes
    ----------
    folds : list of list of ColumnTotals
        By fold and source, people first.
    sources : list of ColumnTotals
        The same sums by source, one fold after another. Groups are numbered by
        :func:`_numbered`.
    products : list of ndarray of shape (n_columns, n_columns), or None
        By fold, summed products of the sums of each group, by the columns of all
        sources. None where some fold has too few groups to be worth it.
    """

    folds: list[list[ColumnTotals]]
    sources: list[ColumnTotals]
    products: list[Array] | None

    @classmethod
    def of(cls, folds: Sequence[SplitSums]) -> Self | None:
        """Sums of some folds, whose arrays become parts of these; None without any."""
        products = [one.products for one in folds]
        some = [one for one in products if one is not None]
        sources = []
        for m in sorted(folds[0].held_out):
            parts = [one.held_out[m].by_group for one in folds]
            tables = [one for one in parts if one is not None]
            if not tables:
                return None
            joined = ColumnTotals(
                _numbered([one.groups for one in tables]),
                vstack([one.items for one in tables], format="csr"),
                np.vstack([one.others for one in tables]),
            )
            sources.append(joined)
            stops = np.cumsum([0, *(len(one.groups) for one in tables)])
            for k, (fold, own) in enumerate(zip(folds, tables, strict=True)):
                part = replace(joined[stops[k] : stops[k + 1]], groups=own.groups)
                fold.held_out[m] = replace(fold.held_out[m], by_group=part)
        return cls(
            [one.by_group for one in folds],
            sources,
            some if len(some) == len(folds) else None,
        )

    def sums(
        self,
        total: Array,
        of_people: Array,
        columns: Array,
        late: Sequence[InfluenceSums],
        is_new: NDArray[np.bool_],
    ) -> list[InfluenceSums]:
        """Sums over the influence of all rows held out, once no group gains rows.

        Of many groups few have rows of arrivals. The squares of all others are read off
        the products of their sums.

        Parameters
        ----------
        total : ndarray of shape (n_folds, n_items)
            Summed influence of the rows of the history.
        of_people : ndarray of shape (n_folds, n_people_columns, n_items)
            What the weights of votes multiply their columns with.
        columns : ndarray of shape (n_folds, n_judges, n_judge_columns, n_items)
            The same of the verdicts of each judge.
        late : sequence of InfluenceSums
            Of the arrivals that each fold holds out, by group.
        is_new : ndarray of shape (n_items,)
            Items of which the largest influence is wanted.

        Returns
        -------
        list of InfluenceSums
            By fold.
        """
        n_folds, n = total.shape
        shared = [one.by_group[0].groups for one in late if one.by_group is not None]
        if self.products is None:
            early = list(map(_influence, self.folds, of_people, columns))
            rest = np.zeros((n_folds, 3, n, n))
        else:
            early = self._influence_of(shared, of_people, columns)
            rest = np.array(list(map(_squares, self.products, of_people, columns)))
            for own, (human, judge) in zip(rest, early, strict=True):
                own -= squares_by_kind(human.totals, judge.totals)
        nothing = np.full(n, np.nan)
        found = [
            (InfluenceSums(own, square, nothing, groups) + one).with_closed_groups()
            for own, square, groups, one in zip(total, rest, early, late, strict=True)
        ]
        # No group has more than all others together, so that mostly none of those that
        # are the history's own is the largest.
        most = np.max([one.largest[is_new] for one in found], axis=0)
        left = np.diagonal(rest.sum(axis=1), axis1=1, axis2=2)[:, is_new]
        for k in np.flatnonzero((left > most**2).any(axis=1)):
            human, judge = _influence(
                self.folds[k], of_people[k][:, is_new], columns[k][..., is_new]
            )
            both = human + judge
            alone = ~np.isin(both.groups, shared[k], assume_unique=True)
            largest = found[k].largest.copy()
            size = np.abs(both.totals[alone]).max(axis=0, initial=0.0)
            largest[is_new] = np.maximum(largest[is_new], size)
            found[k] = replace(found[k], largest=largest)
        return found

    def _influence_of(
        self, groups: list[NDArray[np.intp]], of_people: Array, columns: Array
    ) -> list[tuple[GroupTotals, GroupTotals]]:
        """Influence of some groups of each fold; zero where the history has no rows."""
        n_people, numbers = of_people.shape[1], _numbered(groups)
        stops = np.cumsum([0, *map(len, groups)])
        sums = np.zeros((len(numbers), n_people + columns[0, ..., 0].size))
        stop = 0
        for source in self.sources:
            at, rows = source.rows_of(numbers)
            start, stop = stop, stop + rows.shape[1]
            sums[at, start:stop] = rows
        of_judges = columns.reshape(len(columns), -1, columns.shape[-1])
        return [
            (
                GroupTotals(own, sums[start:stop, :n_people] @ of_people[k]),
                GroupTotals(own, sums[start:stop, n_people:] @ of_judges[k]),
            )
            for k, (own, start, stop) in enumerate(
                zip(groups, stops[:-1], stops[1:], strict=True)
            )
        ]


def _numbered(groups: Sequence[NDArray[np.intp]]) -> NDArray[np.int64]:
    """One ascending number for each fold and each of its groups."""
    return np.concatenate(
        [own.astype(np.int64) + k * _FOLD for k, own in enumerate(groups)]
    )


def _influence(
    sources: list[ColumnTotals], of_people: Array, columns: Array
) -> tuple[GroupTotals, GroupTotals]:
    """Influence of every group of a fold, of people and of judges."""
    people, *judges = sources
    found = [own @ each for own, each in zip(judges, columns, strict=True)]
    return people @ of_people, GroupTotals.joined(found)


def _squares(products: Array, of_people: Array, columns: Array) -> Array:
    """Summed squares of all groups of a fold, of people, of judges, and across them.

    Of shape (3, n_items, n_items).
    """
    n_people, n = of_people.shape
    of_judges = columns.reshape(-1, n)
    both = products[:, n_people:] @ of_judges
    cross = of_people.T @ both[:n_people]
    human = of_people.T @ products[:n_people, :n_people] @ of_people
    return np.array([human, of_judges.T @ both[n_people:], cross + cross.T])
