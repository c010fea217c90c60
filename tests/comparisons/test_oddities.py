"""Rows and labels that are probably not meant: told once, where they count."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skanchor import BTLRegressor, split_battles
from skanchor.exceptions import BattlesError, DataWarning


@pytest.mark.parametrize("of", [pd.DataFrame, pl.DataFrame])
def test_look_alike_labels_are_told_where_they_count(of):
    names = ["Elk", "elk ", "owl", "fox"]
    table = of(
        {"model_a": names * 6, "model_b": [*names[1:], *names[:1]] * 6,
         "judge": ["human"] * 20 + ["Human"] * 4}
    )  # fmt: skip
    y = [0, 1] * 6 + [1, 0] * 6
    with pytest.warns(DataWarning) as told:
        BTLRegressor(alpha=1.0).fit(table, y)
    told = [str(warning.message) for warning in told]
    assert len(told) == 2
    assert "models ['Elk', 'elk '] differ" in told[0]
    assert "judges ['human', 'Human'] differ" in told[1]
    assert "only 'human' marks human rows" in told[1]
    # Rows of weight zero are not there.
    weight = np.array([1, 0, 1, 1] * 5 + [0] * 4)
    weight[[0, 4, 8, 12, 16]] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BTLRegressor(alpha=1.0).fit(table, y, weight)


def test_numbers_never_look_alike():
    table = pd.DataFrame({"model_a": [1, 2, 3, 1], "model_b": [2, 3, 1, 3]})
    BTLRegressor(alpha=1.0).fit(table, [0, 1, 1, 0])


@pytest.mark.parametrize("name", ["Judge", "judge_name", "LLM judge"])
def test_a_column_like_judge_is_told(name):
    table = pd.DataFrame({"model_a": [*"xyzx"], "model_b": [*"yzxz"], name: "gpt"})
    with pytest.warns(DataWarning, match=rf"\['{name}'\] may be meant"):
        BTLRegressor(alpha=1.0).fit(table, [0, 1, 1, 0])
    BTLRegressor(alpha=1.0).fit(table.drop(columns=name), [0, 1, 1, 0])


def test_a_late_row_against_itself_is_told():
    n = 150_000
    a, b = np.zeros(n, dtype=int), np.ones(n, dtype=int)
    b[-1] = 0
    y = np.arange(n) % 2
    with pytest.warns(DataWarning, match="1 rows compare a model with itself"):
        BTLRegressor().fit(pd.DataFrame({"model_a": a, "model_b": b}), y)


@pytest.mark.parametrize("name", [5, ("a", "b"), pd.Timestamp("2024-01-01")])
@pytest.mark.parametrize("read", [split_battles, BTLRegressor().fit])
def test_a_column_whose_name_is_no_text_is_refused(read, name):
    """It ended in an AttributeError."""
    table = pd.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "x"]})
    table["winner"] = ["model_a", "tie"]
    table = pd.concat([table, pd.Series([1, 2], name=name)], axis=1)
    table.columns = pd.Index([*table.columns[:-1], name], tupleize_cols=False)
    outcomes = () if read is split_battles else (table["winner"],)
    with pytest.raises(BattlesError, match="is no text; rename it"):
        read(table, *outcomes)
