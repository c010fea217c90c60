"""Repeats, degrees of freedom and t quantiles from plain arrays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor.inference import (
    combine_repeats,
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


def test_degrees_of_freedom():
    df = satterthwaite(np.array([2.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0]), 10)
    assert_allclose(df, [40.0, np.inf, 10.0])
    assert_allclose(t_quantile(0.95, df), [2.0211, 1.96, 2.2281], atol=1e-4)
    assert_allclose(t_distribution(df, np.zeros(3)), 0.5)
