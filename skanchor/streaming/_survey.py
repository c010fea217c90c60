"""The first pass over a stream: counts of its rows by cell, and a sample of them.

Votes carry no features, so that later steps need only their counts by pair, outcome and
fold. Verdicts are counted by judge, pair, display order and outcome. A sample of each
judge's rows is used for the first fit, for the remainder of the expanded likelihood,
and as the historical features with which those of arrivals are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from operator import add
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from skanchor._comparisons import number_rows
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, located
from skanchor.streaming._groups import GroupLabels, GroupTable
from skanchor.streaming._hashes import label_hashes
from skanchor.streaming._parts import Part, check_length
from skanchor.streaming._reading import Folds, Reading, ReadRows
from skanchor.streaming._votes_by_group import cell_hashes

# Columns that define a cell of votes and of verdicts.
VOTE = ["repeat", "fold", "left", "right", "y"]
VERDICT = ["judge", "left", "right", "order", "y"]

_WAITING, _TABLES = 4, 16
"""Surveys of tables wait to be added until together they have more than one
``_WAITING``-th of a judge's sample, or ``_TABLES`` times the cells counted so far."""

Drawn = tuple[NDArray[np.uint64], pa.Table, NDArray[np.intp]]
"""A judge's sample: hashes, rows, and folds of shape (n_repeats, n_rows)."""

Ranges = dict[Any, tuple[Array, Array]]
"""For each judge, the smallest and the largest value of each feature."""


@dataclass(frozen=True, eq=False)
class Survey:
    """Counts of rows by cell, and a sample of each judge's rows.

    Attributes
    ----------
    n_rows : int
        Number of rows that were read.
    votes, verdicts : DataFrame
        By cell, the number of rows ``n``, their summed ``weight`` and the sum of their
        squared weights, ``square``.
    sample : dict
        For each judge the rows with the lowest hashes: hashes in ascending order, rows
        and folds.
    features : tuple of str
        Names of the features.
    ranges : dict
        For each judge, the range of each feature over the responses.
    groups : GroupLabels or None
        Labels of the groups of dependent rows; None without groups.
    group_votes : GroupTable or None
        Weights of votes by group and by the hash of their models and outcome; None
        without groups.
    shape : tuple of str
        Those of the optional columns that the tables have.
    judge_labels : tuple of labels
        Labels of the judge column, where the user has named those of people.
    digests : dict of int to int
        Checksum of the rows of each part, by the number of its first row.
    hashes : dict of int to ndarray
        Hash of the group of each row of each part likewise; empty without groups.
    """

    n_rows: int
    votes: pd.DataFrame
    verdicts: pd.DataFrame
    sample: dict[Any, Drawn]
    features: tuple[str, ...] = ()
    ranges: Ranges = field(default_factory=dict)
    groups: GroupLabels | None = None
    group_votes: GroupTable | None = None
    shape: tuple[str, ...] = ()
    judge_labels: tuple[Any, ...] = ()
    digests: dict[int, int] = field(default_factory=dict)
    hashes: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    @classmethod
    def of(cls, parts: Sequence[Survey], size: int) -> Survey:
        """Combine surveys; each judge's sample has at most ``size`` rows."""
        first = parts[0]
        sample: dict[Any, list[Drawn]] = {}
        ranges = dict(first.ranges)
        for part in parts:
            if part.features != first.features:
                raise BattlesError(
                    "Tables of the stream have different features: "
                    f"{first.features} and {part.features}."
                )
            if part.shape != first.shape:
                lacking = sorted(set(part.shape) ^ set(first.shape))
                raise BattlesError(
                    f"Some tables of the stream lack the columns {lacking}, which "
                    "others have: all need the same. Add them, or leave them out of "
                    "all."
                )
            for judge, drawn in part.sample.items():
                sample.setdefault(judge, []).append(drawn)
            for judge, (low, high) in part.ranges.items():
                known = ranges.get(judge, (low, high))
                ranges[judge] = np.minimum(known[0], low), np.maximum(known[1], high)
        groups = group_votes = None
        if first.groups is not None:
            labels = [part.groups for part in parts if part.groups]
            groups = reduce(add, labels)
            tables = [part.group_votes for part in parts if part.group_votes]
            group_votes = reduce(add, tables)
        return cls(
            sum(part.n_rows for part in parts),
            _summed_tables([part.votes for part in parts], VOTE),
            _summed_tables([part.verdicts for part in parts], VERDICT),
            {judge: _least(drawn, size) for judge, drawn in sample.items()},
            first.features,
            ranges,
            groups,
            group_votes,
            first.shape,
            tuple(dict.fromkeys(chain.from_iterable(p.judge_labels for p in parts))),
            dict(chain.from_iterable(p.digests.items() for p in parts)),
            dict(chain.from_iterable(p.hashes.items() for p in parts)),
        )

    def add(self, other: Survey, size: int) -> Survey:
        """Combine two surveys."""
        return Survey.of([self, other], size)

    def outweighs(self, others: Sequence[Survey], size: int) -> bool:
        """Whether adding others can wait, as they are small compared with this.

        Adding costs a sort of all cells and of the sample, so that it pays to add many
        small surveys at once.
        """
        # Number of sampled rows of each judge that wait to be added.
        waiting: dict[Any, int] = {}
        for other in others:
            for judge, (hashes, _, _) in other.sample.items():
                waiting[judge] = waiting.get(judge, 0) + len(hashes)
        cells, more = (
            sum(len(one.votes) + len(one.verdicts) for one in parts)
            for parts in ([self], others)
        )
        few = _WAITING * max(waiting.values(), default=0) <= size
        return few and more <= _TABLES * cells


