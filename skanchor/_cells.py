"""Cells: rows that say the same, as one row that stands for all of them.

A table without features has few different rows. They are put together by models, judge,
display order, outcome and weight, and all that follows walks the cells. A cell's weight
is the sum of its rows' weights, so that sums linear in the weights need nothing else;
sums of squares and numbers of rows read
:attr:`skanchor.sample.Sample.multiplicity`. Only folds are drawn row by row. A fold
divides the rows of a cell: some of them are in training, the others held out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._comparisons import Comparisons, is_constant
from skanchor._folds import DrawnPlan, Fold, FoldPlan, as_folds
from skanchor._numerics.groups import Crossed, Membership
from skanchor._typing import Array
from skanchor.sample import Sample

__all__ = ["Cells"]

MOST_SHARE = 0.5
"""Number of cells, in that of rows, above which rows are left as they are."""

LOOK = 1024
"""Rows looked at to see whether outcomes and weights repeat."""

FEW_VALUES = 64
"""Different outcomes, or weights, among these rows up to which they may."""


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """Rows of a table, put together where they are equal.

    Attributes
    ----------
    given : Sample
        Rows of the table, or rows that count as several (:meth:`Sample.counted`).
    sample : Sample
        One row for each cell; the rows themselves where too few are equal.
    cell : ndarray of shape (n_rows,) or None
        Cell of each row of the table; None where each row is its own.
    """

    given: Sample
    sample: Sample
    cell: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, given: Sample) -> Self:
        """Put equal rows together, if that leaves far fewer rows.

        Parameters
        ----------
        given : Sample
            Rows with features stay as they are.

        Returns
        -------
        Cells
        """
        number = given.multiplicity
        found = _numbered_cells(given)
        if found is None:
            if number is not None:
                given = given.listed()
            return cls(given, given)
        cell, first, size = found
        if number is not None:
            size = np.bincount(cell, number, minlength=len(first)).astype(np.intp)
        weight = np.bincount(cell, given.weight, minlength=len(first))
        sample = replace(
            given[first],
            weight=weight.astype(np.float64),
            multiplicity=size.astype(np.float64),
        )
        if given.groups is not None:
            members = Membership.of(given.groups, cell, number)
            sample = replace(sample, groups=None, members=members)
        if given.raters is not None:
            prompts = _prompts(given)
            rated = Crossed.of(prompts, given.raters, cell, len(first))
            sample = replace(sample, raters=None, rated=rated)
        if number is not None:
            cell = np.repeat(cell, number.astype(np.intp))
        return cls(given, sample, cell)

    @property
    def rows(self) -> Sample:
        """The rows of the table, one by one."""
        return self.given if self.given.multiplicity is None else self.given.listed()

    def to_rows(self, X: Comparisons) -> Comparisons:
        """The rows of the table, with what is known of the cells ``X``."""
        return X if self.cell is None else X[self.cell]

    def rows_of(self, sample: Sample) -> Sample:
        """The rows of the table, in the roles of the cells of a sample."""
        return self.rows.with_battles(self.to_rows(sample.X))

    def folds(self, sample: Sample, plans: Sequence[FoldPlan]) -> list[Sequence[Fold]]:
        """Folds of the cells, from those of the rows of the table.

        Parameters
        ----------
        sample : Sample
            The cells, in their roles.
        plans : sequence of FoldPlan
            Folds of the rows in each repeat.

        Returns
        -------
        list of sequence of Fold
        """
        if self.cell is None:
            return [as_folds(plan) for plan in plans]
        assert sample.multiplicity is not None
        number = np.where(sample.counts, sample.multiplicity, 0.0)
        folds = [_divide(plan, self.cell, number) for plan in plans]
        if sample.members is not None or sample.rated is not None:
            prompts = _prompts(self.rows)
            folds = [
                _with_groups(own, plan, prompts)
                for own, plan in zip(folds, plans, strict=True)
            ]
        return list(folds)


def _prompts(rows: Sample) -> NDArray[np.intp]:
    """Group of each row of the table; without groups each row is one of its own."""
    return np.arange(len(rows)) if rows.groups is None else rows.groups


def _divide(plan: FoldPlan, cell: NDArray[np.intp], number: Array) -> list[Fold]:
    """Folds of cells: how many rows of each are in training, and held out.

    ``number`` has the rows of each cell that count.
    """
    size, found = len(number), []
    pairs: list[tuple[NDArray[Any], NDArray[Any]]]
    if isinstance(plan, DrawnPlan):
        # All folds at once: rows that count for nothing fall before the first.
        at = cell * (plan.n_folds + 1)
        at += plan.fold
        at += 1
        table = np.bincount(at, minlength=size * (plan.n_folds + 1))
        tests = table.reshape(size, -1).T[1:]
        pairs = [(number - test, test) for test in tests]
    else:
        pairs = [
            (
                np.bincount(cell.take(train), minlength=size),
                np.bincount(cell.take(test), minlength=size),
            )
            for train, test in plan
        ]
    for own in pairs:
        train, test = map(np.flatnonzero, own)
        times = own[0][train].astype(np.float64), own[1][test].astype(np.float64)
        found.append(Fold(train, test, *times))
    return found


def _with_groups(
    folds: list[Fold], plan: FoldPlan, groups: NDArray[np.intp]
) -> list[Fold]:
    """The folds with the groups that each holds out, all of them whole."""
    size, found = int(groups.max()) + 1, []
    for fold, (_, test) in zip(folds, plan, strict=True):
        held = np.zeros(size, dtype=bool)
        held[groups[test]] = True
        found.append(replace(fold, test_groups=held))
    return found


def _numbered_cells(
    sample: Sample,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]] | None:
    """Cell of each row, the first row of each cell, and its number of rows.

    None where rows stay as they are.
    """
    X = sample.X
    if X.features_left.shape[1] or X.biases is not None:
        return None
    each = (sample.y,) if sample.multiplicity is not None else _values(sample)
    if not all(map(_repeats, each)):
        return None
    key, size = np.zeros(len(sample), dtype=np.int64), 1
    for codes, n_codes in _codes(sample):
        size *= n_codes
        if size > np.iinfo(np.int64).max:
            return None
        key *= n_codes
        key += codes
    cell, number = _numbered(key, size)
    n_rows = len(sample) if sample.multiplicity is None else sample.multiplicity.sum()
    if len(number) > MOST_SHARE * n_rows:
        return None
    first = np.zeros(len(number), dtype=np.intp)
    # Of values written in turn the last remains: backwards, the first row of each.
    first[cell[::-1]] = np.arange(len(cell))[::-1]
    return cell, first, number


def _values(sample: Sample) -> tuple[Array, ...]:
    """Columns that may hold as many values as rows."""
    return sample.y, sample.weight


def _repeats(values: NDArray[np.float64]) -> bool:
    """Whether rows spread over the table hold few different values."""
    some = values[:: max(1, len(values) // LOOK)]
    return len(np.unique(some)) <= FEW_VALUES


def _codes(sample: Sample) -> Iterator[tuple[NDArray[np.intp], int]]:
    """Columns in which equal rows agree, as codes from zero, and how many codes."""
    X = sample.X
    for side in (X.left, X.right):
        yield side + 1, len(X.models) + 1
    yield X.judge + 2, len(X.judges) + 2
    if X.order.any():
        yield X.order.astype(np.intp) + 1, 3
    # Rows that count as several weigh one each.
    counted = sample.multiplicity is not None
    for values in (sample.y,) if counted else _values(sample):
        if not is_constant(values):
            codes, distinct = pd.factorize(values)
            yield codes, max(len(distinct), 1)
    for flags in (sample.outcomes.both_bad, sample.left_out):
        if flags is not None:
            yield flags.astype(np.intp), 2


def _numbered(
    key: NDArray[np.int64], size: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number of each key among those in use, and how often each is in use."""
    if size > 4 * len(key):
        place, used = pd.factorize(key)
        return place, np.bincount(place, minlength=len(used))
    # Counting numbers the keys in use much faster than hashing.
    number = np.bincount(key, minlength=size)
    used = np.flatnonzero(number)
    place = np.zeros(size, dtype=np.intp)
    place[used] = np.arange(len(used))
    return place.take(key), number[used]
