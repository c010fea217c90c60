"""Fits of all scores together, and their errors."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from baseline_fits import solve, with_votes
from numpy.testing import assert_allclose
from reference import Dense
from scipy.optimize import minimize
from scipy.special import expit

from skanchor import BTLRegressor, JudgeCalibrator
from skanchor.baselines import HumanOnly, JointBTL, JointMLE, JudgeAwareBTL, Oracle
from skanchor.bias import BoostedBias
from skanchor.exceptions import BattlesError, ConvergenceWarning, SkanchorWarning
from skanchor.simulation import simulate_battles


def test_joint_mle_and_its_error(data):
    joint = JointMLE().fit(data.X, data.y)
    dense = Dense(data.X, data.y, joint.models_, joint.judges_, ["new-model"])
    v = dense.joint(np.ones(len(data.y)))
    assert joint.scores_.iloc[0] == pytest.approx(v[0], abs=1e-6)
    _, c, _, b = dense.split(v)
    assert_allclose(joint.calibrator_.sensitivities_, c, atol=1e-6)
    coefs = [learner.coef_ for learner in joint.calibrator_.biases_.values()]
    assert_allclose(coefs, b, atol=1e-6)
    p = expit(dense.eta(v))
    assert_allclose(joint.win_probability(data.X), p, atol=1e-6)
    # The sandwich, with the observed second derivative by finite differences.
    score = lambda x: dense.gradient(x).T @ (dense.y - expit(dense.eta(x)))  # noqa: E731
    step = 1e-5 * np.eye(len(v))
    bread = np.array([score(v + e) - score(v - e) for e in step]) / 2e-5
    terms = dense.gradient(v) * (dense.y - p)[:, None]
    inverse = np.linalg.inv(bread)
    covariance = dense.targets().T @ inverse @ (terms.T @ terms) @ inverse.T
    covariance = covariance @ dense.targets()
    assert_allclose(joint.result_.covariances[0], covariance, rtol=1e-4, atol=1e-8)
    groups = np.arange(len(data.y)) // 3
    sums = np.zeros((groups.max() + 1, len(v)))
    np.add.at(sums, groups, terms)
    clustered = inverse @ (sums.T @ sums) @ inverse.T
    again = JointMLE().fit(data.X, data.y, groups=groups)
    assert again.standard_errors_.iloc[0] == pytest.approx(
        np.sqrt(clustered[0, 0]), rel=1e-4
    )


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
def test_errors_are_infinite_where_rows_show_no_noise():
    """Outcomes that are predicted, or two rows of a group that miss as much either way.

    Their squares would give errors of zero.
    """
    theta, slopes = {"a": 1.0, "b": 0.3, "c": -1.3, "new": 0.2}, {"j": 0.8, "k": 1.3}
    rows = [
        (a, b, judge, expit(slopes.get(judge, 1.0) * (theta[a] - theta[b])))
        for judge in ("human", *slopes)
        for a, b in permutations(theta, 2)
        if judge != "human" or "new" not in (a, b)
    ]
    table = pd.DataFrame(rows, columns=["model_a", "model_b", "judge", "p"])
    X, p = pd.concat([table, table], ignore_index=True), table["p"].to_numpy()
    X.pop("p")
    y, pairs = np.r_[p + 0.03, p - 0.03], np.tile(np.arange(len(p)), 2)
    for fitted in (
        JointMLE().fit(X, np.r_[p, p]),
        JointMLE().fit(X, y, groups=pairs),
        JointMLE().fit(X, np.full(len(y), 0.5)),
    ):
        assert np.isinf(fitted.leaderboard()["standard_error"]).all()
    # Without groups the rows show the noise that they have.
    alone = JointMLE().fit(X, y)
    assert alone.scores_["new"] == pytest.approx(0.2, abs=1e-6)
    assert 0 < alone.standard_errors_["new"] < np.inf


def test_a_likelihood_without_a_maximum_has_no_errors(data):
    """One model won all its rows: the others have no distance to their mean."""
    X, y = data.X, np.asarray(data.y, dtype=float)
    first, second = (X[f"model_{side}"] == "model-01" for side in "ab")
    y = np.where(first, 1.0, np.where(second, 0.0, y))
    with pytest.warns(SkanchorWarning, match=r"\['model-01'\] never lost"):
        leaderboard = JudgeAwareBTL().fit(X, y).leaderboard()
    assert np.isinf(leaderboard["standard_error"]).all()


def test_judge_aware_btl(data):
    aware = JudgeAwareBTL().fit(data.X, data.y)
    rows = (data.X.judge != "human").to_numpy()
    dense = Dense(data.X[rows], data.y[rows], aware.models_, aware.judges_,
                  ["new-model"], features=[])  # fmt: skip
    n_scores = dense.sizes[0]

    def loss(v):
        eta = dense.eta(v)
        value = np.sum(np.logaddexp(0, eta) - dense.y * eta)
        return value, dense.gradient(v).T @ (expit(eta) - dense.y)

    start = np.append(np.zeros(n_scores), np.ones(3))
    v = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-7}).x
    scale = v[n_scores:].mean()
    assert aware.scores_.iloc[0] == pytest.approx(v[0] * scale, abs=1e-5)
    assert_allclose(aware.calibrator_.sensitivities_, v[n_scores:] / scale, atol=1e-5)
    # No human vote moves it.
    y = np.where(rows | (np.arange(len(rows)) % 5 > 0), data.y, 1 - data.y)
    assert_allclose(JudgeAwareBTL().fit(data.X, y).scores_, aware.scores_, atol=1e-6)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
@pytest.mark.parametrize(("seed", "n_judges"), [(13, 2), (15, 1), (33, 1)])
def test_judge_aware_btl_of_judges_that_contradict_the_votes(seed, n_judges):
    # Their calibration, of no or of negative sensitivity, is no place to start from:
    # from there the likelihood was climbed to another of its maxima, or to none.
    data = simulate_battles(
        60 * n_judges, 30, n_models=5, n_judges=n_judges, random_state=seed
    )
    X = data.X.assign(shown_first=None)
    votes = (X.judge == "human").to_numpy()
    one, other = (
        JudgeAwareBTL().fit(X, y) for y in (data.y, np.where(votes, 1 - data.y, data.y))
    )
    assert_allclose(other.scores_, one.scores_, atol=1e-6)
    assert_allclose(other.standard_errors_, one.standard_errors_, atol=1e-5)
    for method in (one, other):
        assert not any(isinstance(w, ConvergenceWarning) for w in method.warnings_)


def test_joint_btl_is_btl_on_all_rows(data):
    joint = JointBTL().fit(data.X, data.y)
    alike = BTLRegressor().fit(data.X.drop(columns="judge"), data.y)
    historical = alike.scores_.drop("new-model")
    expected = alike.scores_["new-model"] - historical.mean()
    assert joint.scores_["new-model"] == pytest.approx(expected)
    gap = alike.scores_[data.X.model_a].array - alike.scores_[data.X.model_b].array
    assert_allclose(joint.win_probability(data.X), expit(gap))


def test_human_only(data):
    X, y = with_votes(data)
    human = HumanOnly(new_models=["new-model"]).fit(X, y)
    rows = (X.judge == "human").to_numpy()
    btl = BTLRegressor().fit(X[rows], y[rows])
    others = btl.scores_.drop("new-model")
    assert human.scores_.iloc[0] == pytest.approx(
        btl.scores_["new-model"] - others.mean()
    )
    contrast = np.full(7, -1 / 6)
    contrast[btl.models_.tolist().index("new-model")] = 1.0
    error = np.sqrt(contrast @ btl.covariance_ @ contrast)
    assert human.standard_errors_.iloc[0] == pytest.approx(error)
    with pytest.raises(BattlesError, match=r"needs human rows.*'new-model'"):
        HumanOnly(new_models=["new-model"]).fit(data.X, data.y)
    with pytest.raises(BattlesError, match="no new model"):
        HumanOnly().fit(X, y)


def test_oracle(data):
    truth = data.truth
    X = data.X[(data.X.model_a == "new-model") | (data.X.model_b == "new-model")]
    y = data.y[X.index]
    side = np.where(X.model_a == "new-model", 1.0, -1.0)
    other = np.where(side > 0, X.model_b, X.model_a)
    left, right = (X[[f"x{k}_{s}" for k in (1, 2, 3)]].to_numpy() for s in "ab")
    h = np.zeros(len(X))
    for judge, psi in truth.bias.items():
        mine = (X.judge == judge).to_numpy()
        h[mine] = side[mine] * (psi(left[mine]) - psi(right[mine]))
    c = truth.sensitivities[X.judge].to_numpy()
    won = np.where(side > 0, y, 1 - y)

    def p(t):
        return expit(c * (t - truth.scores[other].to_numpy()) + h)

    t = solve(lambda t: c @ (won - p(t)))
    oracle = Oracle(truth=truth).fit(data.X, data.y)
    assert oracle.scores_.iloc[0] == pytest.approx(t, abs=1e-7)
    error = np.sqrt(np.sum((c * (won - p(t))) ** 2)) / np.sum(c**2 * p(t) * (1 - p(t)))
    assert oracle.standard_errors_.iloc[0] == pytest.approx(error, rel=1e-6)
    assert oracle.contrasts().shape == (6, 8)
    with pytest.raises(BattlesError, match="needs truth="):
        Oracle().fit(data.X, data.y)
    with pytest.raises(BattlesError, match="'bias' lacks"):
        Oracle(truth={**truth, "bias": {}}).fit(data.X, data.y)


def test_biases_that_are_not_linear_are_refused(data):
    method = JointMLE(calibrator=JudgeCalibrator(BoostedBias(max_rounds=1)))
    with pytest.raises(BattlesError, match="linear in their coefficients"):
        method.fit(data.X, data.y)
