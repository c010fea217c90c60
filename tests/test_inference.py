"""Rank limits, adjusted p-values, repeats and t quantiles from plain arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skanchor.inference import (
    combine_repeats,
    holm_adjust,
    rank_limits,
    satterthwaite,
    t_distribution,
    t_quantile,
)


def holm_rejections(p, alpha):
    """Step down literally: reject while p_(k) <= alpha / (K - k + 1)."""
    rejected = np.zeros(len(p), bool)
    for k, i in enumerate(np.argsort(p, kind="stable")):
        if p[i] > alpha / (len(p) - k):
            break
        rejected[i] = True
    return rejected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.01, 0.5))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_adjusted_p_values_reject_as_the_step_down_does(p, alpha):
    p = np.array(p)
    # Rounding may decide an exact tie between p and its threshold either way.
    adjusted = holm_adjust(p)
    clear = abs(adjusted - alpha) > 1e-9
    assert (holm_rejections(p, alpha) == (adjusted <= alpha))[clear].all()


def test_rank_limits_by_hand():
    low, high = rank_limits(
        np.array([[5.0, -5.0, 0.1, -0.1]]), np.array([[1.0] * 4]), 0.95
    )
    assert (low[0], high[0]) == (2, 4)


def test_several_new_models_share_one_family():
    error = np.ones((2, 1))
    # One hypothesis needs z > 1.96, the first of two needs z > 2.24.
    assert rank_limits(np.array([[2.1]]), error[:1], 0.95)[1].tolist() == [1]
    assert rank_limits(np.array([[2.1], [0.0]]), error, 0.95)[1].tolist() == [2, 2]
    assert rank_limits(np.array([[2.3], [0.0]]), error, 0.95)[1].tolist() == [1, 2]


def test_repeats():
    estimate, variance = combine_repeats(
        np.array([[1.0], [2.0], [4.0]]), np.array([[0.1], [0.1], [0.1]])
    )
    assert estimate[0] == 2.0
    assert variance[0] == pytest.approx(1.1)


def test_degrees_of_freedom():
    df = satterthwaite(np.array([2.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0]), 10)
    assert_allclose(df, [40.0, np.inf, 10.0])
    assert_allclose(t_quantile(0.95, df), [2.0211, 1.96, 2.2281], atol=1e-4)
    assert_allclose(t_distribution(df, np.zeros(3)), 0.5)
