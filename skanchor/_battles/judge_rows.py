"""The rows of one judge as contiguous arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._battles.features import FeaturePairs
from skanchor._typing import Array


@dataclass(frozen=True, eq=False)
class JudgeRows:
    """The usable rows of one judge, in contiguous arrays, sorted by the ordered pair.

    ``n`` is the number of rows.

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

    @classmethod
    def of(cls, X: Any, judge: int) -> JudgeRows:
        """Select the usable rows of a judge of ``Comparisons``, given its code."""
        rows = np.flatnonzero((X.judge == judge) & X.is_usable)
        pair = X.left[rows] * len(X.models) + X.right[rows]
        # numpy sorts 16-bit integers by radix, in linear time.
        is_narrow = len(X.models) ** 2 <= np.iinfo(np.uint16).max
        rows = rows[
            np.argsort(pair.astype(np.uint16 if is_narrow else np.intp), kind="stable")
        ]
        pairs = FeaturePairs(X.features_left, X.features_right, X.feature_names, rows)
        sides = X.left[rows], X.right[rows]
        return cls(rows, *sides, X.order[rows], pairs, len(X.models))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def incidence(self) -> csr_array:
        """Sparse (n, n_models) matrix with +1 at the first model, -1 at the second."""
        n = len(self)
        signs = np.tile([1.0, -1.0], n)
        sides = np.column_stack([self.left, self.right]).ravel()
        return csr_array((signs, sides, np.arange(0, 2 * n + 1, 2)), (n, self.n_models))

    def involves(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which rows involve at least one of the flagged models."""
        return flags.take(self.left) | flags.take(self.right)

    def differences(self, values: Array) -> Array:
        """Return the value of each row's first model minus that of its second."""
        return np.asarray(values.take(self.left) - values.take(self.right))
