"""What every baseline offers, and the laws that all obey."""

import pickle

import by_hand
import numpy as np
import pandas as pd
import pytest
from baseline_fits import with_votes
from numpy.testing import assert_allclose
from sklearn.base import clone

from skanchor import JudgeCalibrator
from skanchor.baselines import BASELINES, HumanOnly, Oracle, PerJudgeBTL
from skanchor.exceptions import BoundWarning
from skanchor.results.estimators import RankingEstimator, RankOnlyEstimator
from skanchor.simulation import simulate_battles

RANK_ONLY = {
    name for name, kind in BASELINES.items() if issubclass(kind, RankOnlyEstimator)
}
WITH_ERRORS = {
    name for name, kind in BASELINES.items() if issubclass(kind, RankingEstimator)
}


def fitted(name, data):
    if name == "HumanOnly":
        return HumanOnly(new_models=["new-model"]).fit(*with_votes(data))
    if name == "Oracle":
        return Oracle(truth=data.truth).fit(data.X, data.y)
    return BASELINES[name]().fit(data.X, data.y)


@pytest.mark.parametrize("name", BASELINES)
def test_what_a_baseline_offers(name, data):
    baseline = fitted(name, data)
    leaderboard = baseline.leaderboard()
    assert leaderboard.index.name == "model" and leaderboard["is_new"].sum() == 1
    assert (np.diff(leaderboard["rank"]) >= 0).all() and np.isfinite(
        leaderboard.iloc[:, 0]
    ).all()
    assert baseline.ranks_.index.tolist() == ["new-model"]
    assert hasattr(baseline, "scores_") == (name not in RANK_ONLY)
    assert hasattr(baseline, "win_rates_") == (name in RANK_ONLY)
    for result in ("standard_errors_", "conf_int", "contrasts", "rank_sets"):
        assert hasattr(baseline, result) == (name in WITH_ERRORS), result
    if name in WITH_ERRORS:
        assert 0 < baseline.standard_errors_["new-model"] < 1
        old = leaderboard.index[~leaderboard["is_new"]]
        assert_allclose(leaderboard.loc[old, "score"].mean(), 0, atol=1e-9)
    p = baseline.win_probability(data.X)
    assert ((p > 0) & (p < 1)).all()
    assert baseline.score(data.X, data.y) < 0
    with pytest.raises(AttributeError, match="not fitted"):
        _ = BASELINES[name]().ranks_


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_is_an_estimator(name, data):
    method = BASELINES[name]()
    for check in by_hand.OF_ANY:
        check(name, clone(method))
    again = pickle.loads(pickle.dumps(fitted(name, data)))
    assert again.ranks_.equals(fitted(name, data).ranks_)


@pytest.mark.parametrize("name", BASELINES)
def test_a_result_names_the_columns_that_it_depends_on(name, data):
    columns = [f"x{k}_{side}" for k in (1, 2, 3) for side in "ab"]
    X, y = with_votes(data) if name == "HumanOnly" else (data.X, data.y)
    baseline = fitted(name, data)
    squares = {item: X[item] ** 2 for item in columns}
    others = clone(baseline).fit(X.assign(**squares), y)
    depends = not np.allclose(baseline.result_.estimates, others.result_.estimates)
    used = baseline.result_.inputs
    assert used.features == (("x1", "x2", "x3") if depends else ())
    assert used.ignored == (() if depends else tuple(columns))
    assert repr(baseline.result_).endswith(f"\n{used}")


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.CountWarning")
@pytest.mark.parametrize("name", sorted(set(BASELINES) - {"Oracle"}))
@pytest.mark.filterwarnings("ignore:.* copies of earlier ones")
def test_weights_are_repetitions_and_the_row_order_does_not_matter(name, data):
    X, y = with_votes(data) if name == "HumanOnly" else (data.X, data.y)
    method = BASELINES[name]()
    if name == "HumanOnly":
        method.set_params(new_models=["new-model"])
    times = np.random.default_rng(0).integers(0, 3, len(y))
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), times))
    if name == "LogisticJudge":
        # It adds one game to each pair: a game of the mean weight, unless these count.
        method.set_params(btl__weights="frequency")
    weighted = clone(method).fit(X, y, sample_weight=times)
    repeated = clone(method).fit(X.iloc[order], y[order])
    assert_allclose(weighted.result_.estimates, repeated.result_.estimates, atol=2e-6)


