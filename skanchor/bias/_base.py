"""The interface of a bias learner.

A bias learner models one response, ``psi(x)``; a comparison sees the contrast
``psi(x_a) - psi(x_b)``, which is antisymmetric by construction. The same class serves
two losses: ``"logistic"`` fits a judge's verdicts together with a few parametric
columns (the score difference, the display order), ``"squared"`` fits the weighted
least squares of the Riesz step, several targets at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skanchor.comparisons import FeaturePairs

__all__ = ["BiasLearner", "ContrastMixin", "learner_for", "make_learner"]

Array = NDArray[np.float64]


@runtime_checkable
class BiasLearner(Protocol):
    """What a learner of psi must offer; it is also a scikit-learn ``BaseEstimator``.

    Its constructor has a parameter ``loss`` with the values ``"logistic"`` and
    ``"squared"``; callers set it with ``set_params`` on a clone.

    A learner whose contrasts lie in a fixed linear span may add ``span(pairs)``, of
    shape (n_rows, n_columns), and ``ridge(pairs, sample_weight)``, of shape
    (n_columns,): the Riesz weights are then exact and need no fit.
    """

    def fit(
        self,
        X: FeaturePairs,
        y: Array,
        sample_weight: Array | None = None,
        *,
        parametric: Array | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
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
            Row weights, non-negative; rows of weight zero must count for nothing.
        parametric : ndarray of shape (n_rows, n_parametric), optional
            Logistic loss only: columns whose coefficients are fitted jointly with psi
            and stored as ``parametric_coef_``.
        bounds : (low, high), optional
            Bounds of the parametric coefficients, for all or for each.
        start : learner, optional
            The same learner fitted on nearly the same rows; may be ignored.
        """
        ...

    def contrast(self, X: FeaturePairs) -> Array:
        """Return psi(left) - psi(right), (n_rows,) or (n_rows, n_targets)."""
        ...


class ContrastMixin:
    """Derive :meth:`contrast` from a method ``psi(features)``."""

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


def make_learner(bias: Any) -> BiasLearner:
    """Turn the name of a learner into a learner; a learner comes back as it is."""
    if isinstance(bias, str):
        if bias == "linear":
            from skanchor.bias._linear import LinearBias

            return LinearBias()
        raise ValueError(f"Unknown bias learner {bias!r}; known names are ['linear'].")
    missing = [m for m in ("fit", "contrast", "set_params") if not hasattr(bias, m)]
    if missing:
        raise TypeError(f"bias learner {bias!r} lacks {', '.join(missing)}().")
    return bias  # type: ignore[no-any-return]


def learner_for(bias: Any, judge: Any) -> BiasLearner:
    """Pick the learner of one judge from a name, a learner or a dict by judge."""
    if isinstance(bias, Mapping):
        if judge not in bias:
            raise ValueError(
                f"The dict of bias learners has no entry for judge {judge!r}; it has "
                f"{list(bias)}."
            )
        bias = bias[judge]
    return make_learner(bias)
