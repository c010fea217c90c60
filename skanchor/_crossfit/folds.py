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
from skanchor._model.graph import Connection, components
from skanchor._model.sources import SourceRows
from skanchor._sample.sample import Sample
from skanchor._typing import Array, Split
from skanchor.exceptions import BattlesError

MOST_DRAWS = 20
"""Most times that folds are drawn to keep the human votes of each model apart."""


@dataclass(frozen=True, eq=False, slots=True)
class FoldPlan(Sequence[Split]):
    """Folds that hold each row out once; each trains on all other rows.

    A sequence of pairs (train, test) of row numbers, which are listed when asked for.

    Attributes
    ----------
    fold : ndarray of shape (n_rows,)
        Fold that holds each row of the table out, -1 for rows that have no influence;
        integers that may be narrow.
    n_folds : int
        Number of folds.
    cell : ndarray of shape (n_rows,), optional
        Cell that each row of the table was merged into.
    shares : ndarray of shape (n_folds, n_cells), optional
        Share of the rows of each cell that a fold holds out.
    """

    fold: NDArray[Any]
    n_folds: int
    cell: NDArray[Any] | None = None
    shares: Array | None = None

    def merged(self, cell: NDArray[Any], size: Array) -> FoldPlan:
        """The same folds of rows that were merged into cells of these sizes."""
        # All folds at once: rows that count for nothing fall before the first.
        n, width = len(size), self.n_folds + 1
        at = cell.astype(np.intp) * width + self.fold + 1
        number = np.bincount(at, minlength=n * width).reshape(n, width).T[1:]
        return replace(self, cell=cell, shares=number / size)

    def __len__(self) -> int:
        return self.n_folds

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[k] for k in range(self.n_folds)[number]]
        k = range(self.n_folds)[number]
        is_train = (self.fold != k) & (self.fold >= 0)
        return np.flatnonzero(is_train), np.flatnonzero(self.fold == k)

    def __iter__(self) -> Iterator[Split]:
        return (self[k] for k in range(self.n_folds))

    def held_out(self, number: int) -> Array:
        """Share of each row, or cell, that a fold holds out."""
        if self.shares is not None:
            return np.asarray(self.shares[number])
        return (self.fold == number).astype(np.float64)


