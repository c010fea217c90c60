"""split_battles: renamed columns, human labels, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from tables import KINDS, columns_of, kinds

from skanchor import Comparisons, split_battles
from skanchor.exceptions import BattlesError


@kinds
def test_split_battles_renames_onto_a_taken_name(kind):
    data = columns_of(winner=["model_a"] * 6, vote=["model_b"] * 6)
    _, y = split_battles(KINDS[kind](data), columns={"vote": "winner"})
    assert set(np.asarray(y)) == {"model_b"}
    swap = {"model_a": "model_b", "model_b": "model_a"}
    X, _ = split_battles(KINDS[kind](data), columns=swap)
    assert_array_equal(
        Comparisons.from_battles(X).left,
        Comparisons.from_battles(KINDS[kind](data)).right,
    )


@kinds
def test_split_battles_human_label_of_another_type(kind):
    data = columns_of(winner=["model_a"] * 6, judge=[0, 1, 0, 2, 1, 0])
    X, _ = split_battles(KINDS[kind](data), human=0)
    encoded = Comparisons.from_battles(X)
    assert encoded.judges.tolist() == ["1", "2"]
    assert encoded.judge.tolist() == [-1, 0, -1, 1, 0, -1]


def test_people_who_are_no_label_named_so_are_told():
    judge = ["u1", "human", "gpt", "u2", "u1", "gpt"]
    table = pd.DataFrame(columns_of(winner=["model_a"] * 6, judge=judge))
    with pytest.raises(BattlesError, match=r"people have .*'human' among them"):
        split_battles(table, human=["u1", "u2"])


def test_a_human_label_needs_a_column_of_judges():
    table = pd.DataFrame({"model_a": ["x"], "model_b": ["y"], "winner": ["tie"]})
    with pytest.raises(BattlesError, match=r"lacks the columns \['judge'\]"):
        split_battles(table, human="crowd")


def test_split_battles_needs_a_table():
    with pytest.raises(TypeError, match="pandas, polars or pyarrow"):
        split_battles([[1, 2]])
