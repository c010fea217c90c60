"""New historical rows added to old ones: to counts of rows, or to the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from skanchor._battles import Outcomes, as_frame
from skanchor._battles.grouping import AUTO
from skanchor._crossfit.folds import FoldPlan
from skanchor.exceptions import BattlesError
from skanchor.history._arrivals import deal, warn_of_features
from skanchor.history._counts import RowCounts, rows_as_table
from skanchor.io import join_tables
from skanchor.sample import Sample


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
    table = pd.concat([counts.table(), rows_as_table(late)], ignore_index=True)
    number = np.append(counts.counts, np.ones(len(late), dtype=np.intp))
    outcomes = np.append(counts.outcomes, late.y)
    sample = Sample.admit(table, outcomes, number).counted()
    dealt = deal(late, sizes, random_state, np.empty((len(sizes), 0), dtype=np.intp))
    # Old rows that were left out may count now: they get a random fold.
    random = np.random.default_rng(0)
    plans = []
    for own, new, n_folds in zip(counts.folds, dealt, sizes, strict=True):
        # Fold of each of the rows that the sample counts, in this repeat.
        fold = np.append(np.repeat(own, counts.counts), new).astype(np.int16)
        out = np.flatnonzero(fold < 0)
        fold[out] = random.permutation(len(out)) % n_folds
        plans.append(FoldPlan(fold, n_folds))
    return sample, plans


def join_rows(one: Sequence[Any], other: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """Concatenate two tuples of (X, y, sample_weight, groups).

    A missing weight counts as one.
    """
    frames = [as_frame(part[0]) for part in (one, other)]
    if any(frame is None for frame in frames):
        raise TypeError("Rows are added to rows of a pandas, polars or pyarrow table.")
    tables = [frame.to_pandas() for frame in frames if frame is not None]
    X = join_tables(tables)
    y = [
        Outcomes.encode(part[1], named=True, models=np.empty(0))
        for part in (one, other)
    ]
    sizes = [len(table) for table in tables]
    weights = None
    if one[2] is not None or other[2] is not None:
        weights = np.concatenate(
            [
                np.ones(n) if part[2] is None else np.asarray(part[2])
                for n, part in zip(sizes, (one, other), strict=True)
            ]
        )
    groups = _joined_groups(one[3], other[3])
    return X, np.concatenate([each.values for each in y]), weights, groups


def _joined_groups(one: Any, other: Any) -> Any:
    """Groups of both tables: one name of a column, or labels; None without groups."""
    if one is None and other is None:
        return None
    of_prompts = [isinstance(groups, str) and groups == AUTO for groups in (one, other)]
    if one is None or other is None or of_prompts[0] != of_prompts[1]:
        raise BattlesError("Either old and new rows have groups, or neither.")
    if isinstance(one, str) and isinstance(other, str) and one == other:
        return one
    if isinstance(one, str) or isinstance(other, str):
        raise BattlesError("Groups of old and new rows must be in the same column.")
    return np.concatenate(
        [np.asarray(one, dtype=object), np.asarray(other, dtype=object)]
    )
