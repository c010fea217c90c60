"""Ranks and means of several fits against their definitions."""

import numpy as np
import pandas as pd
import pytest
from baseline_fits import ByHand, solve
from numpy.testing import assert_allclose
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit

from skanchor import BTLRegressor
from skanchor.baselines import HistoricalPPR, JudgeArenaElo, LogisticJudge, PerJudgeBTL


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
    result = PerJudgeBTL(plug_in_average=True).fit(data.X, data.y).scores_
    assert_allclose(result, np.mean(plug_in), atol=1e-6)
    result = PerJudgeBTL().fit(data.X, data.y).scores_
    assert_allclose(result, np.mean(direct), atol=1e-6)


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
