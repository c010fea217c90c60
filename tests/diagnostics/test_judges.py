"""The table of judges, counted by hand."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skanchor import AnchorPipeline, Comparisons, JudgeCalibrator
from skanchor._battles import decide_roles
from skanchor._diagnostics.judges import judge_table
from skanchor._sample.sample import Sample
from skanchor.bias import AutoBias, LinearBias
from skanchor.simulation import simulate_battles


class Known:
    """What the table reads of a fitted calibrator."""

    sensitivities_ = pd.Series({"j": 1.5, "k": -0.5})
    position_effects_ = pd.Series({"j": 0.25, "k": np.nan})
    has_position_effect_ = pd.Series({"j": True, "k": False})
    choices_ = pd.DataFrame()


ROWS = [
    # first, second, judge, shown first, outcome
    ("a", "b", "human", "model_a", 1.0),
    ("b", "a", "human", "model_a", 1.0),
    ("a", "b", "j", "model_a", 1.0),  # right, the side shown first
    ("a", "b", "j", "model_b", 0.0),  # wrong, the side shown first
    ("b", "a", "j", "model_a", 0.0),  # right, the side shown second
    ("b", "a", "j", None, 0.5),  # a tie, shown in no order
    ("n", "a", "j", "model_a", 1.0),  # of an arrival, which no agreement counts
    ("a", "b", "k", None, 1.0),
    ("a", "b", "k", "model_b", 0.0),  # without weight
]
WEIGHT = [1.0] * 8 + [0.0]


def sample_of_rows():
    columns = ["model_a", "model_b", "judge", "shown_first", "y"]
    table = pd.DataFrame(ROWS, columns=columns)
    X = Comparisons.from_battles(table.drop(columns="y"))
    sample = Sample.from_battles(X, table["y"], WEIGHT)
    return sample.with_battles(decide_roles(X, sample.weight, None))


def test_counts_and_rates_by_hand():
    result = judge_table(sample_of_rows(), np.array([1.0, -1.0, 0.0]), Known)
    expected = pd.DataFrame(
        {
            "rows": [5, 1],
            "ties": [1, 0],
            "both_bad": [0, 0],
            "first_side_rate": [3 / 4, np.nan],
            "agreement": [2 / 3, 1.0],
            "sensitivity": [1.5, -0.5],
            "position_effect": [0.25, np.nan],
            "has_position_effect": [True, False],
        },
        index=pd.Index(["j", "k"], name="judge"),
    )
    pd.testing.assert_frame_equal(result, expected)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
def test_an_automatic_choice_is_in_the_table():
    data = simulate_battles(
        n_models=5, n_judges=2, n_new=100, n_historical=900, random_state=0
    )
    bias = AutoBias(["linear", LinearBias(alpha=100.0)])
    anchor = AnchorPipeline(
        calibrator=JudgeCalibrator(bias), cv=3, item_effects=None, random_state=0
    ).fit(data.X, data.y)
    chosen, table = anchor.calibrator_.choices_, anchor.summary()
    assert table["bias"].tolist() == chosen["picked"].tolist()
    losses = [name for name in table if name.startswith("loss ")]
    assert len(losses) == 2
    assert_allclose(table[losses], chosen[losses])
