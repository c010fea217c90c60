"""A pipeline without judges is the maximum likelihood fit of ``BTLRegressor``."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skanchor import AnchorHistory, AnchorPipeline, BTLRegressor
from skanchor.baselines import HumanOnly
from skanchor.bias import BoostedBias, LinearBias
from skanchor.simulation import simulate_battles

pytestmark = pytest.mark.filterwarnings(
    "ignore::skanchor.exceptions.DiagnosticWarning",
    "ignore::skanchor.exceptions.CountWarning",
    "ignore:.*copies of earlier",
    "ignore:There is no column 'judge'",
)


@pytest.fixture(scope="module")
def table():
    """Votes with ties, prompts, raters, kinds and weights."""
    data = simulate_battles(2000, 50, n_models=5, random_state=3)
    old = (data.X[["model_a", "model_b"]] != "new-model").all(axis=1)
    human = (old & (data.X["judge"] == "human")).to_numpy()
    X, y = data.X[human].reset_index(drop=True), np.array(data.y[human], dtype=float)
    rng = np.random.default_rng(0)
    y[rng.random(len(y)) < 0.1] = 0.5
    return X.assign(
        prompt_id=rng.integers(0, 150, len(y)).astype(str),
        rater=rng.integers(0, 40, len(y)).astype(str),
        kind=np.where(rng.random(len(y)) < 0.4, "code", "chat"),
    ), y


PLAIN = ["model_a", "model_b", "judge", "kind"]
WEIGHT = 1.0 + np.arange(5000) % 4

SETTINGS = {
    "plain": {},
    "features": {"columns": None},
    "weights": {"weight": WEIGHT},
    "counts": {"weight": WEIGHT, "weights": "frequency"},
    "ties dropped": {"ties": "drop"},
    "prompts": {"columns": [*PLAIN, "prompt_id"], "groups": "prompt_id"},
    "prompts and raters": {"columns": [*PLAIN, "prompt_id", "rater"]},
    "counted prompts and raters": {
        "columns": [*PLAIN, "prompt_id", "rater"],
        "weight": WEIGHT,
        "weights": "frequency",
    },
    "ridge": {"alpha": 0.05},
    "ridge with weights": {"alpha": 0.05, "weight": 7.0 * WEIGHT},
    "inverse information": {"covariance": "fisher", "weight": 7.0 * WEIGHT},
    "style": {"columns": None, "bias": LinearBias(alpha=0.01)},
    "style, prompts and raters": {"columns": None, "bias": "linear", "groups": "auto"},
    "two-step": {"historical_fit": "two-step"},
}


def both(table, columns=PLAIN, weight=None, groups=None, **settings):
    """The pipeline and ``BTLRegressor`` of the same rows, and the number of rows."""
    X, y = table
    X = X if columns is None else X[columns]
    if "rater" in X and columns is not None:
        groups = "auto"
    weight = None if weight is None else weight[: len(y)]
    both = {k: v for k, v in settings.items() if k in ("weights", "ties")}
    only = {k: v for k, v in settings.items() if k == "historical_fit"}
    of_votes = {k: v for k, v in settings.items() if k not in both | only}
    anchor = AnchorPipeline(BTLRegressor(**of_votes), new_models=[], **both, **only)
    anchor.fit(X, y, sample_weight=weight, groups=groups)
    btl = BTLRegressor(**of_votes, **both).fit(
        X, y, sample_weight=weight, groups=groups
    )
    return anchor, btl, X, y


@pytest.mark.parametrize("name", SETTINGS)
def test_scores_and_errors_are_those_of_the_regression(table, name):
    anchor, btl, *_ = both(table, **SETTINGS[name])
    result = anchor.result_
    assert anchor.fold_plan_ == []
    assert result.models.tolist() == btl.models_.tolist()
    assert_allclose(result.all_scores, btl.scores_, atol=1e-8)
    assert_allclose(result.covariances[0], btl.covariance_, atol=1e-9, rtol=1e-7)
    leaderboard = anchor.leaderboard().loc[btl.models_, ["low", "high"]]
    assert_allclose(leaderboard, btl.conf_int(), atol=1e-7)


@pytest.mark.parametrize("name", [n for n in SETTINGS if n != "inverse information"])
def test_influence_is_that_of_the_likelihood(table, name):
    """It adds up to zero without a ridge; its squares add up to the sandwich."""
    anchor, btl, X, y = both(table, **SETTINGS[name])
    influence = anchor.influence_
    counted = SETTINGS[name].get("weights") == "frequency"
    n_rows = int(WEIGHT[: len(y)].sum()) if counted else len(y)
    assert influence.shape == (n_rows, 5)
    if btl.alpha == 0 and name != "style":
        assert_allclose(influence.sum(axis=0), 0.0, atol=1e-5)
    if "prompts" not in name:
        assert_allclose(influence.T @ influence, btl.covariance_, atol=1e-7)
    elif "raters" not in name:
        total = pd.DataFrame(influence).groupby(X["prompt_id"].to_numpy()).sum()
        assert_allclose(total.T @ total, btl.covariance_, atol=1e-7)


def test_each_context_is_a_table_of_its_own(table):
    X, y = table
    X = X[PLAIN]
    anchor = AnchorPipeline(new_models=[], context="kind").fit(X, y)
    for kind in ("code", "chat"):
        rows = (X["kind"] == kind).to_numpy()
        btl = BTLRegressor().fit(X[rows], y[rows])
        result = anchor.result_.under({kind: 1.0})
        assert_allclose(result.all_scores, btl.scores_, atol=1e-8)
        assert_allclose(result.covariances[0], btl.covariance_, atol=1e-9)
    mean = anchor.result_.covariances[0]
    assert_allclose(anchor.influence_.T @ anchor.influence_, mean, atol=1e-8)


@pytest.mark.parametrize("cv", [2, 500, [(np.arange(2), np.arange(2))], []])
@pytest.mark.parametrize("n_repeats", [1, 5])
def test_three_votes_are_enough_whatever_the_folds(cv, n_repeats):
    X = pd.DataFrame({"model_a": ["A", "A", "B"], "model_b": ["B", "B", "A"]})
    y = np.array([1.0, 0.5, 0.0])
    anchor = AnchorPipeline(cv=cv, n_repeats=n_repeats, new_models=[]).fit(X, y)
    btl = BTLRegressor().fit(X, y)
    assert_allclose(anchor.result_.all_scores, btl.scores_, atol=1e-9)
    assert_allclose(anchor.result_.all_standard_errors, btl.standard_errors_)


@pytest.mark.parametrize("groups", [None, "prompt_id"])
def test_new_models_with_votes_are_fitted_with_the_others(table, groups):
    X, y = table
    X, named = X[[*PLAIN, "prompt_id"]], ["model-02", "model-04"]
    anchor = AnchorPipeline(new_models=named).fit(X, y, groups=groups)
    human = HumanOnly(new_models=named).fit(X, y, groups=groups)
    assert anchor.fold_plan_ == []
    assert_allclose(anchor.result_.all_scores, human.result_.all_scores, atol=1e-8)
    covariance = human.result_.covariances[0]
    assert_allclose(anchor.result_.covariances[0], covariance, atol=1e-9)
    influence = pd.DataFrame(anchor.influence_)
    if groups is not None:
        influence = influence.groupby(X["prompt_id"].to_numpy()).sum()
    assert_allclose(influence.T @ influence, covariance, atol=1e-8)
    largest = (influence.abs().max() / np.sqrt(np.diag(covariance))).to_numpy() ** 2
    table = anchor.result_.diagnostics.models["largest_influence"]
    assert_allclose(table, largest[anchor.result_.is_new], rtol=1e-6)
    assert np.isfinite(anchor.outlook([0.1]).table["votes"]).all()


def test_a_history_of_votes_alone_keeps_its_folds(table):
    X, y = table
    history = AnchorHistory(AnchorPipeline(cv=3, random_state=0)).fit(X[PLAIN], y)
    assert [len(plan) for plan in history.fold_plan_] == [3]


def test_style_without_fixed_columns_is_cross_fitted(table):
    X, y = table
    bias = BoostedBias(max_rounds=3, random_state=0)
    anchor = AnchorPipeline(new_models=[], cv=2, human_bias=bias, random_state=0)
    anchor.fit(X.drop(columns=["prompt_id", "rater"]), y)
    assert [len(plan) for plan in anchor.fold_plan_] == [2]
