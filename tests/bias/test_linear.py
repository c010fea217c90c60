"""LinearBias against scipy and numpy, and the laws that every contrast obeys."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.preprocessing import SplineTransformer

from skanchor._battles import FeaturePairs
from skanchor.bias import LinearBias
from skanchor.exceptions import LearnerError


def make_pairs(seed, n=300, d=3):
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(2, n, d)) + rng.normal(size=d)
    pairs = FeaturePairs(left, right, tuple(f"x{i}" for i in range(d)))
    delta = rng.normal(size=n)
    y = (rng.random(n) < expit(0.8 * delta + pairs.contrast @ rng.normal(size=d))) * 1.0
    y[rng.random(n) < 0.1] = 0.5
    return pairs, delta, y, rng.exponential(size=n)


def variance_of(pairs, weight):
    responses = np.vstack([pairs.left, pairs.right])
    share = np.tile(weight, 2) / (2 * weight.sum())
    return share @ (responses - share @ responses) ** 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [0.0, 0.1, (0.3, 0.0, 0.1)])
def test_logistic_matches_scipy(seed, alpha):
    pairs, delta, y, weight = make_pairs(seed)
    learner = LinearBias(alpha=alpha).fit(pairs, y, weight, parametric=delta[:, None])
    design = np.column_stack([delta, pairs.contrast])
    penalty = np.append(0.0, np.asarray(alpha) * variance_of(pairs, weight))

    def loss(v):
        eta = design @ v
        value = np.average(np.logaddexp(0, eta) - y * eta, weights=weight)
        slope = design.T @ (weight * (expit(eta) - y)) / weight.sum()
        return value + penalty @ v**2 / 2, slope + penalty * v

    slow = minimize(loss, np.zeros(4), jac=True, method="BFGS", options={"gtol": 1e-9})
    assert_allclose(learner.parametric_coef_, slow.x[:1], atol=1e-6)
    assert_allclose(learner.coef_, slow.x[1:], atol=1e-6)
    assert learner.converged_
    assert_allclose(learner.contrast(pairs), pairs.contrast @ learner.coef_)


@pytest.mark.parametrize("targets", [None, 1, 4])
def test_squared_loss_matches_weighted_least_squares(targets, rng):
    pairs, _, _, weight = make_pairs(0)
    y = rng.normal(size=len(pairs) if targets is None else (len(pairs), targets))
    learner = LinearBias(loss="squared").fit(pairs, y, weight)
    root = np.sqrt(weight)
    scaled = y * (root if targets is None else root[:, None])
    expected = np.linalg.lstsq(pairs.contrast * root[:, None], scaled, rcond=None)[0]
    assert_allclose(learner.coef_, expected, atol=1e-9)
    assert learner.contrast(pairs).shape == y.shape


def test_squared_loss_ridge_closed_form(rng):
    pairs, _, _, weight = make_pairs(1)
    y = rng.normal(size=(len(pairs), 2))
    learner = LinearBias(alpha=0.7, loss="squared").fit(pairs, y, weight)
    x, share = pairs.contrast, weight / weight.sum()
    gram = x.T @ (x * share[:, None]) + np.diag(0.7 * variance_of(pairs, weight))
    assert_allclose(
        learner.coef_, np.linalg.solve(gram, x.T @ (y * share[:, None])), atol=1e-10
    )


@settings(max_examples=12)
@given(
    st.integers(0, 10**6),
    st.sampled_from([1e-8, 1e-3, 1e3, 1e8]),
    st.sampled_from([0.0, 0.1, 10.0]),
    st.sampled_from(["logistic", "squared"]),
)
def test_column_units_leave_the_contrasts(seed, unit, alpha, loss):
    pairs, _, y, weight = make_pairs(seed)
    units = np.array([1.0, unit, 1.0])
    scaled = FeaturePairs(pairs.left * units, pairs.right * units)
    once = LinearBias(alpha=alpha, loss=loss).fit(pairs, y, weight)
    again = LinearBias(alpha=alpha, loss=loss).fit(scaled, y, weight)
    assert_allclose(again.contrast(scaled), once.contrast(pairs), atol=1e-6)


def test_fit_does_not_touch_the_users_map():
    pairs, _, y, _ = make_pairs(7)
    spline = SplineTransformer()
    learner = LinearBias(spline).fit(pairs, y)
    assert not hasattr(spline, "bsplines_")
    assert learner.feature_map_ is not spline
    assert LinearBias().fit(pairs.left - pairs.right, y).coef_.shape == (3,)


@pytest.mark.parametrize("alpha", [(0.1, 0.2), (0.1, -0.2, 0), (0.1, np.nan, 0)])
def test_penalties_that_fit_no_columns_are_refused(alpha):
    pairs, _, y, weight = make_pairs(0)
    with pytest.raises(LearnerError, match="one for each of the 3 columns"):
        LinearBias(alpha=alpha).fit(pairs, y, weight)
