"""BTL scores and errors against sixty digits, and laws for weights of any size."""

import warnings

import numpy as np
import pandas as pd
import pytest
from exact_btl import exact_btl
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skanchor import BTLRegressor
from skanchor.exceptions import DataWarning, SkanchorWarning


def table(left, right):
    return pd.DataFrame({"model_a": np.asarray(left), "model_b": np.asarray(right)})


def votes(seed=0, n=60, n_models=4):
    rng = np.random.default_rng(seed)
    left = rng.integers(n_models, size=n)
    right = (left + rng.integers(1, n_models, size=n)) % n_models
    return left, right, rng.choice([0, 0.5, 1], n), rng.exponential(size=n) + 0.1


def hanging(what, light):
    """Votes of which some weigh next to nothing beside the others."""
    left, right, y, weight = votes()
    if what == "model":
        more = [4, 4, 4], [0, 0, 1], [1, 0, 1], [light, 2 * light, light]
    elif what == "model on one pair":
        more = [4, 4], [0, 0], [1, 0], [light, 3 * light]
    else:
        far = left + 4, right + 4, 1 - y, weight[::-1]
        left, right, y, weight = (
            np.append(a, b) for a, b in zip((left, right, y, weight), far, strict=True)
        )
        more = [4, 0, 2], [0, 5, 6], [1, 1, 0.5], [light, 2 * light, light]
    return [
        np.append(a, b) for a, b in zip((left, right, y, weight), more, strict=True)
    ]


