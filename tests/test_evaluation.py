"""Leaving models out, on simulated and on real battles."""

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import ndtri
from scipy.stats import binom
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from skanchor import AnchorPipeline, BTLRegressor, JudgeCalibrator, split_battles
from skanchor._inference import t_quantile
from skanchor.baselines import BASELINES, ConformalRanking, DirectScore, JointBTL
from skanchor.evaluation import leave_one_model_out, predict_left_out
from skanchor.evaluation._left_out import _compatible
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
    anchor = AnchorPipeline(cv=3, random_state=0)
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
        own = fit.result_.all_scores.drop(model)
        assert row["fitted_rank"] == 1 + (own > fit.scores_[model]).sum()
        rest = votes & ~met
        known = BTLRegressor().fit(data.X[rest], data.y[rest]).scores_
        assert row["rank"] == 1 + (known > fit.scores_[model]).sum()
    assert coverage(table.true_score, table.low, table.high) == table.covered.mean()
    assert (table.rank_low <= table.rank_high).all()


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


@pytest.mark.parametrize("df", [np.inf, 5.0])
def test_compatible_takes_the_quantile_of_the_interval(df):
    quantile = t_quantile(0.9, np.array(df)).item()
    row = dict(score=1.0, standard_error=0.3, true_error=0.4, level=0.9)
    half = quantile * row["standard_error"]
    row |= dict(low=1.0 - half, high=1.0 + half)
    for side in (-1.0, 1.0):
        edge = 0.5 * quantile * side
        assert _compatible(true_score=1.0 + 0.999 * edge, **row)
        assert not _compatible(true_score=1.0 + 1.001 * edge, **row)
    endless = row | dict(standard_error=np.inf, low=-np.inf, high=np.inf)
    assert _compatible(true_score=9.0, **endless)
    without = row | dict(standard_error=np.nan, low=np.nan, high=np.nan)
    assert not _compatible(true_score=1.0, **without)


def test_human_scores_are_noisy_themselves():
    """On the method's own model, the one share holds its level, the other does not."""
    estimator = AnchorPipeline(cv=3, item_effects=None, random_state=0)
    settings = dict(n_historical=9000, n_human=600, n_new=10, n_models=6, rho=0.0)
    settings["sensitivities"] = [1.0, 1.5, 1.5]
    tables = []
    for seed in range(5):
        noisy = simulate_battles(**settings, random_state=seed)
        X = noisy.X[["model_a", "model_b", "judge"]]
        tables.append(leave_one_model_out(estimator, X, noisy.y))
    table = pd.concat(tables)
    n = len(table)
    both = np.hypot(table.standard_error, table.true_error)
    near = np.abs(table.score - table.true_score) <= ndtri(0.975) * both
    assert (table.compatible == near).all() and n == 30
    assert not (table.covered & ~table.compatible).any()
    assert binom.ppf(1e-4, n, 0.95) <= table.compatible.sum()
    assert table.covered.sum() < binom.ppf(1e-4, n, 0.95)


def test_the_left_out_votes_are_not_seen(data):
    model = data.truth.historical_models[0]
    y = np.array(data.y)
    votes = (data.X.judge == "human") & (
        (data.X.model_a == model) | (data.X.model_b == model)
    )
    lies = np.where(votes, 1 - y, y)
    estimator = AnchorPipeline(cv=3, random_state=0)
    honest = leave_one_model_out(estimator, data.X, y, models=[model])
    fooled = leave_one_model_out(estimator, data.X, lies, models=[model])
    assert honest.score[model] == fooled.score[model]
    assert honest.true_score[model] != fooled.true_score[model]


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


def test_rows_of_a_group_are_predicted_without_each_other(data):
    rows = np.arange(len(data.y))[-600:]
    X, y = data.X.iloc[rows], np.asarray(data.y)[rows]
    groups, weight = (rows - rows[0]) // 3, 0.5 + rows % 2
    seen = []

    class Remembering(JointBTL):
        def fit(self, X, y, sample_weight=None, groups=None):
            seen.append((len(y), sample_weight, groups))
            return super().fit(X, y, sample_weight)

    found = predict_left_out(
        Remembering(new_models=["new-model"]), X, y, sample_weight=weight,
        groups=groups, n_splits=3, random_state=0,
    )  # fmt: skip
    assert found.index.tolist() == list(range(len(rows)))
    assert found["weight"].tolist() == weight.tolist()
    assert found["outcome"].tolist() == y.tolist()
    assert len(seen) == 3 and sum(n for n, *_ in seen) == 2 * len(rows)
    for n, own, apart in seen:
        assert len(own) == len(apart) == n and n % 3 == 0
        # No group is torn, and its rows keep their weights.
        assert (np.bincount(apart)[np.unique(apart)] == 3).all()
    assert sum(own.sum() for _, own, _ in seen) == 2 * weight.sum()


