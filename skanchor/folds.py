"""Folds by source, the fold plan as data, and the loop over it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from skanchor.base import resolve_groups
from skanchor.comparisons import Comparisons, decide_roles, source_codes

__all__ = ["FoldPlan", "SourceKFold", "fold_weights", "run_plan", "stream_plan"]

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
FoldPlan = list[Split]


class SourceKFold(BaseCrossValidator):
    """K folds that divide every source evenly.

    A source is a judge (or the humans) together with the new models that a row
    involves. Within a source the rows are shuffled, and each pair of models is spread
    over the folds, so that no fold takes a pair's votes away from training more than it
    must.

    Parameters
    ----------
    n_splits : int, default=10
        Number of folds.
    groups : array-like of shape (n_rows,) or str, optional
        Groups that go whole to one fold, or the column of X that holds them.
    new_models : sequence of labels, optional
        Models with free scores; None means those without human rows.
    random_state : int, RandomState or None, default=None
        Seed of the shuffle.

    Examples
    --------
    >>> from skanchor import SourceKFold
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> [len(test) for _, test in SourceKFold(5, random_state=0).split(data.X)]
    [1700, 1700, 1700, 1700, 1700]
    """

    # With metadata routing, groups that are passed are meant for the folds.
    __metadata_request__split: ClassVar = {"groups": True}

    def __init__(
        self,
        n_splits: int = 10,
        *,
        groups: Any = None,
        new_models: Sequence[Any] | None = None,
        random_state: Any = None,
    ):
        self.n_splits = n_splits
        self.groups = groups
        self.new_models = new_models
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds.

        Parameters
        ----------
        X, y, groups : ignored
            Present for scikit-learn.

        Returns
        -------
        int
        """
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Yield training and test row numbers.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.
        y : ignored
            Present for scikit-learn.
        groups : array-like of shape (n_rows,) or str, optional
            Overrides the constructor's ``groups``.

        Yields
        ------
        train, test : ndarray
            Row numbers.
        """
        fold = self.deal(X, groups)
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)

    def deal(self, X: Any, groups: Any = None) -> NDArray[np.intp]:
        """Fold that holds each row out.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.
        groups : array-like of shape (n_rows,) or str, optional
            Overrides the constructor's ``groups``.

        Returns
        -------
        ndarray of shape (n_rows,)
            Numbers from zero.
        """
        if isinstance(self.n_splits, bool) or not isinstance(
            self.n_splits, (int, np.integer)
        ):
            raise ValueError(f"n_splits must be an integer, got {self.n_splits!r}.")
        if self.n_splits < 2:
            raise ValueError(f"n_splits must be at least 2, got {self.n_splits}.")
        encoded = Comparisons.from_battles(X)
        if len(encoded) < self.n_splits:
            raise ValueError(
                f"Cannot have n_splits={self.n_splits} greater than the number of "
                f"rows, {len(encoded)}."
            )
        codes = resolve_groups(
            self.groups if groups is None else groups, X, len(encoded)
        )
        if codes is not None and len(np.unique(codes)) < self.n_splits:
            raise ValueError(
                f"Cannot have n_splits={self.n_splits} greater than the number of "
                f"groups, {len(np.unique(codes))}."
            )
        if encoded.new_models is None or self.new_models is not None:
            encoded = decide_roles(encoded, np.ones(len(encoded)), self.new_models)
        return deal_folds(
            encoded, codes, self.n_splits, check_random_state(self.random_state)
        )


def deal_folds(
    X: Comparisons,
    groups: NDArray[np.intp] | None,
    n_splits: int,
    random: np.random.RandomState,
) -> NDArray[np.intp]:
    """Fold number of each row.

    Units (rows, or whole groups) are put in the order of what they share, at random
    within it, and dealt out like cards: every stratum is divided evenly.
    """
    source = source_codes(X)
    if groups is None:
        n_models = len(X.models) + 1
        low, high = np.minimum(X.left, X.right), np.maximum(X.left, X.right)
        kind = ((source + 1) * n_models + low + 1) * n_models + high + 1
        order = _sorted_within(kind, random)
        fold = np.empty(len(X), dtype=np.intp)
        fold[order] = np.arange(len(X)) % n_splits
        return fold
    n_groups = int(groups.max()) + 1
    # Groups that hold the same number of rows of each source are alike.
    table = np.zeros((n_groups, int(source.max()) + 1), dtype=np.intp)
    known = source >= 0
    np.add.at(table, (groups[known], source[known]), 1)
    _, kind = np.unique(table, axis=0, return_inverse=True)
    order = _sorted_within(kind.ravel(), random)
    # Dealt out in rounds, each in an order of its own: groups may all differ, and then
    # nothing else is left to chance.
    rounds = random.random_sample((-(-n_groups // n_splits), n_splits))
    dealt = np.empty(n_groups, dtype=np.intp)
    dealt[order] = rounds.argsort(axis=1).ravel()[:n_groups]
    return dealt[groups]


def _sorted_within(
    kind: NDArray[np.intp], random: np.random.RandomState
) -> NDArray[np.intp]:
    """Order that sorts by kind, at random within a kind."""
    shuffled = np.empty(len(kind), dtype=np.intp)
    shuffled[random.permutation(len(kind))] = np.arange(len(kind))
    # numpy sorts integers of 16 bits in linear time.
    small = kind.astype(np.min_scalar_type(int(kind.max(initial=0))))
    return shuffled[np.argsort(small[shuffled], kind="stable")]


def fold_weights(
    weight: NDArray[np.float64],
    source: NDArray[np.intp],
    train: NDArray[np.intp],
    names: Sequence[str],
    involved: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Weights of a training set that stands for all rows of each source.

    A source of a new model that leaves the training set is done without as long as
    another one places that model.

    Parameters
    ----------
    weight : ndarray of shape (n_rows,)
        Row weights.
    source : ndarray of shape (n_rows,)
        Source codes, -1 where a row counts for nothing.
    train : ndarray
        Row numbers of the training set.
    names : sequence of str
        What to call each source in errors.
    involved : ndarray of shape (n_sources, n_new_models), optional
        New models of each source; None where there are none.

    Returns
    -------
    ndarray of shape (n_rows,)
        ``weight * omega`` on the training rows, zero elsewhere, with omega the ratio
        of a source's whole weight to its weight in training.
    """
    inside = np.zeros(len(weight))
    inside[train] = weight[train]
    size = len(names)
    # Rows that count for nothing fall into the first bin.
    bins = source + 1
    whole = np.bincount(bins, weight, size + 1)[1:]
    kept = np.bincount(bins, inside, size + 1)[1:]
    empty = (whole > 0) & (kept == 0)
    if involved is not None and empty.any():
        placed = involved[kept > 0].any(axis=0)
        empty &= ~involved.any(axis=1) | (involved & ~placed).any(axis=1)
    if empty.any():
        lost = [names[i] for i in np.flatnonzero(empty).tolist()]
        raise ValueError(
            f"A training set keeps no row of {', '.join(lost[:5])}; use fewer folds or "
            "add rows."
        )
    omega = np.divide(whole, kept, out=np.zeros(size), where=kept > 0)
    return np.asarray(inside * np.append(0.0, omega).take(bins))


