"""SoftElo and conformal intervals, against their formulas by hand."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom

from skanchor import BTLRegressor
from skanchor.baselines import ConformalRanking, DirectScore, LogisticJudge, SoftElo
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import BattlesError
from skanchor.results import PointResult
from skanchor.simulation import simulate_battles

KEYS = ["model_a", "model_b", "judge"]
NEW = "new-model"


@pytest.fixture(scope="module")
def data():
    return simulate_battles(2000, 200, n_models=5, random_state=0)


def with_margins(data):
    """A pair of features whose difference leans to the winner; also for people."""
    rng = np.random.default_rng(1)
    g = data.y - 0.5 + rng.normal(size=len(data.y))
    return data.X[KEYS].assign(points_a=g / 2, points_b=-g / 2), g


def slope_of(x, y):
    return brentq(lambda b: np.sum(x * (y - expit(b * x))), -50, 50, xtol=1e-12)


def score_of(X, wins, theta):
    """Root of the sum of soft wins less sigma(t - theta_J)."""
    first = (X["model_a"] == NEW).to_numpy()
    other = X["model_b"].where(first, X["model_a"]).map(theta).to_numpy(float)
    points = np.where(first, wins, 1.0 - wins)
    return brentq(lambda t: np.sum(points - expit(t - other)), -15, 15, xtol=1e-12)


def parts(X):
    is_new = (X[["model_a", "model_b"]] == NEW).any(axis=1).to_numpy()
    is_human = (X["judge"] == "human").to_numpy()
    return is_human, is_new & ~is_human, ~is_new & ~is_human


def test_margins_are_verdicts(data):
    X, y = data.X[KEYS], data.y.astype(float)
    y = np.where(np.arange(len(y)) % 7 == 0, 0.5, y)
    votes, arrivals, verdicts = parts(X)
    theta = BTLRegressor().fit(X[votes], y[votes]).scores_
    names = list(theta.index)
    games, total = np.zeros((5, 5)), np.zeros((5, 5))
    for (a, b), g in zip(
        X.loc[verdicts, ["model_a", "model_b"]].to_numpy(), 2 * y[verdicts] - 1,
        strict=True,
    ):  # fmt: skip
        i, j = names.index(a), names.index(b)
        games[i, j] += 1
        games[j, i] += 1
        total[i, j] += g
        total[j, i] -= g
    decided = votes & (y != 0.5)
    at = [
        [names.index(m) for m in X.loc[decided, side]]
        for side in ("model_a", "model_b")
    ]
    slope = slope_of((total / np.maximum(games, 1))[tuple(at)], y[decided])
    wins = expit(slope * (2 * y[arrivals] - 1))
    result = SoftElo().fit(X, y)
    assert_allclose(result.slope_, slope, atol=1e-7)
    assert_allclose(result.scores_[NEW], score_of(X[arrivals], wins, theta), atol=1e-7)
    assert_allclose(result.result_.all_scores[names], theta, atol=1e-8)


def test_margins_are_features(data):
    X, g = with_margins(data)
    votes, arrivals, _ = parts(X)
    theta = BTLRegressor().fit(X.loc[votes, KEYS], data.y[votes]).scores_
    slope = slope_of(g[votes], data.y[votes])
    result = SoftElo(margin="features").fit(X, data.y)
    assert_allclose(result.slope_, slope, atol=1e-7)
    expected = score_of(X[arrivals], expit(slope * g[arrivals]), theta)
    assert_allclose(result.scores_[NEW], expected, atol=1e-7)
    # The verdicts themselves do not matter.
    y = np.where(parts(X)[0], data.y, 1)
    assert_allclose(SoftElo("features").fit(X, y).scores_, result.scores_, atol=1e-8)


def test_margins_that_are_missing_are_refused(data):
    with pytest.raises(BattlesError, match="needs features of the responses"):
        SoftElo("features").fit(data.X[KEYS], data.y)
    X, _ = with_margins(data)
    votes, arrivals, _ = parts(X)
    part = X.assign(points_a=X["points_a"].mask(arrivals & (X.index % 3 == 0)))
    with pytest.raises(BattlesError, match="'points' contains NaN in"):
        SoftElo("features").fit(part, data.y)
    none = X.assign(points_a=X["points_a"].mask(votes))
    with pytest.raises(BattlesError, match="No vote that is not a tie has a margin"):
        SoftElo("features").fit(none, data.y)
    ties = np.where(votes, 0.5, data.y)
    with pytest.raises(BattlesError, match="No vote that is not a tie has a margin"):
        SoftElo().fit(X[KEYS], ties)


def test_conformal_intervals_by_hand(data):
    table = leave_one_model_out(DirectScore(), data.X, data.y)
    method = ConformalRanking(DirectScore()).fit(data.X, data.y)
    distances = np.sort((table["score"] - table["true_score"]).abs())
    score = DirectScore().fit(data.X, data.y).scores_[NEW]
    assert_allclose(method.scores_[NEW], score)
    # Of five models: the fourth distance up to level 4/6, the fifth up to 5/6.
    for level, k in ((4 / 6, 4), (0.7, 5), (5 / 6, 5)):
        low, high = method.conf_int(level).loc[NEW]
        assert_allclose([score - low, high - score], distances[k - 1])
    with pytest.raises(BattlesError, match="need 19 historical"):
        method.conf_int()
    with pytest.raises(BattlesError, match="need 6 historical models"):
        method.conf_int(0.84)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
def test_conformal_intervals_of_the_default(data):
    assert isinstance(ConformalRanking().fit(data.X, data.y).estimator_, SoftElo)
    with pytest.raises(TypeError, match="LogisticJudge only ranks"):
        ConformalRanking(LogisticJudge()).fit(data.X, data.y)


def test_conformal_intervals_hold_among_exchangeable_models():
    """19 old models and a new one with errors of one law: level .9 is exact."""
    rng = np.random.default_rng(0)
    method, n = ConformalRanking(), 2000
    models = np.array([*(f"old-{i:02d}" for i in range(19)), NEW])
    counts = np.ones(20, dtype=int)
    hits = 0
    for errors in rng.standard_t(2, size=(n, 20)):
        old = pd.DataFrame({"score": errors[:19], "true_score": 0.0}, models[:19])
        method.left_out_ = old
        method.result_ = PointResult(models, models == NEW, errors, counts, counts)
        low, high = method.conf_int(0.9).loc[NEW]
        hits += low <= 0.0 <= high
    # k = 18 of 19: probability 18/20. A false alarm once in 10,000 runs.
    least, most = binom.interval(1 - 1e-4, n, 0.9)
    assert least <= hits <= most
