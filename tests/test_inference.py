"""Rank sets, contrasts and intervals from scores and covariance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import binom, norm

from skanchor.inference import (
    combine_repeats,
    holm_adjust,
    one_sided_p,
    rank_limits,
)
from skanchor.results import RankingResult


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


def make_result(scores, covariance, is_new, unbounded=None):
    n = len(scores)
    return RankingResult(
        np.array([f"m{i}" for i in range(n)], dtype=object),
        np.array(is_new, bool),
        np.atleast_2d(scores).astype(float),
        np.atleast_3d(covariance).reshape(-1, n, n).astype(float),
        np.zeros(n, bool) if unbounded is None else np.array(unbounded, bool),
        np.full(n, 10),
        np.full(n, 20),
    )


def test_contrasts_follow_from_the_covariance(rng):
    root = rng.normal(size=(4, 4)) / 10
    covariance = root @ root.T
    scores = np.array([1.0, 0.0, -1.0, 0.4])
    table = make_result(scores, covariance, [0, 0, 0, 1]).contrasts(0.9)
    assert len(table) == 3
    row = table.loc[("m3", "m1")]
    variance = covariance[3, 3] + covariance[1, 1] - 2 * covariance[3, 1]
    z = norm.ppf(0.95)
    assert_allclose(row["difference"], 0.4)
    assert_allclose(row["standard_error"], np.sqrt(variance))
    assert_allclose(row["low"], 0.4 - z * np.sqrt(variance))
    assert_allclose(row["win_high"], expit(row["high"]))
    assert 0 <= row["p_adjusted"] <= 1


def test_zero_and_infinite_errors_never_reject():
    below, above = one_sided_p(np.array([5.0, 5.0]), np.array([0.0, np.inf]))
    assert (below == 1).all() and (above == 1).all()
    result = make_result([3.0, -3.0, 0.0], np.eye(3) * 0.01, [0, 0, 1], [0, 1, 0])
    sets = result.rank_sets()
    assert sets.loc["m2"].tolist() == [2, 2, 3]
    assert result.conf_int().loc["m2"].notna().all()
    assert result.all_standard_errors["m1"] == np.inf


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


@pytest.mark.parametrize("level", [0, 1, -1, "95", 2.0, True, None])
def test_levels_outside_the_unit_interval_are_refused(level):
    result = make_result([0.0, 0.0, 0.0], np.eye(3), [0, 0, 1])
    for method in (result.conf_int, result.contrasts, result.rank_sets):
        with pytest.raises(ValueError, match="level"):
            method(level)


def test_leaderboard_ranks_everyone(rng):
    scores = np.array([1.0, 0.0, -1.0, 0.4])
    table = make_result(scores, np.eye(4) * 0.05, [0, 0, 0, 1]).leaderboard()
    assert table.index.tolist() == ["m0", "m3", "m1", "m2"]
    assert table["rank"].tolist() == [1, 2, 3, 4]
    assert (table["rank_low"] <= table["rank"]).all()
    assert (table["rank"] <= table["rank_high"]).all()
    alone = make_result(scores, np.eye(4) * 0.05, [0, 0, 0, 1])
    assert table.loc["m3", "rank_low"] == alone.rank_sets(among="all").loc["m3", "low"]


def test_rank_set_of_a_model_tied_with_all(rng):
    n, hits = 400, 0
    for _ in range(n):
        draw = rng.normal(size=8)
        result = make_result(draw, np.eye(8), [0] * 7 + [1])
        row = result.rank_sets().iloc[0]
        hits += (row["low"], row["high"]) == (1, 8)
    assert hits >= binom.ppf(1e-4, n, 0.95)
