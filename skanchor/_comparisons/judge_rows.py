"""The rows of one judge, cut out once, and sums over them by model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from skanchor._comparisons.pairs import FeaturePairs
from skanchor._numerics.btl import pair_sums
from skanchor._numerics.groups import Membership
from skanchor._typing import Array

__all__ = ["JudgeRows"]

_ROWS_OF_A_PAIR = 4
"""Rows of the same two models, on average, from which their sums come first."""

_FEW = 1 << 12
"""Entries up to which a dense matrix is made sooner than a sparse one."""


@dataclass(frozen=True, eq=False)
class JudgeRows:
    """The usable rows of one judge, in contiguous arrays.

    Rows of the same two models, in the same order, follow each other.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Row numbers in the comparisons they were cut from.
    left, right, order : ndarray of shape (n,)
        Model codes and display order.
    pairs : FeaturePairs
        Features.
    n_models : int
        Size of the vocabulary.
    """

    rows: NDArray[np.intp]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    order: Array
    pairs: FeaturePairs
    n_models: int

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def _starts(self) -> NDArray[np.intp] | None:
        """Where rows of other models begin; None where that would save little."""
        if len(self) * self.n_models <= _FEW:
            return None
        new = (np.diff(self.left) != 0) | (np.diff(self.right) != 0)
        starts = np.concatenate([[0], np.flatnonzero(new) + 1])
        return starts if 0 < len(starts) <= len(self) // _ROWS_OF_A_PAIR else None

    @cached_property
    def _sizes(self) -> NDArray[np.intp]:
        """Number of rows of each two models."""
        assert self._starts is not None
        return np.diff(self._starts, append=len(self))

    @cached_property
    def _signs(self) -> csr_array:
        """Sparse (n_models, n_pairs) matrix: 1 for the first model, -1 for another."""
        assert self._starts is not None
        pair = np.arange(len(self._starts))
        return csr_array(
            (
                np.repeat([1.0, -1.0], len(pair)),
                (
                    np.concatenate([self.left[self._starts], self.right[self._starts]]),
                    np.tile(pair, 2),
                ),
            ),
            (self.n_models, len(pair)),
        )

    @cached_property
    def _sides(self) -> NDArray[np.int32]:
        """Model codes of the two sides, row after row."""
        return np.column_stack([self.left, self.right]).astype(np.int32).ravel()

    def _signed(
        self, values: Array
    ) -> tuple[Array, NDArray[np.int32], NDArray[np.int32]]:
        """Values at the first models, minus at the second, as sparse arrays take it."""
        entries = np.repeat(values, 2)
        np.negative(entries[1::2], out=entries[1::2])
        starts = np.arange(0, 2 * len(values) + 1, 2, dtype=np.int32)
        return entries, self._sides, starts

    def _entries(self, values: Array) -> csr_array:
        """Sparse (n, n_models) matrix: values at the first models, minus at others."""
        return csr_array(self._signed(values), (len(self.rows), self.n_models))

    @property
    def incidence(self) -> csr_array:
        """Sparse (n, n_models) matrix with +1 at the first model, -1 at the second."""
        return self._entries(np.ones(len(self.rows)))

    def pair_sums(self, values: Array) -> Array:
        """Sum of the values of the rows of each two models, by first and second."""
        starts = self._starts
        if starts is None:
            return pair_sums(self.left, self.right, values, self.n_models)
        sums = np.zeros((self.n_models, self.n_models))
        at = self.left[starts], self.right[starts]
        sums[at] = np.add.reduceat(values, starts)
        return sums

    def net(self, values: Array) -> Array:
        """Sum of the values of each model's rows, minus those where it is second."""
        if self._starts is not None:
            return np.asarray(self._signs @ np.add.reduceat(values, self._starts))
        first, second = (
            np.bincount(side, values, self.n_models) for side in (self.left, self.right)
        )
        return np.asarray(first - second)

    def _by_pair(self, combine: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Combine the values of each row's two models, once for rows of the same."""
        starts = self._starts
        if starts is None:
            return combine(values.take(self.left), values.take(self.right))
        of_pairs = combine(values[self.left[starts]], values[self.right[starts]])
        return np.repeat(of_pairs, self._sizes)

    def involves(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Rows with at least one model of those that are flagged.

        Parameters
        ----------
        flags : ndarray of shape (n_models,)
            Models that are meant.

        Returns
        -------
        ndarray of shape (n,)
        """
        return np.asarray(self._by_pair(np.logical_or, flags))

    def differences(self, values: Array) -> Array:
        """Value of the first model of each row minus that of the second.

        Parameters
        ----------
        values : ndarray of shape (n_models,)
            Values of the models.

        Returns
        -------
        ndarray of shape (n,)
        """
        return np.asarray(self._by_pair(np.subtract, values))

    def group_sums(self, values: Array, groups: Membership) -> Array:
        """Sums over each group of the values of a model's rows, those not zero.

        ``groups`` are those of the rows of this judge.
        """
        return np.asarray((groups.matrix @ self._entries(values)).data)

    def item_sums(self, values: Array, factor: Array) -> Array:
        """Sum of factor times values of the rows of each model, minus where second.

        Parameters
        ----------
        values : ndarray of shape (n, n_columns)
            Values of the rows.
        factor : ndarray of shape (n,)
            Factors of the rows.

        Returns
        -------
        ndarray of shape (n_models, n_columns)
        """
        shape = self.n_models, len(self.rows)
        if len(self.rows) * self.n_models <= _FEW:
            each, dense = np.arange(len(self.rows)), np.zeros(shape)
            dense[self.left, each], dense[self.right, each] = factor, -factor
            return np.asarray(dense @ values)
        if self._starts is not None:
            sums = np.empty((len(self._starts), values.shape[1]))
            weighted = np.empty(len(self))
            for k, column in enumerate(values.T):
                np.multiply(column, factor, out=weighted)
                sums[:, k] = np.add.reduceat(weighted, self._starts)
            return np.asarray(self._signs @ sums)
        return np.asarray(csc_array(self._signed(factor), shape) @ values)
