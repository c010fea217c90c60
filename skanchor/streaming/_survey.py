"""The first pass: what rows there are, by cell, and a sample of them.

Votes carry no features, so that their counts by pair, outcome and fold are all that any
later step needs of them. Of verdicts the counts tell who has compared what, in which
order of display; a sample of each judge's rows is what a first fit starts from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from skanchor.exceptions import BattlesError
from skanchor.streaming._parts import Part, check_length
from skanchor.streaming._reading import Folds, Reading, ReadRows

__all__ = ["Survey", "survey_parts"]

VOTE = ["repeat", "fold", "left", "right", "y"]
VERDICT = ["judge", "left", "right", "order", "y"]


@dataclass(frozen=True, eq=False)
class Survey:
    """Counts of rows, and a sample.

    Attributes
    ----------
    n_rows : int
        Rows that were read.
    votes, verdicts : DataFrame
        Sums of ``weight`` and of squared weights (``square``), and ``n``, by cell.
    sample : dict
        By judge: hashes, ascending, and the rows that have them.
    features : tuple of str
        Names of the features.
    """

    n_rows: int
    votes: pd.DataFrame
    verdicts: pd.DataFrame
    sample: dict[Any, tuple[NDArray[np.uint64], pa.Table]]
    features: tuple[str, ...] = ()

    def add(self, other: Survey, size: int) -> Survey:
        """Rows of both; of each judge a sample of ``size`` at most."""
        if self.features != other.features:
            raise BattlesError(
                f"Tables of the stream have different features: {self.features} and "
                f"{other.features}."
            )
        sample = dict(self.sample)
        for judge, mine in other.sample.items():
            sample[judge] = (
                _least(sample[judge], mine, size) if judge in sample else mine
            )
        return Survey(
            self.n_rows + other.n_rows,
            _summed([self.votes, other.votes], VOTE),
            _summed([self.verdicts, other.verdicts], VERDICT),
            sample,
            self.features,
        )


def survey_parts(
    parts: Sequence[Part],
    reading: Reading,
    folds: Folds,
    columns: Sequence[str] | None,
    batch_rows: int,
    sample_size: int,
) -> Survey:
    """Survey some parts, in order.

    Parameters
    ----------
    parts : sequence of Part
        What to read.
    reading : Reading
        How tables are read.
    folds : Folds
        Which fold holds a row out.
    columns : sequence of str or None
        Columns to read; None means all.
    batch_rows : int
        Rows in memory at a time.
    sample_size : int
        Rows of each judge's sample.

    Returns
    -------
    Survey
    """
    total: Survey | None = None
    for part in parts:
        n_rows = 0
        for table in part.tables(columns, batch_rows):
            rows = reading.rows(table, part.start + n_rows, folds)
            n_rows += len(table)
            found = _of_rows(rows, table, sample_size)
            total = found if total is None else total.add(found, sample_size)
        check_length(part, n_rows)
    if total is None:
        raise BattlesError("The stream has no rows.")
    return total


def _of_rows(rows: ReadRows, table: pa.Table, size: int) -> Survey:
    X = rows.X
    used = X.is_usable & (rows.weight > 0)
    human = used & X.is_human
    votes = [
        _cell_sums(rows, human, {"repeat": repeat, "fold": fold[human]})
        for repeat, fold in enumerate(rows.fold)
    ]
    judged = used & ~X.is_human
    verdicts = _cell_sums(
        rows, judged, {"judge": X.judge[judged], "order": X.order[judged]}
    )
    verdicts["judge"] = X.judges.take(verdicts["judge"].to_numpy(np.intp))
    sample = {}
    for m, judge in enumerate(X.judges.tolist()):
        own = np.flatnonzero(used & (X.judge == m))
        chosen = own[np.argsort(rows.hashes[own], kind="stable")[:size]]
        if len(chosen):
            sample[judge] = rows.hashes[chosen], table.take(rows.source[chosen])
    return Survey(
        len(table),
        _summed(votes, VOTE),
        _summed([verdicts], VERDICT),
        sample,
        X.feature_names,
    )


def _cell_sums(
    rows: ReadRows, used: NDArray[np.bool_], keys: dict[str, Any]
) -> pd.DataFrame:
    """Sums by pair, outcome and further keys, models by their labels."""
    X, weight = rows.X, rows.weight[used]
    frame = pd.DataFrame(
        {
            **keys,
            "left": X.left[used],
            "right": X.right[used],
            "y": rows.y[used],
            "n": 1,
            "weight": weight,
            "square": weight**2,
        }
    )
    names = [*keys, "left", "right", "y"]
    summed = frame.groupby(names, as_index=False, sort=False).sum()
    for side in ("left", "right"):
        summed[side] = X.models.take(summed[side].to_numpy(np.intp))
    return summed


def _summed(tables: list[pd.DataFrame], keys: list[str]) -> pd.DataFrame:
    known = [table for table in tables if len(table)]
    if not known:
        return tables[0]
    both = known[0] if len(known) == 1 else pd.concat(known, ignore_index=True)
    total = both.groupby(keys, as_index=False, sort=True).sum()
    return total[[*keys, "n", "weight", "square"]]


def _least(
    one: tuple[NDArray[np.uint64], pa.Table],
    other: tuple[NDArray[np.uint64], pa.Table],
    size: int,
) -> tuple[NDArray[np.uint64], pa.Table]:
    """Of two samples the rows of the lowest hashes."""
    hashes = np.concatenate([one[0], other[0]])
    table = pa.concat_tables([one[1], other[1]], promote_options="permissive")
    order = np.argsort(hashes, kind="stable")[:size]
    return hashes[order], table.take(order)
