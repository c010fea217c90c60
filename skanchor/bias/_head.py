"""The head of a network: an exact linear fit on its features, and its ridge."""

from __future__ import annotations

import numpy as np

from skanchor._model.link import log_loss_terms, sigmoid
from skanchor._numerics.ridge import RidgePath
from skanchor._typing import Array
from skanchor.bias._exact import (
    LINEAR_RIDGE,
    ExactFit,
    fit_exactly,
    simplest_within_error,
)
from skanchor.bias._rows import TrainingRows

LARGEST_ALPHA, N_ALPHAS = 1e3, 13
"""First ridge and length of the path that ``alpha="auto"`` chooses from."""

LEAST_ROWS = 20.0
"""The path ends at this number over the number of rows. Where the same responses recur
in several rows, leaving one of these out hides little, and its loss would favour a
smaller ridge than new responses do."""

PILOT_ALPHA, PILOT_TOLERANCE = 0.1, 1.0
"""Ridge and tolerance of a first logistic fit; the leave-one-out losses are those of
the quadratic approximation of the loss about it."""

LEAST_CURVATURE = 1e-6
"""Least curvature of a row in that approximation."""


def head_ridge(variance: Array, n_features: int, alpha: float) -> Array:
    """Diagonal of the ridge penalty of the head.

    Parameters
    ----------
    variance : ndarray of shape (n_columns,)
        Variance of the columns over the responses, features before hidden ones.
    n_features : int
        Number of features, which are hardly shrunk.
    alpha : float
        Ridge of the hidden features.

    Returns
    -------
    ndarray of shape (n_columns,)
    """
    is_linear = np.arange(len(variance)) < n_features
    return np.where(is_linear, LINEAR_RIDGE, alpha) * variance


def fit_head(
    rows: TrainingRows, columns: Array, variance: Array, alpha: float | str, loss: str
) -> tuple[float, ExactFit]:
    """Fit the head, and the parametric columns with it.

    With the logistic loss this solves eq:calibration-estimation-v2 in the head, the
    hidden features being fixed.

    Parameters
    ----------
    rows : TrainingRows
        What it is fitted on.
    columns : ndarray of shape (n_rows, n_columns)
        Contrasts of the features, then of the hidden ones.
    variance : ndarray of shape (n_columns,)
        Variance of the columns over the responses.
    alpha : float or "auto"
        Ridge of the hidden features.
    loss : {"logistic", "squared"}
        Loss of the contrasts.

    Returns
    -------
    alpha : float
        Ridge of the hidden features.
    fit : ExactFit
    """
    n_features = rows.pairs.n_features
    start = None
    if loss == "logistic":
        # The linear fit, with the coefficients of the hidden features at zero.
        ridge = head_ridge(variance[:n_features], n_features, 0.0)
        linear = fit_exactly(rows, columns[:, :n_features], ridge, loss)
        start = np.append(linear.start, np.zeros(len(variance) - n_features))
    if isinstance(alpha, str):
        alpha, start = _choose_alpha(rows, columns, variance, loss, start)
    ridge = head_ridge(variance, n_features, alpha)
    return float(alpha), fit_exactly(rows, columns, ridge, loss, start=start)


def _choose_alpha(
    rows: TrainingRows, columns: Array, variance: Array, loss: str, start: Array | None
) -> tuple[float, Array]:
    """Choose the largest ridge with a leave-one-out loss within an error of the least.

    Returns the ridge, and coefficients to start the exact fit from.
    """
    weight, n_features = rows.weight, rows.pairs.n_features
    fixed = LINEAR_RIDGE * variance[:n_features]
    if loss == "squared":
        # With all targets in units of their own none decides by its scale.
        response = rows.in_units_of_targets(loss)[0].y
        design, curvature = columns, np.ones(len(rows))
    else:
        pilot = fit_exactly(
            rows,
            columns,
            head_ridge(variance, n_features, PILOT_ALPHA),
            loss,
            start=start,
            tolerance=PILOT_TOLERANCE,
        )
        design = np.hstack([rows.parametric, columns])
        fixed = np.append(np.zeros(rows.parametric.shape[1]), fixed)
        eta = design @ pilot.start
        mean = sigmoid(eta)
        # One step of iteratively reweighted least squares: the weights are w V, and the
        # working response is eta + (y - p) / V. So the leave-one-out fits of every
        # ridge are those of a weighted least squares path.
        curvature = np.maximum(mean * (1.0 - mean), LEAST_CURVATURE)
        response = (eta + (rows.y - mean) / curvature)[:, None]
    path = RidgePath.of(
        design, fixed, variance[n_features:], weight * curvature, response
    )
    alphas = np.geomspace(LARGEST_ALPHA, LEAST_ROWS / len(rows), N_ALPHAS)
    terms = [
        np.sum((response - out) ** 2, axis=1)
        if loss == "squared"
        else log_loss_terms(rows.y, out[:, 0])
        for out in path.left_out(alphas)
    ]
    chosen, _, _ = simplest_within_error(np.column_stack(terms), weight)
    alpha = float(alphas[chosen])
    return alpha, path.solution(alpha)[:, 0]
