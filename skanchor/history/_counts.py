"""Historical rows as counts of equal rows, from which a history is fitted again.

Without features and groups a row is its two models, judge, display order, outcome and
folds: however many rows there are, they are of few kinds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._comparisons import HUMAN
from skanchor._folds import FoldPlan
from skanchor._typing import Array
from skanchor.sample import Sample

__all__ = ["RowCounts", "fold_numbers", "rows_as_table"]


@dataclass(frozen=True, eq=False, slots=True)
class RowCounts:
    """Kinds of rows, and how many there are of each.

    Attributes
    ----------
    models, judges : ndarray
        Vocabularies.
    kinds : ndarray of shape (n_kinds, 4 + n_repeats)
        First and second model, judge (-1 is a human), display order, and the fold that
        holds them out in each repeat, -1 where none does.
    outcomes : ndarray of shape (n_kinds,)
        Preference for the first model.
    counts : ndarray of shape (n_kinds,)
        Numbers of rows.
    """

    models: NDArray[Any]
    judges: NDArray[Any]
    kinds: NDArray[np.intp]
    outcomes: Array
    counts: NDArray[np.intp]

    @classmethod
    def of(cls, sample: Sample, plans: list[FoldPlan]) -> RowCounts | None:
        """Count the rows of each kind; None where they differ in more than that.

        Parameters
        ----------
        sample : Sample
            As a user gave it.
        plans : list of FoldPlan
            Folds of its rows in each repeat.
        """
        X = sample.X
        used = np.flatnonzero(sample.counts)
        if X.features_left.shape[1] or sample.groups is not None:
            return None
        if (sample.weight[used] != 1.0).any():
            return None
        folds = fold_numbers(plans, len(sample))
        columns = [X.left, X.right, X.judge, X.order.astype(np.intp), *folds]
        table = np.column_stack([*columns, sample.y])[used]
        kinds, counts = np.unique(table, axis=0, return_counts=True)
        codes = kinds[:, :-1].astype(np.intp)
        return cls(X.models, X.judges, codes, kinds[:, -1], counts)

    def rows(self) -> tuple[pd.DataFrame, Array, NDArray[np.intp]]:
        """All rows again: the table, outcomes, and folds of shape (n_repeats, n_rows).

        In an order of their own.
        """
        kinds = np.repeat(self.kinds, self.counts, axis=0)
        left, right, judge, order = kinds[:, :4].T
        table = _table(self.models, self.judges, left, right, judge, order)
        return table, np.repeat(self.outcomes, self.counts), kinds[:, 4:].T


def rows_as_table(sample: Sample) -> pd.DataFrame:
    """The usable rows of a sample without features, as a battles table."""
    X = sample.X
    return _table(X.models, X.judges, X.left, X.right, X.judge, X.order)


def fold_numbers(plans: list[FoldPlan], n_rows: int) -> NDArray[np.intp]:
    """Fold that holds each row out in each repeat, -1 where none does."""
    folds = np.full((len(plans), n_rows), -1)
    for repeat, plan in enumerate(plans):
        for number, (_, test) in enumerate(plan):
            folds[repeat, test] = number
    return folds


def _table(
    models: NDArray[Any],
    judges: NDArray[Any],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    judge: NDArray[np.intp],
    order: NDArray[Any],
) -> pd.DataFrame:
    names = np.append(judges.astype(object), HUMAN)
    table = pd.DataFrame(
        {"model_a": models[left], "model_b": models[right], "judge": names[judge]}
    )
    if np.any(order):
        shown = np.array([None, "model_a", "model_b"], dtype=object)
        table["shown_first"] = shown[np.asarray(order, dtype=np.intp)]
    return table
