"""Rows that a learner is fitted on, as checked arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight, validate_data

from skanchor._battles import FeaturePairs
from skanchor._typing import Array, Indices


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows of a fit.

    Attributes
    ----------
    pairs : FeaturePairs
        Features of the two responses.
    y : ndarray of shape (n_rows,) or (n_rows, n_targets)
        Outcomes, or targets.
    weight : ndarray of shape (n_rows,)
        Row weights.
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
    def of(
        cls,
        learner: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        parametric: Array | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        """Take encoded pairs as they are; validate arrays as scikit-learn does.

        The arguments are those of :meth:`BiasLearner.fit`. The learner gets
        ``n_features_in_``.
        """
        pairs, y, weight = _validated(learner, X, y, sample_weight)
        if parametric is None:
            parametric = np.empty((len(pairs), 0))
        lower, upper = (
            np.broadcast_to(bound, parametric.shape[1]).astype(float)
            for bound in ((-np.inf, np.inf) if bounds is None else bounds)
        )
        return cls(pairs, y, weight, parametric, lower, upper)

    def __len__(self) -> int:
        return len(self.weight)

    def part(self, rows: Indices) -> TrainingRows:
        """Some of the rows."""
        columns = ("pairs", "y", "weight", "parametric")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})

    def counted(self) -> TrainingRows:
        """Rows of positive weight, with weights of sum one."""
        rows = self.part(np.flatnonzero(self.weight > 0))
        return replace(rows, weight=rows.weight / rows.weight.sum())

    def in_units_of_targets(self, loss: str) -> tuple[TrainingRows, Array]:
        """Rows with targets of mean square one, and the units, (n_targets,).

        All targets then count alike, whatever their units. ``y`` becomes of shape
        (n_rows, n_targets). Outcomes of the logistic loss have the unit one.
        """
        y = self.y.reshape(len(self), -1)
        unit = np.ones(y.shape[1])
        if loss == "squared":
            root = np.sqrt(self.weight @ y**2)
            unit = np.where(root > 0, root, 1.0)
        return replace(self, y=y / unit), unit


def _validated(
    learner: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[FeaturePairs, Array, Array]:
    """Pairs, outcomes or targets, and row weights of a fit."""
    if isinstance(X, FeaturePairs):
        learner.n_features_in_ = X.n_features
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


def response_moments(left: Array, right: Array, weight: Array) -> tuple[Array, Array]:
    """Mean and variance of columns over the responses of weighted comparisons.

    Parameters
    ----------
    left, right : ndarray of shape (n_rows, n_columns)
        Columns of the two responses.
    weight : ndarray of shape (n_rows,)
        Row weights.

    Returns
    -------
    mean, variance : ndarray of shape (n_columns,)
    """
    # Both responses of a row count, each by half of its weight.
    share = weight / (2.0 * weight.sum())
    mean = share @ left + share @ right
    return mean, share @ (left - mean) ** 2 + share @ (right - mean) ** 2


def is_constant(mean: Array, variance: Array) -> NDArray[np.bool_]:
    """Whether columns are constant up to rounding: these say nothing about a bias."""
    return np.asarray(np.sqrt(variance) <= 1e-10 * (1.0 + np.abs(mean)))
