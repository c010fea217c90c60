"""Sums over rows of the same models, judge and display, for refits without features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from skanchor._refits._layout import Layout, columns_of, dense_incidence
from skanchor._typing import Array


@dataclass(frozen=True, eq=False)
class CellSums:
    """Sums over alike rows: the same two models in the same order, judge and display.

    Attributes
    ----------
    left, right, judge : ndarray of shape (n_cells,)
        Codes; judge -1 is human.
    order : ndarray of shape (n_cells,)
        Display order.
    weight, first : ndarray of shape (n_replicates, n_cells)
        Sums of weights, and of weights times outcomes.
    is_new : ndarray of shape (n_models,)
        Whether a model is new.
    """

    left: NDArray[np.intp]
    right: NDArray[np.intp]
    judge: NDArray[np.intp]
    order: Array
    weight: Array
    first: Array
    is_new: NDArray[np.bool_]

    @classmethod
    def of(cls, layout: Layout, weights: Array) -> CellSums:
        """Sum the used rows, cell by cell."""
        rows, starts = layout.runs
        own = columns_of(weights, rows)
        weight = np.add.reduceat(own, starts, axis=1)
        won = layout.work.take("a", own.shape)
        np.multiply(own, layout.y[rows], out=won)
        first = np.add.reduceat(won, starts, axis=1)
        X, at = layout.X, rows[starts]
        return cls(
            X.left[at],
            X.right[at],
            X.judge[at],
            X.order[at],
            weight,
            first,
            X.is_new,
        )

    def __getitem__(self, at: NDArray[Any]) -> CellSums:
        return replace(
            self,
            left=self.left[at],
            right=self.right[at],
            judge=self.judge[at],
            order=self.order[at],
            weight=self.weight[:, at],
            first=self.first[:, at],
        )

    @property
    def involves_new(self) -> NDArray[np.bool_]:
        """Cells in which at least one side is a new model."""
        return self.is_new[self.left] | self.is_new[self.right]

    @property
    def human(self) -> CellSums:
        """Human rows between historical models."""
        return self[(self.judge == -1) & ~self.involves_new]

    @property
    def judges(self) -> CellSums:
        """Judge rows between historical models."""
        return self[(self.judge >= 0) & ~self.involves_new]

    @property
    def arrivals(self) -> CellSums:
        """Judge rows that involve a new model."""
        return self[(self.judge >= 0) & self.involves_new]

    def of_judge(self, judge: int) -> CellSums:
        """All rows of one judge."""
        return self[self.judge == judge]

    @cached_property
    def incidence(self) -> Array:
        """+1 at the first model, -1 at the second, of shape (n_cells, n_models)."""
        return dense_incidence(self.left, self.right, len(self.is_new))

    def differences(self, scores: Array) -> Array:
        """Score differences of the cells, of shape (n_replicates, n_cells)."""
        return scores @ self.incidence.T

    def mean_residual(self, scores: Array) -> Array:
        """Mean of outcome minus ``sigma(score difference)``, rows as recorded."""
        p = expit(self.differences(scores))
        return (self.first - self.weight * p).sum(axis=1) / self.weight.sum(axis=1)

    def tables(self) -> tuple[Array, Array]:
        """Games and wins of the row model against the column model.

        Returns
        -------
        games, wins : ndarray of shape (n_replicates, n_models, n_models)
        """
        size, n_cells = len(self.is_new), len(self.left)
        # Sparse matrices that add cells to ordered pairs of models, seen from either
        # side.
        shape = (size * size, n_cells)
        at = np.arange(n_cells)
        ones = np.ones(n_cells)
        first = csr_array((ones, (self.left * size + self.right, at)), shape)
        second = csr_array((ones, (self.right * size + self.left, at)), shape)
        lost = self.weight - self.first
        games = np.asarray(first @ self.weight.T + second @ self.weight.T)
        wins = np.asarray(first @ self.first.T + second @ lost.T)
        return games.T.reshape(-1, size, size), wins.T.reshape(-1, size, size)
