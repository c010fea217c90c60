"""A small battles table in every kind of table, and when two encodings are the same."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

KINDS = {
    "pandas": lambda data: pd.DataFrame(data),
    "polars": lambda data: pl.DataFrame(data, strict=False),
    "pyarrow": lambda data: pa.table(data),
}
kinds = pytest.mark.parametrize("kind", KINDS)


def columns_of(**changes):
    data = {
        "model_a": ["zeta", "alpha", "mid", "alpha", "zeta", "Émile, 3"],
        "model_b": ["alpha", "mid", "zeta", "zeta", "mid", "alpha"],
        "judge": ["human", "gpt", "human", "claude", "gpt", "human"],
        "x_a": [0.5, 1.0, -1.0, 2.0, 0.0, 3.0],
        "x_b": [1.5, 0.0, 1.0, 2.5, 0.25, 0.0],
        "n_a": [1, 2, 3, 4, 5, 6],
        "n_b": [6, 5, 4, 3, 2, 1],
        "flag_a": [True, False] * 3,
        "flag_b": [False, False, True] * 2,
        "prompt_a": list("abcdef"),
        "prompt_b": list("ghijkl"),
        "language": ["en"] * 6,
    }
    data.update(changes)
    return {name: values for name, values in data.items() if values is not None}


def assert_same(a, b):
    for name in ("models", "judges", "left", "right", "judge", "order"):
        assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert_array_equal(a.features_left, b.features_left)
    assert_array_equal(a.features_right, b.features_right)
    assert a.feature_names == b.feature_names
    assert a.new_models == b.new_models
    for name in ("scores", "sensitivities", "position_effects", "biases"):
        one, other = getattr(a, name), getattr(b, name)
        assert (one is None) == (other is None)
        if one is not None:
            assert_array_equal(one, other)
