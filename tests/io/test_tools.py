"""Files of evaluation tools: each pinned by a small file in the tool's schema."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tables import quiet

from skanchor import read_battles, split_battles
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.io._tools import TOOLS

FIXTURES = Path(__file__).parent / "fixtures"
FILES = {path.stem: path for path in FIXTURES.iterdir()}

# Of every fixture: prompt_id, models, judge, preference or label, shown_first.
EXPECTED = {
    "fastchat": [
        ("q1", "owl", "elk", "human", "model_b"),
        ("q2", "elk", "fox", "human", "both_bad"),
    ],
    "arena_55k": [
        ("30192", "owl", "elk", "human", "model_a"),
        ("53567", "fox", "elk", "human", "model_b"),
        ("53568", "fox", "owl", "human", "tie"),
    ],
    "arena_100k": [
        ("a1", "owl", "elk", "human", "model_a"),
        ("a2", "elk", "fox", "human", "both_bad"),
    ],
    "arena_140k": [
        ("71fd", "owl", "elk", "human", "model_b"),
        ("8e4e", "fox", "owl", "human", "both_bad"),
    ],
    "comparia": [
        ("p1", "owl", "elk", "human", "model_b"),
        ("p2", "fox", "elk", "human", "tie"),
    ],
    "mt_bench": [
        ("81", "owl", "elk", "human", "model_b", None),
        ("81", "owl", "elk", "human", "tie", None),
        ("81", "owl", "elk", "gpt4_pair", "tie", None),
    ],
    "mt_bench_pairs": [
        ("81", "owl", "elk", "gpt-4", "model_b", "model_a"),
        ("81", "owl", "elk", "gpt-4", "tie", "model_b"),
        ("81", "owl", "elk", "gpt-4", "model_a", "model_a"),
    ],
    "mt_bench_scores": [
        ("81", "owl", "elk", "gpt-4", "model_a", None),
        ("81", "owl", "fox", "gpt-4", "tie", None),
        ("81", "elk", "fox", "gpt-4", "model_b", None),
    ],
    "alpaca_eval": [
        ("f0892d690f64bb42", "base", "owl", "weighted", 0.25, None),
        ("f0892d690f64bb42", "base", "elk", "weighted", 1.0, None),
        ("f0892d690f64bb42", "base", "fox", "weighted", 0.5, None),
    ],
    # Game 0 shows the baseline as A, game 1 the model.
    "arena_hard": [
        ("2edb", "owl", "base", "gpt-4.1", 0.25, "model_b"),
        ("2edb", "owl", "base", "gpt-4.1", 0.0, "model_a"),
        ("3fdc", "owl", "base", "gpt-4.1", 0.0, "model_b"),
    ],
    "wildbench": [
        ("ab", "owl", "base", "wildbench", 0.75, "model_a"),
        ("ac", "owl", "base", "wildbench", 0.0, "model_b"),
        ("ad", "owl", "base", "wildbench", 0.5, None),
    ],
    # The swapped row says that the model shown second won.
    "judge_arena": [
        ("81", "owl", "elk", "llama", 1.0, "model_a"),
        ("81", "elk", "owl", "llama", 0.0, "model_a"),
    ],
    "scores": [
        ("p1", "owl", "elk", "gpt", "model_a", None),
        ("p1", "owl", "fox", "gpt", "model_a", None),
        ("p1", "elk", "fox", "gpt", "model_b", None),
    ],
}
ORDER = ["prompt_id", "model_a", "model_b", "judge", "winner", "shown_first"]
FAILED = {
    "comparia": "by judge 'human' 1; by model 'fox' 1, 'owl' 1",
    "mt_bench_pairs": "1 of 4 rows.*by judge 'gpt-4' 1",
    "mt_bench_scores": "1 of 4 rows.*by model 'bee' 1",
    "alpaca_eval": "by judge 'weighted' 1; by model 'base' 1, 'bee' 1",
    "arena_hard": "1 of 4 rows",
    "judge_arena": "1 of 3 rows",
}


def read(name, **more):
    return quiet(read_battles, FILES[name], **more)


def cells(table):
    names = [name for name in ORDER if name in table]
    return list(table[names].replace({np.nan: None}).itertuples(index=False, name=None))


def test_every_tool_has_its_file():
    assert {tool.name for tool in TOOLS} | {"scores"} == set(EXPECTED) <= set(FILES)


@pytest.mark.parametrize("name", EXPECTED)
def test_battles_of_each_tool(name):
    table = read(name)
    # Scores are a layout of any table.
    tool = "table" if name == "scores" else name
    assert table.attrs["mapping"].format == tool
    assert cells(table) == EXPECTED[name]
    pd.testing.assert_frame_equal(table, read(name, format=tool.replace("_", "-")))
    X, y = split_battles(table)
    assert len(X) == len(y) == len(EXPECTED[name])
    # Nothing of the file becomes a feature unasked.
    pairs = {stem[:-2] for stem in X if stem.endswith(("_a", "_b"))}
    assert pairs <= {"model", "response"}


@pytest.mark.parametrize("name", FAILED)
def test_failed_verdicts_are_counted(name):
    with pytest.warns(DataWarning, match=FAILED[name]):
        read_battles(FILES[name])


@pytest.mark.parametrize(
    ("name", "column", "values"),
    [
        ("fastchat", "rater", ["arena_user_973", "arena_user_12"]),
        ("arena_55k", "response_b", ['["No.",null]', '["Three"]', '["Three"]']),
        ("arena_100k", "rater", ["9af", "11b"]),
        ("arena_140k", "rater", ["s1", "s1"]),
        ("comparia", "rater", ["v1", "v1"]),
        ("mt_bench", "rater", ["expert_17", "author_2", None]),
        ("mt_bench_pairs", "turn", [1, 1, 2]),
        ("alpaca_eval", "response_b", ["Two"] * 3),
    ],
)
def test_what_else_the_file_says(name, column, values):
    assert read(name)[column].replace({np.nan: None}).tolist() == values


# -------------------------------------------------------------------------- bad input
def lines(tmp_path, *records):
    path = tmp_path / "b.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def first_row(name):
    text = FILES[name].read_text()
    return json.loads(text)[0] if text[0] == "[" else json.loads(text.split("\n")[0])


@pytest.mark.parametrize(
    ("name", "changes", "match"),
    [
        ("alpaca_eval", {"preference": -1}, "holds -1 in column 'preference', which"),
        ("mt_bench_pairs", {"g2_winner": "bee"}, "outcome 'bee' in 1 row"),
        ("wildbench", {"winner": "bee"}, "outcome 'bee' in 1 row"),
        ("wildbench", {"extent": 3}, "holds 3 in column 'extent'"),
    ],
)
def test_values_that_a_tool_does_not_write(name, changes, match, tmp_path):
    path = lines(tmp_path, first_row(name) | changes)
    with pytest.raises(BattlesError, match=match) as caught:
        read_battles(path, format=name)
    assert str(path) in str(caught.value)


def test_a_file_of_two_tools_or_of_another_one(tmp_path):
    both = {**first_row("arena_hard"), **first_row("alpaca_eval")}
    with pytest.raises(BattlesError, match="files of alpaca_eval, arena_hard"):
        read_battles(lines(tmp_path, both))
    with pytest.raises(BattlesError, match="no file of 'arena_hard': it lacks"):
        read_battles(FILES["fastchat"], format="arena_hard")
    with pytest.raises(BattlesError, match="Unknown format 'lmsys'; the formats are"):
        read_battles(FILES["fastchat"], format="lmsys")


def test_orders_of_judge_arena_that_are_not_told(tmp_path):
    raw = pd.read_csv(FILES["judge_arena"])
    raw.drop(columns="swapped").to_csv(path := tmp_path / "b.csv", index=False)
    with pytest.raises(BattlesError, match="both orders, and no column 'swapped'"):
        read_battles(path)


def test_files_of_several_tools_become_one_table():
    names = ("arena_hard", "fastchat", "scores")
    table = quiet(read_battles, [FILES[name] for name in names])
    assert table["winner"].dtype == float
    judges = ["gpt-4.1"] * 3 + ["human"] * 2 + ["gpt"] * 3
    assert table["judge"].tolist() == judges
    assert table["both_bad"].tolist() == [False] * 4 + [True] + [False] * 3


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DataWarning")
@pytest.mark.parametrize(
    "name", ["judge_arena", "alpaca_eval", "comparia", "wildbench", "mt_bench_pairs"]
)
def test_what_a_tool_read_is_no_second_outcome_beside_a_plain_file(name, tmp_path):
    votes = tmp_path / "votes.csv"
    votes.write_text("model_a,model_b,judge,winner\nowl,elk,human,model_b\n")
    table = read_battles([FILES[name], votes])
    assert len(table) == len(EXPECTED[name]) + 1
    assert table["winner"].tolist()[-1] in ("model_b", 0.0)
