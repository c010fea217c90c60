"""Each baseline against its definition, written out row by row."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from reference import Dense
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from skanchor import AnchorPipeline, BTLRegressor, JudgeCalibrator, SourceKFold
from skanchor.baselines import (
    BASELINES,
    DirectScore,
    HistoricalPPI,
    HistoricalPPR,
    HumanOnly,
    IPWOnly,
    JointBTL,
    JointMLE,
    JudgeArenaElo,
    JudgeAwareBTL,
    LogisticJudge,
    MeanShift,
    Oracle,
    PerJudgeBTL,
    PooledLLM,
    ScalarJudge,
)
from skanchor.bias import LinearBias
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import BattlesError, BoundWarning
from skanchor.simulation import simulate_battles

RANK_ONLY = {"HistoricalPPR", "LogisticJudge"}
WITH_ERRORS = {"HumanOnly", "Oracle", "JointBTL", "JointMLE", "JudgeAwareBTL"}


@pytest.fixture(scope="module")
def data():
    data = simulate_battles(2500, 300, n_models=6, random_state=4)
    # Some ties, which count half.
    data.y = data.y.astype(float)
    data.y[::17] = 0.5
    return data


def with_votes(data):
    X = pd.concat([data.X, data.extra_X], ignore_index=True)
    return X, np.append(data.y, data.extra_y)


def fitted(name, data):
    if name == "HumanOnly":
        return HumanOnly(new_models=["new-model"]).fit(*with_votes(data))
    if name == "Oracle":
        return Oracle(truth=data.truth).fit(data.X, data.y)
    return BASELINES[name]().fit(data.X, data.y)


class ByHand:
    """The two steps on dense designs, and the arrival rows seen from the new model."""

    def __init__(self, X, y, features=None, weight=None):
        models = sorted(set(X.model_a) | set(X.model_b))
        judges = sorted(set(X.judge) - {"human"})
        self.dense = dense = Dense(X, y, models, judges, ["new-model"],
                                   features=features)  # fmt: skip
        v = dense.two_step(np.ones(len(y)) if weight is None else weight)
        s, c, _, b = dense.split(v)
        self.theta = dense.S @ np.concatenate([[0.0], s[1:]])
        self.c, self.b = c, b
        self.new = models.index("new-model")
        rows = self.rows = np.flatnonzero(dense.arrival)
        self.side = np.where(dense.a[rows] == self.new, 1.0, -1.0)
        self.opponent = np.where(dense.a[rows] == self.new, dense.b[rows],
                                 dense.a[rows])  # fmt: skip
        self.won = np.where(self.side > 0, dense.y[rows], 1 - dense.y[rows])
        self.judge = dense.m[rows]
        self.h = self.side * np.sum(dense.D[rows] * b[self.judge], axis=1)
        self.old = np.array([m != "new-model" for m in models])

    def residual(self, t, h=None):
        c = self.c[self.judge]
        h = self.h if h is None else h
        return self.won - expit(c * (t - self.theta[self.opponent]) + h)

    def human_residual(self):
        d = self.dense
        rows = (d.m < 0) & ~d.arrival
        return np.mean(d.y[rows] - expit(self.theta[d.a[rows]] - self.theta[d.b[rows]]))


def solve(equation):
    return brentq(equation, -14, 14, xtol=1e-12)


def test_direct_score(data):
    hand = ByHand(data.X, data.y)
    expected = solve(lambda t: hand.residual(t).sum())
    assert_allclose(DirectScore().fit(data.X, data.y).scores_, expected, atol=1e-6)


def test_historical_ppi(data):
    hand = ByHand(data.X, data.y)
    shift = hand.human_residual()
    expected = solve(lambda t: hand.residual(t).mean() + shift)
    found = HistoricalPPI().fit(data.X, data.y).scores_
    assert_allclose(found, expected, atol=1e-6)
    assert abs(expected - solve(lambda t: hand.residual(t).mean())) > 1e-4


def test_mean_shift(data):
    hand = ByHand(data.X, data.y)
    means = pd.Series(hand.h).groupby(hand.judge).mean()
    h, c = means[hand.judge].to_numpy(), hand.c[hand.judge]
    expected = solve(lambda t: c @ hand.residual(t, h))
    baseline = MeanShift().fit(data.X, data.y)
    assert_allclose(baseline.scores_, expected, atol=1e-6)


def test_mean_shift_leaves_the_position_effect_with_its_row(data):
    bare = data.X[["model_a", "model_b", "judge"]]
    calibrator = JudgeCalibrator(position_effect=True)
    assert_allclose(
        MeanShift(calibrator=calibrator).fit(bare, data.y).scores_,
        ScalarJudge(calibrator=calibrator).fit(bare, data.y).scores_,
        atol=1e-8,
    )


def test_scalar_judge(data):
    hand = ByHand(data.X, data.y, features=[])
    expected = solve(lambda t: hand.c[hand.judge] @ hand.residual(t))
    assert_allclose(ScalarJudge().fit(data.X, data.y).scores_, expected, atol=1e-6)
    # Features are not read, even where they cannot be.
    blank = data.X.assign(x1_a=np.nan)
    assert_allclose(ScalarJudge().fit(blank, data.y).scores_, expected, atol=1e-6)


def test_pooled_llm(data):
    alike = data.X.assign(judge=np.where(data.X.judge == "human", "human", "judges"))
    hand = ByHand(alike, data.y)
    expected = solve(lambda t: hand.residual(t).sum())
    assert_allclose(PooledLLM().fit(data.X, data.y).scores_, expected, atol=1e-6)


def test_per_judge_btl(data):
    plug_in, direct = [], []
    hand = ByHand(data.X, data.y)
    plain = ByHand(data.X, data.y, features=[])
    for m, judge in enumerate(hand.dense.judges):
        mine = hand.judge == m
        plug_in.append(solve(lambda t, mine=mine: hand.residual(t)[mine].sum()))
        rows = (data.X.judge == judge).to_numpy()
        alone = (
            BTLRegressor().fit(data.X[rows].assign(judge="human"), data.y[rows]).scores_
        )
        score = alone["new-model"] - alone.drop("new-model").mean()
        direct.append(score / plain.c[m])
    found = PerJudgeBTL(plug_in_average=True).fit(data.X, data.y).scores_
    assert_allclose(found, np.mean(plug_in), atol=1e-6)
    found = PerJudgeBTL().fit(data.X, data.y).scores_
    assert_allclose(found, np.mean(direct), atol=1e-6)


def test_a_judge_that_does_not_join_the_new_model_is_left_out_of_the_mean(data):
    keep = ~((data.X.judge == "judge-2") & (
        (data.X.model_a == "new-model") | (data.X.model_b == "new-model")
    )).to_numpy()  # fmt: skip
    X, y = data.X[keep], data.y[keep]
    without = (X.judge != "judge-2").to_numpy()
    for plug_in in (False, True):
        baseline = PerJudgeBTL(plug_in_average=plug_in)
        assert_allclose(
            clone(baseline).fit(X, y).scores_,
            clone(baseline).fit(X[without], y[without]).scores_,
            atol=1e-8,
        )


def test_ipw_only(data):
    hand = ByHand(data.X, data.y)
    d = hand.dense
    names = ["x1", "x2", "x3"]
    left = data.X[[f"{n}_a" for n in names]].to_numpy()
    right = data.X[[f"{n}_b" for n in names]].to_numpy()
    weight, sizes = np.ones(len(data.y)), []
    for m in range(3):
        new = hand.rows[hand.judge == m]
        turned = (d.b[new] == hand.new)[:, None]
        arrivals = np.hstack(
            [np.where(turned, right[new], left[new]),
             np.where(turned, left[new], right[new])]
        )  # fmt: skip
        old = np.flatnonzero((d.m == m) & ~d.arrival)
        history = np.vstack(
            [np.hstack([left[old], right[old]]), np.hstack([right[old], left[old]])]
        )
        model = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(
            np.vstack([arrivals, history]),
            np.repeat([1, 0], [len(arrivals), len(history)]),
        )
        p = model.predict_proba(history)[:, 1]
        odds = p / (1 - p)
        odds = np.minimum(odds, 3.0 * odds.mean())
        odds = (odds / odds.mean()).reshape(2, -1).mean(axis=0)
        weight[old] = odds
        sizes.append(odds.sum() ** 2 / (odds**2).sum())
    again = ByHand(data.X, data.y, weight=weight)
    expected = solve(lambda t: again.residual(t).sum())
    ipw = IPWOnly(clip=3.0).fit(data.X, data.y)
    assert_allclose(ipw.scores_, expected, atol=1e-5)
    assert_allclose(ipw.effective_sample_sizes_, sizes, rtol=1e-4)
    with pytest.raises(ValueError, match="'clip' parameter of IPWOnly"):
        IPWOnly(clip=0.0).fit(data.X, data.y)


def test_ipw_takes_any_classifier(data):
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    ipw = IPWOnly(classifier=tree).fit(data.X, data.y)
    assert not hasattr(tree, "tree_")
    assert abs(ipw.scores_.iloc[0] - 0.5) < 0.6
    # Without features there is nothing to weigh by.
    bare = data.X[["model_a", "model_b", "judge"]]
    assert_allclose(
        IPWOnly().fit(bare, data.y).scores_, DirectScore().fit(bare, data.y).scores_
    )


def test_historical_ppr(data):
    hand = ByHand(data.X, data.y)
    d, theta = hand.dense, hand.theta
    wins = pd.Series(hand.won).groupby(hand.opponent).mean().mean()
    old = (d.m >= 0) & ~d.arrival
    judged = np.mean(d.y[old] - expit(theta[d.a[old]] - theta[d.b[old]]))
    expected = wins + hand.human_residual() - judged
    ppr = HistoricalPPR().fit(data.X, data.y)
    assert ppr.win_rates_["new-model"] == pytest.approx(expected, abs=1e-8)
    old_theta = theta[hand.old]
    rates = expit(old_theta[:, None] - old_theta).mean(axis=1)
    assert_allclose(ppr.win_rates_.drop("new-model"), rates, atol=1e-8)
    assert ppr.ranks_["new-model"] == 1 + (rates > expected).sum()


def test_logistic_judge(data):
    hand = ByHand(data.X, data.y)
    d = hand.dense
    size = len(d.models)
    human = (d.m < 0) & ~d.arrival
    values, slopes = [], []
    for m in range(3):
        wins, games = np.zeros((size, size)), np.zeros((size, size))
        for a, b, y in zip(d.a[d.m == m], d.b[d.m == m], d.y[d.m == m], strict=True):
            wins[a, b] += y
            wins[b, a] += 1 - y
            games[a, b] += 1
            games[b, a] += 1
        x = logit((wins + 0.5) / (games + 1))
        seen = x[d.a[human], d.b[human]]

        def loss(slope, seen=seen):
            eta = slope * seen
            return np.sum(np.logaddexp(0, eta) - d.y[human] * eta)

        slopes.append(minimize_scalar(loss, bracket=(0, 1), tol=1e-12).x)
        values.append(expit(slopes[-1] * x[hand.new, hand.old]))
    baseline = LogisticJudge().fit(data.X, data.y)
    assert_allclose(baseline.slopes_, slopes, atol=1e-6)
    assert baseline.win_rates_["new-model"] == pytest.approx(np.mean(values), abs=1e-7)


def test_judge_arena_elo(data):
    alike = data.X.assign(judge=np.where(data.X.judge == "human", "human", "judges"))
    hand = ByHand(alike, data.y, features=[])
    d = hand.dense
    rows = (d.m < 0) | d.arrival
    slope = np.where(d.m < 0, 1.0, hand.c[0])[rows]
    Z = d.Z[rows] * slope[:, None]

    def loss(s):
        eta = Z @ s
        return np.sum(np.logaddexp(0, eta) - d.y[rows] * eta), Z.T @ (
            expit(eta) - d.y[rows]
        )

    best = minimize(loss, np.zeros(Z.shape[1]), jac=True, method="BFGS",
                    options={"gtol": 1e-9}).x  # fmt: skip
    elo = JudgeArenaElo().fit(data.X, data.y)
    assert elo.scores_.iloc[0] == pytest.approx(best[0], abs=1e-6)
    assert elo.temperature_ == pytest.approx(1 / hand.c[0], abs=1e-6)


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

    start = np.append(aware._values[:n_scores] * 0.5, np.ones(3))
    v = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-7}).x
    scale = v[n_scores:].mean()
    assert aware.scores_.iloc[0] == pytest.approx(v[0] * scale, abs=1e-5)
    assert_allclose(aware.calibrator_.sensitivities_, v[n_scores:] / scale, atol=1e-5)
    # No human vote moves it.
    y = np.where(rows | (np.arange(len(rows)) % 5 > 0), data.y, 1 - data.y)
    assert_allclose(JudgeAwareBTL().fit(data.X, y).scores_, aware.scores_, atol=1e-6)


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
    with pytest.raises(BattlesError, match="has no score for"):
        Oracle(truth={**truth, "bias": {}}).fit(data.X, data.y)


def test_oracle_knows_item_effects():
    data = simulate_battles(2000, 400, item_sd=0.5, random_state=0)
    oracle = Oracle(truth=data.truth).fit(data.X, data.y)
    p = oracle.win_probability(data.X)
    shift = oracle.scores_.iloc[0] - 0.5
    old = ~((data.X.model_a == "new-model") | (data.X.model_b == "new-model"))
    assert_allclose(p[old], expit(data.truth.logits)[old], atol=1e-9)
    assert abs(shift) < 0.4


# ------------------------------------------------------------------------ all together
@pytest.mark.parametrize("name", BASELINES)
def test_what_a_baseline_offers(name, data):
    baseline = fitted(name, data)
    board = baseline.leaderboard()
    assert board.index.name == "model" and board["is_new"].sum() == 1
    assert (np.diff(board["rank"]) >= 0).all() and np.isfinite(board.iloc[:, 0]).all()
    assert baseline.ranks_.index.tolist() == ["new-model"]
    assert hasattr(baseline, "scores_") == (name not in RANK_ONLY)
    assert hasattr(baseline, "win_rates_") == (name in RANK_ONLY)
    for result in ("standard_errors_", "conf_int", "contrasts", "rank_sets"):
        assert hasattr(baseline, result) == (name in WITH_ERRORS), result
    if name in WITH_ERRORS:
        assert 0 < baseline.standard_errors_["new-model"] < 1
        old = board.index[~board["is_new"]]
        assert_allclose(board.loc[old, "score"].mean(), 0, atol=1e-9)
    p = baseline.win_probability(data.X)
    assert ((p > 0) & (p < 1)).all()
    assert baseline.score(data.X, data.y) < 0
    with pytest.raises(AttributeError, match="not fitted"):
        _ = BASELINES[name]().ranks_


@pytest.mark.parametrize("name", sorted(set(BASELINES) - {"Oracle"}))
def test_weights_are_repetitions_and_the_row_order_does_not_matter(name, data):
    X, y = with_votes(data) if name == "HumanOnly" else (data.X, data.y)
    method = BASELINES[name]()
    if name == "HumanOnly":
        method.set_params(new_models=["new-model"])
    times = np.random.default_rng(0).integers(0, 3, len(y))
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), times))
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


def test_new_model_that_wins_everything_is_told(data):
    new = (data.X.model_a == "new-model") | (data.X.model_b == "new-model")
    y = np.where(new, data.X.model_a == "new-model", data.y).astype(float)
    with pytest.warns(BoundWarning, match="won or lost every"):
        score = DirectScore().fit(data.X, y).scores_.iloc[0]
    assert score == pytest.approx(15.0, abs=1e-4)


def test_judges_without_history_are_left_out_and_told(data):
    X = data.X.copy()
    arrivals = (X.model_a == "new-model") | (X.model_b == "new-model")
    X.loc[arrivals & (X.judge == "judge-1"), "judge"] = "stranger"
    with pytest.warns(UserWarning, match="'stranger' has no historical row"):
        DirectScore().fit(X, data.y)
    X.loc[arrivals, "judge"] = "stranger"
    with pytest.raises(BattlesError, match="no comparison by a calibrated judge"):
        DirectScore().fit(X, data.y)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
def test_swap_in_with_one_argument_and_search_over_methods(data):
    methods = [
        AnchorPipeline(cv=3, random_state=0),
        DirectScore(),
        JointBTL(),
        HistoricalPPR(),
    ]
    search = GridSearchCV(
        Pipeline([("method", DirectScore())]),
        {"method": methods},
        cv=SourceKFold(3, random_state=0),
        error_score="raise",
    ).fit(data.X, (data.y > 0.4).astype(int))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert type(search.best_params_["method"]) in (AnchorPipeline, DirectScore)
    nested = DirectScore().set_params(calibrator__bias__alpha=0.1)
    assert isinstance(nested.calibrator.bias, LinearBias)


@pytest.mark.parametrize("name", ["DirectScore", "HistoricalPPR"])
def test_leave_one_model_out_shows_what_a_method_offers(name, data):
    table = leave_one_model_out(
        BASELINES[name](), data.X, data.y, models=["model-01", "model-02"]
    )
    assert "standard_error" not in table and "rank" in table
    assert ("score" in table) == (name == "DirectScore")
    assert table["rank"].between(1, 6).all()
