"""Fold plans from ``cv``: drawn by source, by a splitter, or given as row numbers."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skanchor._battles import look_up
from skanchor._battles.grouping import RowGroups
from skanchor._crossfit.folds import FoldPlan, check_plan, is_split
from skanchor._crossfit.source_kfold import SourceKFold
from skanchor._model.graph import count_components
from skanchor._sample.sample import Sample

MOST_DRAWS = 20
"""Most times that folds are drawn to keep the human votes of each model apart."""


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
        Row of the sample that each row of the table has been put into, where ``cv`` is
        a number: folds are of the rows of the table.

    Returns
    -------
    list of FoldPlan
    """
    if isinstance(cv, Integral):
        random = check_random_state(random_state)
        # True is an integer to Python, but no size to numpy.
        seeds = random.randint(np.iinfo(np.int32).max, size=int(n_repeats))
        return [_draw_plan(sample, int(cv), seed, cell) for seed in seeds.tolist()]
    if isinstance(cv, FoldPlan):
        cv = [cv]
    if not isinstance(cv, (list, tuple)):
        splits = [
            list(cv.split(sample.X, sample.y, sample.groups)) for _ in range(n_repeats)
        ]
        plans = [check_plan(one, sample) for one in splits]
        if n_repeats > 1 and np.array_equal(plans[0].fold, plans[1].fold):
            raise ValueError(
                "cv gives the same folds each time, so that n_repeats="
                f"{n_repeats} repeats nothing: leave its random_state at "
                "None, or give cv a number of folds."
            )
        return plans
    if are_drawn(cv, sample, cell):
        return list(cv)
    is_nested = len(cv) > 0 and not is_split(cv[0])
    return [check_plan(plan, sample) for plan in (cv if is_nested else [cv])]


def are_drawn(cv: Any, sample: Sample, cell: NDArray[Any] | None = None) -> bool:
    """Whether ``cv`` lists folds that were drawn for rows without groups like these.

    They hold each row out once, so that no row needs a look.

    Parameters
    ----------
    cv : object
        As in :func:`make_plans`.
    sample : Sample
        Rows whose roles are decided.
    cell : ndarray of shape (n_rows,), optional
        As there.

    Returns
    -------
    bool
    """
    if not isinstance(cv, (list, tuple)) or sample.is_grouped:
        return False
    counts = sample.counts if cell is None else look_up(sample.counts, cell)
    return len(cv) > 0 and all(
        isinstance(plan, FoldPlan)
        and len(plan.fold) == len(counts)
        and bool((plan.fold >= 0).all() or (plan.fold[counts] >= 0).all())
        for plan in cv
    )


def _draw_plan(
    sample: Sample,
    n_folds: int,
    seed: int,
    cell: NDArray[np.intp] | None,
) -> FoldPlan:
    """Assign folds, again where a training set would lose what joins its models."""
    # Rows that have no influence take no place in a fold.
    is_counted, is_whole = sample.counts, bool(sample.counts.all())
    n_rows = len(sample) if cell is None else len(cell)
    if cell is not None and not is_whole:
        is_counted = look_up(is_counted, cell)
    counted: Any = slice(None) if is_whole else np.flatnonzero(is_counted)
    # A generator, unlike its seed, gives other folds each time.
    splitter = SourceKFold(n_folds, random_state=np.random.RandomState(seed))
    own = None if sample.groups is None else RowGroups(sample.groups[counted])
    # What is derived of the rows is shared where none is left out.
    part, part_cell = sample.X, cell
    if not is_whole and cell is None:
        part = part.without_features()[counted]
    elif not is_whole and cell is not None:
        part_cell = cell[counted]
    # Narrow integers, as a table may have many rows.
    fold = np.full(n_rows, -1, dtype=np.min_scalar_type(-n_folds))
    for _ in range(MOST_DRAWS):
        fold[counted] = splitter.assign_folds(part, own, part_cell)
        plan = FoldPlan(fold, n_folds)
        if _keeps_scale(sample, plan, cell):
            break
    return plan


def _keeps_scale(sample: Sample, plan: FoldPlan, cell: NDArray[np.intp] | None) -> bool:
    """Whether every training set's human votes join the models as all votes do."""
    X, n_folds, size = sample.X, plan.n_folds, len(sample.X.models)
    votes = X.is_human & ~X.involves_new
    if cell is None:
        own = np.flatnonzero(votes & (plan.fold >= 0))
        at, times = plan.fold[own].astype(np.intp), np.ones(len(own))
    else:
        # Votes of one cell in one fold count together.
        number = np.where(votes, plan.numbers(cell, len(sample)), 0)
        at, own = np.nonzero(number)
        times = number[at, own].astype(np.float64)
    left, right, y = X.left[own], X.right[own], sample.y[own]
    places = (at * size + left) * size + right, (at * size + right) * size + left
    counts = [
        np.bincount(place[won], times[won], n_folds * size**2)
        for place, won in zip(places, (y > 0, y < 1), strict=True)
    ]
    wins = np.add(*counts).reshape(n_folds, size, size)
    whole = wins.sum(axis=0)
    links, found = whole > 0, count_components(whole)
    kept = (whole - w for w in wins)
    return all(
        np.array_equal(w > 0, links) or count_components(w) == found for w in kept
    )