@pytest.mark.parametrize(
    "name", sorted(set(BASELINES) - {"HistoricalPPI", "HistoricalPPR"})
)
def test_swapping_the_sides_of_rows_changes_nothing(name, data):
    # The two left out take residuals "as recorded", which have a side.
    X, y = with_votes(data) if name == "HumanOnly" else (data.X, data.y)
    method = fitted(name, data)
    turn = np.random.default_rng(0).random(len(y)) < 0.5
    swapped = X.copy()
    for column in X:
        if column.endswith("_a"):
            other = column[:-2] + "_b"
            swapped[column] = np.where(turn, X[other], X[column])
            swapped[other] = np.where(turn, X[column], X[other])
    again = clone(method).fit(swapped, np.where(turn, 1 - y, y))
    assert_allclose(again.result_.estimates, method.result_.estimates, atol=2e-6)


@pytest.mark.parametrize("name", sorted(set(BASELINES) - {"HumanOnly", "Oracle"}))
def test_several_new_models_and_a_position_effect(name):
    data = simulate_battles(2500, 300, n_models=6, n_new_models=2, random_state=5)
    method = BASELINES[name]()
    if hasattr(method, "calibrator"):
        method.set_params(calibrator=JudgeCalibrator(position_effect=True))
    both = clone(method).fit(data.X, data.y)
    assert both.ranks_.index.tolist() == ["new-model-1", "new-model-2"]
    if name in WITH_ERRORS or name in ("JudgeArenaElo", "PerJudgeBTL", "IPWOnly"):
        return  # these fit all models, or weigh for all of them, together
    other = (data.X.model_a == "new-model-2") | (data.X.model_b == "new-model-2")
    alone = method.fit(data.X[~other], data.y[~other])
    # They never meet, so that each is placed as if alone.
    estimates = pd.Series(both.result_.estimates, both.models_)
    expected = alone.result_.estimates
    assert_allclose(estimates[alone.models_], expected, atol=1e-8)


# -------------------------------------------------------------------------- the oracle
def test_groups_of_copies_are_as_good_as_one_row_in_the_oracle(data):
    once = Oracle(truth=data.truth).fit(data.X, data.y)
    X = pd.concat([data.X, data.X], ignore_index=True)
    groups = np.tile(np.arange(len(data.X)), 2)
    twice = Oracle(truth=data.truth).fit(X, np.tile(data.y, 2), groups=groups)
    assert_allclose(twice.scores_, once.scores_, atol=1e-8)
    assert_allclose(twice.standard_errors_, once.standard_errors_, rtol=1e-6)


def test_the_oracle_has_no_error_for_a_model_that_won_every_row(data):
    y = np.asarray(data.y, dtype=float)
    y[(data.X["model_a"] == "new-model").to_numpy()] = 1.0
    y[(data.X["model_b"] == "new-model").to_numpy()] = 0.0
    with pytest.warns(BoundWarning):
        oracle = Oracle(truth=data.truth).fit(data.X, y)
    assert oracle.standard_errors_.tolist() == [np.inf]


def test_a_judge_that_places_only_one_new_model_says_nothing_of_the_other():
    data = simulate_battles(
        900, 150, n_models=5, n_judges=2, n_new_models=2, random_state=3
    )
    X, new = data.X, data.truth.new_models
    of_second = (X[["model_a", "model_b"]] == new[1]).any(axis=1)
    used = ~(of_second & (X["judge"] == "judge-2")).to_numpy()
    alone = used & (X["judge"] != "judge-2").to_numpy()
    for average in (False, True):
        method = PerJudgeBTL(plug_in_average=average)
        both = clone(method).fit(X[used], data.y[used]).scores_
        one = clone(method).fit(X[alone], data.y[alone]).scores_
        assert_allclose(both[new[1]], one[new[1]], atol=1e-8)
        assert abs(both[new[0]] - one[new[0]]) > 1e-3
