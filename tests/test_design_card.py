"""One search over bias learners, settings of every stage and whole methods."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from skanchor import AnchorPipeline, BTLRegressor, SourceKFold, split_battles
from skanchor.baselines import DirectScore, HistoricalPPI, JointBTL
from skanchor.bias import BoostedBias, LinearBias, NetworkBias
from skanchor.datasets import load_demo
from skanchor.simulation import simulate_battles

pytestmark = [
    # Small tables cross thresholds that are not at issue here.
    pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning"),
    pytest.mark.filterwarnings(
        "ignore:.*historical models are too few:skanchor.exceptions.SkanchorWarning"
    ),
]


def of_the_page(*names):
    """What the cells of the gallery page that define some names define."""
    page = Path(__file__).parents[1] / "docs" / "gallery" / "plot_choose_everything.py"
    space = {}
    for cell in page.read_text(encoding="utf-8").split("# %%\n"):
        if re.search(rf"^(class|def) ({'|'.join(names)})\(", cell, re.M):
            # Definitions only: the page's data are not those of the test.
            exec(cell.partition("\nfeatures = ")[0], space)
    return [space[name] for name in names]


log_counts, SaturatingBias = of_the_page("log_counts", "SaturatingBias")


def hide_votes(battles, new):
    involved = (battles[["model_a", "model_b"]] == new).any(axis=1)
    return split_battles(battles[~involved | (battles["judge"] != "human")])


@pytest.fixture(scope="module")
def task():
    """Battles, outcomes, the transformer in front, and the one new model."""
    battles, new = load_demo().frame, "blue-heron"
    unvoted = battles[["model_a", "model_b"]].isin(["ivory-lynx", "jade-finch"])
    X, y = hide_votes(battles[~unvoted.any(axis=1)], new)
    return X, y, FunctionTransformer(log_counts, kw_args={"names": ()}), new


def grids():
    anchor = AnchorPipeline(cv=2, random_state=0)
    bias = "method__calibrator__bias"
    return [
        {
            "method": [anchor],
            bias: [LinearBias(), BoostedBias(max_rounds=5)],
        },
        {
            "method": [anchor],
            bias: [SaturatingBias()],
            f"{bias}__scale": [0.5, 2.0],
            "method__calibrator__position_effect": [False, True],
            "method__item_effects": ["none"],
        },
        {
            "method": [anchor, DirectScore(), HistoricalPPI()],
            bias: [LinearBias()],
            f"{bias}__alpha": [0.1],
            "method__btl__alpha": [0.0, 0.01],
        },
        {
            "method": [anchor],
            "method__item_effects": ["random"],
            "method__historical_fit": ["two-step"],
            "method__debiaser__inner_folds": [3],
        },
        {"method": [JointBTL()]},
    ]


def run_search(task, grid):
    X, y, features, _ = task
    search = GridSearchCV(
        Pipeline([("features", features), ("method", JointBTL())]),
        grid,
        cv=SourceKFold(2, groups="prompt_id", random_state=0),
        error_score="raise",
    )
    return search.fit(X, y, method__groups="prompt_id")


@pytest.fixture(scope="module")
def search(task):
    return run_search(task, grids())


def held_out_loss(estimator, X, y):
    """Mean log loss of the judges' verdicts, a tie being half a win for each."""
    judged = (X["judge"] != "human").to_numpy()
    p = estimator.predict_proba(X[judged])
    first = np.flatnonzero(estimator.classes_ == "model_a")[0]
    value = pd.Series(y)[judged].map({"model_a": 1.0, "model_b": 0.0, "tie": 0.5})
    p = p[:, first]
    return -np.mean(value * np.log(p) + (1.0 - value) * np.log1p(-p))


def test_every_candidate_is_fitted_and_ranked(search):
    results = search.cv_results_
    assert len(results["params"]) == len(list(ParameterGrid(grids()))) == 14
    assert np.isfinite(results["mean_test_score"]).all()
    # A setting that reaches nothing would leave equal scores.
    assert len(set(results["mean_test_score"].round(9))) == 14
    assert results["rank_test_score"][search.best_index_] == 1
    assert search.best_score_ == results["mean_test_score"].max()


@pytest.mark.parametrize("method", [AnchorPipeline, HistoricalPPI, JointBTL])
def test_a_candidate_recomputed_by_hand(search, task, method):
    X, y, features, _ = task
    params = search.cv_results_["params"]
    number = next(i for i, p in enumerate(params) if isinstance(p["method"], method))
    folds = SourceKFold(2, groups="prompt_id", random_state=0).split(X)
    for fold, (train, test) in enumerate(folds):
        one = Pipeline([("features", features), ("method", JointBTL())])
        one = clone(one.set_params(**params[number]))
        one.fit(X.iloc[train], np.asarray(y)[train], method__groups="prompt_id")
        loss = held_out_loss(one, X.iloc[test], np.asarray(y)[test])
        stored = search.cv_results_[f"split{fold}_test_score"][number]
        assert_allclose(-stored, loss, rtol=1e-10)


def test_a_ridge_of_human_scores_is_compared_fairly():
    """The correction takes the ridge out of the scores; verdicts stay as likely."""
    data = simulate_battles(random_state=0)
    corrected, plug_in = (
        AnchorPipeline(
            BTLRegressor(alpha=0.1),
            debiaser=debiaser,
            item_effects="none",
            random_state=0,
        )
        .fit(data.X, data.y)
        .score(data.X, data.y)
        for debiaser in (None, "passthrough")
    )
    assert corrected == pytest.approx(plug_in, abs=0.05)


@pytest.mark.torch
def test_networks_join_the_search(task):
    learners = [LinearBias(), NetworkBias(max_epochs=2, module__width=8)]
    grid = {**grids()[0], "method__calibrator__bias": learners}
    search = run_search(task, grid)
    assert len(set(search.cv_results_["mean_test_score"])) == 2
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
