"""The rows of one judge as contiguous arrays, and sums over them by model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from skanchor._battles.pairs import FeaturePairs
from skanchor._model.graph import pair_sums
from skanchor._typing import Array

_ROWS_OF_A_PAIR = 4
"""Average rows per pair of models from which sums are taken by pair, then by model."""

_FEW = 1 << 12
"""Rows times models up to which sums by pair save little."""

_FEW_VALUES = 1 << 15
"""Values of rows up to which sums by column are faster than a sparse product."""


@dataclass(frozen=True, eq=False)
class JudgeRows:
    """The usable rows of one judge, in contiguous arrays.

    Rows are sorted by the ordered pair (left, right), so that rows of the same pair are
    adjacent. ``n`` is the number of rows.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Row numbers in the comparisons that they were taken from.
    left, right, order : ndarray of shape (n,)
        Model codes of the two sides, and display order.
    pairs : FeaturePairs
        Features of the two responses.
    n_models : int
        Number of models in the vocabulary.
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
        """First row of each ordered pair; None where sums by pair would save little."""
        if len(self) * self.n_models <= _FEW:
            return None
        # Rows are sorted by pair, so a pair starts where either code changes.
        new = (np.diff(self.left) != 0) | (np.diff(self.right) != 0)
        starts = np.concatenate([[0], np.flatnonzero(new) + 1])
        return starts if 0 < len(starts) <= len(self) // _ROWS_OF_A_PAIR else None

    @cached_property
    def _sizes(self) -> NDArray[np.intp]:
        """Number of rows of each ordered pair, of shape (n_pairs,)."""
        assert self._starts is not None
        return np.diff(self._starts, append=len(self))

    @cached_property
    def _signs(self) -> csr_array:
        """Sparse (n_models, n_pairs) matrix, +1 at first models, -1 at second ones."""
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
        """Model codes left[0], right[0], left[1], right[1], ..., of shape (2 n,)."""
        return np.column_stack([self.left, self.right]).astype(np.int32).ravel()

    def _signed(
        self, values: Array
    ) -> tuple[Array, NDArray[np.int32], NDArray[np.int32]]:
        """Data, indices, pointers of a sparse matrix with +value, -value in each row.

        Read as CSR, its shape is (n, n_models); read as CSC, it is the transpose.
        """
        # Two entries for each row: +value at its first model, -value at its second.
        entries = np.repeat(values, 2)
        np.negative(entries[1::2], out=entries[1::2])
        starts = np.arange(0, 2 * len(values) + 1, 2, dtype=np.int32)
        return entries, self._sides, starts

    def _entries(self, values: Array) -> csr_array:
        """Sparse (n, n_models) matrix, +value at first, -value at second models."""
        return csr_array(self._signed(values), (len(self.rows), self.n_models))

    @property
    def incidence(self) -> csr_array:
        """Sparse (n, n_models) matrix with +1 at the first model, -1 at the second."""
        return self._entries(np.ones(len(self.rows)))

    def pair_sums(self, values: Array) -> Array:
        """Return the sums of values by ordered pair, of shape (n_models, n_models)."""
        starts = self._starts
        if starts is None:
            return pair_sums(self.left, self.right, values, self.n_models)
        sums = np.zeros((self.n_models, self.n_models))
        at = self.left[starts], self.right[starts]
        sums[at] = np.add.reduceat(values, starts)
        return sums

    def net(self, values: Array) -> Array:
        """Return each model's sum over rows where it is first, less those as second.

        This is the transposed incidence matrix times the values: shape (n_models,).
        """
        if self._starts is not None:
            return np.asarray(self._signs @ np.add.reduceat(values, self._starts))
        first, second = (
            np.bincount(side, values, self.n_models) for side in (self.left, self.right)
        )
        return np.asarray(first - second)

    def _by_pair(self, combine: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Combine the values of each row's models; once per pair if rows repeat."""
        starts = self._starts
        if starts is None:
            return combine(values.take(self.left), values.take(self.right))
        of_pairs = combine(values[self.left[starts]], values[self.right[starts]])
        return np.repeat(of_pairs, self._sizes)

    def involves(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which rows involve at least one of the flagged models.

        Parameters
        ----------
        flags : ndarray of shape (n_models,)
            Whether a model is flagged.

        Returns
        -------
        ndarray of shape (n,)
        """
        return np.asarray(self._by_pair(np.logical_or, flags))

    def differences(self, values: Array) -> Array:
        """Return the value of each row's first model minus that of its second.

        Parameters
        ----------
        values : ndarray of shape (n_models,)
            Values of the models.

        Returns
        -------
        ndarray of shape (n,)
        """
        return np.asarray(self._by_pair(np.subtract, values))

    def item_sums(self, values: Array, factor: Array) -> Array:
        """Return each model's sum of factor times values, negative where it is second.

        This is ``A' diag(factor) values`` with the incidence matrix A.

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
        # Three ways to the same sums: column by column if there are few values, by pair
        # where pairs repeat, else sparse.
        if values.size <= _FEW_VALUES:
            sums = np.empty((self.n_models, values.shape[1]))
            for k, column in enumerate(values.T):
                sums[:, k] = self.net(column * factor)
            return sums
        if self._starts is not None:
            sums = np.empty((len(self._starts), values.shape[1]))
            # Column by column into one buffer, so that no (n, n_columns) copy is made.
            weighted = np.empty(len(self))
            for k, column in enumerate(values.T):
                np.multiply(column, factor, out=weighted)
                sums[:, k] = np.add.reduceat(weighted, self._starts)
            return np.asarray(self._signs @ sums)
        shape = self.n_models, len(self.rows)
        return np.asarray(csc_array(self._signed(factor), shape) @ values)
