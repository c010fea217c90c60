"""Scores of new models against the dense plug-in, and the equation they solve."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from reference import Dense
from scipy.special import expit

from skanchor import ArrivalScorer, BTLRegressor, Comparisons, JudgeCalibrator
from skanchor.exceptions import BattlesError
from skanchor.simulation import simulate_battles


def make_data(n_new_models=1, warm=False, meet=False, seed=0):
    """Battles, optionally with human rows of a new model and new-vs-new rows."""
    data = simulate_battles(
        n_models=5,
        n_judges=2,
        n_historical=900,
        n_new=100,
        n_new_models=n_new_models,
        new_score=np.linspace(0.5, -0.5, n_new_models).tolist(),
        n_extra_human=60,
        random_state=seed,
    )
    X, y, new = data.X, data.y, data.truth.new_models
    if warm:
        extra = data.extra_X
        extra = extra[(extra["model_a"] == new[0]) | (extra["model_b"] == new[0])]
        y = np.append(y, data.extra_y[extra.index])
        X = pd.concat([X, extra.assign(judge="human")], ignore_index=True)
    if meet:
        rows = X[X["judge"] != "human"].tail(90).copy()
        rows["model_a"], rows["model_b"] = new[0], new[1]
        rows.loc[rows.index[:30], "model_b"] = new[-1]
        y = np.append(y, np.random.default_rng(1).integers(2, size=90))
        X = pd.concat([X, rows], ignore_index=True)
    return X, np.asarray(y, float), new


def chain(X, y, new=None, weight=None, position=False, **kwargs):
    X = Comparisons.from_battles(X, new_models=new)
    for stage in (BTLRegressor(), JudgeCalibrator(position_effect=position)):
        X = stage.fit(X, y, weight).transform(X)
    return X, ArrivalScorer(**kwargs).fit(X, y, weight)


@pytest.mark.parametrize(
    ("n_new_models", "warm", "meet"),
    [(1, False, False), (3, False, False), (3, False, True), (1, True, False),
     (3, True, True)],
)  # fmt: skip
@pytest.mark.parametrize("position", [False, True])
def test_matches_dense_reference(n_new_models, warm, meet, position):
    X, y, new = make_data(n_new_models, warm, meet)
    weight = np.random.default_rng(5).exponential(size=len(y))
    encoded, scorer = chain(X, y, new, weight, position)
    dense = Dense(X, y, encoded.models, encoded.judges, new, position)
    s, c, p, _ = dense.split(dense.two_step(weight))
    slow = dict(zip(dense.models, dense.S @ s, strict=True))
    assert scorer.new_models_.tolist() == sorted(new)
    assert_allclose(scorer.scores_, [slow[m] for m in scorer.new_models_], atol=1e-5)
    assert_allclose(encoded.sensitivities, c, atol=1e-5)
    if position:
        assert_allclose(encoded.position_effects, p, atol=1e-5)
    reference = scorer.transform(encoded)
    assert_allclose(reference.scores, [slow[m] for m in reference.models], atol=1e-5)
    assert_allclose(
        scorer.score(encoded, y, weight),
        -np.average(
            (np.logaddexp(0, reference.logits()) - y * reference.logits())[
                dense.arrival
            ],
            weights=weight[dense.arrival],
        ),
    )


def test_models_that_never_meet_are_scored_as_if_alone():
    X, y, new = make_data(3)
    _, together = chain(X, y, new)
    for model in new:
        others = [m for m in new if m != model]
        keep = ~(X["model_a"].isin(others) | X["model_b"].isin(others)).to_numpy()
        _, alone = chain(X[keep], y[keep], [model])
        assert_allclose(alone.scores_[model], together.scores_[model], atol=1e-8)


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("meet", [False, True])
def test_unweighted_residuals_sum_to_zero(warm, meet):
    X, y, new = make_data(3, warm, meet)
    weight = np.random.default_rng(6).exponential(size=len(y))
    encoded, scorer = chain(X, y, new, weight, equation="unweighted")
    residual = weight * (y - expit(scorer.transform(encoded).logits()))
    for model in new:
        at = np.flatnonzero(encoded.models == model)[0]
        sign = (encoded.left == at) * 1.0 - (encoded.right == at)
        assert abs(sign @ residual) < 1e-7 * weight.sum()
    _, likelihood = chain(X, y, new, weight)
    assert np.abs(likelihood.scores_ - scorer.scores_).max() > 1e-4


def test_no_new_models_and_bad_parameters():
    X, y, _ = make_data()
    history = (X["judge"] == "human").to_numpy() | ~(
        X["model_a"].eq("new-model") | X["model_b"].eq("new-model")
    ).to_numpy()
    _, scorer = chain(X[history], y[history], [])
    assert len(scorer.scores_) == 0
    with pytest.raises(ValueError, match="'equation' parameter of ArrivalScorer"):
        chain(X, y, equation="other")
    with pytest.raises(ValueError, match="score_bounds must be"):
        chain(X, y, score_bounds=(1, -1))
    # The first judge alone, whose code is 0.
    one = X["judge"].isin(["human", X["judge"][X["judge"] != "human"].min()]).to_numpy()
    X, y = X[one], y[one]
    scored = Comparisons.from_battles(X, new_models=["new-model"])
    scored = BTLRegressor().fit(scored, y).transform(scored)
    with pytest.raises(BattlesError, match="carry no sensitivities"):
        ArrivalScorer().fit(scored, y)
    with pytest.raises(BattlesError, match="no row that it models"):
        chain(X, y)[1].score(scored[:0], y[:0])


def test_opponent_without_score_is_named():
    X, y, new = make_data()
    scored, _ = chain(X, y, new)
    lost = scored.with_columns(
        scores=np.where(scored.models == "model-02", np.nan, scored.scores)
    )
    with pytest.raises(BattlesError, match=r"without a score: \['model-02'\]"):
        ArrivalScorer().fit(lost, y)


def test_new_model_without_rows_is_named():
    X, y, new = make_data(3)
    scored, _ = chain(X, y, new)
    weight = np.ones(len(y))
    weight[scored.is_new[scored.left] | scored.is_new[scored.right]] = 0.0
    with pytest.raises(BattlesError, match=r"New models \['new-model-1'.*cannot be"):
        ArrivalScorer().fit(scored, y, weight)
