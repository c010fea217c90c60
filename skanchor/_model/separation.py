"""Separation in logistic regression: directions that split wins from losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from skanchor._typing import Array

_LP_ROWS = 20_000
"""Most decided rows, and most tied rows, of the linear programme."""

_TOLERANCE = 1e-7
"""Absolute logit, by columns scaled to a largest entry of one, that counts as zero."""


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
        gain, rest = signed @ direction, tied @ direction
        return np.asarray(
            (gain >= -_TOLERANCE).all(axis=0)
            & (np.abs(rest) <= _TOLERANCE).all(axis=0)
            & (gain > _TOLERANCE).any(axis=0)
        )

    # Single columns first, in either direction.
    eye = np.eye(design.shape[1])
    alone = np.flatnonzero(separates(eye) | separates(-eye))
    if len(alone) or not len(signed):
        decisive = (np.abs(signed[:, alone]) > _TOLERANCE).any(axis=1)
        return Separation(alone, True, int(times[decisive].sum()))
    # What separates all rows separates some of them: the rest is for checking.
    some, ties = (part[:: max(1, -(-len(part) // _LP_ROWS))] for part in (signed, tied))
    found = linprog(
        -some.sum(axis=0),
        A_ub=-some,
        b_ub=np.zeros(len(some)),
        A_eq=ties if len(ties) else None,
        b_eq=np.zeros(len(ties)) if len(ties) else None,
        bounds=(-1.0, 1.0),
    )
    if found.x is None or not separates(found.x[:, None])[0]:
        return Separation(np.empty(0, dtype=np.intp), False, 0)
    decisive = np.abs(signed @ found.x) > _TOLERANCE
    columns = np.flatnonzero(np.abs(found.x) > 1e-6)
    return Separation(columns, False, int(times[decisive].sum()))
