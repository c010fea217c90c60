"""Historical rows as counts of equal rows, from which a history can be fitted again.

Without features, groups and weights, a row consists of its two models, judge, display
order, outcome and folds. So even many rows are of few distinct kinds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles import HUMAN, number_rows
from skanchor._crossfit.folds import FoldPlan
from skanchor._typing import Array
from skanchor.sample import Sample


@dataclass(frozen=True, eq=False, slots=True)
class RowCounts:
    """Distinct kinds of rows, and the number of rows of each.

    Attributes
    ----------
    models, judges : ndarray
        Labels.
    kinds : ndarray of shape (n_kinds, 4 + n_repeats)
        Codes of the first and the second model and of the judge (-1 is a human),
        display order, and the fold that holds the rows out in each repeat (-1 if none).
    outcomes : ndarray of shape (n_kinds,)
        Preference for the first model.
    counts : ndarray of shape (n_kinds,)
        Number of rows.
    """

    models: NDArray[Any]
    judges: NDArray[Any]
    kinds: NDArray[np.intp]
    outcomes: Array
    counts: NDArray[np.intp]

    @classmethod
    def of(
        cls, sample: Sample, cell: NDArray[Any] | None, plans: list[FoldPlan]
    ) -> RowCounts | None:
        """Count the rows of each kind.

        Parameters
        ----------
        sample : Sample
            All rows that the user gave, put together where they are equal.
        cell : ndarray of shape (n_rows,) or None
            Which of these each row of the table is; None where each is its own.
        plans : list of FoldPlan
            Folds of the rows of the table in each repeat.

        Returns
        -------
        RowCounts or None
            None where rows have features, groups or weights.
        """
        X, used, times = sample.X, sample.counts, sample.multiplicity
        if X.features_left.shape[1] or sample.is_grouped:
            return None
        weight = sample.weight if times is None else sample.weight / times
        if sample.unit != 1.0 or (weight[used] != 1.0).any():
            return None
        columns = [X.left, X.right, X.judge, X.order.astype(np.intp)]
        equal = number_rows(*columns, sample.y)
        # Narrow integers, as a table of counts may stand for many rows.
        number = equal.kind.astype(np.min_scalar_type(len(equal.first)))
        cell = np.arange(len(sample)) if cell is None else cell
        rows = slice(None) if used.all() else np.flatnonzero(used[cell])
        number = number[cell][rows]
        folds = [plan.fold[rows] for plan in plans]
        kinds_of_rows = number_rows(number, *folds)
        at = equal.first[number[kinds_of_rows.first]]
        of_kinds = [column[at] for column in columns]
        of_kinds += [fold[kinds_of_rows.first] for fold in folds]
        kinds = np.column_stack(of_kinds)
        kinds = kinds.astype(np.min_scalar_type(-int(kinds.max(initial=1)) - 1))
        return cls(X.models, X.judges, kinds, sample.y[at], kinds_of_rows.size)

    @property
    def folds(self) -> NDArray[np.integer]:
        """Fold that holds the rows of each kind out, (n_repeats, n_kinds)."""
        return self.kinds[:, 4:].T

    def table(self) -> pd.DataFrame:
        """Battles table with one row for each kind."""
        left, right, judge, order = self.kinds[:, :4].astype(np.intp).T
        return _table(self.models, self.judges, left, right, judge, order)


def rows_as_table(sample: Sample) -> pd.DataFrame:
    """Battles table of a sample without features, all of whose rows are usable."""
    X = sample.X
    return _table(X.models, X.judges, X.left, X.right, X.judge, X.order)


def _table(
    models: NDArray[Any],
    judges: NDArray[Any],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    judge: NDArray[np.intp],
    order: NDArray[Any],
) -> pd.DataFrame:
    """Battles table of encoded rows, with their display orders."""
    # The code -1 of people is the last label.
    names = np.append(judges.astype(object), HUMAN)
    table = pd.DataFrame(
        {"model_a": models[left], "model_b": models[right], "judge": names[judge]}
    )
    # Order 0 is unknown, 1 the first model, and -1, the last entry, the second. Without
    # the column, unknown orders would be those of the columns.
    shown = np.array([None, "model_a", "model_b"], dtype=object)
    table["shown_first"] = shown[np.asarray(order, dtype=np.intp)]
    return table
