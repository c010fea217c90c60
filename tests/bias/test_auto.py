"""The choice among learners, learners of a user's own, and what must be refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.model_selection import KFold
from tables import biased, scored

from skanchor import JudgeCalibrator
from skanchor._battles import FeaturePairs
from skanchor.bias import AutoBias, BoostedBias, LinearBias

# Small tables cross thresholds that are not at issue here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::skanchor.exceptions.DiagnosticWarning",
    "ignore:.*historical models are too few:skanchor.exceptions.SkanchorWarning",
)
QUICK = BoostedBias(max_rounds=8)


def test_losses_are_those_of_a_plain_cross_validation():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 600, 2))
    delta, weight = rng.normal(size=600), rng.exponential(size=600)
    weight[550:] = 0.0
    pairs = FeaturePairs(left, right)
    y = (rng.random(600) < expit(delta + left[:, 0] ** 2 - right[:, 0] ** 2)) * 1.0
    names = ["linear", LinearBias(alpha=1.0)]
    auto = AutoBias(names, n_splits=4, random_state=3)
    auto.fit(pairs, y, weight, parametric=delta[:, None], bounds=(-9, 9))
    folds = KFold(4, shuffle=True, random_state=3)
    for name, alpha in zip(auto.losses_, (0.0, 1.0), strict=True):
        total = 0.0
        for train, test in folds.split(y[:550]):
            fit = LinearBias(alpha=alpha).fit(
                pairs[train], y[train], weight[train], parametric=delta[train, None]
            )
            eta = fit.contrast(pairs[test]) + delta[test] * fit.parametric_coef_[0]
            total += weight[test] @ (np.logaddexp(0, eta) - y[test] * eta)
        assert_allclose(auto.losses_[name], total / weight.sum(), rtol=1e-7)
    best = min(auto.losses_, key=auto.losses_.get)
    assert auto.gap_error_[best] == 0.0
    close = [
        name
        for name, loss in auto.losses_.items()
        if loss - auto.losses_[best] <= auto.gap_error_[name]
    ]
    assert auto.picked_ == close[0]


@pytest.mark.parametrize(
    ("bias", "pick"), [("linear", "linear"), ("curved", "boosted")]
)
def test_picks_what_the_data_ask_for(bias, pick):
    data = biased(1, bias=bias, rho=1.5, n_historical=4000)
    auto = AutoBias(["linear", "boosted"])
    judges = JudgeCalibrator(auto).fit(scored(data.X, data.y), data.y)
    assert (judges.choices_["picked"] == pick).all()
    kind = LinearBias if pick == "linear" else BoostedBias
    assert all(isinstance(one, kind) for one in judges.biases_.values())
    assert {"loss linear", "loss boosted", "gap linear"} <= set(judges.choices_)


def test_weights_take_the_pick_of_the_calibrator():
    data = biased(2)
    auto, other = AutoBias(["linear", QUICK]), AutoBias(["linear", QUICK], n_splits=2)
    by_judge = {"judge-1": auto, "judge-2": LinearBias(alpha=0.5)}
    judges = JudgeCalibrator(by_judge, position_effect=False)
    judges.fit(scored(data.X, data.y), data.y)
    assert judges.choices_.index.tolist() == ["judge-1"]
    # Where a choice was made, it holds for weights that ask for one of their own;
    # where none was made, they have what they ask for.
    result = judges.follow(other)
    assert type(result["judge-1"]) is type(judges.biases_["judge-1"])
    assert result["judge-2"] is other


def test_squared_losses_are_in_shares_of_the_targets_spread():
    rng = np.random.default_rng(1)
    left, right = rng.normal(size=(2, 300, 2))
    weight = rng.exponential(size=300)
    # Targets of very different size, of which one is nothing.
    y = np.column_stack([left[:, 0] - right[:, 0], 50.0 * rng.normal(size=300)])
    y = np.column_stack([y, np.zeros(300)])
    pairs = FeaturePairs(left, right)
    auto = AutoBias(["linear", LinearBias(alpha=5.0)], loss="squared", random_state=0)
    auto.fit(pairs, y, weight)
    folds = KFold(auto.n_splits, shuffle=True, random_state=0)
    for name, alpha in zip(auto.losses_, (0.0, 5.0), strict=True):
        total = 0.0
        for train, test in folds.split(y):
            fit = LinearBias(alpha=alpha, loss="squared")
            fit.fit(pairs[train], y[train], weight[train])
            scale = np.average(y[test, :2] ** 2, axis=0, weights=weight[test])
            apart = y[test, :2] - fit.contrast(pairs[test])[:, :2]
            total += weight[test] @ (apart**2 / scale).sum(axis=1) / 3.0
        assert_allclose(auto.losses_[name], total / weight.sum(), rtol=1e-7)


def test_refused_lists():
    x, y = np.ones((9, 1)), np.arange(9.0)
    for bad, fault in (([], "empty"), (["auto"], "candidate"), (["cubic"], "Unknown")):
        with pytest.raises(ValueError, match=fault):
            AutoBias(bad, loss="squared").fit(x, y)
    with pytest.raises(ValueError, match="n_splits"):
        AutoBias(["linear"], n_splits=1, loss="squared").fit(x, y)
