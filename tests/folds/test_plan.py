"""Weights of a training set."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skanchor import Comparisons
from skanchor.folds import make_plans, training_weights
from skanchor.sample import Sample


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
        return training_weights(Sample.admit(X, np.ones(6) / 2, weight), train)

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


@pytest.fixture
def votes():
    table = pd.DataFrame({"model_a": list("xyzxyz"), "model_b": list("yzxyzx")})
    return Sample.admit(Comparisons.from_battles(table), np.ones(6) / 2)


def test_masks_of_another_length_are_refused(votes):
    half = np.arange(6) < 3
    splits = [(half, ~half), (~half, half)]
    (plan,) = make_plans(splits, 1, votes, None)
    assert [test.tolist() for _, test in plan] == [[3, 4, 5], [0, 1, 2]]
    with pytest.raises(ValueError, match="Split 1 of cv must hold row numbers"):
        make_plans([splits[0], (~half, half[:5])], 1, votes, None)


def test_one_plan_may_be_given_in_a_list(votes):
    rows = np.arange(6)
    splits = [(rows[3:], rows[:3]), (rows[:3], rows[3:])]
    for cv in (splits, [splits]):
        (plan,) = make_plans(cv, 1, votes, None)
        assert [test.tolist() for _, test in plan] == [[0, 1, 2], [3, 4, 5]]
