"""Weights of a training set."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skanchor import AnchorPipeline, Comparisons
from skanchor._crossfit.folds import (
    FoldPlan,
    check_training_sets,
    make_plans,
    scales_of_training,
    training_set,
)
from skanchor._crossfit.source_kfold import SourceKFold
from skanchor._sample.sample import Sample
from skanchor.simulation import simulate_battles


def test_training_weights_stand_for_the_whole_source():
    weight = [1.0, 2.0, 1.0, 1.0, 1.0, 5.0]

    def weights(judges, new, train):
        """Of six rows: three by one source, two by another, and one of no use."""
        table = pd.DataFrame(
            {
                "model_a": [*new, "x"],
                "model_b": ["y", "y", "y", "y", "y", "x"],
                "judge": [*judges, "human"],
            }
        )
        X = Comparisons.from_battles(table, new_models=sorted({*new} - {"x"}))
        sample = Sample.admit(X, np.ones(6) / 2, weight)
        plan = FoldPlan(np.where(np.isin(np.arange(6), train), 1, 0), 2)
        check_training_sets(sample, plan, is_joint=True)
        scales = scales_of_training(sample, plan)
        return training_set(sample, plan.held_out(0), scales[0]).weight

    votes = ["human"] * 3 + ["gpt"] * 2
    got = weights(votes, ["x"] * 5, np.array([0, 1, 3]))
    assert_allclose(got, [4 / 3, 8 / 3, 0, 2, 0, 0])
    with pytest.raises(ValueError, match="keeps no row of judge 'gpt' rows between"):
        weights(votes, ["x"] * 5, np.array([0, 1]))
    # A source of a new model is done without while another one places the model.
    verdicts = ["claude"] * 3 + ["gpt"] * 2
    spared = weights(verdicts, ["new"] * 5, np.array([0, 1]))
    assert (spared[3:5] == 0.0).all()
    lost = "keeps no row of judge 'gpt' rows with new model 'other'"
    with pytest.raises(ValueError, match=lost):
        weights(verdicts, ["new"] * 3 + ["other"] * 2, np.array([0, 1]))


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_folds_are_drawn_again_where_one_would_hold_all_that_bounds_a_score(outcome):
    # Without the two votes that go against the others, a model has no finite score.
    y = np.repeat([outcome, 1.0 - outcome], [10, 2])
    table = pd.DataFrame({"model_a": ["x"] * 12, "model_b": ["y"] * 12})
    sample = Sample.admit(Comparisons.from_battles(table), y)

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
    late = X.eq("new-model").any(axis=1)
    own = np.flatnonzero((X["judge"] == "judge-2") & ~late)
    kept = np.setdiff1d(np.arange(len(X)), own[1:])
    # Nobody else places the new model: the judge with one old row is needed.
    X = X.iloc[kept].assign(judge=X["judge"].mask(late, "judge-2"))

    def fit_nothing(*args, **kwargs):
        raise AssertionError("a fit")

    monkeypatch.setattr("skanchor.pipeline.fit_stages", fit_nothing)
    with pytest.raises(
        ValueError, match=r"Fold \d: .*'judge-2' rows between historical"
    ):
        AnchorPipeline(cv=3, random_state=0).fit(X, y[kept])


@pytest.fixture
def votes():
    table = pd.DataFrame({"model_a": list("xyzxyz"), "model_b": list("yzxyzx")})
    return Sample.admit(Comparisons.from_battles(table), np.ones(6) / 2)


def test_one_plan_may_be_given_in_a_list(votes):
    rows = np.arange(6)
    splits = [(rows[3:], rows[:3]), (rows[:3], rows[3:])]
    for cv in (splits, [splits]):
        (plan,) = make_plans(cv, 1, votes, None)
        assert [test.tolist() for _, test in plan] == [[0, 1, 2], [3, 4, 5]]
