"""The multiplier of standard errors for those who look at results again and again."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from skanchor._checks import check_level, is_number
from skanchor._machine import limited_threads
from skanchor._typing import Array

MOST_LOOKS = 400
"""Looks that stand for any number of them."""

_NODES_PER_STEP = 3.0
"""Nodes of the quadrature in one standard deviation of a step between two looks."""

_LARGEST_RATIO = 1e6


def look_multiplier(
    ratio: float, looks: int = MOST_LOOKS, level: float = 0.95
) -> float:
    """Multiplier of the standard error for intervals that hold at all looks together.

    A look is a computation of the estimate while rows are still being added. Estimates
    from more and more rows have independent increments: they behave like Brownian
    motion in the information ``1 / v^2``, where v is the standard error. The intervals
    ``T_k +- c v_k`` of all looks k hold together with probability ``level``, if c is
    the bound that such a path does not cross with this probability. The bound depends
    on the ratio of the first and the last error, and hardly on the times of the looks.

    Parameters
    ----------
    ratio : float
        ``(v_1 / v_end)^2``: the square of the error at the first look over the error at
        the last one, at least one. For the last one use the error at the planned end,
        or the smallest error that any number of rows can reach (``limit`` of
        :meth:`skanchor.AnchorPipeline.outlook`).
    looks : int, default=400
        Number of looks, evenly spaced in the logarithm of the variance. The default
        is large enough to hold for any number.
    level : float, default=0.95
        Probability that all intervals hold together.

    Returns
    -------
    float
        Use it in place of 1.96. If the interval has a t quantile, multiply this
        quantile by the multiplier over 1.96. (This is exact for normal errors only; for
        t quantiles it is a conjecture.)

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from skanchor.readouts import look_multiplier
    >>> round(look_multiplier(2.0, looks=2), 3)
    2.178
    >>> round(look_multiplier(10.0), 2)
    2.81
    """
    if isinstance(looks, bool) or not isinstance(looks, (int, np.integer)) or looks < 1:
        raise ValueError(f"looks must be a number of at least 1, got {looks!r}.")
    if not is_number(ratio):
        raise ValueError(f"ratio must be a number of at least 1, got {ratio!r}.")
    if not 1.0 <= ratio <= _LARGEST_RATIO:
        raise ValueError(
            f"ratio must be between 1 and {_LARGEST_RATIO:.0e}, got {ratio!r}: it is "
            "the variance at the first look over that at the last."
        )
    return _multiplier(float(ratio), min(int(looks), MOST_LOOKS), check_level(level))


@lru_cache(maxsize=256)
def _multiplier(ratio: float, looks: int, level: float) -> float:
    one = float(ndtri(0.5 + level / 2.0))
    if looks == 1 or ratio == 1.0:
        return one
    # z_k = T_k / v_k is stationary in the logarithm of the variance: the correlation
    # of two looks is the root of the ratio of their variances.
    correlation = ratio ** (-0.5 / (looks - 1))
    # No more than looks that share nothing need (Bonferroni).
    most = float(ndtri(1.0 - (1.0 - level) / (2.0 * looks)))

    def missing(bound: float) -> float:
        return _stays(bound, correlation, looks) - level

    with limited_threads(1):
        return float(brentq(missing, one, most + 1e-6, xtol=1e-6))


def _stays(bound: float, correlation: float, looks: int) -> float:
    """Probability that ``|z_k| <= bound`` at all looks."""
    step = np.sqrt(-np.expm1(2.0 * np.log(correlation)))
    n_nodes = max(40, int(np.ceil(bound / step * _NODES_PER_STEP)))
    at, weight = np.polynomial.legendre.leggauss(n_nodes)
    # The density is even: nodes on [0, bound] stand for both signs.
    at, weight = 0.5 * bound * (at + 1.0), 0.5 * bound * weight
    # Density of z on the paths that have stayed inside so far.
    density: Array = np.exp(-0.5 * at**2) / np.sqrt(2.0 * np.pi)
    near, far = ((at[:, None] - sign * correlation * at) / step for sign in (1.0, -1.0))
    kernel = (np.exp(-0.5 * near**2) + np.exp(-0.5 * far**2)) * weight
    kernel /= step * np.sqrt(2.0 * np.pi)
    for _ in range(looks - 2):
        density = kernel @ density
    # At the last look only the probability of staying inside is needed.
    inside = ndtr((bound - correlation * at) / step)
    inside -= ndtr((-bound - correlation * at) / step)
    return float(2.0 * (weight * density) @ inside)
