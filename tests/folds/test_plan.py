"""Weights of a training set."""

import numpy as np
import pandas as pd
import pytest

from skanchor import AnchorPipeline, Comparisons
from skanchor._crossfit.folds import make_plans
from skanchor._crossfit.source_kfold import SourceKFold
from skanchor._sample.sample import Sample
from skanchor.simulation import simulate_battles


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_folds_are_drawn_again_where_one_would_hold_all_that_bounds_a_score(outcome):
    # Without the two votes that go against the others, a model has no finite score.
    y = np.repeat([outcome, 1.0 - outcome], [10, 2])
    table = pd.DataFrame({"model_a": ["x"] * 12, "model_b": ["y"] * 12})
    sample = Sample.from_battles(Comparisons.from_battles(table), y)

    def is_split(plan):
        return all(0 < y[train].mean() < 1 for train, _ in plan)

    alone, rng = 0, np.random.RandomState(0)
    for seed in range(40):
        (plan,) = make_plans(3, 1, sample, seed)
        assert is_split(plan)
        fold = SourceKFold(3, random_state=rng).assign_folds(sample.X, None)
        drawn = [(np.flatnonzero(fold != k), None) for k in range(3)]
        alone += not is_split(drawn)
    assert alone > 3


def test_folds_that_lose_a_source_are_refused_before_anything_is_fitted(monkeypatch):
    data = simulate_battles(600, 200, n_models=4, n_judges=2, random_state=0)
    X, y = data.X.drop(columns=[c for c in data.X if c[0] == "x"]), np.asarray(data.y)
    is_new_row = X.eq("new-model").any(axis=1)
    old_rows_of_judge = np.flatnonzero((X["judge"] == "judge-2") & ~is_new_row)
    remaining = np.setdiff1d(np.arange(len(X)), old_rows_of_judge[1:])
    # Nobody else places the new model: the judge with one old row is needed.
    X = X.iloc[remaining].assign(judge=X["judge"].mask(is_new_row, "judge-2"))

    def fit_nothing(*args, **kwargs):
        raise AssertionError("a fit")

    monkeypatch.setattr("skanchor.pipeline.fit_stages", fit_nothing)
    with pytest.raises(
        ValueError, match=r"Fold \d: .*'judge-2' rows between historical"
    ):
        AnchorPipeline(cv=3, random_state=0).fit(X, y[remaining])


@pytest.fixture
def votes():
    table = pd.DataFrame({"model_a": list("xyzxyz"), "model_b": list("yzxyzx")})
    return Sample.from_battles(Comparisons.from_battles(table), np.ones(6) / 2)


def test_one_plan_may_be_given_in_a_list(votes):
    rows = np.arange(6)
    splits = [(rows[3:], rows[:3]), (rows[:3], rows[3:])]
    for cv in (splits, [splits]):
        (plan,) = make_plans(cv, 1, votes, None)
        assert [test.tolist() for _, test in plan] == [[0, 1, 2], [3, 4, 5]]
