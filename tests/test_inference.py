"""Repeats, degrees of freedom and t quantiles from plain arrays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor.results.intervals import (
    combine_repeats,
    limits_on_log_scale,
    relative_spread,
    satterthwaite,
    t_distribution,
    t_quantile,
)


def test_repeats():
    estimate, variance = combine_repeats(
        np.array([[1.0], [2.0], [4.0]]), np.array([[0.1], [0.1], [0.1]])
    )
    assert estimate[0] == 2.0
    assert variance[0] == pytest.approx(1.1)
    two = combine_repeats(np.array([[1.0], [2.0]]), np.array([[0.1], [0.3]]))
    assert_allclose(two, [[1.5], [0.45]])
    one = combine_repeats(np.array([[1.0]]), np.array([[0.1]]))
    assert_allclose(one, [[1.0], [0.1]])


def test_degrees_of_freedom():
    df = satterthwaite(np.array([2.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0]), 10)
    assert_allclose(df, [40.0, np.inf, 10.0])
    assert_allclose(t_quantile(0.95, df), [2.0211, 1.96, 2.2281], atol=1e-4)
    assert_allclose(t_distribution(df, np.zeros(3)), 0.5)
    # A part of less than one degree of freedom takes no law beyond that of one.
    assert satterthwaite(np.ones(1), np.ones(1), 0.3) == 1.0


def log_limits(estimate, error, scale_z, level=0.95):
    half = t_quantile(level, np.full(np.shape(estimate), np.inf)) * error
    return limits_on_log_scale(np.array(estimate), error, half, level, scale_z)


def test_limits_on_log_scale_are_those_of_their_parts():
    q = t_quantile(0.9, np.array([np.inf]))[0]
    T = np.array([0.7, -0.7])
    low, high = log_limits(T, np.abs(T) / 3.0, 3.0, 0.9)
    assert_allclose(low, [0.7 * np.exp(-q / 3.0), -0.7 * np.exp(q / 3.0)])
    assert_allclose(high, -low[::-1])
    # A target of zero has no part in the scale, nor has any where the scale is known.
    for target, scale_z in ((0.0, 3.0), (1.0, 1e9), (1.0, np.inf)):
        low, high = log_limits(np.array([target]), np.array([0.2]), scale_z, 0.9)
        assert_allclose([low[0], high[0]], [target - 0.2 * q, target + 0.2 * q])


def test_limits_on_log_scale_of_odd_errors():
    low, high = log_limits(
        np.array([0.5, 0.5, 0.5]), np.array([np.inf, 0.0, 0.01]), 2.0
    )
    assert low[0] == -np.inf and high[0] == np.inf
    assert low[1] == high[1] == 0.5
    # Nor has one whose square is too large for a float; it is no NaN.
    wide = log_limits(np.array([0.5, -2.0]), np.array([1e200, 1e300]), 2.0)
    assert_allclose(wide, [[-np.inf] * 2, [np.inf] * 2])
    # The scale cannot bring in more than there is.
    assert_allclose([low[2], high[2]], 0.5 * np.exp([-0.0392, 0.0392]), atol=1e-4)


@pytest.mark.parametrize(("truth", "z"), [(1.5, 3.0), (-1.5, 5.0)])
def test_limits_on_log_scale_hold_for_a_scaled_target(rng, truth, z):
    n, spread = 40_000, 0.1
    T = truth * np.exp(rng.normal(size=n) / z) + spread * rng.normal(size=n)
    error = np.hypot(T / z, spread)
    low, high = log_limits(T, error, z)
    coverage = np.mean((low <= truth) & (truth <= high))
    assert abs(coverage - 0.95) < 0.006
    missed = [np.mean(high < truth), np.mean(low > truth)]
    assert max(missed) < 0.03
    # What lies too near zero is missed far more often by symmetric ones.
    near = np.mean(np.abs(T) + 1.96 * error < abs(truth))
    assert near > 0.04


def test_relative_spread():
    reference = np.array([2.0, 0.0, -1.0, np.inf])
    assert relative_spread(0.6 * reference + 3.0, reference) == pytest.approx(0.6)
    assert relative_spread(np.zeros(2), np.ones(2)) == 1.0
    # Scores that are not known on either side are left out.
    unknown = np.append(reference, [7.0, np.nan])
    stored = np.append(0.6 * reference + 3.0, [np.nan, 7.0])
    assert relative_spread(stored, unknown) == pytest.approx(0.6)
    part = np.append(reference, np.nan)
    assert relative_spread(np.append(2.0 * reference, np.inf), part) == pytest.approx(2)
    assert relative_spread(part[-1:], part[:1]) == 1.0
