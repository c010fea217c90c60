"""Quantiles and p-values: functions of estimates and their errors."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from skanchor._typing import Array

__all__ = [
    "combine_repeats",
    "one_sided_p",
    "satterthwaite",
    "t_distribution",
    "t_quantile",
]


def combine_repeats(estimates: Array, variances: Array) -> tuple[Array, Array]:
    """Combine repeated cross-fits, target by target.

    Parameters
    ----------
    estimates, variances : ndarray of shape (n_repeats, n_targets)
        Estimate and variance of each split.

    Returns
    -------
    estimate, variance : ndarray of shape (n_targets,)
        Median estimate, and median of the variance plus the squared distance to it.
    """
    middle = np.median(estimates, axis=0)
    return middle, np.median(variances + (estimates - middle) ** 2, axis=0)


def t_quantile(level: float, df: Array) -> Array:
    """Two-sided quantile of the t law; infinite degrees of freedom are normal."""
    finite = np.isfinite(df)
    upper = 0.5 + level / 2.0
    return np.where(finite, stdtrit(np.where(finite, df, 1.0), upper), ndtri(upper))


def t_distribution(df: Array, z: Array) -> Array:
    """Distribution function of the t law; infinite degrees of freedom are normal."""
    finite = np.isfinite(df)
    return np.where(finite, stdtr(np.where(finite, df, 1.0), z), ndtr(z))


def satterthwaite(total: Array, items: Array, item_df: float) -> Array:
    """Degrees of freedom of a variance whose item part is estimated.

    Parameters
    ----------
    total, items : ndarray
        Variance, and the part of it from item effects.
    item_df : float
        Degrees of freedom of the item part; infinite where it is known.

    Returns
    -------
    ndarray
        At least one; infinite without an item part.
    """
    df = np.full(np.shape(total), np.inf)
    some = items > 0
    df[some] = np.maximum(item_df * (total[some] / items[some]) ** 2, 1.0)
    return df


def one_sided_p(
    difference: Array, error: Array, df: Array | float = np.inf
) -> tuple[Array, Array]:
    """P-values of "difference >= 0" and of "difference <= 0".

    They are one where the error is zero or infinite.
    """
    usable = np.isfinite(error) & (error > 0)
    z = np.divide(difference, error, out=np.zeros_like(difference), where=usable)
    df = np.broadcast_to(df, z.shape)
    below, above = t_distribution(df, z), t_distribution(df, -z)
    return np.where(usable, below, 1.0), np.where(usable, above, 1.0)
