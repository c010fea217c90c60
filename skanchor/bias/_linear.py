"""Bias that is linear in a feature map."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skanchor._battles import FeaturePairs
from skanchor._typing import Array
from skanchor.bias.fitting import (
    StagedLearner,
    TrainingRows,
    fit_exactly,
    response_moments,
)
from skanchor.exceptions import LearnerError


class LinearBias(StagedLearner):
    """Linear bias, psi(x) = b' phi(x).

    Parameters
    ----------
    feature_map : transformer, optional
        Any scikit-learn transformer or pipeline for phi, such as
        ``SplineTransformer()``; None means the identity.
    alpha : float or array-like of shape (n_columns,), default=0.0
        Ridge penalty: ``alpha / 2`` times the squared norm of the coefficients of
        standardised columns is added to the mean weighted loss. With zero the fit is by
        maximum likelihood, and of minimum norm if columns are collinear. Several
        numbers are the penalties of the columns of phi, or of the features if there is
        no map.
    loss : {"logistic", "squared"}, default="logistic"
        Loss of the contrasts.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,) or (n_columns, n_targets)
        Coefficients b, in logits per unit of phi.
    parametric_coef_ : ndarray of shape (n_parametric,)
        Coefficients of the parametric columns.
    feature_map_ : transformer or None
        Fitted feature map.
    converged_ : bool
        Whether the solver converged.
    at_bound_ : ndarray of shape (n_parametric,)
        Parametric coefficients that lie on their bound.

    Notes
    -----
    Fits the judge's part of eq:calibration-estimation-v2 by Newton's method.

    Examples
    --------
    >>> import numpy as np
    >>> from skanchor.bias import LinearBias
    >>> from skanchor._battles import FeaturePairs
    >>> rng = np.random.default_rng(0)
    >>> left, right = rng.normal(size=(2, 2000, 1))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(right - left)[:, 0])
    >>> LinearBias().fit(FeaturePairs(left, right), y).coef_.round(1)
    array([0.9])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "feature_map": [HasMethods(["fit", "transform"]), None],
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "loss": [StrOptions({"logistic", "squared"})],
    }

    def __init__(
        self,
        feature_map: BaseEstimator | None = None,
        *,
        alpha: float | ArrayLike = 0.0,
        loss: str = "logistic",
    ):
        self.feature_map = feature_map
        self.alpha = alpha
        self.loss = loss

    def _fit(self, rows: TrainingRows, start: LinearBias | None) -> None:
        self.fit_span(rows.pairs, rows.weight)
        span = self.span(rows.pairs)
        first = None
        if start is not None and len(start.coef_) == span.shape[1]:
            first = np.concatenate([start.parametric_coef_, start.coef_])
        self._ridge = self.ridge(rows.pairs, rows.weight)
        fit = fit_exactly(rows, span, self._ridge, self.loss, start=first)
        self._store(fit, rows, np.ones(rows.y.shape[1:]))

    def fit_span(self, X: FeaturePairs, sample_weight: Array) -> Self:
        """Fit the feature map alone, on the responses of rows of positive weight.

        Parameters
        ----------
        X : FeaturePairs
            Features of the two responses.
        sample_weight : ndarray of shape (n_rows,)
            Row weights.

        Returns
        -------
        self
        """
        self.feature_map_, self._width = None, None
        if self.feature_map is not None:
            used = sample_weight > 0
            responses = np.vstack([X.left[used], X.right[used]])
            self.feature_map_ = clone(self.feature_map).fit(responses)
            # The width of the map on two responses, which all later calls must have.
            self._width = self._columns(responses[:2]).shape[1]
        return self

    def span(self, X: FeaturePairs) -> Array:
        """Contrasts of the feature map.

        Parameters
        ----------
        X : FeaturePairs
            Features of the two responses.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
        """
        if self.feature_map_ is None:
            return X.contrast
        return self._columns(X.left) - self._columns(X.right)

    def ridge(self, X: FeaturePairs, sample_weight: Array) -> Array:
        """Diagonal of the ridge penalty, beside the mean weighted loss.

        Parameters
        ----------
        X : FeaturePairs
            Features of the two responses.
        sample_weight : ndarray of shape (n_rows,)
            Row weights.

        Returns
        -------
        ndarray of shape (n_columns,)
            ``alpha`` times the variance of each column over the responses. (The
            coefficient of a standardised column is the coefficient of the column times
            its standard deviation.)
        """
        n_columns = self.span(X[:1]).shape[1]
        alpha = np.asarray(self.alpha, dtype=np.float64)
        is_valid = (np.isfinite(alpha) & (alpha >= 0.0)).all()
        if not is_valid or (alpha.ndim and alpha.shape != (n_columns,)):
            raise LearnerError(
                f"alpha must be one penalty, or one for each of the {n_columns} "
                "columns of the bias in their order, finite and not negative, got "
                f"{alpha}."
            )
        if not alpha.any():
            return np.zeros(n_columns)
        left, right = self._columns(X.left), self._columns(X.right)
        _, variance = response_moments(left, right, sample_weight)
        return alpha * variance

    def _columns(self, features: Array) -> Array:
        if self.feature_map_ is None:
            return features
        mapped = self.feature_map_.transform(features)
        if hasattr(mapped, "toarray"):
            mapped = mapped.toarray()
        mapped = np.asarray(mapped, dtype=np.float64)
        fault = ""
        if mapped.ndim != 2 or len(mapped) != len(features):
            fault = f"turned {len(features)} rows into shape {mapped.shape}"
        elif self._width is not None and mapped.shape[1] != self._width:
            fault = (
                f"returned {mapped.shape[1]} columns, but {self._width} when it was "
                "fitted; its width must not depend on the rows that it transforms"
            )
        elif not np.isfinite(mapped).all():
            fault = "returned NaN or infinite values"
        if fault:
            raise LearnerError(f"the feature map {self.feature_map_!r} {fault}.")
        return mapped

    def contrast(self, X: FeaturePairs) -> Array:
        """Bias of the first response minus that of the second.

        Parameters
        ----------
        X : FeaturePairs
            Features of the two responses.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
        """
        check_is_fitted(self, "coef_")
        result: Array = self.span(FeaturePairs.of(X)) @ self.coef_
        return result
