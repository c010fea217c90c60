"""The multiplier for those who look again and again."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, norm

from skanchor.readouts import look_multiplier


def test_pocock():
    """Two looks at even information: the published constants at levels .95 and .99."""
    assert look_multiplier(2.0, 2) == pytest.approx(2.178, abs=6e-4)
    assert look_multiplier(2.0, 2, level=0.99) == pytest.approx(2.772, abs=6e-4)


@pytest.mark.parametrize(("ratio", "looks"), [(1.5, 2), (4.0, 3), (30.0, 4)])
def test_probability_of_staying_inside(ratio, looks):
    """By the distribution function of the joint normal law."""
    bound = look_multiplier(ratio, looks)
    variance = ratio ** -np.linspace(0.0, 1.0, looks)
    # Cov(T_j, T_k) = v_k^2 for j before k.
    covariance = np.minimum.outer(variance, variance)
    root = np.sqrt(variance)
    law = multivariate_normal(cov=covariance / np.outer(root, root), seed=0)
    upper = np.full(looks, bound)
    assert law.cdf(upper, lower_limit=-upper) == pytest.approx(0.95, abs=2e-4)


@pytest.mark.parametrize(
    "settings",
    [
        dict(ratio=0.5),
        dict(ratio=np.nan),
        dict(ratio=np.inf),
        dict(ratio="2"),
        dict(ratio=2.0, looks=0),
        dict(ratio=2.0, looks=2.5),
        dict(ratio=2.0, level=1.0),
    ],
)
def test_bad_input(settings):
    with pytest.raises(ValueError, match="must"):
        look_multiplier(**settings)


def test_grows_with_the_range_and_with_looks():
    ratios = [1.0, 1.1, 2.0, 10.0, 100.0]
    of_ratios = [look_multiplier(item, 10) for item in ratios]
    assert (np.diff(of_ratios) > 0).all()
    of_looks = [look_multiplier(4.0, item) for item in (1, 2, 10, 30, 100)]
    assert (np.diff(of_looks) > 0).all()
    assert_allclose(of_ratios[0], norm.ppf(0.975))
    assert_allclose(of_looks[0], norm.ppf(0.975))
    # Looks of a year are as good as any number.
    assert look_multiplier(4.0, 5000) == look_multiplier(4.0)