def survey_parts(
    parts: Sequence[Part],
    reading: Reading,
    folds: Folds,
    columns: Sequence[str] | None,
    batch_rows: int,
    sample_size: int,
) -> Survey:
    """Survey the rows of some parts, in their order.

    Parameters
    ----------
    parts : sequence of Part
        Parts to read.
    reading : Reading
        How tables are read.
    folds : Folds
        Which fold holds a row out.
    columns : sequence of str or None
        Columns to read; None means all.
    batch_rows : int
        Rows in memory at a time.
    sample_size : int
        Largest number of rows of each judge's sample.

    Returns
    -------
    Survey
    """
    total: Survey | None = None
    waiting: list[Survey] = []
    like = None
    digests: dict[int, int] = {}
    hashes: dict[int, NDArray[np.int64]] = {}
    for part in parts:
        n_rows = digest = 0
        groups = []
        for table in part.tables(columns, batch_rows):
            start = part.start + n_rows
            rows = reading.rows(table, start, folds, featured=False, like=like)
            like, n_rows = rows.features, n_rows + len(table)
            digests[part.start] = digest = rows.digest(digest)
            groups += [] if rows.labels is None else [rows.labels[0]]
            with located(f"Counted from row {start}") if start else nullcontext():
                found = _survey_rows(rows, table, folds, sample_size, total)
            waiting.append(found)
            if total is None:
                total = Survey.of(waiting, sample_size)
                waiting = []
            elif not total.outweighs(waiting, sample_size):
                total = Survey.of([total, *waiting], sample_size)
                waiting = []
        check_length(part, n_rows)
        if groups:
            hashes[part.start] = np.concatenate(groups)
    if total is None:
        raise BattlesError("The stream has no rows.")
    found = Survey.of([total, *waiting], sample_size)
    return replace(found, digests=digests, hashes=hashes)


