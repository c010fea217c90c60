"""Logistic regression on given columns, and directions along which it has no end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from skanchor._model.fit import PEOPLE, Fit, Layout
from skanchor._model.newton import minimise
from skanchor._model.sources import SourceRows
from skanchor._typing import Array

_TOLERANCE = 1e-14
"""Squared Newton decrement of the last step, in squared standard errors of one row of
mean weight. Separated rows reach it at logits beyond the next limit only."""

_FLAT_LOGIT, _WALK = 30.0, 0.5
"""Logit beyond which the likelihood of a row is flat up to rounding, and change of a
logit by a further step, of which a fit without a finite minimum makes one."""


_LP_ROWS = 20_000
"""Most decided rows, and most tied rows, of the linear programme."""

_NO_LOGIT = 1e-7
"""Absolute logit, by columns scaled to a largest entry of one, that counts as zero."""


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """Result of :func:`fit_logistic`.

    Attributes
    ----------
    coef : ndarray of shape (n_columns,)
        Coefficients.
    converged : bool
        Whether there is a minimum, and it was found.
    at_bound : ndarray of shape (n_columns,)
        Columns whose coefficient lies on its bound.
    """

    coef: Array
    converged: bool
    at_bound: NDArray[np.bool_]


def fit_logistic(
    design: Array,
    y: Array,
    weight: Array,
    *,
    offset: Array | float = 0.0,
    penalty: Array | float = 0.0,
    bounds: tuple[Array | float, Array | float] = (-np.inf, np.inf),
    start: Array | None = None,
    tolerance: float = _TOLERANCE,
) -> LogisticFit:
    """Minimise the weighted mean logistic loss plus half a diagonal quadratic.

    Parameters
    ----------
    design : ndarray of shape (n_rows, n_columns)
        Columns that the logit is linear in.
    y : ndarray of shape (n_rows,)
        Outcomes in [0, 1].
    weight : ndarray of shape (n_rows,)
        Row weights; only their proportions matter.
    offset : ndarray of shape (n_rows,) or float
        Fixed part of the logit.
    penalty : ndarray of shape (n_columns,) or float
        Diagonal of the quadratic penalty, which is added to the mean loss.
    bounds : (low, high)
        Bounds of the coefficients, for all or for each.
    start : ndarray of shape (n_columns,), optional
        Start of the coefficients; zero by default.
    tolerance : float
        Squared Newton decrement of the last step, in units of a row of mean weight.

    Returns
    -------
    LogisticFit
    """
    used = weight > 0
    n, n_columns = int(used.sum()), design.shape[1]
    none = np.zeros(n, dtype=np.intp)
    rows = SourceRows.apart(
        none, none, y[used], weight[used] / weight[used].mean(), 1,
        offset=np.broadcast_to(offset, len(y))[used], span=design[used],
    )  # fmt: skip
    item = np.zeros(1, dtype=np.intp)
    layout = Layout(item > 0, item, item, (n_columns,), (False,))
    at, limits = layout.span(PEOPLE), np.full((2, layout.size), [[-np.inf], [np.inf]])
    limits[0, at], limits[1, at] = bounds
    first, is_finite = Fit.start(layout), True
    first.precision[at, at] = np.diag(n * np.broadcast_to(penalty, n_columns))
    if start is not None:
        first.x[at] = np.clip(start, *limits[:, at])

    def fitted(near: Fit, tolerance: float) -> Fit:
        return minimise(
            near, [rows], [rows.weight], layout.of_source(PEOPLE),
            bounds=(limits[0], limits[1]), tolerance=tolerance,
        )[0]  # fmt: skip

    fit = fitted(first, tolerance)
    logits, coef = fit.logits(rows), fit.x[at]
    if np.abs(logits).max(initial=0.0) > _FLAT_LOGIT:
        walked = fitted(fit, np.inf).logits(rows) - logits
        is_finite = bool(np.abs(walked).max() <= _WALK)
    at_bound = (coef <= limits[0, at]) | (coef >= limits[1, at])
    return LogisticFit(coef, fit.converged and is_finite, at_bound)


@dataclass(frozen=True, slots=True)
class Separation:
    """Columns along which a likelihood increases without bound.

    Attributes
    ----------
    columns : ndarray of shape (n_found,)
        Indices of the columns that each separate by themselves. If there are none, the
        columns of a separating direction; empty if there is no such direction.
    alone : bool
        Whether each of them separates by itself.
    n_rows : int
        Number of rows whose outcomes they determine: those in which they are not zero.
    """

    columns: NDArray[np.intp]
    alone: bool
    n_rows: int


def separation_of(
    design: Array, y: Array, multiplicity: Array | None = None
) -> Separation:
    """Find columns along which the likelihood rises without end.

    A direction b separates if ``x'b`` is never negative for rows won, never positive
    for rows lost, zero for ties, and not zero for all rows. Quasi-complete separation,
    with decided rows at ``x'b = 0``, is included.

    Parameters
    ----------
    design : ndarray of shape (n_rows, n_columns)
        Columns of the model, without an intercept.
    y : ndarray of shape (n_rows,)
        Outcomes in [0, 1]; those inside count as ties.
    multiplicity : ndarray of shape (n_rows,), optional
        How many equal rows each stands for.

    Returns
    -------
    Separation
    """
    unit = np.abs(design).max(axis=0, initial=0.0)
    design = design / np.where(unit > 0, unit, 1.0)
    # Rows lost are multiplied by -1, so that a direction must be nonnegative for all.
    decided = (y == 0.0) | (y == 1.0)
    signed = design[decided] * (2.0 * y[decided] - 1.0)[:, None]
    times = np.ones(len(signed)) if multiplicity is None else multiplicity[decided]
    tied = design[~decided]

    def separates(direction: Array) -> NDArray[np.bool_]:
        """Whether each of the directions, the columns of an array, separates."""
        gain, of_ties = signed @ direction, tied @ direction
        return np.asarray(
            (gain >= -_NO_LOGIT).all(axis=0)
            & (np.abs(of_ties) <= _NO_LOGIT).all(axis=0)
            & (gain > _NO_LOGIT).any(axis=0)
        )

    # Single columns first, in either direction.
    eye = np.eye(design.shape[1])
    alone = np.flatnonzero(separates(eye) | separates(-eye))
    if len(alone) or not len(signed):
        decisive = (np.abs(signed[:, alone]) > _NO_LOGIT).any(axis=1)
        return Separation(alone, True, int(times[decisive].sum()))
    # What separates all rows separates some of them: the rest is for checking.
    sample, ties = (
        part[:: max(1, -(-len(part) // _LP_ROWS))] for part in (signed, tied)
    )
    solution = linprog(
        -sample.sum(axis=0),
        A_ub=-sample,
        b_ub=np.zeros(len(sample)),
        A_eq=ties,
        b_eq=np.zeros(len(ties)),
        bounds=(-1.0, 1.0),
    )
    if solution.x is None or not separates(solution.x[:, None])[0]:
        return Separation(np.empty(0, dtype=np.intp), False, 0)
    decisive = np.abs(signed @ solution.x) > _NO_LOGIT
    columns = np.flatnonzero(np.abs(solution.x) > 1e-6)
    return Separation(columns, False, int(times[decisive].sum()))
