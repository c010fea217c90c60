"""Tables of every kind: the same encoding, and what it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tables import KINDS, assert_same, columns_of, kinds

from skanchor import Comparisons
from skanchor._battles import Outcomes
from skanchor.exceptions import BattlesError


@kinds
def test_encoding(kind):
    X = Comparisons.from_battles(KINDS[kind](columns_of()))
    assert X.models.tolist() == ["alpha", "mid", "zeta", "Émile, 3"]
    assert X.judges.tolist() == ["claude", "gpt"]
    assert X.left.tolist() == [2, 0, 1, 0, 2, 3]
    assert X.right.tolist() == [0, 1, 2, 2, 1, 0]
    assert X.judge.tolist() == [-1, 1, -1, 0, 1, -1]
    assert X.order.tolist() == [1.0] * 6
    # Text pairs travel unread.
    assert X.feature_names == ("x", "n", "flag")
    assert X.features_left[:, 1].tolist() == [1, 2, 3, 4, 5, 6]
    assert X.features_right[:, 2].tolist() == [0, 0, 1, 0, 0, 1]
    assert X.features_left.dtype == np.float64
    assert (len(X), X.shape) == (6, (6, 5))
    assert Comparisons.from_battles(X) is X


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"judge": None},
        {"model_a": [3, 1, 2, 1, 3, 10], "model_b": [1, 2, 3, 3, 2, 1]},
        {"shown_first": ["model_a", "model_b", None, "model_b", "model_a", None]},
        {"x_a": [None, 1.0, 2.0, None, 1.0, 2.0]},
        {"n_b": [None, 1, 2, 3, 4, 5]},
        {"prompt_a": [None, *"bcdef"]},
        {"turns_a": [["hi"]] * 6, "turns_b": [["ho", "hum"]] * 6},
    ],
    ids=lambda changes: "-".join(changes) or "plain",
)
def test_tables_of_all_kinds_are_the_same(kind, changes):
    data = columns_of(**changes)
    assert_same(
        Comparisons.from_battles(KINDS[kind](data)),
        Comparisons.from_battles(pd.DataFrame(data)),
    )


def test_other_dtypes_of_pandas():
    plain = Comparisons.from_battles(pd.DataFrame(columns_of()))
    data = pd.DataFrame(columns_of())
    text = ["model_a", "model_b", "judge"]
    for dtype in ("object", "string"):
        assert_same(
            Comparisons.from_battles(data.astype(dict.fromkeys(text, dtype))), plain
        )
    assert_same(
        Comparisons.from_battles(
            data.astype({"x_a": "float32", "n_a": object, "n_b": "Int64"})
        ),
        plain,
    )
    # The index is no part of the table.
    assert_same(Comparisons.from_battles(data.set_axis(list("fedcba"))), plain)


@kinds
def test_shown_first(kind):
    shown = ["model_a", "model_b", None, "model_b", None, "model_a"]
    X = Comparisons.from_battles(KINDS[kind](columns_of(shown_first=shown)))
    assert X.order.tolist() == [1, -1, 0, -1, 0, 1]
    nothing = Comparisons.from_battles(KINDS[kind](columns_of(shown_first=[None] * 6)))
    assert nothing.order.tolist() == [0] * 6
    with pytest.raises(BattlesError, match=r"'shown_first' holds \['left'\]"):
        Comparisons.from_battles(KINDS[kind](columns_of(shown_first=["left"] * 6)))


def test_unknown_orders_in_categories_of_polars():
    # Their codes have no sign.
    sides = pl.Series(["model_b", None, "model_a"], dtype=pl.Categorical)
    table = pl.DataFrame({"model_a": ["x"] * 3, "model_b": ["y"] * 3})
    table = table.with_columns(shown_first=sides)
    for item in (table, table.to_arrow()):
        assert Comparisons.from_battles(item).order.tolist() == [-1.0, 0.0, 1.0]


def test_bare_arrays():
    X = Comparisons.from_battles(np.array([[1, 2, 0.5], [2, 3, -1.0]]))
    assert X.models.tolist() == [1, 2, 3] and not X.named
    assert (X.features_left - X.features_right).ravel().tolist() == [0.5, -1.0]
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        Comparisons.from_battles(np.ones((3, 1)))
    with pytest.raises(BattlesError, match="only one class"):
        Outcomes.encode([1, 1], named=False)
    with pytest.raises(BattlesError, match="multiclass"):
        Outcomes.encode([1, 2, 3], named=False)
