"""Votes of one rater depend on each other, too: errors are by prompt and by rater."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skanchor import AnchorHistory, AnchorPipeline, BTLRegressor
from skanchor._battles.grouping import FEW_GROUPS, effective_number
from skanchor._model.riesz import Influence
from skanchor.baselines import JointBTL
from skanchor.bootstrap import bootstrap
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import DataWarning
from skanchor.simulation import simulate_battles

pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")

ANCHOR = AnchorPipeline(cv=3, item_effects=None, random_state=0)


@pytest.fixture(scope="module")
def battles():
    """A table with prompts of three rows on average and votes of 59 people."""
    return table(0.5)


def table(rho):
    data = simulate_battles(900, 150, n_models=6, n_judges=2, random_state=2, rho=rho)
    rng = np.random.default_rng(0)
    n = len(data.X)
    people = rng.integers(0, 60, n).astype(str)
    X = data.X.assign(
        prompt_id=rng.integers(0, n // 3, n),
        rater=np.where(data.X["judge"] == "human", people, None),
    )
    return X, np.asarray(data.y)


def errors(fitted):
    return fitted.result_.standard_errors.to_numpy()


def added(values, prompts, raters):
    """What raters add to a covariance, by loops: values are of single votes."""

    def squares(names):
        total = np.zeros((values.shape[1],) * 2)
        for name in set(names):
            of_group = values[[one == name for one in names]].sum(axis=0)
            total += np.outer(of_group, of_group)
        return total

    both = list(zip(prompts, raters, strict=True))
    eigenvalues, vectors = np.linalg.eigh(squares(list(raters)) - squares(both))
    return vectors @ np.diag(eigenvalues.clip(0.0)) @ vectors.T


@pytest.mark.filterwarnings("ignore:.* copies of earlier ones")
@pytest.mark.parametrize("featured", [True, False], ids=["features", "cells"])
@pytest.mark.parametrize("prompted", [True, False], ids=["prompts", "rows"])
def test_sums_of_two_ways(battles, featured, prompted):
    X, y = battles
    if not featured:
        # Judges without a bias, which no feature could explain.
        X, y = table(0.0)
        X = X.drop(columns=[name for name in X if name[0] == "x"])
    if not prompted:
        X = X.drop(columns="prompt_id")
    one_way = {"groups": "prompt_id" if prompted else None}
    mine, alone = ANCHOR.fit(X, y), None
    values, covariance = mine.influence_, mine.result_.covariances[0]
    parts = mine.result_.part_covariances[0]
    inputs = mine.result_.inputs
    assert inputs.by_rater and inputs.n_raters == X["rater"].nunique()
    assert "crossed with " + ("prompts" if prompted else "rows") in str(inputs)
    alone = ANCHOR.fit(X, y, **one_way)
    assert not alone.result_.inputs.by_rater
    assert_array_equal(mine.scores_, alone.scores_)
    votes = (X["judge"] == "human").to_numpy()
    prompts = X["prompt_id"] if prompted else pd.Series(np.arange(len(X)))
    extra = added(values[votes], prompts[votes], X["rater"][votes])
    expected = alone.result_.covariances[0] + extra
    assert_allclose(covariance, expected, rtol=1e-9, atol=1e-12)
    # Only the part of people grows, and no variance is less than that by prompt.
    before = alone.result_.part_covariances[0]
    assert_allclose(parts[0] - before[0], extra, atol=1e-12)
    assert_allclose(parts[1:], before[1:], rtol=1e-10, atol=1e-16)
    assert (errors(mine) >= errors(alone)).all() and (extra.diagonal() > 0).any()


@pytest.mark.parametrize("settings", [{}, {"bias": "linear"}])
def test_human_scores_by_rater(battles, settings):
    X, y = battles
    votes = (X["judge"] == "human").to_numpy()
    X, y = X[votes], y[votes]
    mine = BTLRegressor(**settings).fit(X, y).covariance_
    alone = BTLRegressor(**settings).fit(X, y, groups="prompt_id").covariance_
    least = np.linalg.eigvalsh(np.asarray(mine - alone)).min()
    assert least > -1e-12 and np.trace(mine - alone) > 1e-4
    if settings:
        return
    # By loops: score vectors of the votes, and the inverse information.
    fitted = BTLRegressor().fit(X, y)
    names = fitted.models_.tolist()
    design = np.zeros((len(X), len(names)))
    for row, sides in enumerate(X[["model_a", "model_b"]].to_numpy()):
        design[row, names.index(sides[0])] = 1.0
        design[row, names.index(sides[1])] = -1.0
    p = 1.0 / (1.0 + np.exp(-design @ fitted.scores_.to_numpy()))
    bread = np.linalg.pinv(design.T @ (design * (p * (1.0 - p))[:, None]))
    values = (design * (y - p)[:, None]) @ bread
    extra = added(values, X["prompt_id"], X["rater"])
    assert_allclose(np.asarray(mine - alone), extra, atol=1e-8)


@pytest.mark.parametrize(("votes", "extra"), [([1, -1], 0.0), ([1, 1], 2.0)])
def test_a_rater_who_agrees_with_nobody_takes_nothing_away(votes, extra):
    # Votes of a rater that cancel make the sum of two ways negative.
    votes, nothing = np.array(votes, dtype=float)[:, None], np.zeros(1)
    parts, squares = np.zeros((3, 1, 1)), votes.T @ votes
    result = Influence(nothing, parts, votes.sum(axis=0)[None], squares, nothing)
    assert result.covariance_parts()[0, 0, 0] == extra


def test_few_raters_are_not_enough(battles):
    X, y = battles
    by_prompt = errors(ANCHOR.fit(X, y, groups="prompt_id"))
    number = np.arange(len(X))
    few = X.assign(rater=(number % 3).astype(str))
    fitted = ANCHOR.fit(few, y)
    assert_array_equal(errors(fitted), by_prompt)
    message = "Raters: 3; errors are not by rater."
    assert message in str(fitted.result_.inputs)
    assert (fitted.result_.inputs.n_raters, fitted.result_.inputs.by_rater) == (
        3,
        False,
    )
    # One rater gave most of the votes, whatever the number of others.
    most = X["rater"].where(number % 4 == 0, "0").mask(X["rater"].isna())
    sizes = most.value_counts().to_numpy()
    assert len(sizes) >= FEW_GROUPS > effective_number(sizes)
    assert_array_equal(errors(ANCHOR.fit(X.assign(rater=most), y)), by_prompt)
    # Raters who vote once are no clusters.
    once = ANCHOR.fit(X.assign(rater=X["rater"].mask(X["rater"].notna(), number)), y)
    assert once.result_.inputs.n_raters == 0


def test_runs_of_a_judge_are_no_raters(battles):
    X, y = battles
    runs = pd.Series([f"run {i % 3}" for i in range(len(X))], X.index)
    marked = X.assign(rater=X["rater"].where(X["judge"] == "human", runs))
    plain, other = (clone(ANCHOR).fit(rows, y) for rows in (X, marked))
    for fitted in (plain, other):
        assert fitted.result_.inputs.n_raters == X["rater"].nunique()
    assert_allclose(errors(other), errors(plain), rtol=1e-12)


def test_what_has_no_errors_by_rater_says_so(battles):
    X, y = battles
    is_new_row = X[["model_a", "model_b"]].eq("new-model").any(axis=1).to_numpy()
    named = AnchorHistory(ANCHOR).fit(
        X[~is_new_row], y[~is_new_row], groups="prompt_id"
    )
    with pytest.warns(DataWarning, match="allow for 59 raters who may differ"):
        history = AnchorHistory(ANCHOR).fit(X[~is_new_row], y[~is_new_row])
    one, other = (
        item.place(X[is_new_row], y[is_new_row], groups="prompt_id")
        for item in (history, named)
    )
    assert_array_equal(one.standard_errors, other.standard_errors)
    joint = JointBTL().fit(X, y).result_.inputs
    assert joint.n_raters == 59 and not joint.by_rater
    refits, by_prompt = (
        bootstrap(JointBTL(), X, y, n_resamples=8, random_state=0, groups=groups)
        for groups in ("auto", "prompt_id")
    )
    assert_array_equal(refits.standard_errors, by_prompt.standard_errors)
    counted = AnchorPipeline(cv=3, item_effects=None, weights="frequency")
    inputs = counted.fit(X, y, sample_weight=np.full(len(X), 2)).result_.inputs
    assert inputs.n_raters == 59 and not inputs.by_rater


def test_models_left_out_have_errors_by_rater(battles):
    X, y = battles
    models = ["model-02"]
    mine, alone = (
        leave_one_model_out(ANCHOR, X, y, models=models, **groups)
        for groups in ({}, {"groups": "prompt_id"})
    )
    assert (mine["standard_error"] > alone["standard_error"]).all()
    assert (mine["true_error"] > alone["true_error"]).all()
    assert_array_equal(mine["score"], alone["score"])
