"""Votes of a stream by group of dependent rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._model.link import sigmoid
from skanchor._numerics.groups import ColumnTotals
from skanchor._typing import Array
from skanchor.streaming._groups import GroupTable, item_squares, item_totals
from skanchor.streaming._hashes import label_hashes, row_hash
from skanchor.streaming._reading import Folds

_STEP = 1 << 16
"""Votes whose sums by group are squared at a time."""


def cell_hashes(
    left: NDArray[np.int64], right: NDArray[np.int64], y: Array
) -> NDArray[np.int64]:
    """Hash of the cell of each vote, from hashes of its models and its outcome."""
    one = row_hash(left, 0).view(np.int64) + right
    outcome = np.asarray(y, dtype=np.float64).view(np.int64)
    return row_hash(row_hash(one, 0).view(np.int64) + outcome, 0).view(np.int64)


@dataclass(frozen=True, eq=False)
class VotesByGroup:
    """Weights of votes, summed by group, pair of models and outcome.

    Attributes
    ----------
    group : ndarray of shape (n,)
        Number of the group of each sum, ascending.
    cell : ndarray of shape (n,)
        Pair of models and outcome of each sum, by the number of a cell.
    weight : ndarray of shape (n,)
        The sums.
    left, right, y : ndarray of shape (n_cells,)
        Codes of the two models of each cell, and the outcome.
    """

    group: NDArray[np.int32]
    cell: NDArray[np.int32]
    weight: Array
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    y: Array

    @classmethod
    def of(
        cls,
        table: GroupTable,
        votes: pd.DataFrame,
        models: NDArray[Any],
        unit: float,
        groups: NDArray[np.int64],
    ) -> Self:
        """Votes between some models.

        Parameters
        ----------
        table : GroupTable
            Weights by hash of the group and hash of the cell.
        votes : DataFrame
            Cells with the codes of their models.
        models : ndarray of shape (n_models,)
            Labels of the models.
        unit : float
            Weight of the user that counts as one.
        groups : ndarray of shape (n_groups,)
            Hashes of all groups, ascending, whose places are the numbers.
        """
        cells = votes[["left", "right", "y"]].drop_duplicates()
        left, right = (cells[side].to_numpy(np.intp) for side in ("left", "right"))
        y, names = cells["y"].to_numpy(np.float64), label_hashes(models)
        known = pd.Index(cell_hashes(names[left], names[right], y))
        keys, sums = table.merged()
        cell = known.get_indexer(pd.Index(keys[:, 1])).astype(np.int32)
        order = np.argsort(keys[:, 0])
        order = order[cell[order] >= 0]
        weight = sums[order, 0] / unit
        group = np.searchsorted(groups, keys[order, 0]).astype(np.int32)
        return cls(group, cell[order], weight, left, right, y)

    def residuals(self, scores: Array) -> Array:
        """Weight times outcome minus probability, of shape (n,)."""
        error = self.y - sigmoid(scores[self.left] - scores[self.right])
        return np.asarray(self.weight * error[self.cell])

    def totals(self, values: Array, n_items: int) -> ColumnTotals:
        """Sum of values over the votes of each model, minus where second, by group."""
        return item_totals(*self._pairs(), values, n_items)

    def squares(self, values: Array, n_items: int) -> Array:
        """Products of these sums, summed over the groups: (n_items, n_items)."""
        total = np.zeros((n_items, n_items))
        # Some groups at a time, as their sums take several times as much memory.
        stops = np.arange(_STEP, len(self.group), _STEP)
        stops = np.searchsorted(self.group, self.group[stops]).tolist()
        for start, stop in pairwise([0, *stops, len(self.group)]):
            some = slice(start, stop)
            total += item_squares(*self._some(some)._pairs(), values[some], n_items)
        return total

    def nothing(self) -> VotesByGroup:
        """None of the votes."""
        return self._some(slice(0, 0))

    def by_fold(self, folds: Folds) -> Iterator[VotesByGroup]:
        """The votes that each fold of all repeats holds out, one after another."""
        for repeat in range(folds.n_repeats):
            # 16-bit integers sort in linear time.
            fold = folds.of_rows(self.group)[repeat].astype(np.int16)
            order = np.argsort(fold, kind="stable").astype(np.int32)
            stops = np.cumsum(np.bincount(fold, minlength=folds.n_splits)).tolist()
            for start, stop in pairwise([0, *stops]):
                yield self._some(order[start:stop])

    def _pairs(self) -> tuple[NDArray[np.int32], NDArray[np.intp], NDArray[np.intp]]:
        return self.group, self.left[self.cell], self.right[self.cell]

    def _some(self, at: Any) -> VotesByGroup:
        group, cell, weight = self.group[at], self.cell[at], self.weight[at]
        return replace(self, group=group, cell=cell, weight=weight)
