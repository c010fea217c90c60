"""Rows of a history that is fitted again: stored as counts, or given by the user.

Without features, groups and weights, a row consists of its two models, judge, display
order, outcome and folds. So even many rows are of few distinct kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from skanchor._battles import HUMAN, Outcomes, as_frame, number_rows
from skanchor._crossfit.folds import FoldPlan
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.history._arrivals import draw_plans, warn_of_features
from skanchor.io import join_tables


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
        weight = sample.weight if times is None else sample.weight / times
        is_weighted = sample.unit != 1.0 or (weight[used] != 1.0).any()
        if X.features_left.shape[1] or sample.is_grouped or is_weighted:
            return None
        columns = [X.left, X.right, X.judge, X.order.astype(np.intp)]
        equal = number_rows(*columns, sample.y)
        # Narrow integers, as a table of counts may stand for many rows.
        kind = equal.kind.astype(np.min_scalar_type(len(equal.first)))
        # Arrow counts many rows without arrays of their length.
        folds = [plan.fold for plan in plans]
        names = ["kind", *(f"fold {repeat}" for repeat in range(len(plans)))]
        rows = pa.table([kind if cell is None else kind[cell], *folds], names)
        found = rows.group_by(names, use_threads=False).aggregate([([], "count_all")])
        found = found.sort_by([(name, "ascending") for name in names])
        number, *folds, counts = (one.to_numpy() for one in found.columns)
        at = equal.first[number]
        kinds = np.column_stack([column[at] for column in columns] + folds)[used[at]]
        kinds = kinds.astype(np.min_scalar_type(-int(kinds.max(initial=1)) - 1))
        at, counts = at[used[at]], counts[used[at]]
        return cls(X.models, X.judges, kinds, sample.y[at], counts)

    @property
    def folds(self) -> NDArray[np.integer]:
        """Fold that holds the rows of each kind out, (n_repeats, n_kinds)."""
        return self.kinds[:, 4:].T

    def table(self) -> pd.DataFrame:
        """Battles table with one row for each kind."""
        return _table(self.models, self.judges, self.kinds[:, :4].astype(np.intp))


def _table(
    models: NDArray[Any], judges: NDArray[Any], rows: NDArray[np.intp]
) -> pd.DataFrame:
    """Battles table of encoded rows: first and second model, judge, display order."""
    left, right, judge, order = rows.T
    # The code -1 of people is the last label.
    names = np.append(judges.astype(object), HUMAN)
    # Order 0 is unknown, 1 the first model, and -1, the last entry, the second. Without
    # the column, unknown orders would be those of the columns.
    shown = np.array([None, "model_a", "model_b"], dtype=object)[order]
    columns = {"model_a": models[left], "model_b": models[right], "judge": names[judge]}
    return pd.DataFrame({**columns, "shown_first": shown})


def with_rows(
    counts: RowCounts, late: Sample, random_state: Any, sizes: Sequence[int]
) -> tuple[Sample, list[FoldPlan]]:
    """Combine counted rows and new ones; old rows stay in their folds.

    Parameters
    ----------
    counts : RowCounts
        The old rows, as counts.
    late : Sample
        The new rows.
    random_state : int, RandomState or None
        Seed of the folds of the new rows.
    sizes : sequence of int
        Number of folds of each repeat.

    Returns
    -------
    sample : Sample
        Kinds of old rows with their numbers, then the new rows.
    plans : list of FoldPlan
        Folds of the rows in each repeat.

    Raises
    ------
    BattlesError
        If the new rows have weights or groups, which the old ones lack.
    """
    warn_of_features(late.X.feature_names)
    late = late[np.flatnonzero(late.counts)].without_features()
    if late.groups is not None or (late.weight != 1.0).any():
        raise BattlesError(
            "The history was fitted without groups and weights, so that rows that have "
            "any cannot be added to it."
        )
    X = late.X
    rows = np.column_stack([X.left, X.right, X.judge, X.order.astype(np.intp)])
    table = [counts.table(), _table(X.models, X.judges, rows)]
    number = np.append(counts.counts, np.ones(len(late), dtype=np.intp))
    outcomes = np.append(counts.outcomes, late.y)
    sample = Sample.admit(pd.concat(table, ignore_index=True), outcomes, number)
    # Old rows that were left out may count now: they get a random fold.
    random, plans = np.random.default_rng(0), []
    dealt = draw_plans(late, sizes, random_state)
    for known, new, n_folds in zip(counts.folds, dealt, sizes, strict=True):
        # Fold of each of the rows that the sample counts, in this repeat.
        fold = np.append(np.repeat(known, counts.counts), new.fold).astype(np.int16)
        out = np.flatnonzero(fold < 0)
        fold[out] = random.permutation(len(out)) % n_folds
        plans.append(FoldPlan(fold, n_folds))
    return sample.counted(), plans


def join_rows(past: Sequence[Any], late: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """Concatenate two tuples of (X, y, sample_weight, groups).

    A missing weight counts as one.
    """
    frames = [as_frame(part[0]) for part in (past, late)]
    if any(frame is None for frame in frames):
        raise TypeError("Rows are added to rows of a pandas, polars or pyarrow table.")
    tables = [frame.to_pandas() for frame in frames if frame is not None]
    y = []
    for part in (past, late):
        y.append(Outcomes.encode(part[1], named=True).values)
    weights = None
    if past[2] is not None or late[2] is not None:
        parts = zip(tables, (past[2], late[2]), strict=True)
        weights = np.concatenate(
            [np.ones(len(table)) if w is None else np.asarray(w) for table, w in parts]
        )
    groups = _joined_groups(past[3], late[3])
    return join_tables(tables), np.concatenate(y), weights, groups


def _joined_groups(past: Any, late: Any) -> Any:
    """Groups of both tables: one name of a column, or labels; None without groups."""
    names = [one for one in (past, late) if one is None or isinstance(one, str)]
    if not names:
        return np.concatenate([np.asarray(one, dtype=object) for one in (past, late)])
    if len(names) < 2 or past != late:
        raise BattlesError(
            "Old and new rows need groups of one kind: none, those of a column that "
            "both have, or labels of all rows."
        )
    return past
