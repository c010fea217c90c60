"""Sums over the rows of one source: all that the inference needs of them.

Once a fold's nuisances are fixed, a row enters through its local columns x (the items'
difference ``e_a - e_b``, the score difference delta, the display order, the span of the
bias function) and its residual. What is summed here is additive: sums of rows that were
seen apart, or of chunks, are added with ``+``. It is written for items, not for free
parameters, so that it serves any parametrisation of the scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._numerics.btl import laplacian
from skanchor._numerics.linalg import Columns
from skanchor._typing import Array

__all__ = [
    "LEAST_VARIANCE",
    "GroupTotals",
    "Information",
    "ItemRows",
    "ResidualSums",
    "information_weights",
    "local_gram",
]


LEAST_VARIANCE = 1e-8
"""Variance of an outcome up to which its row carries no information.

That of a judge that follows the display order without fail, and whose position effect
lies on its bound, is 2e-9: divided by as little, rounding would reach all scores.
"""


class ItemRows(Protocol):
    """Rows of one source, each a comparison of two items."""

    @property
    def left(self) -> NDArray[np.intp]:
        """Code of the first item of each row."""

    @property
    def right(self) -> NDArray[np.intp]:
        """Code of the second item of each row."""

    @property
    def order(self) -> Array:
        """Display order of each row: 1, -1, or 0 where unknown."""

    @property
    def n_models(self) -> int:
        """Number of items."""

    @property
    def pairs(self) -> Any:
        """Features of the rows, as the bias learner takes them."""

    @property
    def incidence(self) -> csr_array:
        """Matrix of shape (n, n_items): 1 at the first item, -1 at the second."""

    def pair_sums(self, values: Array) -> Array:
        """Sum of values over the rows of each ordered pair of items."""

    def net(self, values: Array) -> Array:
        """Sum of values over each item's rows, minus where it is second."""

    def item_sums(self, values: Array, factor: Array) -> Array:
        """Sum of ``factor * values`` over each item's rows, minus where second."""


def information_weights(p: Array, weight: Array) -> Array:
    """What each row's outcome weighs in the information, w V with V = p (1 - p).

    Parameters
    ----------
    p : ndarray of shape (..., n)
        Probability that the first item is preferred; NaN where it is not known.
    weight : ndarray of shape (..., n)
        Row weights.

    Returns
    -------
    ndarray of shape (..., n)
        Zero where the outcome is certain (V at most ``LEAST_VARIANCE``) or p is NaN.
    """
    values = 1.0 - p
    values *= p
    # Written so that NaN, too, is none.
    values[~(values > LEAST_VARIANCE)] = 0.0
    values *= weight
    return values


def local_gram(cut: ItemRows, extra: Array | Columns, weight: Array) -> Array:
    """Weighted Gram matrix of the local columns, in one pass over the rows.

    Parameters
    ----------
    cut : ItemRows
        The rows of a source.
    extra : ndarray or Columns of shape (n, n_extra)
        Columns beside those of the items.
    weight : ndarray of shape (n,)
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_items + n_extra, n_items + n_extra)
    """
    n_items = cut.n_models
    root = np.sqrt(weight)
    scaled = Columns.of(extra).scaled(root)
    gram = np.empty((n_items + scaled.shape[1],) * 2)
    gram[:n_items, :n_items] = laplacian(cut.pair_sums(weight))
    gram[:n_items, n_items:] = cut.item_sums(scaled, root)
    gram[n_items:, :n_items] = gram[:n_items, n_items:].T
    gram[n_items:, n_items:] = scaled.T @ scaled
    return gram


@dataclass(frozen=True, slots=True)
class Information:
    """Information that rows hold on the coefficients of their local columns.

    Attributes
    ----------
    gram : ndarray of shape (n_columns, n_columns)
        Sum of ``w V x x'``, V the variance of an outcome.
    curvature : float
        Sum of ``w V``.
    n_rows : int
        Rows with a positive ``w V``.
    """

    gram: Array
    curvature: float
    n_rows: int

    @classmethod
    def of(cls, cut: ItemRows, extra: Columns, curvature: Array) -> Self:
        """Sum rows of given ``w V``; ``extra`` are the columns beside the items'."""
        gram = local_gram(cut, extra, curvature)
        return cls(gram, float(curvature.sum()), int(np.count_nonzero(curvature)))

    def __add__(self, other: Information) -> Information:
        return Information(
            self.gram + other.gram,
            self.curvature + other.curvature,
            self.n_rows + other.n_rows,
        )

    def spread(self, places: NDArray[np.intp], n_items: int) -> Information:
        """The same sums among more items, of which these have the ``places``."""
        at = _spread(places, len(self.gram), n_items)
        gram = np.zeros((n_items + len(self.gram) - len(places),) * 2)
        gram[np.ix_(at, at)] = self.gram
        return replace(self, gram=gram)


