"""The types that signatures share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Indices", "InfluenceSource", "Seed", "Split", "Splitter"]

Array: TypeAlias = NDArray[np.float64]
"""An array of floats."""

Indices: TypeAlias = NDArray[np.intp]
"""An array of row numbers or codes."""

Seed = int | np.random.RandomState | None
Split = tuple[Indices, Indices]


class Splitter(Protocol):
    """What cuts rows into folds, such as those of scikit-learn."""

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterable[tuple[Any, Any]]:
        """Row numbers to train on and to test on, fold by fold."""

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""


class InfluenceSource(Protocol):
    """What computes influence values when they are asked for."""

    def values(self) -> Array:
        """Influence of each row on each score, of shape (n_rows, n_models)."""