def test_rows_are_predicted_by_fits_that_have_not_seen_them(data):
    y = np.asarray(data.y, dtype=float)
    seen = predict_left_out(JointBTL(), data.X, y, random_state=0)
    assert seen.index.tolist() == list(range(len(y)))
    # The verdict of a row does not move its own prediction.
    turned = y.copy()
    turned[0] = 1.0 - turned[0]
    again = predict_left_out(JointBTL(), data.X, turned, random_state=0)
    assert again.loc[0, "probability"] == pytest.approx(seen.loc[0, "probability"])
    assert not np.allclose(again["probability"], seen["probability"], atol=1e-12)


def test_equal_style_is_not_looked_for_behind_a_pipeline(data):
    anchor = AnchorPipeline(cv=3, human_bias="linear", item_effects=None)
    staged = Pipeline([("same", FunctionTransformer()), ("method", anchor)])
    with pytest.raises(ValueError, match="features a Pipeline makes: transform"):
        leave_one_model_out(staged, data.X, data.y, models=["model-01"])


def test_joint_btl_is_btl_on_all_rows(data):
    joint = JointBTL().fit(data.X, data.y)
    alike = BTLRegressor().fit(data.X.drop(columns="judge"), data.y)
    historical = alike.scores_.drop("new-model")
    expected = alike.scores_["new-model"] - historical.mean()
    assert joint.scores_["new-model"] == pytest.approx(expected)
    assert joint.leaderboard()["is_new"].sum() == 1
    assert BASELINES["JointBTL"] is JointBTL
    p = joint.win_probability(data.X)
    difference = alike.scores_[data.X.model_a].to_numpy()
    difference = difference - alike.scores_[data.X.model_b].to_numpy()
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-difference)))


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


PAPER = AnchorPipeline(
    calibrator=JudgeCalibrator(position_effect=False), item_effects=None, random_state=0
)
POSITION = AnchorPipeline(
    calibrator=JudgeCalibrator(position_effect=True), random_state=0
)


@pytest.mark.parametrize(
    ("estimator", "error", "places", "held", "width"),
    [
        # Their widths follow the disagreement of the judges.
        (PAPER, 0.137, 0.6, (6, 14), None),
        # 0.42 without the two models that judges disagree about.
        (POSITION, 0.119, 0.45, (18, 20), 0.48),
        (JointBTL(), 0.425, 1.4, (0, 20), None),
    ],
    ids=["paper", "item-effects", "joint-btl"],
)
def test_arena_figures(arena_table, estimator, error, places, held, width):
    """Figures of independent code, to the second digit."""
    battles = arena_table[~arena_table.winner.str.startswith("tie")]
    X, y = split_battles(battles)
    table = leave_one_model_out(estimator, X, y)
    assert len(table) == 20
    assert rmse(table.true_score, table.score) == pytest.approx(error, abs=0.005)
    places_off = insertion_mae(table.true_rank, table["rank"])
    assert places_off == pytest.approx(places, abs=0.1)
    assert held[0] <= table.covered.sum() <= held[1]
    if width is not None:
        assert interval_width(table.low, table.high) == pytest.approx(width, abs=0.02)


def test_intervals_without_a_standard_error_are_shown():
    data = simulate_battles(900, 150, n_models=5, random_state=0)
    method = ConformalRanking(DirectScore())
    found = leave_one_model_out(method, data.X, data.y, level=0.6, models=["model-02"])
    row = found.loc["model-02"]
    assert row["low"] < row["score"] < row["high"]
    assert row["covered"] == (row["low"] <= row["true_score"] <= row["high"])
    assert not {"standard_error", "compatible"} & set(found)
