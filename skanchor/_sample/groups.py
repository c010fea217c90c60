"""Sums by group of dependent rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array


def group_matrix(codes: NDArray[np.intp]) -> csc_array:
    """The sparse (n_groups, n_rows) matrix that sums values of rows by group.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Code of the group of each row; -1 for a row that is in none.

    Returns
    -------
    csc_array
    """
    place = np.unique(codes, return_inverse=True)[1]
    inside = (codes >= 0).astype(np.float64)
    shape = int(place.max(initial=-1)) + 1, len(codes)
    return csc_array((inside, place, np.arange(len(codes) + 1)), shape)
