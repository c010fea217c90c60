"""Rank sets, models that may be best, and probabilities of being best."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from tables import ranking

from skanchor.results.adjustment import holm_adjust
from skanchor.results.intervals import one_sided_p


def random_result(rng, n=8, n_new=1):
    root = rng.normal(size=(n, n)) * 0.3
    items = 0.05 * (np.eye(n) - 1 / n)
    scores = rng.normal(size=n)
    return ranking(
        scores, root @ root.T + items, n_new, item_covariances=items[None], item_df=9.0
    )


def independent_sets(scores, errors, level=0.95):
    """Holm's insertion sets of a last model with independent errors, by the formula."""
    difference = scores[-1] - scores[:-1]
    error = np.hypot(errors[-1], errors[:-1])
    below, above = one_sided_p(difference, error)
    half = (1 - level) / 2
    low = 1 + (holm_adjust(below) <= half).sum()
    return low, len(scores) - (holm_adjust(above) <= half).sum()


def test_holm_by_hand(rng):
    for _ in range(20):
        scores, errors = rng.normal(size=9), rng.uniform(0.05, 0.4, size=9)
        sets = ranking(scores, np.diag(errors**2)).rank_sets(method="holm")
        result = tuple(sets.iloc[0][["low", "high"]])
        assert result == independent_sets(scores, errors)


def test_several_new_models_share_one_family():
    def high(scores, n_new, method):
        result = ranking(scores, np.eye(len(scores)) / 2, n_new)
        return result.rank_sets(method=method)["high"].tolist()

    # One hypothesis needs z > 1.96, the first of two needs z > 2.24.
    for method in ("holm", "romano-wolf"):
        assert high([0.0, 2.1], 1, method) == [1]
        assert high([0.0, 2.1, 0.0], 2, method) == [2, 2]
        assert high([0.0, 2.3, 0.0], 2, method) == [1, 2]


@pytest.mark.parametrize("among", ["historical", "all", "board"])
def test_never_longer_than_holm(rng, among):
    shorter = 0
    for _ in range(8):
        result = random_result(rng, n_new=2)
        sharp = result.rank_sets(0.8, among)
        holm = result.rank_sets(0.8, among, "holm")
        assert (sharp["low"] >= holm["low"]).all()
        assert (sharp["high"] <= holm["high"]).all()
        assert sharp["rank"].between(sharp["low"], sharp["high"]).all()
        shorter += (sharp["high"] - sharp["low"] < holm["high"] - holm["low"]).sum()
    assert shorter > 0


def literal_board(result, level, n_draws=4000):
    """Whole-board sets from draws of its own, one pair and one step at a time."""
    rng, n = np.random.default_rng(7), len(result.models)
    scores, covariance = result.estimates[0], result.covariances[0]
    errors = rng.multivariate_normal(np.zeros(n), covariance, n_draws)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    z, null = {}, {}
    for i, j in pairs:
        sd = np.sqrt(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j])
        z[i, j] = (scores[i] - scores[j]) / sd
        null[i, j] = (errors[:, i] - errors[:, j]) / sd
    left, proven = sorted(pairs, key=z.get, reverse=True), set()
    while left:
        largest = np.max([null[pair] for pair in left], axis=0)
        if z[left[0]] < np.quantile(largest, level):
            break
        proven.add(left.pop(0))
    low = [1 + sum(worse == m for _, worse in proven) for m in range(n)]
    high = [n - sum(better == m for better, _ in proven) for m in range(n)]
    return np.array([low, high]).T


def test_whole_board_against_a_literal_step_down(rng):
    same = 0
    for _ in range(10):
        root = rng.normal(size=(7, 7)) * 0.2
        result = ranking(rng.normal(size=7), root @ root.T)
        sets = result.rank_sets(among="board")[["low", "high"]].to_numpy()
        same += (sets == literal_board(result, 0.95)).all()
    # Draws of another seed decide the pairs at the edge.
    assert same >= 8


def test_permuting_models_permutes_everything(rng):
    result = random_result(rng, n=9, n_new=3)
    permutation = rng.permutation(9)
    square = np.ix_([0], permutation, permutation)
    other = ranking(
        result.estimates[:, permutation],
        result.covariances[square],
        item_covariances=result.item_covariances[square],
        item_df=result.item_df,
        models=result.models[permutation],
        is_new=result.is_new[permutation],
    )
    for among in ("historical", "all", "board"):
        sets = result.rank_sets(0.8, among)
        assert sets.equals(other.rank_sets(0.8, among).loc[sets.index])
    assert result.best_set(2, 0.8).equals(other.best_set(2, 0.8))
    assert result.prob_best(2).equals(other.prob_best(2)[result.models])


def test_a_shared_error_needs_no_adjustment():
    # The new model's error is all there is: every contrast is the same.
    covariance = np.zeros((11, 11))
    covariance[-1, -1] = 1.0
    result = ranking([*np.zeros(10), 2.1], covariance)
    assert result.rank_sets()["high"].item() == 1
    assert result.rank_sets(method="holm")["high"].item() == 11


def test_probabilities_add_up(rng):
    result = random_result(rng)
    for tau in range(1, 8):
        probability = result.prob_best(tau)
        assert probability.sum() == pytest.approx(tau)
        assert probability.between(0, 1).all()


