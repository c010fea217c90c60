"""BoostedBias: its laws and its refusals."""

import numpy as np
import pytest
from learners import make_pairs
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skanchor import BTLRegressor, JudgeCalibrator
from skanchor.bias import BoostedBias
from skanchor.exceptions import LearnerError
from skanchor.simulation import simulate_battles

# Small tables cross thresholds that are not at issue here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::skanchor.exceptions.DiagnosticWarning",
    "ignore:.*historical models are too few:skanchor.exceptions.SkanchorWarning",
)


STAGED = make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=2))


def test_a_linear_bias_needs_few_rounds_and_the_weights_follow():
    rounds = []
    for seed in range(6):
        pairs, delta, _, weight = make_pairs(seed, n=1500)
        rng = np.random.default_rng(0)
        eta = pairs.contrast @ [1.0, -0.5, 0.2] + delta[:, 0]
        y = 1.0 * (rng.random(len(eta)) < expit(eta))
        line = BoostedBias().fit(pairs, y, weight, parametric=delta)
        rounds.append(line.n_rounds_)
    assert np.median(rounds) <= 5
    data = simulate_battles(600, 60, n_models=4, n_judges=2, random_state=0)
    battles = BTLRegressor().fit(data.X, data.y).transform(data.X)
    calibrator = JudgeCalibrator("boosted").fit(battles, data.y)
    follower = calibrator.follow("boosted")
    for judge, learner in calibrator.biases_.items():
        assert follower[judge].max_rounds == 4 * learner.n_rounds_
        squared = clone(follower[judge]).set_params(loss="squared")
        assert squared.fit(pairs, eta).n_rounds_ == 4 * learner.n_rounds_
    other = BoostedBias(DecisionTreeRegressor(max_depth=2))
    assert calibrator.follow(other) is other


def test_any_regressor_serves_as_weak_learner():
    pairs, delta, y, _ = make_pairs(7, n=500)
    for weak in (Ridge(), KNeighborsRegressor(40), STAGED):
        learner = BoostedBias(weak, max_rounds=5).fit(pairs, y, parametric=delta)
        assert learner.parametric_coef_[0] > 0.4
        assert not hasattr(weak, "n_features_in_")
    squared = clone(learner).set_params(loss="squared")
    two = np.column_stack([y, -y])
    fitted = squared.fit(pairs, two).contrast(pairs)
    assert_allclose(fitted[:, 1], -fitted[:, 0], atol=1e-6)


class BadRegressor(RegressorMixin, BaseEstimator):
    """Predicts NaN, or the wrong length."""

    def __init__(self, kind="nan"):
        self.kind = kind

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        return np.full(len(X), np.nan) if self.kind == "nan" else np.ones(3)


def test_refusals_name_the_judge_and_the_fault():
    pairs, _, y, weight = make_pairs(8, n=300)
    with pytest.raises(LearnerError, match="takes no sample_weight"):
        BoostedBias(KNeighborsRegressor()).fit(pairs, y, weight)
    with pytest.raises(TypeError, match="implementing 'fit' and 'predict'"):
        BoostedBias(StandardScaler()).fit(pairs, y)
    for name, bad in (("learning_rate", 0.0), ("validation_fraction", 1.0)):
        with pytest.raises(ValueError, match=name):
            BoostedBias(**{name: bad}).fit(pairs, y)
    data = simulate_battles(600, 30, n_models=4, n_judges=2, random_state=0)
    battles = BTLRegressor().fit(data.X, data.y).transform(data.X)
    for kind, fault in (("nan", "predicted NaN"), ("short", r"or shape \(3,\)")):
        with pytest.raises(LearnerError, match=f"judge 'judge-1' failed.*{fault}"):
            JudgeCalibrator(BoostedBias(BadRegressor(kind))).fit(battles, data.y)
