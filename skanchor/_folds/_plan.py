"""The fold plan as data: its check, and the row weights of a training set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles import chunks
from skanchor._typing import Array
from skanchor.exceptions import located
from skanchor.sample import Sample

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
FoldPlan = Sequence[Split]


@dataclass(frozen=True, eq=False, slots=True)
class DrawnPlan(Sequence[Split]):
    """Folds that hold each row out once; each trains on all other rows.

    A sequence of pairs (train, test) of row numbers, which are listed when asked for.

    Attributes
    ----------
    fold : ndarray of shape (n_rows,)
        Fold that holds each row out, -1 for rows that have no influence; integers that
        may be narrow.
    n_folds : int
        Number of folds.
    """

    fold: NDArray[Any]
    n_folds: int

    def __len__(self) -> int:
        return self.n_folds

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[k] for k in range(self.n_folds)[number]]
        k, fold = range(self.n_folds)[number], self.fold
        return np.flatnonzero((fold != k) & (fold >= 0)), np.flatnonzero(fold == k)

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
        table = np.zeros(n_cells * (self.n_folds + 1), dtype=np.intp)
        for rows in chunks(len(cell), 4 * len(table)):
            at = cell[rows].astype(np.intp)
            at *= self.n_folds + 1
            at += self.fold[rows]
            at += 1
            table += np.bincount(at, minlength=len(table))
        return table.reshape(n_cells, -1).T[1:]


@dataclass(frozen=True, eq=False, slots=True)
class Fold:
    """Rows that a fold trains on, and rows that it holds out.

    Attributes
    ----------
    train, test : ndarray
        Row numbers of a sample.
    train_times, test_times : ndarray or None
        How many of the rows that each of these stands for are in training, and held
        out: where a sample has a multiplicity, a fold divides it. None stands for all.
    """

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    train_times: Array | None = None
    test_times: Array | None = None

    def training(self, sample: Sample) -> Sample:
        """The sample with weights of a training set that stands for all rows.

        They are ``weight * omega`` on the training rows, zero elsewhere, with omega the
        ratio of a source's whole weight to its weight in training. A source of a new
        model that leaves the training set is done without as long as another one
        places that model.

        Raises
        ------
        ValueError
            If the training set keeps no row of another source.
        """
        weights, whole, kept = _shared_weights(sample, self._weights(sample, 0)[None])
        _check_sources(sample, whole, kept[0])
        return self._divided(sample, weights[0], self.train, self.train_times)

    def held_out(self, sample: Sample) -> Sample:
        """The sample, its weights those of the rows held out."""
        if self.test_times is None:
            return sample
        weight = self._weights(sample, 1)
        return self._divided(sample, weight, self.test, self.test_times)

    def kept(self, sample: Sample, bins: NDArray[np.intp], size: int) -> Array:
        """Weight of the training rows in each of ``size`` bins."""
        own = self._weights(sample, 0)
        return np.asarray(np.bincount(bins, own, size))

    def _weights(self, sample: Sample, part: int) -> Array:
        """Weight of each row in training (part 0), or held out (1); zero elsewhere."""
        rows = (self.train, self.test)[part]
        times = (self.train_times, self.test_times)[part]
        own = sample.weight.take(rows)
        if times is not None:
            assert sample.multiplicity is not None
            own *= times / sample.multiplicity.take(rows)
        weight = np.zeros(len(sample))
        weight[rows] = own
        return weight

    @staticmethod
    def _divided(
        sample: Sample, weight: Array, rows: NDArray[np.intp], times: Array | None
    ) -> Sample:
        """The sample with other weights, and ``times`` as its multiplicity."""
        if times is None:
            return sample.weighted(weight)
        multiplicity = np.ones(len(sample))
        multiplicity[rows] = times
        return replace(sample, weight=weight, multiplicity=multiplicity)


def fold_of_rows(plan: FoldPlan, n_rows: int) -> NDArray[Any]:
    """Fold that holds each row out, -1 where none does; integers that may be narrow."""
    if isinstance(plan, DrawnPlan):
        return plan.fold
    fold = np.full(n_rows, -1)
    for number, (_, test) in enumerate(plan):
        fold[test] = number
    return fold


def as_folds(plan: Sequence[Split] | Sequence[Fold]) -> Sequence[Fold]:
    """Folds of a plan, which may be pairs (train, test)."""
    return [split if isinstance(split, Fold) else Fold(*split) for split in plan]


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
        With row numbers.
    """
    rows, n_rows = np.flatnonzero(sample.counts), len(sample)
    listed = ""
    if sample.inputs.counted:
        listed = (
            f" Weights count rows here: cv numbers the {n_rows} rows of the table that "
            "lists each row as often as its weight says."
        )
    splits: list[Split] = []
    times = np.zeros(n_rows, dtype=int)
    fold = np.full(n_rows, -1)
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
        splits.append((np.flatnonzero(train), np.flatnonzero(test)))
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
    return splits


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


