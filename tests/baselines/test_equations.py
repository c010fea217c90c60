"""Scores of arrivals against their equations, written out row by row."""

import numpy as np
import pandas as pd
import pytest
from baseline_fits import ByHand, solve
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from skanchor import JudgeCalibrator
from skanchor.baselines import (
    DirectScore,
    HistoricalPPI,
    IPWOnly,
    MeanShift,
    PooledLLM,
    ScalarJudge,
)


def test_direct_score(data):
    hand = ByHand(data.X, data.y)
    expected = solve(lambda t: hand.residual(t).sum())
    assert_allclose(DirectScore().fit(data.X, data.y).scores_, expected, atol=1e-6)


def test_historical_ppi(data):
    hand = ByHand(data.X, data.y)
    shift = hand.human_residual()
    expected = solve(lambda t: hand.residual(t).mean() + shift)
    result = HistoricalPPI().fit(data.X, data.y).scores_
    assert_allclose(result, expected, atol=1e-6)
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


def test_ipw_only(data):
    hand = ByHand(data.X, data.y)
    d = hand.dense
    names = ["x1", "x2", "x3"]
    left = data.X[[f"{n}_a" for n in names]].to_numpy()
    right = data.X[[f"{n}_b" for n in names]].to_numpy()
    weight = np.ones(len(data.y))
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
        # Scikit-learn's penalty is beside the sum, of 1 / C.
        C = 1e4 / (len(arrivals) + len(history))
        model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10).fit(
            np.vstack([arrivals, history]),
            np.repeat([1, 0], [len(arrivals), len(history)]),
        )
        p = model.predict_proba(history)[:, 1]
        odds = p / (1 - p)
        odds = np.minimum(odds, 3.0 * odds.mean())
        odds = (odds / odds.mean()).reshape(2, -1).mean(axis=0)
        weight[old] = odds
    again = ByHand(data.X, data.y, weight=weight)
    expected = solve(lambda t: again.residual(t).sum())
    ipw = IPWOnly(clip=3.0).fit(data.X, data.y)
    assert_allclose(ipw.scores_, expected, atol=1e-5)
    # Nothing goes by the unit of the weights, though squares of small ones are none.
    for unit in (1e-200, 0.01, 2.0, 1e200):
        again = IPWOnly(clip=3.0).fit(data.X, data.y, np.full(len(data.X), unit))
        assert_allclose(again.scores_, ipw.scores_, rtol=1e-9)
    with pytest.raises(ValueError, match="'clip' parameter of IPWOnly"):
        IPWOnly(clip=0.0).fit(data.X, data.y)


def test_ipw_without_features_has_nothing_to_weigh_by(data):
    bare = data.X[["model_a", "model_b", "judge"]]
    assert_allclose(
        IPWOnly().fit(bare, data.y).scores_, DirectScore().fit(bare, data.y).scores_
    )
