"""Whether a direction of the columns splits the outcomes of a logistic model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from skanchor._typing import Array

__all__ = ["separating_columns"]


_LP_ROWS = 20_000
_TOLERANCE = 1e-7


def separating_columns(design: Array, y: Array) -> tuple[NDArray[np.intp], bool]:
    """Columns along which the likelihood rises without end.

    A direction b separates where ``x'b`` is never negative for rows won, never positive
    for rows lost, zero for ties, and not zero throughout. Ties on the boundary
    (quasi-separation) are found, too.

    Parameters
    ----------
    design : ndarray of shape (n_rows, n_columns)
        Columns of the model, without an intercept.
    y : ndarray of shape (n_rows,)
        Outcomes in [0, 1]; those inside count as ties.

    Returns
    -------
    columns : ndarray
        The columns that each separate alone; without any such, the columns of a
        separating direction; empty where there is none.
    alone : bool
        Whether each of them separates alone.
    """
    unit = np.abs(design).max(axis=0, initial=0.0)
    design = design / np.where(unit > 0, unit, 1.0)
    decided = (y == 0.0) | (y == 1.0)
    signed = design[decided] * (2.0 * y[decided] - 1.0)[:, None]
    tied = design[~decided]

    def separates(direction: Array) -> NDArray[np.bool_]:
        gain, rest = signed @ direction, tied @ direction
        return np.asarray(
            (gain >= -_TOLERANCE).all(axis=0)
            & (np.abs(rest) <= _TOLERANCE).all(axis=0)
            & (gain > _TOLERANCE).any(axis=0)
        )

    eye = np.eye(design.shape[1])
    alone = np.flatnonzero(separates(eye) | separates(-eye))
    if len(alone) or not len(signed):
        return alone, True
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
        return np.empty(0, dtype=np.intp), False
    return np.flatnonzero(np.abs(found.x) > 1e-6), False
