"""The frame of this package's learners: their ``fit`` checks, and they do the rest."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skanchor._battles import FeaturePairs
from skanchor._documented import DocumentedMixin
from skanchor._typing import Array
from skanchor.bias._exact import ExactFit
from skanchor.bias._rows import TrainingRows
from skanchor.bias.protocol import ContrastMixin


class PairsLearner(DocumentedMixin, ContrastMixin, BaseEstimator):
    """Learner whose ``_fit`` gets checked rows."""

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
        """Fit psi on pairs; see :class:`skanchor.bias.BiasLearner`.

        Parameters
        ----------
        X : FeaturePairs
            Features of the two responses.
        y : ndarray of shape (n_rows,) or (n_rows, n_targets)
            Outcomes in [0, 1] (logistic) or targets (squared).
        sample_weight : ndarray of shape (n_rows,), optional
            Row weights.
        parametric : ndarray of shape (n_rows, n_parametric), optional
            Further columns, fitted jointly (logistic loss only).
        bounds : (low, high), optional
            Bounds of their coefficients, for all or for each.
        start : learner, optional
            The same learner fitted on nearly the same rows. A linear fit starts from
            its coefficients. Other learners ignore it: what they find depends on the
            start, and so would depend on the rows of that fit.

        Returns
        -------
        self
        """
        self._validate_params()
        rows = TrainingRows.of(self, X, y, sample_weight, parametric, bounds)
        self._fit(rows, start)
        return self

    def _fit(self, rows: TrainingRows, start: Any) -> None:
        raise NotImplementedError

    def _store(self, fit: ExactFit) -> None:
        """Store what an exact fit of the last stage has found."""
        self.coef_ = fit.coef
        self.parametric_coef_ = fit.parametric_coef
        self.at_bound_, self.converged_ = fit.at_bound, fit.converged
