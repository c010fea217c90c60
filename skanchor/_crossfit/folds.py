"""Folds: how they are drawn or given, and which rows each trains on and holds out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skanchor._battles.grouping import RowGroups
from skanchor._crossfit.source_kfold import SourceKFold
from skanchor._model.graph import count_components
from skanchor._model.sources import SourceRows
from skanchor._sample.sample import Sample
from skanchor._typing import Array, Split
from skanchor.exceptions import located

MOST_DRAWS = 20
"""Most times that folds are drawn to keep the human votes of each model apart."""


@dataclass(frozen=True, eq=False, slots=True)
class FoldPlan(Sequence[Split]):
    """Folds that hold each row out once; each trains on the other rows.

    A sequence of pairs (train, test) of row numbers, which are listed when asked for.

    Attributes
    ----------
    fold : ndarray of shape (n_rows,)
        Fold that holds each row out, -1 for rows that have no influence; integers that
        may be narrow.
    n_folds : int
        Number of folds.
    idle : ndarray of shape (n_folds, n_rows), optional
        Rows that a given plan neither trains on nor holds out.
    cell, size, shares : ndarray, optional
        Where equal rows were merged: cell of each row, number of rows of each cell, and
        by fold the share of these that it holds out, of shape (n_folds, n_cells).
    """

    fold: NDArray[Any]
    n_folds: int
    idle: NDArray[np.bool_] | None = None
    cell: NDArray[Any] | None = None
    size: Array | None = None
    shares: Array | None = None

    def merged(self, cell: NDArray[Any], size: Array) -> FoldPlan:
        """The same folds of rows that were merged into cells of these sizes."""
        # All folds at once: rows that count for nothing fall before the first.
        n, width = len(size), self.n_folds + 1
        at = cell.astype(np.intp) * width + self.fold + 1
        number = np.bincount(at, minlength=n * width).reshape(n, width).T[1:]
        return replace(self, cell=cell, size=size, shares=number / size)

    def __len__(self) -> int:
        return self.n_folds

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[k] for k in range(self.n_folds)[number]]
        k = range(self.n_folds)[number]
        train = (self.fold != k) & (self.fold >= 0)
        if self.idle is not None:
            train &= ~self.idle[k]
        return np.flatnonzero(train), np.flatnonzero(self.fold == k)

    def __iter__(self) -> Iterator[Split]:
        return (self[k] for k in range(self.n_folds))

    def held_out(self, number: int) -> Array:
        """Share of each row, or cell, that a fold holds out."""
        if self.shares is not None:
            return np.asarray(self.shares[number])
        return (self.fold == number).astype(np.float64)

    def trained(self, number: int) -> Array:
        """Share of each row, or cell, that a fold trains on."""
        share = 1.0 - self.held_out(number)
        if self.idle is None:
            return share
        idle: NDArray[Any] = self.idle[number]
        if self.cell is not None and self.size is not None:
            idle = np.bincount(self.cell[idle], minlength=len(self.size)) / self.size
        return np.asarray(share - idle)


# ------------------------------------------------------------- folds, drawn or given
def make_plans(
    cv: Any,
    n_repeats: int,
    sample: Sample,
    random_state: Any,
    cell: NDArray[np.intp] | None = None,
) -> list[FoldPlan]:
    """Folds of each repeat.

    Parameters
    ----------
    cv : int, splitter, list of splits or list of such lists
        As in :class:`skanchor.AnchorPipeline`.
    n_repeats : int
        Repeats to draw, where ``cv`` does not bring its own.
    sample : Sample
        Rows whose roles are decided.
    random_state : int, RandomState or None
        Seed of the folds.
    cell : ndarray of shape (n_rows,), optional
        Row of the sample that each row of the table was merged into, where ``cv`` is a
        number: folds are of the rows of the table.

    Returns
    -------
    list of FoldPlan
    """
    if isinstance(cv, Integral):
        random = check_random_state(random_state)
        # True is an integer to Python, but no size to numpy.
        seeds = random.randint(np.iinfo(np.int32).max, size=int(n_repeats))
        return [_draw_plan(sample, int(cv), seed, cell) for seed in seeds.tolist()]
    if hasattr(cv, "split"):
        splits = (cv.split(sample.X, sample.y, sample.groups) for _ in range(n_repeats))
        plans = [_check_plan(one, sample) for one in splits]
        if n_repeats > 1 and np.array_equal(plans[0].fold, plans[1].fold):
            raise ValueError(
                f"cv gives the same folds each time, so that n_repeats={n_repeats} "
                "repeats nothing: leave its random_state at None, or give cv a number "
                "of folds."
            )
        return plans
    is_nested = len(cv) > 0 and not _is_split(cv[0])
    return [_check_plan(plan, sample) for plan in (cv if is_nested else [cv])]


def _draw_plan(
    sample: Sample, n_folds: int, seed: int, cell: NDArray[np.intp] | None
) -> FoldPlan:
    """Assign folds, again where a training set would lose what joins its models."""
    # Rows that have no influence take no place in a fold.
    is_counted, part, part_cell = sample.counts, sample.X, cell
    if cell is not None:
        is_counted = is_counted.take(cell)
    counted: Any = slice(None)
    if not is_counted.all():
        counted = np.flatnonzero(is_counted)
        if cell is None:
            part = part.without_features()[counted]
        else:
            part_cell = cell[counted]
    groups = None if sample.groups is None else RowGroups(sample.groups[counted])
    # A generator, unlike its seed, gives other folds each time.
    splitter = SourceKFold(n_folds, random_state=np.random.RandomState(seed))
    # Narrow integers, as a table may have many rows.
    fold = np.full(len(is_counted), -1, dtype=np.min_scalar_type(-n_folds))
    for _ in range(MOST_DRAWS):
        fold[counted] = splitter.assign_folds(part, groups, part_cell)
        plan = FoldPlan(fold, n_folds)
        if cell is not None and sample.multiplicity is not None:
            plan = plan.merged(cell, sample.multiplicity)
        if _keeps_scale(sample, plan):
            break
    return plan


def _keeps_scale(sample: Sample, plan: FoldPlan) -> bool:
    """Whether every training set's human votes join the models as all votes do."""
    counts = sample.counts.astype(np.float64)
    whole = wins_of_votes(sample, counts)
    kept = (wins_of_votes(sample, counts * plan.trained(k)) for k in range(len(plan)))
    # Most training sets have votes of all kinds, and need no search.
    others = [wins for wins in kept if not np.array_equal(wins, whole)]
    known = count_components(whole) if others else None
    return all(count_components(wins) == known for wins in others)