def _survey_rows(
    rows: ReadRows, table: pa.Table, folds: Folds, size: int, before: Survey | None
) -> Survey:
    """Survey a table.

    Its sample only has rows that can enter the sample of all rows: where the survey
    ``before`` has a full sample, those with a hash below the highest in it.
    """
    X = rows.X
    rows.features.check()
    used = X.is_usable & (rows.weight > 0)
    human, judged = (
        np.flatnonzero(used & which) for which in (X.is_human, ~X.is_human)
    )
    # Votes are counted by fold, once for each repeat.
    votes = [
        _cell_sums(
            rows,
            human,
            {"repeat": np.full(len(human), k), "fold": fold[human]},
        )
        for k, fold in enumerate(rows.fold)
    ]
    judge, order = X.judge[judged], X.order[judged]
    verdicts = _cell_sums(rows, judged, {"judge": judge, "order": order})
    verdicts["judge"] = X.judges.take(verdicts["judge"].to_numpy(np.intp))
    hashes = folds.hashes(rows.number[judged])
    # Indices into ``judged``, sorted by judge (16-bit integers sort in linear time).
    by_judge = np.argsort(judge.astype(np.int16 if len(X.judges) < 30_000 else np.intp),
                          kind="stable")  # fmt: skip
    stops = np.cumsum(np.bincount(judge, minlength=len(X.judges))).tolist()
    # Ranges of other features are not comparable; ``Survey.of`` then raises.
    like = before is not None and before.features == rows.features.names
    known_ranges = before.ranges if before is not None and like else {}
    sample, ranges, start = {}, {}, 0
    for name, stop in zip(X.judges.tolist(), stops, strict=True):
        own, start = by_judge[start:stop], stop
        if not len(own):
            continue
        known, chosen = hashes[own], own
        full = None if before is None else before.sample.get(name)
        if full is not None and len(full[0]) == size:
            lower = known < full[0][-1]
            known, chosen = known[lower], chosen[lower]
        if len(chosen) > size:
            first = np.argpartition(known, size - 1)[:size]
            known, chosen = known[first], chosen[first]
        # By hash, and rows of equal hashes (practically none) in the order of the rows.
        ranked = np.lexsort((chosen, known))
        drawn = judged[chosen[ranked]]
        some = table.take(rows.source[drawn])
        sample[name] = known[ranked], some, rows.fold[:, drawn]
        ranges[name] = rows.features.ranges(judged[own], known_ranges.get(name))
    return Survey(
        len(table),
        pd.concat(votes, ignore_index=True),
        verdicts,
        sample,
        rows.features.names,
        ranges,
        None if rows.labels is None else GroupLabels.of(*rows.labels),
        _by_group(rows, human),
        rows.shape,
        rows.judge_labels,
    )


def _by_group(rows: ReadRows, human: NDArray[np.intp]) -> GroupTable | None:
    """Votes with the hashes of their group and of their cell; None without groups."""
    if rows.group is None:
        return None
    X, model = rows.X, label_hashes(rows.X.models)
    left, right = model[X.left[human]], model[X.right[human]]
    cell = cell_hashes(left, right, rows.y[human])
    keys = np.column_stack([rows.group[human], cell])
    return GroupTable([(keys, rows.weight[human][:, None])])


def _cell_sums(
    rows: ReadRows, used: NDArray[np.intp], keys: dict[str, NDArray[Any]]
) -> pd.DataFrame:
    """Sums over the rows ``used`` by pair, outcome and further keys.

    Returns a table with a row for each cell that has rows; models are labels.
    """
    X, weight = rows.X, rows.weight[used]
    parts = {**keys, "left": X.left[used], "right": X.right[used], "y": rows.y[used]}
    equal = number_rows(*parts.values())
    frame = pd.DataFrame(
        {name: values[equal.first] for name, values in parts.items()}
        | {
            "n": equal.size,
            "weight": np.bincount(equal.kind, weight, len(equal.size)),
            "square": np.bincount(equal.kind, weight**2, len(equal.size)),
        }
    )
    for side in ("left", "right"):
        frame[side] = X.models.take(frame[side].to_numpy(np.intp))
    return frame


def _summed_tables(tables: list[pd.DataFrame], keys: list[str]) -> pd.DataFrame:
    """Cells of all tables, added up by the keys."""
    known = [table for table in tables if len(table)]
    if not known:
        return tables[0]
    both = known[0] if len(known) == 1 else pd.concat(known, ignore_index=True)
    total = both.groupby(keys, as_index=False, sort=True).sum()
    return total[[*keys, "n", "weight", "square"]]


def _least(samples: list[Drawn], size: int) -> Drawn:
    """The ``size`` rows with the lowest hashes of some samples of one judge."""
    known = [one for one in samples if len(one[0])] or samples[:1]
    if len(known) == 1:
        return known[0]
    hashes = np.concatenate([one[0] for one in known])
    order = np.argsort(hashes, kind="stable")[:size]
    if (order < len(known[0][0])).all():
        # All of them belong to the first sample, which therefore stays as it is.
        return known[0]
    table = pa.concat_tables([one[1] for one in known], promote_options="permissive")
    fold = np.concatenate([one[2] for one in known], axis=1)
    return hashes[order], table.take(order), fold[:, order]
