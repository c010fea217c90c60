"""Sums over a judge's rows by its local columns, under many nuisances at once.

A *view* is a training set with its own nuisances: all rows, or all but those of a fold.
To a judge they are one vector, that multiplies the items, the display order and the
span; the score difference is a combination of items and needs no column of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._numerics.btl import laplacian, pair_sums
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.sums import Information, ResidualSums
from skanchor._typing import Array
from skanchor.riesz import SEPARATED

__all__ = [
    "LocalSums",
    "Rows",
    "Views",
    "information",
    "residual_sums",
    "with_delta",
]


@dataclass(frozen=True, slots=True)
class Views:
    """The training sets.

    Attributes
    ----------
    n_splits, n_repeats : int
        Folds of a repeat, and repeats.
    whole_only : bool
        Whether only the set of all rows is looked at.
    """

    n_splits: int
    n_repeats: int
    whole_only: bool = False

    @property
    def size(self) -> int:
        """Number of views; the first is that of all rows."""
        return 1 if self.whole_only else 1 + self.n_splits * self.n_repeats

    def inside(self, fold: NDArray[np.intp]) -> Array:
        """One where a row is in a view's training set, of shape (n_rows, size)."""
        mask = np.ones((fold.shape[1], self.size))
        if not self.whole_only:
            rows = np.arange(fold.shape[1])
            for repeat, own in enumerate(fold):
                mask[rows, 1 + repeat * self.n_splits + own] = 0.0
        return mask


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one judge.

    Attributes
    ----------
    left, right : ndarray of shape (n,)
        Items.
    columns : ndarray of shape (n, n_columns)
        Display order and span.
    y, weight : ndarray of shape (n,)
        Outcomes and weights.
    fold : ndarray of shape (n_repeats, n)
        Folds.
    squares : ndarray of shape (n, 2 n_span) or None
        Values of the span's functions on the responses, summed over the two, and their
        squares, where a ridge needs their variance.
    """

    left: NDArray[np.intp]
    right: NDArray[np.intp]
    columns: Array
    y: Array
    weight: Array
    fold: NDArray[np.intp]
    squares: Array | None = None

    def incidence(self, size: int, shift: NDArray[np.intp] | int = 0) -> csr_array:
        """Matrix with 1 at the first item and -1 at the second, of ``size`` columns.

        Items lie ``shift`` columns further right.
        """
        n = len(self.y)
        sides = np.empty((n, 2), dtype=np.int32)
        sides[:, 0] = self.left + shift
        sides[:, 1] = self.right + shift
        signs = np.tile([1.0, -1.0], n)
        starts = np.arange(0, 2 * n + 1, 2, dtype=np.int32)
        return csr_array((signs, sides.ravel(), starts), (n, size))


@dataclass(frozen=True, eq=False)
class LocalSums:
    """Sums over rows of one judge; of views, all but those of the residuals.

    Attributes
    ----------
    score : ndarray of shape (n_views, n_local)
        Sum of ``w eps x`` over training rows.
    gram : ndarray of shape (n_views, n_local, n_local)
        Sum of ``w V x x'`` over training rows.
    curvature, weight, n_rows : ndarray of shape (n_views,)
        Sums of ``w V`` and of ``w``, and the number of training rows.
    held_score : ndarray of shape (n_folds, n_local)
        Sum of ``w eps x`` over the rows held out.
    held_outer : ndarray of shape (n_folds, n_local, n_local)
        Sum of ``(w eps)^2 x x'`` over the rows held out.
    noise : ndarray of shape (2, n_items, n_items)
        Sums of ``w eps w V`` and of ``(w V)^2`` by pair of items, over all rows.
    squares : float
        Sum of ``(w eps)^2`` over all rows.
    spread : ndarray of shape (2, n_views, 2 n_span)
        Sums of the values of the span's functions and of their squares, weighted by
        ``w`` and by ``w V``; none without a ridge.
    """

    score: Array
    gram: Array
    curvature: Array
    weight: Array
    n_rows: Array
    held_score: Array
    held_outer: Array
    noise: Array
    squares: Array
    spread: Array

    def __add__(self, other: LocalSums) -> LocalSums:
        return LocalSums(
            *(getattr(self, f.name) + getattr(other, f.name) for f in fields(self))
        )

    @classmethod
    def of(cls, rows: Rows, theta: Array, views: Views) -> Self:
        """Sum rows.

        Parameters
        ----------
        rows : Rows
            Of one judge.
        theta : ndarray of shape (n_views, n_local)
            What multiplies items, display order and span in each view.
        views : Views
            The training sets.

        Returns
        -------
        LocalSums
        """
        n_items = theta.shape[1] - rows.columns.shape[1]
        by_item, own = theta[:, :n_items].T, theta[:, n_items:].T
        logits = by_item.take(rows.left, axis=0)
        logits -= by_item.take(rows.right, axis=0)
        logits += rows.columns @ own
        p = sigmoid(logits)
        inside = views.inside(rows.fold)
        inside *= rows.weight[:, None]
        residual = rows.weight[:, None] * (rows.y[:, None] - p)
        variance = p * (1.0 - p)
        variance[variance <= SEPARATED] = 0.0
        curvature = inside * variance
        held = _held_out(rows, residual, views, n_items)
        noise, squares = _noise(rows, residual[:, 0], curvature[:, 0], n_items)
        # Where a row is in training its weight is not zero.
        residual *= inside > 0.0
        incidence = rows.incidence(n_items)
        return cls(
            _scores(rows, incidence, residual),
            _grams(rows, incidence, curvature),
            curvature.sum(axis=0),
            inside.sum(axis=0),
            np.count_nonzero(curvature, axis=0).astype(np.float64),
            *held,
            noise,
            squares,
            _value_sums(rows, inside, curvature),
        )


def _scores(rows: Rows, incidence: csr_array, residual: Array) -> Array:
    """Sums of residuals by item and column, of shape (n_views, n_local)."""
    by_item = incidence.T @ residual
    return np.hstack([by_item.T, residual.T @ rows.columns])


def _grams(rows: Rows, incidence: csr_array, curvature: Array) -> Array:
    """Gram matrices of the local columns, of shape (n_views, n_local, n_local)."""
    n_views, n_items = curvature.shape[1], incidence.shape[1]
    size = n_items + rows.columns.shape[1]
    gram = np.zeros((n_views, size, size))
    for view in range(n_views):
        pairs = pair_sums(rows.left, rows.right, curvature[:, view], n_items)
        gram[view, :n_items, :n_items] = laplacian(pairs)
    for place, column in enumerate(rows.columns.T, start=n_items):
        # One column in all views: these products stay in the cache.
        products = curvature * column[:, None]
        gram[:, :n_items, place] = (incidence.T @ products).T
        gram[:, place, :n_items] = gram[:, :n_items, place]
        rest = products.T @ rows.columns[:, place - n_items :]
        gram[:, place, place:] = gram[:, place:, place] = rest
    return gram


def _held_out(
    rows: Rows, residual: Array, views: Views, n_items: int
) -> tuple[Array, Array]:
    """Sums over the residuals of each fold's rows, at that fold's nuisances."""
    size = n_items + rows.columns.shape[1]
    score = np.zeros((views.size - 1, size))
    outer = np.zeros((views.size - 1, size, size))
    if views.whole_only:
        return score, outer
    for repeat, fold in enumerate(rows.fold):
        at = slice(repeat * views.n_splits, (repeat + 1) * views.n_splits)
        own = residual[np.arange(len(fold)), 1 + at.start + fold]
        score[at], outer[at] = _by_fold(rows, fold, own, views.n_splits, n_items)
    return score, outer


def _by_fold(
    rows: Rows, fold: NDArray[np.intp], residual: Array, n_folds: int, n_items: int
) -> tuple[Array, Array]:
    """Score and outer product of the residuals of each fold."""
    width = rows.columns.shape[1]
    score = np.empty((n_folds, n_items + width))
    outer = np.empty((n_folds, n_items + width, n_items + width))
    square = residual**2
    weighted = rows.columns * square[:, None]
    # An item in one fold is a row of its own.
    incidence = rows.incidence(n_folds * n_items, fold * n_items)
    sums = incidence.T @ np.column_stack([residual, weighted])
    by_item = sums.reshape(n_folds, n_items, 1 + width)
    pair = (fold * n_items + rows.left) * n_items + rows.right
    by_pair = np.bincount(pair, square, n_folds * n_items**2)
    pairs = by_pair.reshape(n_folds, n_items, n_items)
    score[:, :n_items], across = by_item[:, :, 0], by_item[:, :, 1:]
    outer[:, :n_items, n_items:] = across
    outer[:, n_items:, :n_items] = across.transpose(0, 2, 1)
    for k in range(n_folds):
        chosen = np.flatnonzero(fold == k)
        columns = rows.columns[chosen]
        score[k, n_items:] = residual[chosen] @ columns
        outer[k, :n_items, :n_items] = laplacian(pairs[k])
        outer[k, n_items:, n_items:] = weighted[chosen].T @ columns
    return score, outer


def _noise(
    rows: Rows, residual: Array, curvature: Array, n_items: int
) -> tuple[Array, Array]:
    """Sums from which the dispersion of residuals is known, over all rows."""
    noise = np.stack(
        [
            pair_sums(rows.left, rows.right, values, n_items)
            for values in (residual * curvature, curvature**2)
        ]
    )
    return noise, np.asarray(residual @ residual)


def _value_sums(rows: Rows, weight: Array, curvature: Array) -> Array:
    if rows.squares is None:
        return np.zeros((2, weight.shape[1], 0))
    return np.stack([weight.T @ rows.squares, curvature.T @ rows.squares])


def with_delta(n_items: int, width: int, scores: Array) -> Array:
    """Local columns with the score difference, from those without.

    Parameters
    ----------
    n_items : int
        Items.
    width : int
        Columns beside the items: display order and span.
    scores : ndarray of shape (n_items,)
        Scores.

    Returns
    -------
    ndarray of shape (n_items + width, n_items + 1 + width)
    """
    change = np.zeros((n_items + width, n_items + 1 + width))
    change[:n_items, :n_items] = np.eye(n_items)
    change[:n_items, n_items] = scores
    change[n_items:, n_items + 1 :] = np.eye(width)
    return change


def information(sums: LocalSums, view: int, omega: float, change: Array) -> Information:
    """Information of a view's training rows."""
    gram = change.T @ sums.gram[view] @ change * omega
    curvature = float(sums.curvature[view]) * omega
    return Information(gram, curvature, int(sums.n_rows[view]))


def residual_sums(sums: LocalSums, view: int, change: Array) -> ResidualSums:
    """Residuals of the rows that a view holds out; of none, zero."""
    if view == 0:
        size = change.shape[1]
        return ResidualSums(np.zeros(size), np.zeros((size, size)))
    score, outer = sums.held_score[view - 1], sums.held_outer[view - 1]
    return ResidualSums(score @ change, change.T @ outer @ change)