@dataclass(frozen=True, slots=True)
class GroupTotals:
    """Sums of ``w eps x`` by group of dependent rows.

    Attributes
    ----------
    groups : ndarray of shape (n_groups,)
        Codes of the groups that are there, ascending.
    totals : ndarray of shape (n_groups, n_columns)
        The sums of each.
    """

    groups: NDArray[np.intp]
    totals: Array

    def __add__(self, other: GroupTotals) -> GroupTotals:
        both = np.concatenate([self.groups, other.groups])
        groups, at = np.unique(both, return_inverse=True)
        totals = np.zeros((len(groups), self.totals.shape[1]))
        totals[at[: len(self.groups)]] = self.totals
        totals[at[len(self.groups) :]] += other.totals
        return GroupTotals(groups, totals)


@dataclass(frozen=True, slots=True)
class ResidualSums:
    """Sums over the residuals of rows that were held out.

    Attributes
    ----------
    score : ndarray of shape (n_columns,)
        Sum of ``w eps x``.
    outer : ndarray of shape (n_columns, n_columns) or None
        Sum of ``(w eps)^2 x x'``; None where rows depend on each other by group.
    by_group : GroupTotals or None
        The score of each group, where there are groups.
    """

    score: Array
    outer: Array | None
    by_group: GroupTotals | None = None

    @classmethod
    def of(
        cls,
        cut: ItemRows,
        extra: Columns,
        residual: Array,
        groups: NDArray[np.intp] | None = None,
    ) -> Self:
        """Sum rows.

        Parameters
        ----------
        cut : ItemRows
            The rows of a source.
        extra : Columns of shape (n, n_extra)
            Columns beside those of the items.
        residual : ndarray of shape (n,)
            Weight times outcome minus probability.
        groups : ndarray of shape (n,), optional
            Codes of groups.

        Returns
        -------
        ResidualSums
        """
        score = np.concatenate([cut.net(residual), extra.sums(residual)])
        if groups is None:
            return cls(score, local_gram(cut, extra, residual**2))
        names, code = np.unique(groups, return_inverse=True)
        n = len(code)
        gather = csr_array((residual, code, np.arange(n + 1)), (n, len(names))).T
        others = extra.scaled(np.ones(n))
        by_item = (gather @ cut.incidence).toarray()
        totals = np.hstack([by_item, np.asarray(gather @ others)])
        some = totals.any(axis=1)
        return cls(score, None, GroupTotals(names[some], totals[some]))

    def __add__(self, other: ResidualSums) -> ResidualSums:
        if self.outer is None or other.outer is None:
            assert self.by_group is not None and other.by_group is not None
            by_group = self.by_group + other.by_group
            return ResidualSums(self.score + other.score, None, by_group)
        return ResidualSums(self.score + other.score, self.outer + other.outer)

    def spread(self, places: NDArray[np.intp], n_items: int) -> ResidualSums:
        """The same sums among more items, of which these have the ``places``."""
        size = n_items + len(self.score) - len(places)
        at = _spread(places, len(self.score), n_items)
        score = np.zeros(size)
        score[at] = self.score
        if self.outer is None:
            assert self.by_group is not None
            totals = np.zeros((len(self.by_group.groups), size))
            totals[:, at] = self.by_group.totals
            return ResidualSums(score, None, GroupTotals(self.by_group.groups, totals))
        outer = np.zeros((size, size))
        outer[np.ix_(at, at)] = self.outer
        return ResidualSums(score, outer)


def _spread(places: NDArray[np.intp], n_columns: int, n_items: int) -> NDArray[np.intp]:
    """Where local columns lie among more items; the others follow the items."""
    others = n_items + np.arange(n_columns - len(places))
    return np.concatenate([places, others])
