"""The rows that a bias learner is fitted on, and the frame of this package's learners.

Learners get checked rows; what is linear in their last coefficients is fitted exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from skanchor._battles import FeaturePairs
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.logistic import LogisticFit, fit_logistic
from skanchor._model.sources import log_loss_terms
from skanchor._typing import Array, Indices
from skanchor.bias.protocol import ContrastMixin, LastStage
from skanchor.exceptions import LearnerError, locate

LINEAR_RIDGE = 1e-4
"""Ridge of the linear part of networks and boosted trees on standardised features,
beside the mean weighted loss."""


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows of a fit: the arguments of :meth:`BiasLearner.fit`.

    Attributes
    ----------
    pairs : FeaturePairs
        Features of the two responses.
    y : ndarray of shape (n_rows,) or (n_rows, n_targets)
        Outcomes, or targets.
    weight : ndarray of shape (n_rows,)
        Row weights.
    parametric : ndarray of shape (n_rows, n_parametric)
        Columns that are fitted jointly with the bias; there may be none.
    bounds : (low, high)
        Bounds of their coefficients, for all or for each.
    """

    pairs: FeaturePairs
    y: Array
    weight: Array
    parametric: Array
    bounds: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf)

    def __len__(self) -> int:
        return len(self.weight)

    def __getitem__(self, rows: Indices) -> TrainingRows:
        columns = ("pairs", "y", "weight", "parametric")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})

    def fitted(self, learner: Any, start: Any = None) -> Any:
        """Fit a learner to the rows, in place.

        Learners of users need not take arguments that say nothing.
        """
        options: dict[str, Any] = {} if start is None else {"start": start}
        if self.parametric.shape[1]:
            options |= {"parametric": self.parametric, "bounds": self.bounds}
        learner.fit(self.pairs, self.y, self.weight, **options)
        return learner

    def counted(self) -> TrainingRows:
        """Rows of positive weight, with weights of sum one."""
        rows = self[np.flatnonzero(self.weight > 0)]
        return replace(rows, weight=rows.weight / rows.weight.sum())

    def in_units_of_targets(self, loss: str) -> tuple[TrainingRows, Array]:
        """Rows with targets of mean square one, and the units, as a row of ``y``.

        All targets then count alike, whatever their units. ``y`` becomes of shape
        (n_rows, n_targets). Outcomes of the logistic loss have the unit one.
        """
        unit = np.ones(self.y.shape[1:])
        if loss == "squared":
            root = np.sqrt(self.weight @ self.y**2)
            unit = np.where(root > 0, root, 1.0)
        return replace(self, y=(self.y / unit).reshape(len(self), -1)), unit


def fit_learner(
    learner: Any,
    rows: TrainingRows,
    judge: Any,
    *,
    start: Any = None,
    seed_offset: int = 0,
) -> Any:
    """Fit a learner in place, and name the judge in its errors.

    Parameters
    ----------
    learner : learner
        Unfitted.
    rows : TrainingRows
        What it is fitted on.
    judge : hashable
        Whose rows they are.
    start : learner, optional
        The same learner fitted on nearly the same rows.
    seed_offset : int, default=0
        Number of the training set. A cross-fit numbers its training sets, so that a
        learner has other seeds in each of them, and the average over the folds averages
        over seeds, too. Zero leaves the seeds as they are.

    Returns
    -------
    learner
    """
    for name, value in learner.get_params().items() if seed_offset else ():
        if name.split("__")[-1] == "random_state" and isinstance(value, Integral):
            seed = np.random.SeedSequence([int(value), seed_offset])
            learner.set_params(**{name: int(seed.generate_state(1)[0] >> 1)})
    try:
        return rows.fitted(learner, start)
    except LearnerError as error:
        raise LearnerError(
            f"The bias learner of judge {judge!r} failed: {error}"
        ) from error
    except Exception as error:
        locate(error, f"Bias of judge {judge!r}")
        raise


def same_settings(first: Any, other: Any) -> bool:
    """Whether two learners have equal parameters, those of their parts included.

    Parameters
    ----------
    first, other : learner
        What is compared.

    Returns
    -------
    bool
    """
    if first is other or type(first) is not type(other):
        return first is other
    # Parts have no equality of their own, but their texts tell their settings.
    return repr(first.get_params()) == repr(other.get_params())


class PairsLearner(ContrastMixin, BaseEstimator):
    """Learner whose ``_fit`` gets checked rows."""

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
        bounds : (low, high)
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
        if isinstance(X, FeaturePairs):
            self.n_features_in_, y = X.n_features, np.asarray(y, dtype=np.float64)
        else:
            squared = self.loss == "squared"
            X, y = validate_data(self, X, y, y_numeric=True, multi_output=squared)
            sample_weight = _check_sample_weight(
                sample_weight, X, ensure_non_negative=True
            )
            X, y = FeaturePairs.of(X.astype(np.float64)), y.astype(np.float64)
            if not squared and not ((y >= 0) & (y <= 1)).all():
                raise ValueError("Outcomes must be in [0, 1] for loss='logistic'.")
        if sample_weight is None:
            sample_weight = np.ones(len(X))
        if parametric is None:
            parametric = np.empty((len(X), 0))
        self._fit(TrainingRows(X, y, sample_weight, parametric, bounds), start)
        return self

    def _fit(self, rows: TrainingRows, start: Any) -> None:
        raise NotImplementedError

    def _store(self, fit: LogisticFit, rows: TrainingRows, unit: Array) -> None:
        """Store what an exact fit has found, in the units of the targets."""
        n = rows.parametric.shape[1]
        self.coef_ = fit.coef[n:].reshape(-1, *unit.shape) * unit
        self.parametric_coef_ = fit.coef[:n].ravel()
        self.converged_, self.at_bound_ = fit.converged, fit.at_bound[:n]


