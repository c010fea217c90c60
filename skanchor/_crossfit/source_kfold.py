"""Folds by source: every source is divided evenly."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skanchor._battles import Comparisons, decide_roles, number_rows
from skanchor._battles.grouping import RowGroups, find_groups
from skanchor._battles.labels import factorize
from skanchor._battles.rows import first_rows
from skanchor._sample.sample import Battles
from skanchor._typing import Seed, Split
from skanchor.exceptions import BattlesError


class SourceKFold(BaseEstimator):
    """K folds that divide every source evenly.

    A source is a judge, or people, together with the new models that a row involves,
    and its context if there are contexts. Within a source the rows are shuffled, and
    the rows of each pair of models are divided evenly over the folds, so that each
    training set keeps as many votes on a pair as possible. The folds depend on the rows
    and their order, not on the names of models, judges, contexts and groups.

    Parameters
    ----------
    n_splits : int, default=10
        Number of folds.
    groups : array-like of shape (n_rows,), str or None, default="auto"
        Groups that go whole to one fold, or the column of X that holds them. By default
        the values of ``prompt_id``, if they repeat; None treats rows as independent.
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
        groups: ArrayLike | str | None = "auto",
        new_models: Sequence[Hashable] | None = None,
        random_state: Seed = None,
    ):
        self.n_splits = n_splits
        self.groups = groups
        self.new_models = new_models
        self.random_state = random_state

    def get_n_splits(
        self,
        X: Battles | None = None,
        y: Any = None,
        groups: ArrayLike | str | None = None,
    ) -> int:
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

    def split(
        self, X: Battles, y: Any = None, groups: ArrayLike | str | None = None
    ) -> Iterator[Split]:
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
        fold = self.assign_folds(X, groups)
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)

    def assign_folds(
        self,
        X: Battles,
        groups: ArrayLike | RowGroups | str | None = None,
        cell: NDArray[np.intp] | None = None,
    ) -> NDArray[np.intp]:
        """Fold that holds each row out.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.
        groups : array-like of shape (n_rows,) or str, optional
            Overrides the constructor's ``groups``.
        cell : ndarray of shape (n_rows,), optional
            Used if X has only the different rows of a table, and without groups: for
            each row of the table, the number of the equal row of X.

        Returns
        -------
        ndarray of shape (n_rows,)
            Numbers from zero, in narrow integers if ``cell`` is given.
        """
        is_integer = isinstance(self.n_splits, Integral)
        if not is_integer or isinstance(self.n_splits, bool) or self.n_splits < 2:
            raise ValueError(
                f"n_splits must be an integer of at least 2, got {self.n_splits!r}."
            )
        encoded = Comparisons.from_battles(X)
        n_rows = len(encoded) if cell is None else len(cell)
        if n_rows < self.n_splits:
            raise BattlesError(
                f"{n_rows} rows cannot be dealt into {self.n_splits} folds (cv). Use "
                "fewer folds."
            )
        chosen_groups = self.groups if groups is None else groups
        codes = find_groups(chosen_groups, X, n_rows).prompts
        # Codes are small integers, so that counting finds those in use without a sort.
        n_groups = None if codes is None else np.count_nonzero(np.bincount(codes))
        if n_groups is not None and n_groups < self.n_splits:
            raise BattlesError(
                f"{n_groups} groups cannot be dealt into {self.n_splits} folds (cv). "
                "Use fewer folds, or finer groups."
            )
        if encoded.new_models is None or self.new_models is not None:
            encoded = decide_roles(encoded, np.ones(len(encoded)), self.new_models)
        random = check_random_state(self.random_state)
        fold = _assign_folds(encoded, codes, self.n_splits, random, cell)
        return fold if cell is not None else fold.astype(np.intp, copy=False)


def _assign_folds(
    X: Comparisons,
    groups: NDArray[np.intp] | None,
    n_splits: int,
    random: np.random.RandomState,
    cell: NDArray[np.intp] | None,
) -> NDArray[Any]:
    """Fold number of each row.

    Units (rows, or whole groups) are put in the order of what they share, at random
    within it, and assigned to the folds in turn: every stratum is divided evenly. The
    order is that of the rows alone, so that names decide nothing.
    """
    if groups is None:
        first = None if cell is None else first_rows(cell, len(X))
        source = _in_row_order(X.sources, first)
        n_models = len(X.models) + 1
        low, high = np.minimum(X.left, X.right), np.maximum(X.left, X.right)
        # Rows of one source and one pair of models, whichever side is first, are one
        # kind. Dealt in this order, each kind is spread evenly over the folds.
        pair = _in_row_order((low + 1) * n_models + high + 1, first)
        kind = source * (int(pair.max(initial=0)) + 1) + pair
        kind = number_rows(kind).kind
        # numpy sorts integers of 16 bits in linear time.
        kind = kind.astype(np.min_scalar_type(int(kind.max(initial=0))))
        kind = kind if cell is None else kind.take(cell)
        # Much of the time and memory goes into these numbers: they are narrow.
        turn = np.arange(len(kind), dtype=np.min_scalar_type(len(kind)))
        random.shuffle(turn)
        folds = np.arange(n_splits, dtype=np.min_scalar_type(n_splits))
        return _deal(folds, kind, turn)
    groups, source = _in_row_order(groups), _in_row_order(X.sources)
    n_groups, n_sources = int(groups.max()) + 1, int(source.max()) + 1
    # Groups that hold the same number of rows of each source are alike.
    at = (groups * n_sources + source)[X.is_usable]
    table = np.bincount(at, minlength=n_groups * n_sources).reshape(n_groups, -1)
    turn = random.permutation(n_groups)
    # Assigned in rounds, each in an order of its own: groups may all differ, and then
    # nothing else is left to chance.
    rounds = random.random_sample((-(-n_groups // n_splits), n_splits))
    in_rounds = rounds.argsort(axis=1).ravel()[:n_groups]
    return _deal(in_rounds, number_rows(*table.T).kind, turn)[groups]


def _in_row_order(
    codes: NDArray[np.intp], first: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Codes renumbered from zero by the first row of the table that has each.

    ``first`` has the first row of the table that each code is of; None where codes are
    those of the rows themselves.
    """
    if first is None:
        return factorize(codes, "codes")[0]
    order = np.argsort(first, kind="stable")
    renumbered = np.empty(len(codes), dtype=np.intp)
    renumbered[order] = factorize(codes[order], "codes")[0]
    return renumbered


def _deal(values: NDArray[Any], kind: NDArray[Any], turn: NDArray[Any]) -> NDArray[Any]:
    """Values handed out to rows by kind, and by their turn within a kind.

    ``turn`` is a permutation. Values are repeated where they are fewer than the rows.
    """
    by_turn = np.empty_like(kind)
    by_turn[turn] = kind
    dealt = np.empty(len(turn), dtype=values.dtype)
    dealt[np.argsort(by_turn, kind="stable")] = np.resize(values, len(turn))
    return dealt[turn]
