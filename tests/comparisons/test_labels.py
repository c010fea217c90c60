"""Labels of models and judges: any text or number, however it is stored."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import assert_same, columns_of

from skanchor import Comparisons
from skanchor._battles import as_frame
from skanchor._battles.grouping import find_groups, prompt_groups, read_contexts
from skanchor.exceptions import BattlesError


def test_categories():
    plain = Comparisons.from_battles(pd.DataFrame(columns_of()))
    frame = pd.DataFrame(columns_of())
    for name in ("model_a", "model_b", "judge"):
        levels = ["unused", *sorted(set(frame[name]))[::-1], "zz"]
        frame[name] = pd.Categorical(frame[name], categories=levels)
    assert_same(Comparisons.from_battles(frame), plain)
    remaining = frame[frame["model_a"] != "Émile, 3"]
    assert "Émile, 3" not in Comparisons.from_battles(remaining).models
    cast = [pl.col(c).cast(pl.Categorical) for c in ("model_a", "model_b", "judge")]
    polar = pl.DataFrame(columns_of()).with_columns(cast)
    assert_same(Comparisons.from_battles(polar), plain)
    remaining = polar.filter(pl.col("model_a") != "Émile, 3")
    assert "Émile, 3" not in Comparisons.from_battles(remaining).models
    # Chunks of an arrow column may each bring their own dictionary.
    halves = [pa.table(columns_of()).slice(0, 3), pa.table(columns_of()).slice(3)]
    coded = [
        half.set_column(
            0, "model_a", half["model_a"].combine_chunks().dictionary_encode()
        )
        for half in halves
    ]
    assert_same(Comparisons.from_battles(pa.concat_tables(coded)), plain)


@settings(max_examples=15)
@given(st.lists(st.text(max_size=8), min_size=2, max_size=6, unique=True), st.data())
def test_any_text_may_name_a_model(names, data):
    rows = data.draw(st.lists(st.tuples(*[st.sampled_from(names)] * 2), min_size=1))
    a, b = map(list, zip(*rows, strict=True))
    X = Comparisons.from_battles(pd.DataFrame({"model_a": a, "model_b": b}))
    assert X.models.tolist() == sorted({*a, *b})
    assert X.models[X.left].tolist() == a
    assert X.models[X.right].tolist() == b
    assert_same(Comparisons.from_battles(pl.DataFrame({"model_a": a, "model_b": b})), X)


LARGE = 2**60


def test_integers_beyond_those_of_numpy():
    top = 2**64 - 1
    wide = pl.DataFrame(
        {"model_a": [2**100, 2**100 + 1], "model_b": [2**100 + 1, 5]},
        schema={"model_a": pl.Int128, "model_b": pl.Int128},
    )
    tables = {
        (5, 2**100, 2**100 + 1): wide,
        (-1, 3, top - 1, top): pd.DataFrame(
            {
                "model_a": np.array([top, top - 1], np.uint64),
                "model_b": np.array([-1, 3], np.int64),
            }
        ),
        (LARGE, LARGE + 1): pd.DataFrame(
            {"model_a": [LARGE + 1] * 2, "model_b": [float(LARGE)] * 2}
        ),
        (0.5, 1.0, 2.0): pd.DataFrame({"model_a": [1, 2], "model_b": [2.0, 0.5]}),
    }
    for models, table in tables.items():
        assert Comparisons.from_battles(table).models.tolist() == list(models)


@pytest.mark.parametrize("labels", [["p", None, "q", "p"], [7, None, 9, 7]])
def test_empty_cells_of_a_dictionary_are_no_labels(labels):
    column = pa.array(labels).dictionary_encode()
    for columns in (column, pa.chunked_array([column[:1], column[1:]])):
        table = pa.table({"prompt_id": columns})
        assert prompt_groups(as_frame(table)).prompts.tolist() == [0, 1, 2, 0]
        for groups in ("prompt_id", table["prompt_id"]):
            with pytest.raises(
                BattlesError, match="missing values: 1, the first in row 1"
            ):
                find_groups(groups, table, 4)
        with pytest.raises(BattlesError, match="missing values: 1, the first in row 1"):
            read_contexts("prompt_id", table)


def test_labels_in_a_list_keep_their_types():
    result = find_groups([1, "2", "p", 1], None, 4)
    assert result.prompts.tolist() == [0, 1, 2, 0]
    for one in (17, 17.0):
        table = pd.DataFrame({"prompt_id": pd.Series([one, "17", "p"], dtype=object)})
        for groups in ("prompt_id", table["prompt_id"].tolist()):
            with pytest.raises(BattlesError, match="such as 17 and '17', which would"):
                find_groups(groups, table, 3)
    with pytest.raises(BattlesError, match="missing values: 1, the first in row 1"):
        find_groups(["p", float("nan"), "q"], None, 3)
