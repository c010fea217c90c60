"""Codes of columns of text: those of pandas, found once for each column."""

import gc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_series_equal

from skanchor._comparisons import coded, in_chunks
from skanchor._comparisons.coded import CodedText, coded_text
from skanchor._comparisons.in_chunks import look_up

pytestmark = pytest.mark.skipif(
    pd.__version__ < "3", reason="texts are not Arrow's before pandas 3"
)

TEXTS = ["owl", None, "elk", "", "owl", "fox", "NA", "elk", None]


@pytest.fixture
def column():
    return pd.Series(TEXTS * 20, dtype="str", name="model_a")


def assert_codes(found, column):
    codes, labels = pd.factorize(column)
    assert_array_equal(found.codes, codes)
    assert found.labels == labels.tolist()


def test_codes_are_those_of_pandas(column):
    assert_codes(coded_text(column), column)
    assert coded_text(column).codes.dtype == np.int8
    many = pd.Series([f"model {i}" for i in range(300)] * 20)
    assert_codes(coded_text(many), many)
    assert coded_text(many).codes.dtype == np.int16
    chunks = pd.concat([column, column.head(0), many, column], ignore_index=True)
    assert_codes(coded_text(chunks), chunks)
    for odd in (column.head(0), column[column.isna()]):
        assert coded_text(odd).labels == []
        assert_codes(coded_text(odd), odd)


@pytest.mark.parametrize(
    "dictionary",
    [
        ["elk", "owl", "", "fox", "NA"],
        ["unused", "NA", "elk", "owl", "more", "", "fox"],
        ["elk", "owl", "elk", "NA", "fox", "", "owl"],
    ],
    ids=["other order", "unused", "twice"],
)
def test_dictionaries_are_put_in_the_order_of_the_rows(column, dictionary):
    last = {text: at for at, text in enumerate(dictionary)}
    at = [last.get(text) for text in TEXTS]
    at[0] = dictionary.index("owl")
    half = pa.DictionaryArray.from_arrays(pa.array(at, pa.int32()), dictionary)
    other = pa.array(TEXTS, pa.string()).dictionary_encode()
    assert_codes(
        CodedText.of_dictionary(pa.chunked_array([half] * 19 + [other])), column
    )


def test_texts_that_come_late_are_found(monkeypatch):
    monkeypatch.setattr(coded, "_LOOK", 4)
    codes, texts = np.array([2, 2, -1, 2, 0, 1]), pa.array(["a", "b", "c", "d"])
    found = CodedText.of(codes, texts)
    assert found.labels == ["c", "a", "b"]
    assert_array_equal(found.codes, [0, 0, -1, 0, 1, 2])


def test_a_column_is_made_of_its_codes(column):
    made = coded_text(column).to_series()
    assert_series_equal(made.rename("model_a"), column)
    assert coded_text(made) is coded_text(column)


def test_categories_of_texts_have_codes(column):
    made = coded_text(column).to_categories()
    assert_series_equal(made.astype("str").rename("model_a"), column)
    assert made.cat.codes.dtype == np.int8
    assert_codes(coded_text(made), column)
    odd = column.astype(pd.CategoricalDtype(["unused", "elk", "NA", "owl", "", "fox"]))
    assert_codes(coded_text(odd), column)
    assert coded_text(pd.Series([1, 2, 1], dtype="category")) is None


def test_codes_are_found_once_for_what_has_the_same_cells(column, monkeypatch):
    found = coded_text(column)
    table = pd.DataFrame({"x": column}).rename(columns={"x": "y"}).assign(z=1)
    assert coded_text(table[["z", "y"]]["y"]) is found
    changed = table["y"].copy()
    changed.iloc[3] = "new"
    assert_codes(coded_text(changed), changed)
    assert coded_text(table["y"]) is found
    assert_codes(coded_text(column.iloc[3:]), column.iloc[3:])


def test_codes_are_kept_as_long_as_the_column_alone():
    many = pd.Series([f"prompt {i}" for i in range(40)] * 3)
    gc.collect()
    before = len(coded._known)
    column = pd.Series(["owl", "elk"] * 50, dtype="str")
    assert coded_text(column).labels == ["owl", "elk"]
    assert len(coded._known) == before + 1
    # Codes of many texts are not kept.
    assert_codes(coded_text(many), many)
    assert len(coded._known) == before + 1
    del column
    gc.collect()
    assert len(coded._known) == before


@pytest.mark.parametrize(
    "other",
    [
        pd.Series(["a", "b"], dtype=object),
        pd.Series(["a", "b"], dtype=pd.StringDtype("python")),
        pd.Series([1, 2]),
        pd.Series(["a", "b"], dtype="str"),
        np.array(["a", "b"]),
        pa.chunked_array([["a", "b"]]),
    ],
    ids=["object", "python", "numbers", "each its own", "numpy", "arrow"],
)
def test_other_columns_have_none(other):
    assert coded_text(other) is None


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.intp])
def test_values_of_codes_are_looked_up_in_parts(kind, monkeypatch):
    monkeypatch.setattr(in_chunks, "_STEP", 7)
    codes = np.random.default_rng(0).integers(-1, 4, 40).astype(kind)
    values = np.array([0.5, 1.0, 0.0, 0.25, np.nan])
    assert_array_equal(look_up(values, codes), values[codes])
    assert look_up(values, codes[:0]).shape == (0,)
