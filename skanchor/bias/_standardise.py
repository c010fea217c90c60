"""Standardised features of responses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skanchor._comparisons import FeaturePairs
from skanchor._typing import Array
from skanchor.bias._rows import TrainingRows

__all__ = ["Standardiser"]


@dataclass(frozen=True, slots=True)
class Standardiser:
    """Mean and standard deviation of each feature over weighted responses.

    Attributes
    ----------
    mean, scale : ndarray of shape (n_features,)
        What is taken off, and what the rest is divided by.
    """

    mean: Array
    scale: Array

    @classmethod
    def of(cls, rows: TrainingRows) -> Standardiser:
        """From both responses of each row."""
        pairs, share = rows.pairs, rows.weight / 2.0
        mean = share @ pairs.left + share @ pairs.right
        variance = share @ (pairs.left - mean) ** 2
        variance += share @ (pairs.right - mean) ** 2
        # Constant features say nothing: they are left out by a scale of infinity.
        tiny = 1e-10 * (1.0 + np.abs(mean))
        deviation = np.sqrt(variance)
        return cls(mean, np.where(deviation > tiny, deviation, np.inf))

    def features(self, features: Array) -> Array:
        """Standardise features of responses, of shape (n_rows, n_features)."""
        return np.asarray((features - self.mean) / self.scale)

    def rows(self, rows: TrainingRows) -> TrainingRows:
        """Standardise both responses of each row."""
        left, right = rows.pairs.left, rows.pairs.right
        pairs = FeaturePairs(self.features(left), self.features(right))
        return replace(rows, pairs=pairs)