@pytest.mark.parametrize("light", [1e-2, 1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("what", ["model", "model on one pair"])
@pytest.mark.parametrize("grouped", [False, True])
def test_what_hangs_on_light_votes(what, light, grouped):
    left, right, y, weight = hanging(what, light)
    groups = np.arange(len(y)) % 21 if grouped else None
    btl = BTLRegressor().fit(table(left, right), y, weight, groups)
    scores, errors = exact_btl(left, right, y, weight, btl.scores_, groups)
    assert_allclose(btl.scores_, scores, atol=1e-12)
    assert_allclose(btl.standard_errors_, errors, rtol=1e-9)


@pytest.mark.parametrize("light", [1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("grouped", [False, True])
def test_groups_of_models_that_light_votes_join(light, grouped):
    left, right, y, weight = hanging("group of models", light)
    groups = np.arange(len(y)) % 21 if grouped else None
    btl = BTLRegressor().fit(table(left, right), y, weight, groups)
    scores, errors = exact_btl(left, right, y, weight, btl.scores_, groups)
    assert_allclose(btl.scores_, scores, atol=1e-12)
    # The information between the groups has the digits that the light votes leave it.
    assert_allclose(btl.standard_errors_, errors, rtol=max(1e-9, 1e-13 / light))


@pytest.mark.parametrize("grouped", [False, True])
def test_scores_that_votes_lighter_than_rounding_join_have_no_errors(grouped):
    left, right, y, weight = hanging("group of models", 1e-12)
    groups = np.arange(len(y)) % 21 if grouped else None
    with pytest.warns(
        DataWarning, match="scores of 8 models have no standard"
    ) as records:
        btl = BTLRegressor().fit(table(left, right), y, weight, groups)
    assert records[0].message.subject == tuple("01234567")
    assert np.isinf(btl.standard_errors_).all()
    assert np.isinf(btl.conf_int()).all(axis=None)


@pytest.mark.parametrize("light", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("y", [[1, 0, 1], [0.9, 0.1, 1]])
def test_light_votes_against_heavy_ones(light, y):
    """A loss is not lost in the sum of the wins of its pair."""
    left, right, weight = [0, 0, 0], [1, 1, 1], [1.0, light, 0.3]
    btl = BTLRegressor().fit(table(left, right), y, weight)
    scores, errors = exact_btl(left, right, y, weight, btl.scores_)
    assert_allclose(btl.scores_, scores, rtol=1e-12)
    assert_allclose(btl.standard_errors_, errors, rtol=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["votes", "shares"])
def test_weights_of_all_sizes_at_once(seed, kind):
    rng = np.random.default_rng(seed)
    left, right, y, _ = votes(seed)
    if kind == "shares":
        y = rng.random(len(y))
    weight = 10.0 ** rng.uniform(-12, 12, len(y))
    btl = BTLRegressor().fit(table(left, right), y, weight)
    scores, errors = exact_btl(left, right, y, weight, btl.scores_)
    assert_allclose(btl.scores_, scores, atol=1e-12)
    assert_allclose(btl.standard_errors_, errors, rtol=1e-9)


def test_weights_that_have_no_squares_are_refused():
    X = table(["x", "x", "y", "y"], ["y", "y", "z", "z"])
    with pytest.raises(ValueError, match="2 rows weigh less than 1e-150"):
        BTLRegressor().fit(X, [1, 0, 1, 0], [1, 1, 1e-200, 1e-200])
    equal = BTLRegressor().fit(X, [1, 0, 1, 0])
    light = BTLRegressor().fit(X, [1, 0, 1, 0], [1, 1, 1e-150, 1e-150])
    assert_allclose(light.covariance_, equal.covariance_, rtol=1e-12)


# ------------------------------------------------------- no error is zero in silence
def test_a_model_that_hangs_on_votes_without_noise():
    left, right, y, _ = votes()
    X = table(np.append(left, [4, 4]), np.append(right, [0, 0]))
    y = np.append(y, [0.7, 0.7])
    with pytest.warns(DataWarning, match=r"models \[0, 4\] show no noise"):
        btl = BTLRegressor().fit(X, y)
    fisher = BTLRegressor(covariance="fisher").fit(X, y)
    contrast = np.array([-1.0, 0.0, 0.0, 0.0, 1.0])
    assert_allclose(
        contrast @ btl.covariance_ @ contrast,
        contrast @ fisher.covariance_ @ contrast,
        rtol=1e-9,
    )
    # The others keep the errors of their own noise.
    alone = BTLRegressor().fit(X[:-2], y[:-2])
    inner = np.eye(5)[:4] - 0.25 * np.append(np.ones(4), 0)
    assert_allclose(inner @ btl.covariance_ @ inner.T, alone.covariance_, atol=1e-12)


def test_votes_that_cancel_in_every_group():
    X = table(["x"] * 4, ["y"] * 4)
    with pytest.warns(DataWarning, match="cancel within their 2 groups"):
        btl = BTLRegressor().fit(X, [1, 0, 1, 0], groups=[0, 0, 1, 1])
    assert_allclose(btl.standard_errors_, 0.5)


def test_a_score_whose_votes_cancel_in_a_group_is_not_without_an_error():
    """In the middle by symmetry, with a ridge, which leaves residuals to the others."""
    votes = {"ab": 3, "ba": 1, "bc": 3, "cb": 1, "ac": 5, "ca": 1}
    rows = [pair for pair, n in votes.items() for _ in range(n)]
    # Each row a second time with its sides swapped.
    table = pd.DataFrame([(a, b) for a, b in rows], columns=["model_a", "model_b"])
    turned = table.rename(columns={"model_a": "model_b", "model_b": "model_a"})
    both = pd.concat([table, turned], ignore_index=True)
    y = np.repeat([1.0, 0.0], len(table))
    btl = BTLRegressor(alpha=0.1)
    with pytest.warns(DataWarning, match="Residuals of human rows cancel"):
        btl.fit(both, y, groups=np.zeros(len(y), dtype=int))
    assert abs(btl.scores_["b"]) < 1e-12
    assert (btl.standard_errors_ > 0.1).all()


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.integers(2, 5),
    st.sampled_from(["votes", "halves", "sevens", "fitted", "nearly fitted"]),
    st.sampled_from([0.0, 3.0, 12.0]),
    st.booleans(),
)
def test_no_error_is_zero_or_nan_in_silence(seed, n, n_models, what, spread, grouped):
    rng = np.random.default_rng(seed)
    left = rng.integers(n_models, size=n)
    right = (left + rng.integers(1, n_models, size=n)) % n_models
    theta = rng.normal(size=n_models)
    p = 1.0 / (1.0 + np.exp(theta[right] - theta[left]))
    y = {
        "votes": rng.choice([0.0, 0.5, 1.0], n),
        "halves": np.full(n, 0.5),
        "sevens": np.full(n, 0.7),
        "fitted": p,
        "nearly fitted": np.clip(p + 1e-8 * rng.normal(size=n), 0, 1),
    }[what]
    weight = 10.0 ** rng.uniform(-spread, spread, n)
    groups = rng.integers(3, size=n) if grouped else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        btl = BTLRegressor(disconnected="warn").fit(
            table(left, right), y, weight, groups
        )
    assert all(issubclass(w.category, SkanchorWarning) for w in caught)
    errors = btl.standard_errors_.to_numpy()
    assert (errors > 0).all()
    assert (np.isinf(errors) == btl.unbounded_).all()
    assert np.isfinite(btl.scores_).all()
    assert not btl.conf_int().isna().any(axis=None)
    if btl.unbounded_.any():
        assert any("bound" in str(w.message) for w in caught)
    # Nor is that of a difference of models that have met.
    free = ~btl.unbounded_
    named = pd.Series(np.arange(len(free)), index=btl.models_)
    a, b = named[left].to_numpy(), named[right].to_numpy()
    both = free[a] & free[b]
    variance = btl.covariance_
    gap = variance[a, a] + variance[b, b] - 2.0 * variance[a, b]
    # Beside weights of 1e-12 to 1e12 it may lie below the rounding of the covariance.
    if what != "nearly fitted" and spread < 12.0:
        assert (gap[both] > 0).all()
