"""Leaving models out, on simulated and on real battles."""

import os

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from skanchor import AnchorPipeline, BTLRegressor, JudgeCalibrator, split_battles
from skanchor.baselines import JointBTL
from skanchor.datasets import fetch_arena
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import BattlesError
from skanchor.metrics import (
    brier_scorer,
    coverage,
    insertion_mae,
    interval_width,
    log_loss_scorer,
    rmse,
)
from skanchor.simulation import simulate_battles


@pytest.fixture(scope="module")
def data():
    return simulate_battles(2000, 200, n_models=6, random_state=0)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
def test_truth_is_the_human_fit_without_the_models_that_lack_votes(data):
    anchor = AnchorPipeline(cv=3, item_effects="random", random_state=0)
    table = leave_one_model_out(anchor, data.X, data.y)
    human = BTLRegressor().fit(
        data.X[data.X.judge == "human"], data.y[data.X.judge == "human"]
    )
    assert table.index.tolist() == human.models_.tolist()
    for model, row in table.iterrows():
        others = human.scores_.drop(model)
        assert row["true_score"] == pytest.approx(human.scores_[model] - others.mean())
        assert row["true_rank"] == 1 + (others > human.scores_[model]).sum()
        # Among human scores of all rows without its votes, and among the fit's own.
        votes = (data.X["judge"] == "human").to_numpy()
        met = (data.X[["model_a", "model_b"]] == model).any(axis=1).to_numpy()
        unvoted = (data.X[["model_a", "model_b"]] == "new-model").any(axis=1)
        left = np.flatnonzero(~(votes & met) & ~unvoted)
        fit = clone(anchor).set_params(new_models=[model])
        fit.fit(data.X.iloc[left], data.y[left])
        assert row["score"] == pytest.approx(fit.scores_[model], abs=1e-12)
        other_scores = fit.result_.all_scores.drop(model)
        assert row["fitted_rank"] == 1 + (other_scores > fit.scores_[model]).sum()
        remaining = votes & ~met
        reference = BTLRegressor().fit(data.X[remaining], data.y[remaining]).scores_
        assert row["rank"] == 1 + (reference > fit.scores_[model]).sum()
    assert coverage(table.true_score, table.low, table.high) == table.covered.mean()
    assert (table.rank_low <= table.rank_high).all()
    # The quantile, here of a t law, is that of the method's own interval.
    quantile = (table.high - table.low) / 2.0 / table.standard_error
    most = quantile * np.hypot(table.standard_error, table.true_error)
    near = np.abs(table.score - table.true_score) <= most
    assert (table.compatible == near).all()


def test_parallel_groups_weights_and_names(data):
    models = list(data.truth.historical_models[:2])
    X = data.X.assign(prompt_id=np.arange(len(data.y)) // 4)
    y = pd.Series(np.where(data.y == 1, "model_a", "model_b"))
    estimator = AnchorPipeline(cv=3, random_state=0)
    options = dict(models=models, groups="prompt_id", sample_weight=np.ones(len(y)))
    one = leave_one_model_out(estimator, X, y, **options)
    with joblib.parallel_config(backend="threading"):
        two = leave_one_model_out(estimator, X, y, n_jobs=2, **options)
    pd.testing.assert_frame_equal(one, two)
    with pytest.raises(BattlesError, match="no human rows"):
        leave_one_model_out(estimator, X, y, models=["new-model"])


@pytest.mark.parametrize("to", [lambda X: X, pl.from_pandas], ids=["pandas", "polars"])
def test_a_pipeline_is_taken_as_a_whole(data, to):
    """Its transformers see the table, without the votes of the model left out."""
    seen = []

    def remember(X):
        seen.append(X)
        return X

    weight = np.tile([1.0, 2.0, 0.0], len(data.y))[: len(data.y)]
    options = {
        "models": ["model-01"],
        "groups": np.arange(len(data.y)) // 2,
        "sample_weight": weight,
    }
    anchor = AnchorPipeline(cv=3, item_effects=None, random_state=0)
    alone = leave_one_model_out(anchor, data.X, data.y, **options)
    steps = [("features", FunctionTransformer(remember)), ("method", anchor)]
    whole = leave_one_model_out(Pipeline(steps), to(data.X), data.y, **options)
    pd.testing.assert_frame_equal(alone, whole)
    table = seen[0] if to is pl.from_pandas else pl.from_pandas(seen[0])
    votes = table.filter(pl.col("judge") == "human")
    assert "model-01" not in set(votes["model_a"]) | set(votes["model_b"])
    assert "model-01" in set(table["model_a"]) | set(table["model_b"])


def test_scorers_read_ties_and_names(data):
    anchor = AnchorPipeline(cv=3, random_state=0).fit(data.X, data.y)
    judge = (data.X.judge != "human").to_numpy()
    p = anchor.win_probability(data.X)[judge]
    y = np.asarray(data.y)[judge]
    names = np.where(np.asarray(data.y) == 1, "model_a", "model_b")
    expected = np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
    assert log_loss_scorer(anchor, data.X, names) == pytest.approx(expected)
    assert anchor.score(data.X, data.y) == pytest.approx(expected)
    assert brier_scorer(anchor, data.X, names) == pytest.approx(-np.mean((p - y) ** 2))


POSITION = AnchorPipeline(
    calibrator=JudgeCalibrator(position_effect=True), random_state=0
)


@pytest.mark.parametrize(
    ("estimator", "error", "places", "n_covered", "width"),
    [
        # 0.42 without the two models that judges disagree about.
        (POSITION, 0.119, 0.45, (18, 20), 0.48),
        (JointBTL(), 0.425, 1.4, (0, 20), None),
    ],
    ids=["item-effects", "joint-btl"],
)
def test_arena_figures(estimator, error, places, n_covered, width):
    """Figures of independent code, to the second digit."""
    if not os.environ.get("SKANCHOR_DATA_MIRROR"):
        pytest.skip("SKANCHOR_DATA_MIRROR does not point at the published files")
    battles = fetch_arena().frame[
        ["prompt_id", "model_a", "model_b", "judge", "winner"]
    ]
    battles = battles[~battles.winner.str.startswith("tie")]
    X, y = split_battles(battles)
    table = leave_one_model_out(estimator, X, y)
    assert len(table) == 20
    assert rmse(table.true_score, table.score) == pytest.approx(error, abs=0.005)
    places_off = insertion_mae(table.true_rank, table["rank"])
    assert places_off == pytest.approx(places, abs=0.1)
    assert n_covered[0] <= table.covered.sum() <= n_covered[1]
    if width is not None:
        assert interval_width(table.low, table.high) == pytest.approx(width, abs=0.02)


def test_equal_style_is_not_looked_for_behind_a_pipeline(data):
    anchor = AnchorPipeline(cv=3, human_bias="linear", item_effects=None)
    staged = Pipeline([("same", FunctionTransformer()), ("method", anchor)])
    with pytest.raises(ValueError, match="features a Pipeline makes: transform"):
        leave_one_model_out(staged, data.X, data.y, models=["model-01"])
