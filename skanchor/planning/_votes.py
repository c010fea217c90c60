"""How many rows bring an error to a given size: a search on the logarithm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

MOST_ROWS = 1e12
"""Number of rows beyond which more of them are taken to change nothing."""

_FEWEST = 1e-6


def rows_until(
    error: Callable[[float], float], wanted: float, limit: float | None = None
) -> float:
    """Smallest number of rows with which an error is at most a given one.

    Parameters
    ----------
    error : callable
        Of the number of rows; it falls as the number grows.
    wanted : float
        Error to reach.
    limit : float, optional
        What the error tends to; None where it is not known.

    Returns
    -------
    float
        Zero where no row is needed, infinite where no number of rows suffices.
    """
    # What is reached in the limit only is never reached; less than a millionth is
    # rounding.
    if limit is not None and not limit < wanted * (1.0 - 1e-9):
        return np.inf
    low, high = _FEWEST, 1.0
    if error(low) <= wanted:
        return 0.0
    while error(high) > wanted:
        low, high = high, 10.0 * high
        if high > MOST_ROWS:
            return np.inf
    found = brentq(
        lambda x: np.log(error(np.exp(x)) / wanted), np.log(low), np.log(high),
        xtol=1e-10, rtol=1e-12,
    )  # fmt: skip
    return float(np.exp(found))
