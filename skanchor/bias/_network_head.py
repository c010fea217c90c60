"""The head of a network: an exact linear fit on given columns, and its ridge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.linalg import Columns, SymmetricSolver
from skanchor._numerics.logistic import (
    LogisticFit,
    fit_logistic,
    log_loss_terms,
    sigmoid,
)
from skanchor._numerics.ridge import RidgePath
from skanchor._typing import Array
from skanchor.bias._rows import TrainingRows

LINEAR_RIDGE = 1e-4
"""Ridge of the linear part of the head, whatever that of the hidden features."""

LARGEST_ALPHA, N_ALPHAS = 1e3, 13
"""First ridge and length of the path that ``alpha="auto"`` chooses from."""

LEAST_ROWS = 20.0
"""The path ends at this number over the number of rows. Where the same responses recur
in several rows, leaving one of these out hides little, and its loss would favour a
smaller ridge than new responses do."""

PILOT_ALPHA, PILOT_TOL = 0.1, 1e-2
"""Ridge and tolerance of a first logistic fit; the leave-one-out losses are those of
the quadratic approximation of the loss about it."""

LEAST_CURVATURE = 1e-6
"""Least curvature of a row in that approximation."""


@dataclass(frozen=True, slots=True)
class HeadColumns:
    """What the head weighs: contrasts of standardised, then of hidden features.

    Attributes
    ----------
    span : ndarray of shape (n_rows, n_columns)
        Contrasts.
    centre : ndarray of shape (n_columns,)
        Mean over the responses.
    linear_ridge : ndarray of shape (n_features,)
        Ridge penalty of the standardised features.
    hidden_variance : ndarray of shape (width,)
        Variance of the hidden features; times alpha, their ridge penalty.
    """

    span: Array
    centre: Array
    linear_ridge: Array
    hidden_variance: Array

    @classmethod
    def of(
        cls, left: Array, right: Array, weight: Array, n_features: int
    ) -> HeadColumns:
        """From the columns of both responses, and row weights of sum one."""
        # Mean and variance over both responses of each row, (n_columns,).
        centre = (weight @ left + weight @ right) / 2.0
        variance = weight @ (left - centre) ** 2
        variance = (variance + weight @ (right - centre) ** 2) / 2.0
        linear, hidden = variance[:n_features], variance[n_features:]
        return cls(left - right, centre, LINEAR_RIDGE * linear, hidden)

    def ridge(self, alpha: float) -> Array:
        """Diagonal of the ridge penalty."""
        return np.concatenate([self.linear_ridge, alpha * self.hidden_variance])


@dataclass(frozen=True, slots=True)
class Head:
    """A fitted head.

    Attributes
    ----------
    coef : ndarray of shape (n_columns,) or (n_columns, n_targets)
        Coefficients.
    alpha : float
        Ridge penalty of the hidden features.
    ridge : ndarray of shape (n_columns,)
        Diagonal of the ridge penalty.
    parametric_coef : ndarray of shape (n_parametric,)
        Coefficients of the parametric columns.
    at_bound : ndarray of shape (n_parametric,)
        Those that lie on their bound.
    converged : bool
        Whether the solver converged.
    """

    coef: Array
    alpha: float
    ridge: Array
    parametric_coef: Array
    at_bound: NDArray[np.bool_]
    converged: bool


def fit_head(
    rows: TrainingRows, columns: HeadColumns, alpha: float | str, loss: str
) -> Head:
    """Fit the head, and the parametric columns with it.

    With the logistic loss this solves eq:calibration-estimation-v2 in the head, the
    hidden features being fixed.

    Parameters
    ----------
    rows : TrainingRows
        What it is fitted on.
    columns : HeadColumns
        Columns of the same rows.
    alpha : float or "auto"
        Ridge penalty of the hidden features.
    loss : {"logistic", "squared"}
        Loss of the contrasts.

    Returns
    -------
    Head
    """
    if loss == "squared":
        return _squared_head(rows, columns, alpha)
    return _logistic_head(rows, columns, alpha)


def fit_linear_start(rows: TrainingRows, loss: str) -> tuple[Array, Array]:
    """Linear fit that training starts from.

    Parameters
    ----------
    rows : TrainingRows
        With standardised features.
    loss : {"logistic", "squared"}
        Loss of the contrasts.

    Returns
    -------
    coef : ndarray of shape (n_features, n_targets)
        Coefficients of the features.
    parametric_coef : ndarray of shape (n_parametric,)
        Coefficients of the parametric columns.
    """
    span = rows.pairs.contrast
    penalty = np.full(span.shape[1], LINEAR_RIDGE)
    if loss == "squared":
        y = columns_of_targets(rows, loss)
        return _least_squares(span, y, rows.weight, penalty), np.empty(0)
    fit = _logistic(rows, span, penalty)
    n_parametric = rows.parametric.shape[1]
    return fit.coef[n_parametric:, None], fit.coef[:n_parametric]


def columns_of_targets(rows: TrainingRows, loss: str) -> Array:
    """Outcomes, or targets in units of their own so that every target counts alike.

    Parameters
    ----------
    rows : TrainingRows
        Rows.
    loss : {"logistic", "squared"}
        Loss of the contrasts.

    Returns
    -------
    ndarray of shape (n_rows, n_targets)
    """
    y = rows.y.reshape(len(rows.y), -1)
    if loss == "logistic":
        return y
    scale = np.sqrt(rows.weight @ y**2)
    return np.divide(y, scale, out=np.zeros_like(y), where=scale > 0)


def _squared_head(rows: TrainingRows, columns: HeadColumns, alpha: float | str) -> Head:
    span, weight = columns.span, rows.weight
    if isinstance(alpha, str):
        # The ridge is chosen with all targets in units of their own, so that none
        # decides by its scale; the fit then has their own units.
        y = columns_of_targets(rows, "squared")
        path = RidgePath.of(
            span, columns.linear_ridge, columns.hidden_variance, weight, y
        )
        alpha = _choose_alpha(path, lambda out: weight * np.sum((y - out) ** 2, axis=1))
    ridge = columns.ridge(alpha)
    coef = _least_squares(span, rows.y, weight, ridge)
    return Head(
        coef, float(alpha), ridge, np.empty(0), np.zeros(0, dtype=bool), converged=True
    )


def _logistic_head(
    rows: TrainingRows, columns: HeadColumns, alpha: float | str
) -> Head:
    # Coefficients: parametric ones, standardised features, hidden features. The linear
    # fit is the start, with the hidden ones at zero.
    first, parametric_coef = fit_linear_start(rows, "logistic")
    hidden_start = np.zeros(len(columns.hidden_variance))
    start = np.concatenate([parametric_coef, first[:, 0], hidden_start])
    if isinstance(alpha, str):
        alpha, start = _logistic_alpha(rows, columns, start)
    ridge = columns.ridge(alpha)
    fit = _logistic(rows, columns.span, ridge, start)
    n_parametric = len(parametric_coef)
    return Head(
        fit.coef[n_parametric:],
        float(alpha),
        ridge,
        fit.coef[:n_parametric],
        fit.at_bound[:n_parametric],
        fit.converged,
    )


def _logistic_alpha(
    rows: TrainingRows, columns: HeadColumns, start: Array
) -> tuple[float, Array]:
    """Choose the ridge by the leave-one-out loss of one Newton step from a first fit.

    Returns the ridge, and the coefficients of that step to start the exact fit from.
    """
    weight = rows.weight
    pilot = _logistic(
        rows, columns.span, columns.ridge(PILOT_ALPHA), start, tol=PILOT_TOL
    )
    design = np.hstack([rows.parametric, columns.span])
    eta = design @ pilot.coef
    mean = sigmoid(eta)
    # One step of iteratively reweighted least squares: the weights are w V, and the
    # working response is eta + (y - p) / V. So the leave-one-out fits of every ridge
    # are those of a weighted least squares path.
    curvature = np.maximum(mean * (1.0 - mean), LEAST_CURVATURE)
    response = eta + (rows.y - mean) / curvature
    fixed = np.concatenate([np.zeros(rows.parametric.shape[1]), columns.linear_ridge])
    path = RidgePath.of(
        design, fixed, columns.hidden_variance, weight * curvature, response[:, None]
    )
    alpha = _choose_alpha(path, lambda out: weight * log_loss_terms(rows.y, out[:, 0]))
    return alpha, path.solution(alpha)[:, 0]


def _choose_alpha(path: RidgePath, loss: Callable[[Array], Array]) -> float:
    """Largest ridge whose leave-one-out loss is within one error of the least."""
    alphas = np.geomspace(LARGEST_ALPHA, LEAST_ROWS / len(path.y), N_ALPHAS)
    terms = [loss(out) for out in path.left_out(alphas)]
    return float(alphas[simplest_within_error(np.column_stack(terms))])


def simplest_within_error(terms: Array) -> int:
    """First column whose sum exceeds the least by no more than its standard error.

    Parameters
    ----------
    terms : ndarray of shape (n_rows, n_choices)
        Held-out loss of each row under each choice, the simplest choice first.

    Returns
    -------
    int
    """
    best = int(np.argmin(terms.sum(axis=0)))
    # The standard error of a sum of n differences with standard deviation s: sqrt(n) s.
    gaps = terms - terms[:, [best]]
    error = np.sqrt(len(gaps)) * gaps.std(axis=0)
    return int(np.argmax(gaps.sum(axis=0) <= error))


def _least_squares(span: Array, y: Array, weight: Array, penalty: Array) -> Array:
    weighted = span * weight[:, None]
    gram = weighted.T @ span + np.diag(penalty)
    return SymmetricSolver.factorise(gram).solve(weighted.T @ y)


def _logistic(
    rows: TrainingRows,
    span: Array,
    penalty: Array,
    start: Array | None = None,
    **options: Any,
) -> LogisticFit:
    n_parametric, n_span = rows.parametric.shape[1], span.shape[1]
    return fit_logistic(
        Columns(rows.parametric, span),
        rows.y,
        rows.weight,
        penalty=np.concatenate([np.zeros(n_parametric), penalty]),
        lower=np.concatenate([rows.lower, np.full(n_span, -np.inf)]),
        upper=np.concatenate([rows.upper, np.full(n_span, np.inf)]),
        start=start,
        **options,
    )
