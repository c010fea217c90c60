"""Outcomes as labels and numbers, of named tables and bare arrays."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skanchor._battles import Outcomes

LABELS = ["model_a", "model_b", "tie", "tie (bothbad)", "both_bad"]


@pytest.mark.parametrize(
    "wrap", [list, np.array, pd.Series, pd.Categorical, pl.Series, pa.array,
             lambda y: pa.chunked_array([y[:2], y[2:]])]
)  # fmt: skip
def test_outcome_labels(wrap):
    outcomes = Outcomes.encode(wrap(LABELS), named=True)
    assert outcomes.values.tolist() == [1, 0, 0.5, 0.5, 0.5]
    assert outcomes.classes.tolist() == ["model_a", "model_b"]
    assert outcomes.first_wins == 0


@pytest.mark.parametrize(
    "y", [[0, 1, 1], [False, True, True], [0.0, 1.0, 1.0],
          pl.Series([0, 1, 1]), np.array([0, 1, 1], dtype=object)]
)  # fmt: skip
def test_outcome_numbers(y):
    outcomes = Outcomes.encode(y, named=True)
    assert outcomes.values.tolist() == [0, 1, 1]
    assert outcomes.classes.tolist() == [0, 1]
    assert outcomes.first_wins == 1


def test_fractions_are_preferences():
    y = [0.0, 0.25, 0.5, 1.0]
    assert Outcomes.encode(y, named=True).values.tolist() == y
    assert Outcomes.encode([0.5], named=True).values.tolist() == [0.5]


@pytest.mark.parametrize(
    ("y", "first"),
    [
        (["no", "yes", "no"], "yes"),
        ([1, 2, 1], 2),
        ([-1, 1, -1], 1),
        (list("BAB"), "B"),
    ],
)
def test_bare_arrays_take_two_labels(y, first):
    outcomes = Outcomes.encode(y, named=False)
    assert outcomes.classes[outcomes.first_wins] == first
    assert outcomes.values.tolist() == [float(label == first) for label in y]