def wins_of_votes(sample: Sample, weight: Array) -> Array:
    """One where a vote of positive weight prefers a model to another, else zero.

    Returns
    -------
    ndarray of shape (n_models, n_models)
        First by the preferred model. Votes on new models are left out.
    """
    X, size = sample.X, len(sample.X.models)
    votes = np.flatnonzero(X.is_human & ~X.involves_new & X.is_usable & (weight > 0))
    left, right, y = X.left[votes], X.right[votes], sample.y[votes]
    wins = np.zeros((size, size))
    wins[left[y > 0], right[y > 0]] = 1.0
    wins[right[y < 1], left[y < 1]] = 1.0
    return wins


def _check_plan(plan: Any, sample: Sample) -> FoldPlan:
    """Refuse a plan that does not hold out every row that counts exactly once."""
    rows, n_rows = np.flatnonzero(sample.counts), len(sample)
    listed = ""
    if sample.inputs.counted:
        listed = (
            f" Weights count rows here: cv numbers the {n_rows} rows of the table that "
            "lists each row as often as its weight says."
        )
    times, fold = np.zeros(n_rows, dtype=int), np.full(n_rows, -1)
    number, idle = -1, []
    for number, split in enumerate(plan):
        if not _is_split(split):
            raise ValueError(
                f"Split {number} of cv must be a pair (train, test) of row numbers."
            )
        train, test = (_row_mask(part, n_rows, number, listed) for part in split)
        both = train & test
        if both[rows].any():
            raise ValueError(
                f"Split {number} of cv has {both[rows].sum()} rows both in training "
                f"and held out, the first is row {int(rows[np.argmax(both[rows])])}."
                f"{listed}"
            )
        times += test
        fold[test] = number
        idle.append(~(train | test))
    if (times[rows] != 1).any():
        row = int(rows[np.argmax(times[rows] != 1)])
        raise ValueError(
            "The folds of cv must hold out every row exactly once; row "
            f"{row} is held out {times[row]} times.{listed}"
        )
    if sample.groups is not None:
        table = pd.Series(fold[rows]).groupby(sample.groups[rows])
        torn = int((table.nunique() > 1).sum())
        if torn:
            raise ValueError(
                f"The folds of cv tear {torn} groups apart; a group must be held out "
                "as a whole (use a splitter that takes groups, or an int)."
            )
    is_idle = any(one[rows].any() for one in idle)
    return FoldPlan(fold, number + 1, np.array(idle) if is_idle else None)


