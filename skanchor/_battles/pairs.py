"""Features of the two responses of each comparison: what a bias learner sees."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._typing import Array


class FeaturePairs:
    """Features of the two responses of each comparison: what a bias learner sees.

    Rows are copied out of the table only when a side or the contrast is first read:
    most learners read the contrast alone.

    Parameters
    ----------
    left, right : ndarray of shape (n_table, n_features)
        Features of the first and of the second response.
    names : tuple of str
        Names of the features.
    rows : ndarray of shape (n_rows,), optional
        Row numbers in the table; None means all rows.
    """

    def __init__(
        self,
        left: Array,
        right: Array,
        names: tuple[str, ...] = (),
        rows: NDArray[np.intp] | None = None,
    ):
        self.names = names
        self._table = left, right
        self._rows = rows

    @classmethod
    def of(cls, X: Any) -> FeaturePairs:
        """Return pairs as they are; pair an array of responses with zero features."""
        if isinstance(X, FeaturePairs):
            return X
        return cls(X, np.zeros_like(X))

    def __len__(self) -> int:
        return len(self._table[0] if self._rows is None else self._rows)

    def __getitem__(self, rows: Any) -> FeaturePairs:
        inside = np.arange(len(self)) if self._rows is None else self._rows
        part = FeaturePairs(*self._table, self.names, inside[rows])
        if "contrast" in self.__dict__:
            # The part takes over a contrast that is already computed. It is stored by
            # columns, so rows are taken from the transpose, which keeps that order.
            numbers = isinstance(rows, np.ndarray) and rows.dtype.kind == "i"
            part.__dict__["contrast"] = (
                self.contrast.T.take(rows, axis=1).T if numbers else self.contrast[rows]
            )
        return part

    @property
    def n_features(self) -> int:
        """Number of features of a response."""
        return self._table[0].shape[1]

    def _side(self, side: int) -> Array:
        """Features of one side, (n_rows, n_features); read-only if rows were chosen."""
        table = self._table[side]
        if self._rows is None:
            return table
        chosen = table.take(self._rows, axis=0)
        # All stages share this array, so a learner must not write into it.
        chosen.flags.writeable = False
        return chosen

    @cached_property
    def left(self) -> Array:
        """Features of the first response, of shape (n_rows, n_features)."""
        return self._side(0)

    @cached_property
    def right(self) -> Array:
        """Features of the second response, of shape (n_rows, n_features)."""
        return self._side(1)

    @cached_property
    def contrast(self) -> Array:
        """Features of the first response minus those of the second, read-only."""
        left, right = self._side(0), self._side(1)
        # Stored by columns (Fortran order), as fits multiply whole columns by weights.
        contrast = np.subtract(left, right, order="F")
        contrast.flags.writeable = False
        return contrast
