"""Quantiles and p-values: functions of estimates and their errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from skanchor._typing import Array


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
    if len(estimates) == 1:
        return estimates[0], variances[0]
    middle = np.median(estimates, axis=0)
    return middle, np.median(variances + (estimates - middle) ** 2, axis=0)


def t_quantile(level: float, df: Array) -> Array:
    """Two-sided quantile of the t law; infinite degrees of freedom are normal."""
    return np.asarray(stdtrit(df, 0.5 + level / 2.0))


def t_distribution(df: Array, z: Array) -> Array:
    """Distribution function of the t law; infinite degrees of freedom are normal."""
    return np.asarray(stdtr(df, z))


def bias_aware_quantile(bias: Array, level: float, df: Array) -> Array:
    """Two-sided quantile of an estimate that may be biased.

    Parameters
    ----------
    bias : ndarray
        Largest bias, in standard errors, not negative.
    level : float
        Confidence level.
    df : ndarray
        Degrees of freedom; infinite ones are normal.

    Returns
    -------
    ndarray
        The k that solves ``F(k - bias) - F(-k - bias) = level``, with F the t law:
        "estimate +- k errors" then covers the target, whichever of the two signs the
        bias has. That of :func:`t_quantile` where the bias is zero. The interval is
        that of Armstrong and Kolesar (2018, "Optimal inference in a class of
        regression models", Econometrica 86).
    """
    unbiased = t_quantile(level, df)
    # k lies between bias + the one-sided and bias + the two-sided quantile.
    least = t_quantile(2.0 * level - 1.0, df)
    quantile = _root(
        lambda k: t_distribution(df, k - bias) - t_distribution(df, -k - bias) - level,
        bias + least,
        bias + unbiased,
    )
    return np.where(bias > 0, quantile, unbiased)


def largest_bias(quantile: Array, level: float, df: Array) -> Array:
    """Inverse of :func:`bias_aware_quantile` in the bias.

    Parameters
    ----------
    quantile : ndarray
        Half width that may not be exceeded, in standard errors.
    level, df
        As there.

    Returns
    -------
    ndarray
        Largest bias in standard errors; zero where even without bias the interval is
        as wide.
    """
    most, least = t_quantile(level, df), t_quantile(2.0 * level - 1.0, df)
    bias = _root(
        lambda b: (
            level - t_distribution(df, quantile - b) + t_distribution(df, -quantile - b)
        ),
        np.maximum(quantile - most, 0.0),
        np.maximum(quantile - least, 0.0),
    )
    return np.where(quantile > most, bias, 0.0)


def _root(rising: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Root of a rising function between bounds, element by element, by bisection."""
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = rising(middle) < 0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)


def limits_on_log_scale(
    estimate: Array, error: Array, half: Array, level: float, scale_z: float
) -> tuple[Array, Array]:
    """Limits of targets that are in proportion to one estimated scale.

    The error of a target T has a part ``T / scale_z`` from the scale of all scores, and
    a rest. The scale is as far off by a factor as by its inverse, so that its part is
    symmetric in the logarithm, and longer away from zero than towards it. The parts are
    put together again as by Zou and Donner (2008, "Construction of confidence limits
    about effect measures", Statistics in Medicine 27): a limit lies as far off as the
    root of the sum of the squared distances that each part has by itself.

    Parameters
    ----------
    estimate, error : ndarray
        Targets and their standard errors.
    half : ndarray
        Half widths of the symmetric intervals.
    level : float
        Confidence level.
    scale_z : float
        One over the standard error of the logarithm of the scale.

    Returns
    -------
    low, high : ndarray
        The symmetric limits where ``scale_z`` is infinite, or not above zero.
    """
    if not 0.0 < scale_z < np.inf:
        return estimate - half, estimate + half
    symmetric, outer, inner = _parts_of_scale(estimate, error, level, scale_z)
    # What overflows has no limit.
    with np.errstate(over="ignore"):
        square = (half - symmetric) * (half + symmetric)
        outer, inner = (np.sqrt(np.maximum(square + x**2, 0.0)) for x in (outer, inner))
    upward = estimate > 0
    low = estimate - np.where(upward, inner, outer)
    return low, estimate + np.where(upward, outer, inner)


def half_width_to_zero(
    estimate: Array, error: Array, level: float, scale_z: float
) -> Array:
    """Half width with which an interval just reaches zero.

    Parameters
    ----------
    estimate, error, level, scale_z
        As in :func:`limits_on_log_scale`; with an infinite ``scale_z``, or none above
        zero, intervals are symmetric.

    Returns
    -------
    ndarray
        The ``half`` for which one limit of :func:`limits_on_log_scale` is zero.
    """
    size = np.abs(estimate)
    if not 0.0 < scale_z < np.inf:
        return size
    symmetric, _, inner = _parts_of_scale(estimate, error, level, scale_z)
    # The limit nearer to zero lies off by the root of half^2 - known^2 + inner^2.
    return np.sqrt(np.maximum(size**2 + symmetric**2 - inner**2, 0.0))


def _parts_of_scale(
    estimate: Array, error: Array, level: float, scale_z: float
) -> tuple[Array, Array, Array]:
    """Distances of limits that the scale sets by itself.

    Symmetric in the estimate; and in its logarithm, away from zero and towards it.
    """
    size = np.abs(estimate)
    # No part is larger than the whole.
    part = np.minimum(size / scale_z, error)
    ratio = np.divide(part, size, out=np.zeros_like(size), where=size > 0)
    quantile = ndtri(0.5 + level / 2.0)
    # What overflows has no limit.
    with np.errstate(over="ignore"):
        outer = np.where(size > 0, size * np.expm1(quantile * ratio), 0.0)
        inner = -size * np.expm1(-quantile * ratio)
    return quantile * part, outer, inner


def relative_spread(scores: Array, reference: Array) -> float:
    """How far apart scores lie, in the distances that others have.

    Parameters
    ----------
    scores, reference : ndarray of shape (n_models,)
        Scores of the same models; those that are not finite are left out.

    Returns
    -------
    float
        Slope of the scores in the reference, both centred; one without any spread.
    """
    is_finite = np.isfinite(scores) & np.isfinite(reference)
    scores, reference = scores[is_finite], reference[is_finite]
    direction = reference - reference.sum() / max(len(reference), 1)
    square = direction @ direction
    return float(scores @ direction / square) if square > 0 else 1.0


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
    with np.errstate(all="ignore"):
        df = np.maximum(item_df * (total / items) ** 2, 1.0)
    return np.where(items > 0, df, np.inf)


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