def _is_split(split: Any) -> bool:
    """Whether this is a pair of row-number arrays, not a list of such pairs."""
    return (
        isinstance(split, (tuple, list))
        and len(split) == 2
        and all(np.ndim(part[0]) == 0 for part in split if len(part))
    )


def _row_mask(rows: Any, n_rows: int, number: int, listed: str) -> NDArray[np.bool_]:
    rows = np.asarray(rows)
    if rows.dtype == bool and len(rows) == n_rows:
        return rows
    mask = np.zeros(n_rows, dtype=bool)
    try:
        mask[rows] = True
    except IndexError:
        raise ValueError(
            f"Split {number} of cv must hold row numbers from 0 to {n_rows - 1}."
            f"{listed}"
        ) from None
    return mask


# --------------------------------------------------------- training sets and the rest
def training_set(sample: Sample, trained: Array) -> Sample:
    """The sample with the weights of a training set that stands for all rows.

    They are ``weight * omega`` on what is trained on, with omega the ratio of a
    source's whole weight to its weight in training.

    Parameters
    ----------
    sample : Sample
        Rows whose roles are decided.
    trained : ndarray of shape (n_rows,)
        Share of each row that is trained on.

    Returns
    -------
    Sample
    """
    weight, bins = sample.weight * trained, sample.X.sources + 1
    whole, left = _weight_of_sources(sample, sample.weight, weight)
    omega = np.zeros(len(whole) + 1)
    np.divide(whole, left, out=omega[1:], where=left > 0)
    return sample.weighted(weight * omega[bins])


def _weight_of_sources(sample: Sample, *weights: Array) -> list[NDArray[Any]]:
    """Summed weights by source; rows that no stage can use fall before the first."""
    bins, size = sample.X.sources + 1, len(sample.X.source_keys) + 1
    return [np.bincount(bins, weight, size)[1:] for weight in weights]


def rows_held_out(sources: Sequence[SourceRows], share: Array) -> list[SourceRows]:
    """Rows by source that a fold holds out, with the part of them that it does.

    Parameters
    ----------
    sources : sequence of SourceRows
        All rows.
    share : ndarray of shape (n_rows,)
        Share of each row of their sample that is held out.

    Returns
    -------
    list of SourceRows
    """
    found = []
    for rows in sources:
        test = rows[share[rows.rows] > 0]
        part = share[test.rows]
        found.append(replace(test, weight=test.weight * part, count=test.count * part))
    return found


def check_training_sets(sample: Sample, plan: FoldPlan) -> None:
    """Refuse folds that keep no row of a source, before anything is fitted.

    A source of a new model that leaves a training set is done without as long as
    another one places that model.

    Raises
    ------
    ValueError
        With the number of the fold.
    """
    for number in range(plan.n_folds):
        kept = sample.weight * plan.trained(number)
        with located(f"Fold {number}"):
            _check_sources(sample, *_weight_of_sources(sample, sample.weight, kept))


def _check_sources(sample: Sample, whole: NDArray[Any], kept: NDArray[Any]) -> None:
    """Refuse a training set that keeps no row of a source that it needs."""
    keys = sample.X.source_keys
    empty = (whole > 0) & (kept == 0)
    if not empty.any():
        return
    # What a judge has said in one context, it has said in others.
    elsewhere = {keys[i][:2] for i in np.flatnonzero(kept > 0).tolist()}
    empty &= [key[:2] not in elsewhere for key in keys]
    placed = frozenset().union(*(sides for _, sides in elsewhere))
    lost = [
        _describe_source(*keys[i])
        for i in np.flatnonzero(empty).tolist()
        if not keys[i][1] or keys[i][1] - placed
    ]
    if lost:
        raise ValueError(
            f"A training set keeps no row of {', '.join(lost[:5])}; use fewer folds or "
            "add rows."
        )


def _describe_source(judge: Any, new_models: frozenset[Any], context: Any) -> str:
    who = "human" if judge == "human" else f"judge {judge!r}"
    if not new_models:
        where = "" if context is None else f" in {context!r}"
        return f"{who} rows between historical models{where}"
    sides = sorted(new_models, key=str)
    return f"{who} rows with new model {', '.join(map(repr, sides))}"
