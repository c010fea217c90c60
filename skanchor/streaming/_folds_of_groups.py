"""Folds of the groups of a stream, once these have numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skanchor.streaming._reading import Folds

_STEP = 1 << 16
"""Hashes that are dealt to folds at a time."""


@dataclass(frozen=True, eq=False)
class FoldsOfGroups(Folds):
    """Folds of groups that have numbers, by which they are looked up.

    Attributes
    ----------
    table : ndarray of shape (n_repeats, n_groups)
        Fold of each group; integers that may be narrow.
    """

    table: NDArray[Any] = field(default_factory=lambda: np.empty((1, 0), np.int16))

    @classmethod
    def of(cls, folds: Folds, hashes: NDArray[np.int64]) -> Self:
        """Folds of the groups with these hashes, numbered in this order."""
        table = np.empty(
            (folds.n_repeats, len(hashes)), np.min_scalar_type(-folds.n_splits)
        )
        # Some at a time, as hashes of hashes take several times as much memory.
        for start in range(0, len(hashes), _STEP):
            some = slice(start, start + _STEP)
            table[:, some] = folds.of_rows(hashes[some])
        return cls(folds.n_splits, folds.n_repeats, folds.seed, table)

    def of_rows(
        self, number: NDArray[np.integer], copy: NDArray[np.integer] | None = None
    ) -> NDArray[np.intp]:
        """Fold of the group of each row, by its number, in each repeat."""
        return self.table[:, number].astype(np.intp)
