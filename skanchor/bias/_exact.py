"""Exact fits of the columns that psi is linear in, beside the parametric columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skanchor._model.linalg import SymmetricSystem
from skanchor._model.logistic import fit_logistic
from skanchor._typing import Array
from skanchor.bias._rows import TrainingRows

LINEAR_RIDGE = 1e-4
"""Ridge of the linear part of networks and boosted trees on standardised features,
beside the mean weighted loss."""


@dataclass(frozen=True, slots=True)
class ExactFit:
    """An exact fit.

    Attributes
    ----------
    coef : ndarray of shape (n_columns,) or (n_columns, n_targets)
        Coefficients of the columns.
    parametric_coef : ndarray of shape (n_parametric,)
        Coefficients of the parametric columns; there are none with the squared loss.
    at_bound : ndarray of shape (n_parametric,)
        Those that lie on their bound.
    converged : bool
        Whether the solver converged.
    """

    coef: Array
    parametric_coef: Array
    at_bound: NDArray[np.bool_]
    converged: bool = True

    @property
    def start(self) -> Array:
        """Coefficients of all columns, for the start of another fit."""
        return np.concatenate([self.parametric_coef, self.coef.ravel()])


def fit_exactly(
    rows: TrainingRows,
    columns: Array,
    ridge: Array,
    loss: str,
    *,
    offset: Array | float = 0.0,
    start: Array | None = None,
    **settings: float,
) -> ExactFit:
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
    start : ndarray of shape (n_parametric + n_columns,), optional
        First coefficients, parametric ones before the others (logistic loss).
    **settings : float
        Tolerance of the solver (logistic loss).

    Returns
    -------
    ExactFit
    """
    n_parametric, n_columns = rows.parametric.shape[1], columns.shape[1]
    if loss == "squared":
        # Normal equations, (C' W C + ridge) b = C' W y, for all targets at once.
        weighted = columns * (rows.weight / rows.weight.sum())[:, None]
        gram = weighted.T @ columns + np.diag(ridge)
        coef = SymmetricSystem.of(gram).solve(weighted.T @ (rows.y - offset))
        return ExactFit(coef, np.empty(0), np.zeros(0, dtype=bool))
    free = np.full(n_columns, np.inf)
    fit = fit_logistic(
        np.hstack([rows.parametric, columns]),
        rows.y.ravel(),
        rows.weight,
        offset=np.broadcast_to(offset, rows.y.shape).ravel(),
        penalty=np.concatenate([np.zeros(n_parametric), ridge]),
        lower=np.concatenate([rows.lower, -free]),
        upper=np.concatenate([rows.upper, free]),
        start=start,
        **settings,
    )
    return ExactFit(
        fit.coef[n_parametric:].reshape(n_columns, *rows.y.shape[1:]),
        fit.coef[:n_parametric],
        fit.at_bound[:n_parametric],
        fit.converged,
    )


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