def run_plan(*args: Any, **kwargs: Any) -> list[Any]:
    """Return the list of what :func:`stream_plan` yields."""
    return list(stream_plan(*args, **kwargs))


def stream_plan(
    task: Callable[..., Any],
    jobs: Sequence[tuple[Any, ...]],
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
    description: str = "folds",
) -> Iterator[Any]:
    """Run ``task(*job)`` for every job, possibly in parallel; yield in order.

    Parameters
    ----------
    task : callable
        Picklable function.
    jobs : sequence of tuples
        Arguments of each call.
    n_jobs : int, optional
        Number of workers, as in joblib.
    verbose : int
        Shows a progress bar on the standard error when positive.
    description : str
        What the bar counts.

    Yields
    ------
    object
        What each call returns.
    """
    backend = get_active_backend()[0]
    with _few_threads(backend, effective_n_jobs(n_jobs)):
        # Not every backend can hand over results as they come.
        results: Any = Parallel(
            n_jobs=n_jobs,
            return_as="generator" if backend.supports_return_generator else "list",
        )(delayed(_at_home_or_away)(os.getpid(), task, job) for job in jobs)
        if verbose > 0:
            from rich.console import Console
            from rich.progress import track

            console = Console(stderr=True)
            results = track(
                results, description, len(jobs), console=console, transient=True
            )
        told = set()
        for result, heard in results:
            for warning in heard:
                key = (type(warning), str(warning))
                if key not in told:
                    told.add(key)
                    warnings.warn(warning, stacklevel=3)
            yield result


def _few_threads(backend: Any, n_workers: int) -> Any:
    """Leave each worker that is a thread its share of the cores for BLAS.

    Worker processes are told so by joblib.
    """
    if n_workers == 1 or not getattr(backend, "uses_threads", False):
        return nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(max(1, cpu_count() // n_workers), user_api="blas")


def _at_home_or_away(
    home: int, task: Callable[..., Any], job: tuple[Any, ...]
) -> tuple[Any, list[Warning | str]]:
    """Run a task; from another process bring along the warnings, lost otherwise."""
    if os.getpid() == home:
        return task(*job), []
    with warnings.catch_warnings(record=True) as heard:
        result = task(*job)
    # Themselves, not their texts: they may carry advice.
    return result, [record.message for record in heard]
