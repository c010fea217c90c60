"""Rows that a learner is fitted on: checked, standardised, none of weight zero."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, validate_data

from skanchor._comparisons import FeaturePairs
from skanchor._typing import Array
from skanchor.bias.fitting import FitTask


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows of positive weight.

    Attributes
    ----------
    pairs : FeaturePairs
        Features of the two responses.
    y : ndarray of shape (n_rows,) or (n_rows, n_targets)
        Outcomes, or targets.
    weight : ndarray of shape (n_rows,)
        Row weights, of sum one.
    parametric : ndarray of shape (n_rows, n_parametric)
        Parametric columns.
    lower, upper : ndarray of shape (n_parametric,)
        Bounds of their coefficients.
    """

    pairs: FeaturePairs
    y: Array
    weight: Array
    parametric: Array
    lower: Array
    upper: Array

    @classmethod
    def of(cls, learner: Any, task: FitTask) -> TrainingRows:
        """Check what a learner is given."""
        pairs, y, weight = enter_pairs(learner, task.X, task.y, task.sample_weight)
        used = np.flatnonzero(weight > 0)
        parametric = task.parametric
        if parametric is None:
            parametric = np.empty((len(pairs), 0))
        bounds = (-np.inf, np.inf) if task.bounds is None else task.bounds
        lower, upper = (
            np.broadcast_to(bound, parametric.shape[1]).astype(float)
            for bound in bounds
        )
        weight = weight[used]
        return cls(
            pairs[used], y[used], weight / weight.sum(), parametric[used], lower, upper
        )


def enter_pairs(
    learner: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[FeaturePairs, Array, Array]:
    """Take encoded pairs as they are; validate arrays as scikit-learn does.

    Parameters
    ----------
    learner : learner
        Gets ``n_features_in_``.
    X : FeaturePairs or array-like of shape (n_rows, n_features)
        Features of the two responses, or their differences.
    y : array-like of shape (n_rows,) or (n_rows, n_targets)
        Outcomes, or targets.
    sample_weight : array-like of shape (n_rows,) or None
        Row weights.

    Returns
    -------
    pairs : FeaturePairs
    y : ndarray of shape (n_rows,) or (n_rows, n_targets)
    weight : ndarray of shape (n_rows,)
    """
    if isinstance(X, FeaturePairs):
        learner.n_features_in_ = X.left.shape[1]
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        return X, np.asarray(y, dtype=np.float64), weight
    squared = learner.loss == "squared"
    X, y = validate_data(
        learner, X, y, dtype=np.float64, y_numeric=True, multi_output=squared
    )
    y = y.astype(np.float64)
    if not squared and not ((y >= 0) & (y <= 1)).all():
        raise ValueError("Outcomes must be in [0, 1] for loss='logistic'.")
    weight = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not weight.any():
        raise ValueError("Sample weights are all zero.")
    return FeaturePairs.of(X), y, weight


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
        # Both responses of a row count, each by half of its weight.
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
