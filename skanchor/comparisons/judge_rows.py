"""The rows of one judge, cut out once, and sums over them by model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from skanchor._typing import Array
from skanchor.comparisons.pairs import FeaturePairs

__all__ = ["JudgeRows"]

_FEW = 1 << 12
"""Entries up to which a dense matrix is made sooner than a sparse one."""


@dataclass(frozen=True, eq=False)
class JudgeRows:
    """The usable rows of one judge, in contiguous arrays.

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

    def net(self, values: Array) -> Array:
        """Sum of the values of each model's rows, minus those where it is second."""
        first, second = (
            np.bincount(side, values, self.n_models) for side in (self.left, self.right)
        )
        return np.asarray(first - second)

    def group_sums(self, values: Array, groups: NDArray[np.intp]) -> Array:
        """Sums over each group of the values of a model's rows, those not zero.

        ``groups`` holds the codes of all rows of the comparisons.
        """
        code = groups[self.rows]
        size = int(code.max(initial=-1)) + 1
        at = np.arange(len(code))
        member = csr_array((np.ones(len(code)), (code, at)), (size, len(code)))
        return np.asarray((member @ self._entries(values)).data)

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
        return np.asarray(csc_array(self._signed(factor), shape) @ values)
