"""Cells: equal rows, replaced by one row that represents all of them.

A table without features has few different rows. Rows with the same models, judge,
display order, outcome and weight are merged into a cell, and all later steps use cells.
The weight of a cell is the sum of its rows' weights, so sums linear in the weights do
not change. Sums of squares and numbers of rows use ``Sample.multiplicity``. Only folds
are drawn row by row. A fold divides the rows of a cell: some of them are in training,
the others are held out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skanchor._battles import Comparisons
from skanchor._battles.rows import EqualRows, number_rows
from skanchor._sample.sample import Sample

MOST_SHARE = 0.5
"""Number of cells, in that of rows, above which rows are left as they are."""

LOOK = 4096
"""Rows looked at, drawn at random, to see whether any are equal."""


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """Rows of a table, put together where they are equal.

    Attributes
    ----------
    table : Sample
        Rows of the table, or rows that count as several (:meth:`Sample.counted`).
    sample : Sample
        One row for each cell; the rows themselves where too few are equal.
    cell : ndarray of shape (n_rows,) or None
        Cell of each row of the table, in integers that may be narrow; None where each
        row is its own.
    """

    table: Sample
    sample: Sample
    cell: NDArray[Any] | None = None

    @classmethod
    def of(cls, rows: Sample, *, by_features: bool = False) -> Self:
        """Put equal rows together, if that leaves far fewer rows.

        Parameters
        ----------
        rows : Sample
            The rows.
        by_features : bool, default=False
            Whether rows with features are put together, too, where these are equal.

        Returns
        -------
        Cells
        """
        number = rows.multiplicity
        equal = _equal_rows(rows, by_features)
        if equal is None:
            rows = rows.listed()
            return cls(rows, rows)
        size, weight = (
            np.bincount(equal.kind, values, len(equal.first)).astype(np.float64)
            for values in (number, rows.weight)
        )
        sample = replace(rows[equal.first], weight=weight, multiplicity=size)
        # Narrow integers: of all that is kept, this alone is as long as the table.
        cell = equal.kind.astype(np.min_scalar_type(len(size)))
        if number.sum() > len(cell):
            cell = np.repeat(cell, number.astype(np.intp))
        return cls(rows, sample, cell)

    @property
    def rows(self) -> Sample:
        """The rows of the table, one by one."""
        return self.table.listed()

    def to_rows(self, X: Comparisons) -> Comparisons:
        """The rows of the table, with what is known of the cells ``X``."""
        return X if self.cell is None else X[self.cell]

    def rows_of(self, sample: Sample) -> Sample:
        """The rows of the table, in the roles of the cells of a sample."""
        return self.rows.with_battles(self.to_rows(sample.X))


def _equal_rows(sample: Sample, by_features: bool) -> EqualRows | None:
    """Kinds of the rows; None where rows stay as they are."""
    X, number = sample.X, sample.multiplicity
    if sample.groups is not None or sample.raters is not None:
        # Rows of a group depend on each other, and so do the votes of a rater.
        return None
    if X.biases is not None or (X.feature_names and not by_features):
        return None
    # First those columns that may differ in most rows.
    columns = [*X.features_left.T, *X.features_right.T, sample.y]
    columns += [sample.weight / number, sample.outcomes.both_bad, sample.left_out]
    columns += [X.left, X.right, X.judge, X.order]
    most = MOST_SHARE * number.sum()
    # Of a table that would be cells, thousands of rows have equal ones among them. The
    # first rows may not, as those of a table that is repeated.
    n_looked_at = min(len(sample), LOOK)
    drawn = np.random.default_rng(0).choice(len(sample), n_looked_at, replace=False)
    looked_at = number_rows(*(column[drawn] for column in columns))
    if len(sample) > most and len(looked_at.first) == n_looked_at:
        return None
    if not X.features_complete:
        return None
    equal = number_rows(*columns)
    return equal if len(equal.first) <= most else None