class StagedLearner(PairsLearner):
    """Learner that is linear in its last coefficients: ``columns @ coef + rest``."""

    def _columns(self, features: Array) -> Array:
        """Columns of single responses, (n_rows, n_columns): by default features."""
        return features

    def _rest(self, features: Array) -> Array | float:
        """What the columns leave of psi, (n_rows,) or (n_rows, n_targets)."""
        return 0.0

    def last_stage(self, pairs: FeaturePairs, sample_weight: Array) -> LastStage:
        """The part that is linear in its coefficients.

        Parameters
        ----------
        pairs : FeaturePairs
            Features of the two responses.
        sample_weight : ignored
            The penalty is that of the fit.

        Returns
        -------
        LastStage
        """
        check_is_fitted(self, "coef_")
        columns = self._columns(pairs.left) - self._columns(pairs.right)
        fixed = self._rest(pairs.left) - self._rest(pairs.right)
        return LastStage(columns, self._ridge, self.coef_, fixed)

    def psi(self, features: Array) -> Array:
        """Bias of single responses.

        Parameters
        ----------
        features : ndarray of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
            Bias in judge logits, up to a constant that has no effect on comparisons.
        """
        check_is_fitted(self, "coef_")
        return self._columns(features) @ self.coef_ + self._rest(features)


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
        Columns that are constant up to rounding have the variance zero: they say
        nothing about a bias.
    """
    # Both responses of a row count, each by half of its weight.
    share = weight / (2.0 * weight.sum())
    mean = share @ left + share @ right
    variance = share @ (left - mean) ** 2 + share @ (right - mean) ** 2
    is_constant = np.sqrt(variance) <= 1e-10 * (1.0 + np.abs(mean))
    return mean, np.where(is_constant, 0.0, variance)


def fit_exactly(
    rows: TrainingRows,
    columns: Array,
    ridge: Array,
    loss: str,
    *,
    offset: Array | float = 0.0,
    start: Array | None = None,
    **settings: float,
) -> LogisticFit:
    """Minimise the mean weighted loss plus half a diagonal quadratic.

    Parameters
    ----------
    rows : TrainingRows
        Outcomes or targets, row weights, parametric columns and their bounds.
    columns : ndarray of shape (n_rows, n_columns)
        Columns that psi is linear in, as contrasts. They have no bounds.
    ridge : ndarray of shape (n_columns,)
        Diagonal of the quadratic.
    loss : {"logistic", "squared"}
        Loss of the contrasts.
    offset : ndarray of the shape of ``rows.y``, default=0.0
        Fixed part of the contrasts.
    start : ndarray, optional
        First coefficients, in the order of those that are returned (logistic loss).
    **settings : float
        Tolerance of the solver (logistic loss).

    Returns
    -------
    LogisticFit
        Coefficients of the parametric columns, then of the others, of shape (n,) or
        (n, n_targets).
    """
    n_parametric, n_columns = rows.parametric.shape[1], columns.shape[1]
    if loss == "squared":
        # Normal equations, (C' W C + ridge) b = C' W y, for all targets at once.
        weighted = columns * (rows.weight / rows.weight.sum())[:, None]
        gram = weighted.T @ columns + np.diag(ridge)
        coef = SymmetricSystem.of(gram).solve(weighted.T @ (rows.y - offset))
        return LogisticFit(coef, True, np.zeros(n_columns, dtype=bool))
    bounds = np.full((2, n_parametric + n_columns), [[-np.inf], [np.inf]])
    bounds[0, :n_parametric], bounds[1, :n_parametric] = rows.bounds
    fit = fit_logistic(
        np.hstack([rows.parametric, columns]), rows.y.ravel(), rows.weight,
        offset=np.broadcast_to(offset, rows.y.shape).ravel(),
        penalty=np.append(np.zeros(n_parametric), ridge),
        bounds=(bounds[0], bounds[1]),
        start=None if start is None else start.ravel(),
        **settings,
    )  # fmt: skip
    return replace(fit, coef=fit.coef.reshape(-1, *rows.y.shape[1:]))


def loss_terms(loss: str, y: Array, eta: Array) -> Array:
    """Loss of each outcome, of the shape of ``y``."""
    return log_loss_terms(y, eta) if loss == "logistic" else (y - eta) ** 2


def simplest_within_error(terms: Array, weight: Array) -> tuple[int, Array, Array]:
    """Choose the first column whose loss is within one standard error of the least.

    Parameters
    ----------
    terms : ndarray of shape (n_rows, n_choices)
        Held-out loss of each row under each choice, the simplest choice first.
    weight : ndarray of shape (n_rows,)
        Row weights, of sum one.

    Returns
    -------
    chosen : int
    losses : ndarray of shape (n_choices,)
        Mean weighted loss.
    errors : ndarray of shape (n_choices,)
        Standard error of each loss minus the least one.
    """
    losses = weight @ terms
    best = int(np.argmin(np.where(np.isfinite(losses), losses, np.inf)))
    gaps = terms - terms[:, [best]]
    errors = np.sqrt(weight**2 @ (gaps - weight @ gaps) ** 2)
    chosen = int(np.argmax(losses - losses[best] <= errors))
    return chosen, losses, errors