def test_best_sets_grow(rng):
    for _ in range(3):
        result = random_result(rng)
        order = result.all_scores.sort_values(ascending=False).index
        for tau in (1, 3):
            best = result.best_set(tau, 0.8)
            # In order of the scores, and the tau best estimates among them.
            assert_array_equal(best, order[order.isin(best)])
            assert set(order[:tau]) <= set(best)
            assert set(best) <= set(result.best_set(tau, 0.95))
            leaderboard = result.rank_sets(0.8, "board")["low"]
            tied = result.best_set(tau, 0.8, simultaneous=True)
            assert set(tied) == set(leaderboard.index[leaderboard <= tau])


@pytest.mark.parametrize(("z", "p"), [(1.8, 0.036), (2.1, 0.018)])
def test_best_set_of_two_divides_the_level(z, p):
    # The last model leaves if both others are better at .025, and the first clearly is.
    result = ranking([10.0, z, 0.0], np.eye(3) / 2)
    assert norm.sf(z) == pytest.approx(p, abs=1e-3)
    assert ("m2" in result.best_set(2)) == (p > 0.05 / 2)
    assert len(result.best_set(2)) >= 2 > len(result.best_set())


def test_unbounded_models_prove_nothing(rng):
    result = ranking(
        [3.0, 1.0, 0.0, -3.0],
        np.eye(4) * 0.01,
        unbounded=np.array([True, False, False, False]),
    )
    sets = result.rank_sets(among="board")
    # It has the last place, whatever its score.
    assert sets.loc["m0"].tolist() == [4, 1, 4]
    assert sets.loc["m1"].tolist() == [1, 1, 2]
    assert result.best_set().tolist() == ["m0", "m1"]
    probability = result.prob_best()
    assert np.isnan(probability["m0"])
    assert probability["m1"] == pytest.approx(1.0)


def test_ranks_with_repeats_count_median_differences():
    estimates = np.array([[0.0, 0.1], [1.0, 1.1], [3.0, 2.0]])
    result = ranking(estimates, np.tile(np.eye(2), (3, 1, 1)))
    assert result.ranks.tolist() == result.rank_sets()["rank"].tolist() == [1]


def test_unknown_errors_prove_nothing():
    plug_in = ranking([1.0, 0.0], np.full((2, 2), np.nan))
    assert plug_in.rank_sets(among="board")["high"].tolist() == [2, 2]
    assert plug_in.best_set().tolist() == ["m0", "m1"]
    assert plug_in.prob_best().isna().all()


def test_the_spread_between_repeats_is_one_part_of_their_covariance(rng):
    one = random_result(rng)
    move = rng.normal(size=8) * 0.3
    covariance = one.covariances[0]
    repeats = ranking(
        one.estimates + np.array([[-1.0], [0.0], [1.0]]) * move,
        np.stack([0.5 * covariance, covariance, 1.5 * covariance]),
        item_covariances=np.repeat(one.item_covariances, 3, axis=0),
        item_df=9.0,
    )
    # Of the three, two lie one move away.
    total = covariance + 2 / 3 * np.outer(move, move)
    same = ranking(
        one.estimates, total, item_covariances=one.item_covariances, item_df=9.0
    )
    assert_allclose(repeats.prob_best(), same.prob_best(), atol=1e-6)
    assert not np.allclose(repeats.prob_best(), one.prob_best(), atol=1e-2)
    pd.testing.assert_frame_equal(
        repeats.rank_sets(among="board"), same.rank_sets(among="board")
    )


def test_large_boards_go_by_holm(monkeypatch, rng):
    result = random_result(rng)
    monkeypatch.setattr("skanchor.results._ranking.ROMANO_WOLF_MODELS", 3)
    leaderboard = result.leaderboard(0.8)
    holm = result.rank_sets(0.8, "board", "holm").loc[leaderboard.index]
    assert leaderboard["rank_low"].equals(holm["low"].rename("rank_low"))


def test_settings_that_are_refused():
    result = ranking(np.zeros(4), np.eye(4))
    for n_draws in (1979, 0, -5):
        with pytest.raises(ValueError, match="at least 1980"):
            result.rank_sets(n_draws=n_draws)
    for n_draws in (1e4, "9999", True):
        with pytest.raises(ValueError, match="n_draws must be a whole number"):
            result.rank_sets(n_draws=n_draws)
    with pytest.raises(ValueError, match="method must be"):
        result.rank_sets(method="bonferroni")
    with pytest.raises(ValueError, match="among must be"):
        result.rank_sets(among="best")
    assert result.rank_sets(n_draws=np.int64(1980)).shape == (1, 3)
    assert result.rank_sets(0.999).shape == (1, 3)
    assert result.rank_sets(0.999999).shape == (1, 3)


def test_boards_without_new_or_without_other_models():
    leaderboard = ranking([1.0, 0.0], np.eye(2) * 0.01, n_new=0)
    assert leaderboard.rank_sets().empty and leaderboard.rank_sets(among="all").empty
    assert_array_equal(leaderboard.rank_sets(among="board")["high"], [1, 2])
    alone = ranking([0.0], np.eye(1))
    for among in ("historical", "all", "board"):
        assert alone.rank_sets(among=among).iloc[0].tolist() == [1, 1, 1]
    assert_allclose(alone.leaderboard()["rank_high"], 1)
