"""Features are chosen: what smells of the outcome is left out and told."""

import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skanchor import Comparisons, split_battles
from skanchor._battles.features import declared, smells_of_outcome, without_declaration
from skanchor.exceptions import BattlesError, DataWarning

KINDS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
}
SUSPECTS = [
    "score", "judge_rating", "Elo", "rank", "pref", "n_votes", "conv_useful",
    "conv_incorrect", "conv_clear_formatting", "conv_instructions_not_followed",
    "question_id", "conversationId", "winnerModel", "win_rate", "label",
    "rewardScore", "uuid",
]  # fmt: skip
INNOCENT = [
    "length", "n_words", "underscores", "n_ordered", "idle", "prefix", "window",
    "frankness", "wide", "novel", "x1", "n_headers", "elongation", "scoreless",
]  # fmt: skip


@pytest.mark.parametrize("name", SUSPECTS)
def test_suspicious_names(name):
    assert smells_of_outcome(name)
    assert declared(name) == f"feature_{name}"
    assert without_declaration(f"feature_{name}") == name


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent_names(name):
    assert not smells_of_outcome(name)
    assert declared(name) == without_declaration(name) == name


def table_of(**columns):
    table = pd.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "x"]})
    pairs = {f"{name}_{side}": values for name, values in columns.items()
             for side in "ab"}  # fmt: skip
    return table.assign(winner=["model_a", "tie"], **pairs)


TABLE = table_of(length=[1.0, 2.0], elo=[3, 4], topic_id=[5, 6], text=["u", "v"])


@pytest.mark.parametrize("kind", KINDS)
def test_suspects_are_named_in_one_warning(kind):
    X, _ = split_battles(KINDS[kind](TABLE))
    with pytest.warns(
        DataWarning, match="elo_a and elo_b, topic_id_a and topic_id_b"
    ) as got:
        battles = Comparisons.from_battles(X)
    assert len(got) == 1 and "in features" in str(got[0].message)
    assert battles.feature_names == ("length",)


@pytest.mark.parametrize("kind", KINDS)
def test_features_asked_for_are_taken_whatever_their_names(kind):
    X, _ = split_battles(KINDS[kind](TABLE), features=["elo"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        battles = Comparisons.from_battles(X)
    assert battles.feature_names == ("elo",)
    assert battles.features_left.tolist() == [[3.0], [4.0]]
    names = list(map(str, getattr(X, "column_names", X.columns)))
    assert "text_a" in names and "length_a" not in names


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ({"features": "length"}, ("length",)),
        ({"features": []}, ()),
        ({"features": ["length"]}, ("length",)),
        ({"drop_features": ["elo", "topic_id"]}, ("length",)),
    ],
)
def test_all_none_or_all_but_some(choice, names):
    X, _ = split_battles(TABLE, **choice)
    assert Comparisons.from_battles(X).feature_names == names


def test_half_a_pair_is_no_obstacle_to_a_choice():
    X, _ = split_battles(TABLE.assign(tone_a=1.0), features=["length"])
    assert Comparisons.from_battles(X).feature_names == ("length",)
    X, _ = split_battles(TABLE.assign(tone_a=1.0))
    with pytest.raises(BattlesError, match="lack their other side"):
        Comparisons.from_battles(X)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"features": ["tone"]}, r"for the features \['tone'\]; there are for \['len"),
        ({"drop_features": ["tone"]}, r"for the features \['tone'\]"),
        ({"features": ["text"]}, "hold text, not numbers"),
        ({"features": ["length"], "drop_features": ["elo"]}, "not both"),
    ],
)
def test_impossible_choices(choice, message):
    with pytest.raises(BattlesError, match=message):
        split_battles(TABLE, **choice)
