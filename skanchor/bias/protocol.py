"""What a bias learner offers: what it must, what it may, and how the latter is read.

A bias learner models one response, ``psi(x)``; a comparison sees the contrast
``psi(x_a) - psi(x_b)``, which is antisymmetric by construction. The same class serves
two losses: ``"logistic"`` fits a judge's verdicts together with a few parametric
columns (the score difference, the display order), ``"squared"`` fits the weighted
least squares of the Riesz step, several targets at once.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from skanchor._battles import FeaturePairs
from skanchor._typing import Array


@runtime_checkable
class BiasLearner(Protocol):
    """Protocol of a learner of psi, which is also a scikit-learn ``BaseEstimator``.

    Its constructor has a parameter ``loss`` with the values ``"logistic"`` and
    ``"squared"``; callers set it with ``set_params`` on a clone. In every fold, integer
    parameters named ``random_state``, also those of nested estimators, are replaced by
    seeds derived from them. So a cross-fit averages over random draws.

    A learner must have the two methods below. It may have others:

    ``span(pairs)``, ``ridge(pairs, sample_weight)``, ``fit_span(pairs, sample_weight)``
        For a learner whose contrasts lie in a fixed linear span: a basis of the span,
        of shape (n_rows, n_columns), the diagonal of the penalty, of shape
        (n_columns,), and a fit of what the basis needs, such as a feature map. Fitted
        coefficients are ``coef_``. The Riesz weights are then exact and need no fit.
    ``last_stage(pairs, sample_weight)``, ``rejoined(coef)``
        For a learner without a span that is linear in its last coefficients once it is
        fitted: a ``LastStage``, and a copy with other coefficients. Item effects are
        then fitted jointly with that stage. With any other learner, psi stays as it was
        fitted without item effects, even where it has explained a part of them.
    ``for_riesz_weights()``
        For a learner that chooses settings: an unfitted copy with the chosen ones. If
        calibrator and debiaser have the same learner, the Riesz weights use the
        settings that the calibrator has chosen.

    Examples
    --------
    >>> from skanchor.bias import BiasLearner, LinearBias
    >>> isinstance(LinearBias(), BiasLearner)
    True
    """

    def fit(
        self,
        X: FeaturePairs,
        y: Array,
        sample_weight: Array | None = None,
        *,
        parametric: Array | None = None,
        bounds: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf),
        start: Any = None,
    ) -> Self:
        """Fit psi on pairs.

        Parameters
        ----------
        X : FeaturePairs
            Features of the two responses, n_rows pairs of n_features.
        y : ndarray of shape (n_rows,) or (n_rows, n_targets)
            Outcomes in [0, 1] for the logistic loss; targets of the contrast for the
            squared loss.
        sample_weight : ndarray of shape (n_rows,), optional
            Row weights, non-negative. Rows of weight zero must have no influence.
        parametric : ndarray of shape (n_rows, n_parametric), optional
            Logistic loss only: columns whose coefficients are fitted jointly with psi
            and stored as ``parametric_coef_``.
        bounds : (low, high)
            Bounds of the parametric coefficients, for all or for each.
        start : learner, optional
            The same learner fitted on nearly the same rows; may be ignored.
        """
        ...

    def contrast(self, X: FeaturePairs) -> Array:
        """Return psi(left) - psi(right), (n_rows,) or (n_rows, n_targets)."""
        ...


class ContrastMixin:
    """Derive ``contrast`` from a method ``psi(features)``.

    Examples
    --------
    >>> import numpy as np
    >>> from skanchor.bias import ContrastMixin
    >>> class Length(ContrastMixin):
    ...     def psi(self, features):
    ...         return 0.1 * features[:, 0]
    ...
    >>> pairs = np.array([[[3.0], [1.0]], [[2.0], [2.0]]])
    >>> Length().contrast(pairs)
    array([[0.3],
           [0.2]])
    """

    def psi(self, features: Array) -> Array:
        """Bias of single responses, of shape (n_rows,) or (n_rows, n_targets)."""
        raise NotImplementedError

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
        pairs = FeaturePairs.of(X)
        return self.psi(pairs.left) - self.psi(pairs.right)


def linearity(learner: Any) -> Literal["fixed", "learned", "none"]:
    """Whether a learner's contrasts are linear in coefficients, and in which columns.

    This is the one place that decides it: all else asks here.

    Parameters
    ----------
    learner : learner or None
        Fitted or not. None, where there is no bias, has no columns.

    Returns
    -------
    str
        ``"fixed"``: linear in columns that features alone determine, the learner's
        ``span``; sums over rows can then stand for the rows. ``"learned"``: linear in
        columns that are fitted themselves, such as the last layer of a network.
        ``"none"``: neither.
    """
    if hasattr(learner, "span"):
        return "fixed"
    return "learned" if hasattr(learner, "last_stage") else "none"


@dataclass(frozen=True, slots=True)
class LastStage:
    """The part of a fitted psi that is linear in its coefficients.

    The contrast of psi is ``columns @ coef + fixed``.

    Attributes
    ----------
    columns : ndarray of shape (n_rows, n_columns)
        Contrasts of the basis functions.
    ridge : ndarray of shape (n_columns,)
        Diagonal of the ridge penalty, beside the mean weighted loss.
    coef : ndarray of shape (n_columns,)
        Coefficients.
    fixed : ndarray of shape (n_rows,) or float
        Contrasts of the other part, which is held fixed.
    """

    columns: Array
    ridge: Array
    coef: Array
    fixed: Array | float = 0.0


def last_stage(learner: Any, pairs: FeaturePairs, weight: Array) -> LastStage | None:
    """Part of a fitted learner that is linear in its coefficients.

    Parameters
    ----------
    learner : learner
        Fitted.
    pairs : FeaturePairs
        Features of the two responses.
    weight : ndarray of shape (n_rows,)
        Row weights.

    Returns
    -------
    LastStage or None
        None where no part is, or where there are no features.
    """
    if not pairs.n_features:
        return None
    kind = linearity(learner)
    if kind == "fixed":
        columns, ridge = learner.span(pairs), learner.ridge(pairs, weight)
        return LastStage(columns, ridge, learner.coef_)
    if kind == "learned":
        stage: LastStage = learner.last_stage(pairs, weight)
        return stage
    return None


def rejoined(learner: Any, coef: Array) -> Any:
    """Copy of a fitted learner with other coefficients of its last stage.

    Parameters
    ----------
    learner : learner
        Fitted, with a last stage.
    coef : ndarray of shape (n_columns,)
        Coefficients.

    Returns
    -------
    learner
    """
    if hasattr(learner, "rejoined"):
        return learner.rejoined(coef)
    updated = copy(learner)
    updated.coef_ = coef
    return updated


def for_riesz_weights(learner: Any) -> Any:
    """Unfitted copy of a fitted learner, with the settings that it has chosen.

    Parameters
    ----------
    learner : learner
        Fitted.

    Returns
    -------
    learner
    """
    chooses = hasattr(learner, "for_riesz_weights")
    return learner.for_riesz_weights() if chooses else clone(learner)


def span_names(learner: Any, features: tuple[str, ...], size: int) -> list[str]:
    """Distinct names of the columns of a learner's span.

    Parameters
    ----------
    learner : learner
        Fitted.
    features : tuple of str
        Names of the features.
    size : int
        Number of columns.

    Returns
    -------
    list of str
        The features' names, or those that its feature map gives to its columns;
        numbered columns where it gives none.
    """
    names = list(features)
    feature_map = getattr(learner, "feature_map_", None)
    if feature_map is not None:
        try:
            names = list(feature_map.get_feature_names_out(np.array(names, object)))
        except (AttributeError, ValueError):
            names = []
    names = [str(name) for name in names]
    if len(set(names)) != size or len(names) != size:
        return [f"column {i} of the feature map" for i in range(size)]
    return names