# ------------------------------------------------------------- folds, drawn or given
def make_plans(
    cv: Any, n_repeats: int, sample: Sample, random_state: Any, cells: Any = None
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
    cells : Cells, optional
        Which rows of the table the rows of the sample stand for: folds are of the rows
        of the table. None where these are the same.

    Returns
    -------
    list of FoldPlan
    """
    cell = None if cells is None else cells.cell
    if isinstance(cv, Integral):
        random = check_random_state(random_state)
        # True is an integer to Python, but no size to numpy.
        seeds = random.randint(np.iinfo(np.int32).max, size=int(n_repeats))
        return [_draw_plan(sample, int(cv), seed, cell) for seed in seeds.tolist()]
    rows = sample if cell is None else cells.rows_of(sample)
    if hasattr(cv, "split"):
        splits = [cv.split(rows.X, rows.y, rows.groups) for _ in range(n_repeats)]
    else:
        splits = cv if len(cv) > 0 and not _is_split(cv[0]) else [cv]
    plans = [_check_plan(plan, rows) for plan in splits]
    if hasattr(cv, "split") and len(plans) > 1:
        if np.array_equal(plans[0].fold, plans[1].fold):
            raise ValueError(
                f"cv gives the same folds each time, so that {n_repeats} repeats "
                "(n_repeats) are one: leave its random_state at None, or give cv a "
                "number of folds."
            )
    if cell is None:
        return plans
    return [plan.merged(cell, sample.multiplicity) for plan in plans]


def _draw_plan(
    sample: Sample, n_folds: int, seed: int, cell: NDArray[np.intp] | None
) -> FoldPlan:
    """Assign folds, again where a training set would lose what joins its models."""
    counted: Any = slice(None)
    is_counted, X = sample.counts, sample.X
    if cell is not None:
        is_counted = is_counted.take(cell)
    cell_of_counted = cell
    # The numbers of all rows of a large table would take much memory.
    if not is_counted.all():
        # Rows that have no influence take no place in a fold.
        counted = np.flatnonzero(is_counted)
        if cell is None:
            X = X.without_features()[counted]
        else:
            cell_of_counted = cell[counted]
    groups = None if sample.groups is None else RowGroups(sample.groups[counted])
    # A generator, unlike its seed, gives other folds each time.
    splitter = SourceKFold(n_folds, random_state=np.random.RandomState(seed))
    # Narrow integers, as a table may have many rows.
    fold = np.full(len(is_counted), -1, dtype=np.min_scalar_type(-n_folds))
    for _ in range(MOST_DRAWS):
        fold[counted] = splitter.assign_folds(X, groups, cell_of_counted)
        plan = FoldPlan(fold, n_folds)
        if cell is not None:
            plan = plan.merged(cell, sample.multiplicity)
        if _keeps_scale(sample, plan):
            break
    return plan


def _keeps_scale(sample: Sample, plan: FoldPlan) -> bool:
    """Whether every training set's human votes join the models as all votes do."""
    wins = wins_of_votes(sample, plan)
    numbers = (_count_parts(sample, wins, one) for one in ("weak", "strong"))
    return not any((number[1:] > number[0]).any() for number in numbers)


def _count_parts(
    sample: Sample, wins: NDArray[np.bool_], connection: Connection
) -> NDArray[np.intp]:
    """Number of parts that the wins of all votes, and of each training set, leave."""
    old = ~sample.X.is_new
    parts = _parts_of_votes(wins, connection)[:, old]
    return np.array([len(np.unique(part)) for part in parts])


def _parts_of_votes(
    wins: NDArray[np.bool_], connection: Connection
) -> NDArray[np.intp]:
    """Part of each model by all votes, and by those of each training set."""
    by_all = components(wins[0], connection)
    # Most training sets have votes of all kinds, and need no search.
    return np.array(
        [
            by_all if np.array_equal(one, wins[0]) else components(one, connection)
            for one in wins
        ]
    )


def wins_of_votes(sample: Sample, plan: FoldPlan) -> NDArray[np.bool_]:
    """Whether a vote that counts prefers a model to another.

    Returns
    -------
    ndarray of shape (1 + n_folds, n_models, n_models)
        Of all votes, then of those in training of each fold; by the preferred model,
        then the other. Votes on new models are left out.
    """
    X, size = sample.X, len(sample.X.models)
    votes = np.flatnonzero(sample.counts & X.is_human & X.is_usable & ~X.involves_new)
    left, right, y = X.left[votes], X.right[votes], sample.y[votes]
    won, lost = y > 0, y < 1
    # Votes by the pair of the preferred model and the other; a tie is of two pairs.
    pair = np.append((left * size + right)[won], (right * size + left)[lost])
    pair, pairs = pd.factorize(pair)
    row = np.append(votes[won], votes[lost])
    number = np.bincount(pair, minlength=len(pairs))
    wins = np.zeros((1 + plan.n_folds, size * size), dtype=bool)
    wins[0, pairs] = True
    for fold in range(plan.n_folds):
        is_lost = plan.held_out(fold)[row] >= 1.0
        wins[1 + fold, pairs] = (
            np.bincount(pair[is_lost], minlength=len(pairs)) < number
        )
    return wins.reshape(-1, size, size)


def places_all_models(sample: Sample, plan: FoldPlan) -> NDArray[np.bool_]:
    """Whether votes give all historical models finite scores on one scale.

    Those in training of each fold, which are fewer than all votes.
    """
    # Models of different contexts never meet.
    n_scales = len(np.unique(sample.X.items.context[~sample.X.is_new]))
    wins = wins_of_votes(sample, plan)
    return np.asarray(_count_parts(sample, wins, "strong")[1:] == n_scales)


def _check_plan(plan: Any, sample: Sample) -> FoldPlan:
    """Refuse a plan that does not hold out every row that counts exactly once."""
    counts, n_rows = sample.counts, len(sample)
    times, fold, number = np.zeros(n_rows, dtype=int), np.full(n_rows, -1), -1
    listed = ""
    if sample.inputs.counted:
        listed = (
            f" Weights count rows here: cv numbers the {n_rows} rows of the table that "
            "lists each row as often as its weight says."
        )
    for number, split in enumerate(plan):
        train, test = np.zeros((2, n_rows), dtype=bool)
        try:
            # Row numbers or masks; an empty list is an array of floats.
            for mask, part in zip((train, test), split, strict=True):
                mask[np.asarray(part) if len(part) else slice(0)] = True
        except (IndexError, TypeError, ValueError):
            raise ValueError(
                f"Split {number} of cv must be a pair (train, test) of row numbers "
                f"from 0 to {n_rows - 1}."
            ) from None
        torn = np.flatnonzero(counts & (train == test))
        if len(torn):
            where = (
                "both in training and" if train[torn[0]] else "neither in training nor"
            )
            raise ValueError(
                f"Split {number} of cv has {len(torn)} rows {where} held out, the "
                f"first is row {torn[0]}: folds train on all rows not held out.{listed}"
            )
        times += test
        fold[test] = number
    off = np.flatnonzero(counts & (times != 1))
    if len(off):
        raise ValueError(
            "The folds of cv must hold out every row exactly once; row "
            f"{off[0]} is held out {times[off[0]]} times.{listed}"
        )
    if sample.groups is not None:
        n_folds = pd.Series(fold[counts]).groupby(sample.groups[counts]).nunique()
        if (n_folds > 1).any():
            raise ValueError(
                f"The folds of cv tear {(n_folds > 1).sum()} groups apart; a group "
                "must be held out as a whole (use a splitter that takes groups, or an "
                "int)."
            )
    return FoldPlan(fold, number + 1)


def _is_split(split: Any) -> bool:
    """Whether this is a pair of row-number arrays, not a list of such pairs."""
    return (
        isinstance(split, (tuple, list))
        and len(split) == 2
        and all(np.ndim(part[0]) == 0 for part in split if len(part))
    )


# --------------------------------------------------------- training sets and the rest
def scales_of_training(sample: Sample, plan: FoldPlan) -> Array:
    """Weight of all rows of a source, over that of the rows in training.

    Returns
    -------
    ndarray of shape (n_folds, n_sources + 1)
        Zero where no row of a source is trained on, and in the last column, which is
        that of rows that no source has (code -1).
    """
    weights = _weights_by_fold(sample, plan)
    left = _weights_of_others(weights)
    scales = np.zeros((plan.n_folds, weights.shape[1] + 1))
    np.divide(weights.sum(axis=0), left, out=scales[:, :-1], where=left > 0)
    return scales


def _weights_by_fold(sample: Sample, plan: FoldPlan) -> Array:
    """Weights that each fold holds out, of shape (n_folds, n_sources)."""
    bins, size = sample.X.sources + 1, len(sample.X.source_keys) + 1
    if plan.shares is None:
        # All folds at once: rows that count for nothing fall before the first.
        shape = plan.n_folds + 1, size
        at = (plan.fold + np.intp(1)) * size + bins
        weights = np.bincount(at, sample.weight, shape[0] * size).reshape(shape)[1:]
    else:
        held_out = [sample.weight * share for share in plan.shares]
        weights = np.array([np.bincount(bins, one, size) for one in held_out])
    return np.asarray(weights[:, 1:], dtype=np.float64)


def _weights_of_others(weights: Array) -> Array:
    """Weights of all folds but each, exactly zero where the others have nothing."""
    return (1.0 - np.eye(len(weights))) @ weights


def training_set(sample: Sample, held_out: Array, scales: Array) -> Sample:
    """The sample with the weights of a training set that stands for all rows.

    They are ``weight * omega`` on what is trained on, with omega the scale of the
    source of a row.

    Parameters
    ----------
    sample : Sample
        Rows whose roles are decided.
    held_out : ndarray of shape (n_rows,)
        Share of each row that is held out.
    scales : ndarray of shape (n_sources + 1,)
        Those of the fold, by :func:`scales_of_training`.

    Returns
    -------
    Sample
    """
    omega = scales[sample.X.sources]
    return sample.weighted(sample.weight * (1.0 - held_out) * omega)


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
    held_out = []
    for rows in sources:
        test = rows[share[rows.rows] > 0]
        part = share[test.rows]
        held_out.append(
            replace(test, weight=test.weight * part, count=test.count * part)
        )
    return held_out


def check_training_sets(sample: Sample, plan: FoldPlan, *, is_joint: bool) -> None:
    """Refuse folds that keep no row of a source, before anything is fitted.

    A source of a new model that leaves a training set is done without as long as
    another one places that model. Where votes alone decide the historical scores, those
    in training must bound all scores that all votes bound.

    Raises
    ------
    ValueError
        With the number of the fold.
    """
    keys, weights = sample.X.source_keys, _weights_by_fold(sample, plan)
    has_weight = weights.any(axis=0)
    if not is_joint:
        _check_votes(sample, plan)
    for number, is_trained in enumerate(_weights_of_others(weights) > 0):
        # What a judge has said in one context, it has said in others.
        trained = {keys[i][:2] for i in np.flatnonzero(is_trained).tolist()}
        placed = frozenset().union(*(new for _, new in trained))
        empty = np.flatnonzero(has_weight & ~is_trained).tolist()
        for judge, new, _ in (keys[i] for i in empty):
            if (judge, new) in trained or (new and not new - placed):
                continue
            which = "between historical models"
            if new:
                which = f"with new model {', '.join(map(repr, sorted(new, key=str)))}"
            who = "human" if judge == "human" else f"judge {judge!r}"
            raise ValueError(
                f"Fold {number}: A training set keeps no row of {who} rows {which}; "
                "use fewer folds or add rows."
            )


def _check_votes(sample: Sample, plan: FoldPlan) -> None:
    """Refuse training votes that leave scores without a limit that all votes give."""
    old = ~sample.X.is_new
    by_all, *trained = _parts_of_votes(wins_of_votes(sample, plan), "strong")[:, old]
    for number, left in enumerate(trained):
        if len(np.unique(left)) <= len(np.unique(by_all)):
            continue
        loose, before = (part != np.bincount(part).argmax() for part in (left, by_all))
        names = sample.X.models[old][loose & ~before].tolist()
        raise BattlesError(
            f"Fold {number}: Without the votes held out, the scores of models "
            f"{names[:5]} have no limit on one side (they never won, or never lost). "
            "Use fewer folds (cv), add votes on them, or name them in new_models, so "
            "that judge rows place them, too."
        )
