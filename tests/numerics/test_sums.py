"""Sums over the rows of one source."""

import numpy as np
from numpy.testing import assert_allclose

from skanchor._numerics import sums


def test_certain_and_unknown_outcomes_carry_no_information():
    near = sums.LEAST_VARIANCE
    p = np.array([0.5, 0.0, 1.0, 0.9 * near, 1.1 * near, 1.0 - 0.9 * near, np.nan])
    found = sums.information_weights(p, np.arange(1.0, 8.0))
    assert_allclose(found, [0.25, 0, 0, 0, 5.5 * near, 0, 0], rtol=1e-6)
    both = sums.information_weights(np.stack([p, p]), np.ones((2, 7)))
    assert_allclose(both[1], found / np.arange(1.0, 8.0))
