"""Folds: which of the rows each holds out, and the row weights of its training set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._model.sources import SourceRows
from skanchor._sample.sample import Sample
from skanchor._typing import Array, Split
from skanchor.exceptions import located


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
    """

    fold: NDArray[Any]
    n_folds: int
    idle: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return self.n_folds

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[k] for k in range(self.n_folds)[number]]
        k, fold = range(self.n_folds)[number], self.fold
        train = (fold != k) & (fold >= 0)
        if self.idle is not None:
            train &= ~self.idle[k]
        return np.flatnonzero(train), np.flatnonzero(fold == k)

    def __iter__(self) -> Iterator[Split]:
        return (self[k] for k in range(self.n_folds))

    def numbers(self, cell: NDArray[Any], n_cells: int) -> NDArray[np.intp]:
        """How many of the rows that each cell stands for each fold holds out.

        Parameters
        ----------
        cell : ndarray of shape (n_rows,)
            Cell of each row.
        n_cells : int
            Number of cells.

        Returns
        -------
        ndarray of shape (n_folds, n_cells)
        """
        # All folds at once: rows that count for nothing fall before the first.
        size = self.n_folds + 1
        at = cell.astype(np.intp) * size + self.fold + 1
        return np.bincount(at, minlength=n_cells * size).reshape(n_cells, size).T[1:]


@dataclass(frozen=True, eq=False, slots=True)
class HeldOutShares(Sequence[Array]):
    """Share of each row that each fold holds out: none or all, or of equal rows some.

    Attributes
    ----------
    plan : FoldPlan
        Folds of the rows of the table.
    of_cells : ndarray of shape (n_folds, n_cells), optional
        The shares, where each row of a sample stands for several of the table.
    idle : ndarray of shape (n_folds, n_cells), optional
        Likewise the shares that are neither held out nor trained on. Of the rows of the
        table the plan itself knows them.
    """

    plan: FoldPlan
    of_cells: Array | None = None
    idle: NDArray[Any] | None = None

    @classmethod
    def of(
        cls, plan: FoldPlan, cell: NDArray[Any] | None, multiplicity: Array | None
    ) -> HeldOutShares:
        """Shares of the rows of a sample, which may be the cells of a table."""
        if cell is None or multiplicity is None:
            return cls(plan)
        size, idle = len(multiplicity), None
        if plan.idle is not None:
            number = [np.bincount(cell, rows, size) for rows in plan.idle]
            idle = np.array(number) / multiplicity
        return cls(plan, plan.numbers(cell, size) / multiplicity, idle)

    def __len__(self) -> int:
        return self.plan.n_folds

    def __getitem__(self, number: Any) -> Any:
        if self.of_cells is not None:
            return self.of_cells[number]
        return (self.plan.fold == number).astype(np.float64)

    def kept(self, number: int) -> Array:
        """Share of each row that a fold trains on."""
        idle = self.plan.idle if self.of_cells is None else self.idle
        return np.asarray(1.0 - self[number] - (0.0 if idle is None else idle[number]))


def training_set(sample: Sample, kept: Array) -> Sample:
    """The sample with the weights of a training set that stands for all rows.

    They are ``weight * omega`` on what is kept for training, with omega the ratio of a
    source's whole weight to its weight in training. A source of a new model that leaves
    the training set is done without as long as another one places that model.

    Parameters
    ----------
    sample : Sample
        Rows whose roles are decided.
    kept : ndarray of shape (n_rows,)
        Share of each row that is trained on.

    Returns
    -------
    Sample

    Raises
    ------
    ValueError
        If the training set keeps no row of another source.
    """
    weight = sample.weight * kept
    # Rows that no stage can use fall into the first bin.
    bins, size = sample.X.sources + 1, len(sample.X.source_keys) + 1
    whole, left = (np.bincount(bins, w, size)[1:] for w in (sample.weight, weight))
    _check_sources(sample, whole, left)
    omega = np.zeros(size)
    np.divide(whole, left, out=omega[1:], where=left > 0)
    return sample.weighted(weight * omega[bins])


def check_training_sets(sample: Sample, shares: HeldOutShares) -> None:
    """Refuse folds that keep no row of a source, before anything is fitted.

    Raises
    ------
    ValueError
        As :func:`training_set`, with the number of the fold.
    """
    for number in range(len(shares)):
        with located(f"Fold {number}"):
            training_set(sample, shares.kept(number))


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


def check_plan(plan: Any, sample: Sample) -> FoldPlan:
    """Refuse a plan that does not hold out every row that counts exactly once.

    Parameters
    ----------
    plan : iterable of (train, test)
        Row numbers, or masks.
    sample : Sample
        The rows, and the groups that no fold may tear apart.

    Returns
    -------
    FoldPlan
    """
    rows, n_rows = np.flatnonzero(sample.counts), len(sample)
    listed = ""
    if sample.inputs.counted:
        listed = (
            f" Weights count rows here: cv numbers the {n_rows} rows of the table that "
            "lists each row as often as its weight says."
        )
    times = np.zeros(n_rows, dtype=int)
    fold = np.full(n_rows, -1)
    number, idle = -1, []
    for number, split in enumerate(plan):
        if not is_split(split):
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


def is_split(split: Any) -> bool:
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


def _check_sources(sample: Sample, whole: NDArray[Any], kept: NDArray[Any]) -> None:
    """Refuse a training set that keeps no row of a source that it needs."""
    keys = sample.X.source_keys
    empty = (whole > 0) & (kept == 0)
    if empty.any():
        # What a judge has said in one context, it has said in others.
        told = [(who, sides) for who, sides, _ in keys]
        elsewhere = {told[i] for i in np.flatnonzero(kept > 0).tolist()}
        empty &= [each not in elsewhere for each in told]
    if empty.any():
        new = sample.X.models[sample.X.is_new].tolist()
        involved = np.array([[model in sides for model in new] for _, sides, _ in keys])
        involved = involved.reshape(len(keys), len(new)).astype(bool)
        placed = involved[kept > 0].any(axis=0)
        empty &= ~involved.any(axis=1) | (involved & ~placed).any(axis=1)
    if empty.any():
        lost = [_describe_source(*keys[i]) for i in np.flatnonzero(empty).tolist()]
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