def check_training_sets(sample: Sample, plan: Sequence[Fold] | Sequence[Split]) -> None:
    """Refuse folds that keep no row of a source, before anything is fitted.

    Parameters
    ----------
    sample : Sample
        Rows whose roles are decided.
    plan : sequence of Fold, or of (train, test)
        The folds.

    Raises
    ------
    ValueError
        As :meth:`Fold.training`, with the number of the fold.
    """
    size, bins = len(sample.X.source_keys) + 1, sample.X.sources + 1
    whole = np.bincount(bins, sample.weight, size)[1:]
    kept = (fold.kept(sample, bins, size)[1:] for fold in as_folds(plan))
    _check_folds(sample, whole, kept)


def plan_weights(sample: Sample, plan: FoldPlan) -> list[Array]:
    """Weights of all training sets of a plan, by one sum over the rows.

    Parameters
    ----------
    sample : Sample
        Rows whose roles are decided.
    plan : list of (train, test)
        The folds.

    Returns
    -------
    list of ndarray of shape (n_rows,)
        Those of :meth:`Fold.training`.

    Raises
    ------
    ValueError
        As there, with the number of the fold.
    """
    inside = np.array(
        [Fold(train, test)._weights(sample, 0) for train, test in plan]
    ).reshape(len(plan), len(sample))
    weights, whole, kept = _shared_weights(sample, inside)
    _check_folds(sample, whole, kept)
    return list(weights)


def _shared_weights(
    sample: Sample, inside: Array
) -> tuple[Array, NDArray[Any], NDArray[Any]]:
    """Weights of training sets, and those of all sources: whole, and kept by each.

    ``inside``, of shape (n_sets, n_rows), has the weights of the rows in training.
    """
    weight, n_sets = sample.weight, len(inside)
    # Rows that no stage can use fall into the first bin.
    size, bins = len(sample.X.source_keys) + 1, sample.X.sources + 1
    # One bin for each set and source, so that one pass sums all sets.
    at = bins + size * np.arange(n_sets)[:, None]
    kept = np.bincount(at.ravel(), inside.ravel(), n_sets * size)
    kept = kept.reshape(n_sets, size)[:, 1:]
    whole = np.bincount(bins, weight, size)[1:]
    # A source's training rows stand for all of its rows: omega is whole over kept, of
    # shape (n_sets, n_bins), zero where a training set keeps none.
    omega = np.zeros((n_sets, size))
    np.divide(whole, kept, out=omega[:, 1:], where=kept > 0)
    return inside * omega.take(bins, axis=1), whole, kept


def _check_folds(
    sample: Sample, whole: NDArray[Any], kept: Iterable[NDArray[Any]]
) -> None:
    """Refuse training sets as `_check_sources` does, with the number of the fold."""
    for number, own in enumerate(kept):
        with located(f"Fold {number}"):
            _check_sources(sample, whole, own)


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
