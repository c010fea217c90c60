"""The simulated battles follow the model that they claim to follow."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import binom

from skanchor.simulation import simulate_battles

LEFT = ["x1_a", "x2_a", "x3_a"]
RIGHT = ["x1_b", "x2_b", "x3_b"]


def judge_contrast(X, truth, judge):
    psi = truth.bias[judge]
    return psi(X[LEFT].to_numpy()) - psi(X[RIGHT].to_numpy())


def score_difference(X, truth):
    scores = pd.concat([truth.scores, truth.new_scores])
    return X["model_a"].map(scores).to_numpy() - X["model_b"].map(scores).to_numpy()


def test_shapes_and_roles():
    data = simulate_battles(1000, 100, random_state=0)
    assert list(data.X.columns) == ["model_a", "model_b", "judge", *LEFT, *RIGHT]
    assert data.X.shape == (1100, 9) and data.y.shape == (1100,)
    assert data.y.dtype.kind == "i" and set(data.y) == {0, 1}
    assert not data.X.isna().any(axis=None)
    truth = data.truth
    assert truth.historical_models[0] == "model-01" and len(truth.scores) == 10
    assert truth.new_models == ["new-model"] and truth.new_scores["new-model"] == 0.5
    assert truth.judges == list(truth.bias) == list(truth.sensitivities.index)
    assert truth.sensitivities.between(0.5, 2).all()
    assert_allclose(truth.scores.mean(), 0, atol=1e-12)
    historical, arrival = data.X[:1000], data.X[1000:]
    pairs = historical[["model_a", "model_b"]]
    assert pairs.isin(truth.historical_models).all(axis=None)
    assert (pairs["model_a"] != pairs["model_b"]).all()
    assert set(arrival["judge"]) == set(truth.judges)
    is_new = arrival[["model_a", "model_b"]] == "new-model"
    assert (is_new.sum(axis=1) == 1).all() and is_new.any().all()
    assert len(data.extra_X) == len(data.extra_y) == 150
    assert (data.extra_X["judge"] == truth.human).all()
    assert data.extra_X.columns.equals(data.X.columns)


@pytest.mark.parametrize("seed", [3, "RandomState"])
def test_same_seed_same_data(seed):
    def draw():
        state = np.random.RandomState(3) if seed == "RandomState" else seed
        return simulate_battles(200, 20, random_state=state)

    a, b = draw(), draw()
    pd.testing.assert_frame_equal(a.X, b.X)
    pd.testing.assert_frame_equal(a.extra_X, b.extra_X)
    assert_array_equal(a.y, b.y)
    assert not a.X.equals(simulate_battles(200, 20, random_state=4).X)


def test_shares_and_sides():
    data = simulate_battles(20_000, 2000, random_state=0)
    historical, arrival = data.X[:20_000], data.X[20_000:]
    checks = [
        (historical["judge"] == "human", 0.3),
        (historical["judge"] == "judge-2", 0.7 / 3),
        (historical["model_a"] == "model-04", 1 / 10),
        (historical["model_b"] == "model-10", 1 / 10),
        (historical["model_a"] < historical["model_b"], 1 / 2),
        (arrival["model_a"] == "new-model", 1 / 2),
        (arrival["judge"] == "judge-1", 1 / 3),
        (arrival["model_b"] == "model-01", 1 / 20),
    ]
    for hit, p in checks:
        lo, hi = binom.interval(1 - 1e-5, len(hit), p)
        assert lo <= hit.sum() <= hi


@pytest.mark.parametrize("rho", [0, 0.5, 2])
@pytest.mark.parametrize("bias", ["linear", "curved"])
def test_rho_scales_the_bias(bias, rho):
    data = simulate_battles(3000, 50, bias=bias, rho=rho, random_state=0)
    X, truth = data.X[:3000], data.truth
    for judge in truth.judges:
        rows = X[X["judge"] == judge]
        c_delta = truth.sensitivities[judge] * score_difference(rows, truth)
        assert_allclose(
            judge_contrast(rows, truth, judge).std(), rho * c_delta.std(), atol=1e-12
        )


@pytest.mark.parametrize("tau", [0, 0.3, 1])
def test_shift_has_length_tau_root_five(tau):
    moved = simulate_battles(100, 50, tau=tau, n_new_models=2, random_state=0)
    still = simulate_battles(100, 50, tau=0, n_new_models=2, random_state=0)
    length = np.linalg.norm(moved.truth.feature_shift, axis=1)
    assert_allclose(length, tau * np.sqrt(5))
    for new in moved.truth.new_models:
        on_left = moved.X["model_a"] == new
        step = moved.X.loc[on_left, LEFT] - still.X.loc[on_left, LEFT]
        expected = moved.truth.feature_shift.loc[new].to_numpy()
        assert_allclose(step, np.tile(expected, (len(step), 1)), atol=1e-12)
        # The opponent's features stay where they were.
        assert_allclose(moved.X.loc[on_left, RIGHT], still.X.loc[on_left, RIGHT])


def test_logits_are_the_stated_formula():
    data = simulate_battles(800, 100, item_sd=0.4, random_state=0)
    X, truth = data.X, data.truth
    eta = score_difference(X, truth)
    for judge in truth.judges:
        mine = (X["judge"] == judge).to_numpy()
        u = truth.item_effects[judge]
        eta[mine] = (
            truth.sensitivities[judge] * eta[mine]
            + judge_contrast(X[mine], truth, judge)
            + X.loc[mine, "model_a"].map(u).to_numpy()
            - X.loc[mine, "model_b"].map(u).to_numpy()
        )
    assert_allclose(truth.logits, eta, atol=1e-12)


def test_pairs_of_people_and_opponents_can_be_chosen():
    pairs, meets = [(0, 1), (3, 2)], [4, 7]
    data = simulate_battles(
        400, 60, human_pairs=pairs, opponents=meets, n_extra_human=9, random_state=0
    )
    X, names = data.X, data.truth.historical_models
    votes = X[X["judge"] == "human"]
    seen = {frozenset(row) for row in votes[["model_a", "model_b"]].to_numpy()}
    assert seen == {frozenset(names[i] for i in pair) for pair in pairs}
    # Both sides occur, and judges see all pairs.
    assert {names[0], names[1]} <= set(votes["model_a"])
    verdicts = X[(X["judge"] != "human") & (X.index < 400)]
    assert set(verdicts["model_a"]) == set(names)
    for rows in (X[400:], data.extra_X):
        met = set(rows[["model_a", "model_b"]].to_numpy().ravel()) - {"new-model"}
        assert met == {names[i] for i in meets}


def test_outcomes_agree_with_logits():
    data = simulate_battles(40_000, 4000, n_extra_human=20_000, random_state=0)
    eta = np.append(data.truth.logits, score_difference(data.extra_X, data.truth))
    y = np.append(data.y, data.extra_y)
    p = expit(eta)
    for part in np.array_split(np.argsort(eta), 20):
        z = (y[part] - p[part]).sum() / np.sqrt((p[part] * (1 - p[part])).sum())
        assert abs(z) < 4.5


def test_item_effects_have_the_stated_covariance():
    truth = simulate_battles(
        100, 1, n_models=4000, item_sd=0.5, item_corr=0.6, rho=0, random_state=0
    ).truth
    covariance = np.cov(truth.item_effects.to_numpy().T)
    expected = 0.25 * (0.4 * np.eye(3) + 0.6)
    assert_allclose(covariance, expected, atol=0.03)
    zero = simulate_battles(100, 1, random_state=0).truth.item_effects
    assert (zero == 0).all(axis=None)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_historical": 0}, "n_historical"),
        ({"n_models": 1}, "n_models"),
        ({"human_fraction": 1.5}, "human_fraction"),
        ({"rho": -1}, "rho"),
        ({"tau": np.inf}, "tau"),
        ({"bias": "wiggly"}, "bias"),
        ({"item_corr": -0.9}, "item_corr=-0.9 is below"),
        ({"n_human": 9000}, "exceeds n_historical=8000"),
        ({"scores": [0, 1]}, r"scores must be finite, one per .*: shape \(10,\)"),
        ({"scores": [np.nan] * 10}, "scores must be finite"),
        ({"sensitivities": [1]}, "one per judge"),
        ({"new_score": [1, 2]}, "one per new model"),
        ({"bias_coef": np.ones((3, 2))}, "a row per judge"),
        ({"bias_coef": np.ones((3, 3)), "bias": "curved"}, "needs bias='linear'"),
        ({"human_fraction": 1.0}, "'judge-1' cannot be scaled by rho"),
        ({"opponents": [10]}, "opponents must be a list of models, as numbers from 0"),
        ({"opponents": ["a"]}, "opponents must be a list of models"),
        ({"opponents": [[1, 2]]}, "opponents must be a list of models"),
        ({"human_pairs": [(1, 1)]}, "a list of pairs of different models"),
        ({"human_pairs": [1, 2]}, "human_pairs must be a list of pairs"),
        ({"n_new_votes": 5}, "needs n_new_models of at least 2, got 1"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        simulate_battles(**params)


def test_bias_maker():
    calls = []

    def maker(rng, n_features):
        calls.append(n_features)
        return lambda x: np.cos(x[:, 0])

    truth = simulate_battles(500, 10, bias=maker, random_state=0).truth
    assert calls == [3, 3, 3] and truth.bias_coef is None
    x = np.ones((2, 3))
    assert_allclose(
        truth.bias["judge-1"](x), truth.bias["judge-1"].coef * np.cos([1, 1])
    )
