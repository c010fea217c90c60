"""The choice of the ridge of a network's head."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["simplest_within_error"]

Array = NDArray[np.float64]


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
    gaps = terms - terms[:, [best]]
    error = np.sqrt(len(gaps)) * gaps.std(axis=0)
    return int(np.argmax(gaps.sum(axis=0) <= error))
