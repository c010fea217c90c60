"""Influence of the groups of a history, to whose rows arrivals may add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, vstack

from skanchor._numerics.groups import ColumnTotals, GroupTotals, squares_by_kind
from skanchor._riesz import InfluenceSums, SplitSums
from skanchor._typing import Array
from skanchor.sample import Sample

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
        sample: Sample,
        tests: Sequence[NDArray[np.intp]],
        influence: Sequence[Array],
    ) -> list[InfluenceSums]:
        """Sums over the influence of all rows held out, those of a group added first.

        Parameters
        ----------
        total : ndarray of shape (n_folds, n_items)
            Summed influence of the rows of the history.
        of_people : ndarray of shape (n_folds, n_people_columns, n_items)
            What the weights of votes multiply their columns with.
        columns : ndarray of shape (n_folds, n_judges, n_judge_columns, n_items)
            The same of the verdicts of each judge.
        sample : Sample
            Arrivals.
        tests : sequence of ndarray
            Numbers of the rows that each fold holds out.
        influence : sequence of ndarray
            Influence of these rows.

        Returns
        -------
        list of InfluenceSums
            By fold. Of the largest influence that of the new items.
        """
        if self.products is None:
            folds = zip(
                self.folds, total, of_people, columns, tests, influence, strict=True
            )
            return [_squared(*fold, sample=sample) for fold in folds]
        assert sample.groups is not None
        # Of many groups few have rows of arrivals. The squares of all others are those
        # of all groups, less those of these few.
        of_rows = _numbered([sample.groups[test] for test in tests])
        groups, place = np.unique(of_rows, return_inverse=True)
        stops = np.searchsorted(groups, np.arange(len(tests) + 1) * _FOLD).tolist()
        early = self._influence_of(groups, stops, of_people, columns)
        # Sums of people's rows, then those of judges' rows.
        values, n_rows = np.concatenate(influence), len(of_rows)
        row = np.where(sample.X.is_human[np.concatenate(tests)], 0, len(groups)) + place
        entries = np.ones(n_rows), row, np.arange(n_rows + 1)
        late = csc_array(entries, (2 * len(groups), n_rows)) @ values
        both = early + late.reshape(early.shape)
        rest, found = [], []
        for k, fold in enumerate(map(slice, stops[:-1], stops[1:])):
            squares = _squares(self.products[k], of_people[k], columns[k])
            squares -= squares_by_kind(*early[:, fold])
            largest = np.abs(both[:, fold].sum(axis=0)).max(axis=0, initial=0.0)
            rest.append(np.diagonal(squares.sum(axis=0)))
            squares = squares + squares_by_kind(*both[:, fold])
            own = total[k] + influence[k].sum(axis=0)
            found.append(InfluenceSums(own, squares, largest))
        # No group has more than all others together, so that mostly none of those that
        # are the history's own is the largest.
        new = sample.X.is_new
        most = np.max([one.largest[new] for one in found], axis=0)
        some = (np.array(rest)[:, new] > most**2).any(axis=1)
        for k in np.flatnonzero(some).tolist():
            human, judge = _influence(
                self.folds[k], of_people[k][:, new], columns[k][..., new]
            )
            every, known = human + judge, groups[stops[k] : stops[k + 1]] - k * _FOLD
            alone = ~np.isin(every.groups, known, assume_unique=True)
            size = np.abs(every.totals[alone]).max(axis=0, initial=0.0)
            largest = found[k].largest.copy()
            largest[new] = np.maximum(largest[new], size)
            found[k] = replace(found[k], largest=largest)
        return found

    def _influence_of(
        self,
        groups: NDArray[np.int64],
        stops: list[int],
        of_people: Array,
        columns: Array,
    ) -> Array:
        """Influence of rows of the history on some groups, of people and of judges.

        Of shape (2, n_groups, n_items); zero where the history has no rows.
        """
        n_people, n = of_people.shape[1:]
        of_judges = columns.reshape(len(columns), -1, n)
        sums = np.zeros((len(groups), n_people + of_judges.shape[1]))
        stop = 0
        for source in self.sources:
            at, rows = source.rows_of(groups)
            start, stop = stop, stop + rows.shape[1]
            sums[at, start:stop] = rows
        found = np.empty((2, len(groups), n))
        for k, fold in enumerate(map(slice, stops[:-1], stops[1:])):
            np.matmul(sums[fold, :n_people], of_people[k], out=found[0, fold])
            np.matmul(sums[fold, n_people:], of_judges[k], out=found[1, fold])
        return found


def _numbered(groups: Sequence[NDArray[np.intp]]) -> NDArray[np.int64]:
    """One number for each fold and each of its groups, ascending where these are."""
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


def _squared(
    sources: list[ColumnTotals],
    total: Array,
    of_people: Array,
    columns: Array,
    test: NDArray[np.intp],
    influence: Array,
    *,
    sample: Sample,
) -> InfluenceSums:
    """Sums as of :meth:`HistoryGroups.sums` of a fold, by its groups one by one."""
    size, by_group = len(total), _influence(sources, of_people, columns)
    early = InfluenceSums(total, np.zeros((3, size, size)), np.zeros(size), by_group)
    is_human, groups = sample.X.is_human[test], sample.membership(test)
    return (early + InfluenceSums.of(influence, is_human, groups)).with_closed_groups()


def _squares(products: Array, of_people: Array, columns: Array) -> Array:
    """Summed squares of all groups of a fold, of people, of judges, and across them.

    Of shape (3, n_items, n_items).
    """
    n_people, n = of_people.shape
    of_judges = columns.reshape(-1, n)
    people, judges = slice(n_people), slice(n_people, None)
    cross = of_people.T @ (products[people, judges] @ of_judges)
    human = of_people.T @ products[people, people] @ of_people
    judge = _symmetric(products[judges, judges], of_judges)
    return np.array([human, judge, cross + cross.T])


def _symmetric(products: Array, columns: Array) -> Array:
    """C' P C of a symmetric P, of whose blocks off the diagonal one is enough."""
    half = len(columns) // 2
    first, last = slice(half), slice(half, None)
    cross = columns[first].T @ (products[first, last] @ columns[last])
    found = cross + cross.T
    for own in (first, last):
        found += columns[own].T @ (products[own, own] @ columns[own])
    return found
