"""Files of evaluation tools: each pinned by a small file in the tool's schema."""

import json
import os
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skanchor import read_battles, split_battles
from skanchor._battles import grouping
from skanchor.exceptions import AssumptionWarning, BattlesError, DataWarning
from skanchor.io._tools.recognition import READERS

FIXTURES = Path(__file__).parent / "fixtures"
FILES = {path.stem: path for path in FIXTURES.iterdir()}

# Of every fixture: prompt_id, models, judge, preference or label, shown_first.
EXPECTED = {
    "fastchat": [
        ("q1", "owl", "elk", "human", "model_b"),
        ("q2", "elk", "fox", "human", "tie (bothbad)"),
    ],
    "arena_55k": [
        ("30192", "owl", "elk", "human", "model_a"),
        ("53567", "fox", "elk", "human", "model_b"),
        ("53568", "fox", "owl", "human", "tie"),
    ],
    "arena_100k": [
        ("a1", "owl", "elk", "human", "model_a"),
        ("a2", "elk", "fox", "human", "tie (bothbad)"),
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
    "pandalm": [
        ("0", "owl", "elk", "human", "model_b"),
        ("0", "owl", "elk", "human", "model_b"),
        ("0", "owl", "elk", "human", "tie"),
        *[("1", "fox_2", "elk", "human", "model_a")] * 3,
        ("2", "owl", "fox_2", "human", "model_a"),
        ("2", "owl", "fox_2", "human", "model_b"),
        ("2", "owl", "fox_2", "human", "model_a"),
    ],
    "evalica": [
        ("owl", "elk", "model_a"),
        ("elk", "fox", "tie"),
        ("fox", "owl", "model_b"),
    ],
    "llmfao": [
        ("8", "owl", "elk", "human", "tie"),
        ("8", "owl", "elk", "human", "model_b"),
        ("9", "fox", "elk", "human", "model_a"),
    ],
    "evalscope": [
        ("0", "owl", "base", "evalscope", 1.0, "model_a"),
        ("0", "owl", "base", "evalscope", 0.25, "model_b"),
        ("1", "owl", "base", "evalscope", 0.5, "model_a"),
    ],
    "opencompass": [
        ("Q1", "owl", "base", "opencompass", "model_a"),
        ("Q2", "elk", "base", "opencompass", "tie"),
    ],
    "helpsteer": [
        ("c1d2a529e188ba52", "owl", "elk", "human", 1.0),
        ("c1d2a529e188ba52", "fox", "elk", "human", 1 / 3),
    ],
    "soft_elo": [
        ("row-0", "owl", "elk", "human", "model_a"),
        ("row-0", "owl", "elk", "judge", "tie"),
        ("row-1", "elk", "fox", "human", "tie"),
        ("row-1", "elk", "fox", "judge", "model_b"),
    ],
    "wins": [
        ("owl", "elk", "human", "model_a"),
        ("owl", "elk", "human", "model_b"),
        ("elk", "fox", "human", "tie"),
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
    "mt_bench_scores": "by judge 'gpt-4' 3; by model 'bee' 3",
    "alpaca_eval": "by judge 'weighted' 1; by model 'base' 1, 'bee' 1",
    "arena_hard": "1 of 4 rows",
    "judge_arena": "1 of 3 rows",
}


def read(name, **more):
    """Read a fixture, told where its kind is never recognised."""
    more.setdefault("format", "scores" if name == "scores" else "auto")
    with warnings.catch_warnings():
        if name in FAILED:
            warnings.simplefilter("ignore", DataWarning)
        return read_battles(FILES[name], **more)


def cells(table):
    names = [name for name in ORDER if name in table]
    return list(table[names].replace({np.nan: None}).itertuples(index=False, name=None))


def test_every_reader_has_its_file():
    assert {reader.name for reader in READERS} == set(FILES) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_battles_of_each_tool(name):
    table = read(name)
    assert table.attrs["formats"] == {str(FILES[name]): name}
    for row, due in zip(cells(table), EXPECTED[name], strict=True):
        assert row == pytest.approx(due) if name == "helpsteer" else row == due
    X, y = split_battles(table)
    assert len(X) == len(y) == len(EXPECTED[name])
    # Nothing of the file becomes a feature unasked.
    pairs = {stem[:-2] for stem in X if stem.endswith(("_a", "_b"))}
    assert pairs <= {"model", "response"}


@pytest.mark.parametrize("name", EXPECTED)
def test_told_is_as_good_as_recognised(name):
    pd.testing.assert_frame_equal(read(name), read(name, format=name.replace("_", "-")))


@pytest.mark.parametrize("name", FAILED)
def test_failed_verdicts_are_counted(name):
    with pytest.warns(DataWarning, match=FAILED[name]):
        read_battles(FILES[name])


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
@pytest.mark.parametrize("name", sorted(set(EXPECTED) - {"opencompass", "scores"}))
def test_nested_columns_of_arrow_files_read_the_same(name, suffix, tmp_path):
    source = FILES[name]
    if source.suffix == ".csv":
        raw = pd.read_csv(source)
    else:
        raw = pd.read_json(source, lines=source.suffix == ".jsonl", dtype=False)
    if name == "mt_bench_pairs":
        raw["judge"] = raw["judge"].str[0]
    if name in ("evalscope", "alpaca_eval", "arena_hard"):
        raw = raw.drop(columns=["raw_completion", "x"], errors="ignore")
        raw = raw.head(2 if name != "alpaca_eval" else None)
    if name == "arena_hard":
        raw["games"] = [[{"score": game["score"]} for game in row] for row in raw.games]
    path = tmp_path / f"{name}.{suffix}"
    getattr(raw, f"to_{suffix}")(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        table = read_battles(path)
    assert cells(table) == cells(read(name))[: len(table)]


# ---------------------------------------------------------------------- their columns
@pytest.mark.parametrize(
    ("name", "column", "values"),
    [
        ("fastchat", "rater", ["arena_user_973", "arena_user_12"]),
        ("fastchat", "both_bad", [False, True]),
        ("fastchat", "response_b", ["Hey there", "11"]),
        ("arena_55k", "response_b", ["No.", "Three", "Three"]),
        ("arena_55k", "prompt", ["Is it so?\nWhy?", "Name one", "Name two"]),
        ("arena_100k", "rater", ["9af", "11b"]),
        ("arena_140k", "evaluation_session_id", ["s1", "s1"]),
        ("arena_140k", "rater", ["s1", "s1"]),
        ("arena_140k", "response_a", ["Hello", "Hello\nNo"]),
        ("comparia", "rater", ["v1", "v1"]),
        ("mt_bench", "rater", ["expert_17", "author_2", None]),
        ("mt_bench", "response_a", ["a1", "a1\na2", "a1"]),
        ("mt_bench", "inconsistent", [False, False, True]),
        ("mt_bench_pairs", "turn", [1, 1, 2]),
        ("arena_hard", "verdict", ["B>A", "B>>A", "B>>A"]),
        ("alpaca_eval", "response_b", ["Two"] * 3),
        ("wildbench", "response_a", ["Long"] * 3),
        ("pandalm", "rater", ["annotator1", "annotator2", "annotator3"] * 3),
        ("llmfao", "rater", ["58", "83", "14"]),
        ("opencompass", "response_b", ["R", "R"]),
        ("helpsteer", "prompt", ["Why?", "Why?"]),
        ("wins", "count", [2, 1, 3]),
        ("soft_elo", "margin", [0.5, 0.5, -1.0, -1.0]),
    ],
)
def test_what_else_the_file_says(name, column, values):
    assert read(name)[column].replace({np.nan: None}).tolist() == values


def test_columns_that_are_left_out_are_named(tmp_path):
    """Lengths of the user would be features of a plain table."""
    table = pd.read_json(FIXTURES / "mt_bench.jsonl", lines=True)
    table = table.assign(length_a=1, length_b=2, tags=[["x"]] * len(table))
    table.to_json(path := tmp_path / "more.jsonl", orient="records", lines=True)
    match = "'length_a', 'length_b', 'tags' are not read"
    # Without numbers, the list is among what was assumed alone.
    with warnings.catch_warnings(action="error"):
        assert not read_battles(FILES["mt_bench"]).attrs["assumed"]
    with pytest.warns(AssumptionWarning, match=match):
        read = read_battles(path)
    assert not {"length_a", "length_b", "tags"} & {*read}
    assert match in read.attrs["assumed"][str(path)]


def test_levels_can_be_set():
    table = read("arena_hard", levels={"B>A": 0.0, "A>B": 1.0})
    assert table["winner"].tolist() == [0.0, 0.0, 0.0]
    assert read("helpsteer", levels={"1": 0.25})["winner"].tolist() == [1.0, 0.25]
    with pytest.raises(BattlesError, match=r"graded verdicts \['A>C'\]"):
        read("arena_hard", levels={"A>C": 1.0})
    with pytest.raises(BattlesError, match=r"in \[0, 1\], got {'A>B': 3.0}"):
        read("arena_hard", levels={"A>B": 3})


def test_gaps_of_scores_up_to_the_margin_are_ties():
    winner = read("scores", tie_margin=0.5)["winner"]
    assert winner.tolist() == ["model_a", "tie", "tie"]


def test_files_of_several_tools_become_one_table():
    with pytest.warns(DataWarning, match="hold no verdict"):
        table = read_battles([FILES["arena_hard"], FILES["fastchat"], FILES["evalica"]])
    assert table["winner"].dtype == float
    assert table["judge"].tolist() == ["gpt-4.1"] * 3 + ["human"] * 2 + ["evalica"] * 3
    assert table["both_bad"].tolist() == [False] * 4 + [True] + [False] * 3
    assert table["winner"].tolist()[3:] == [0.0, 0.5, 1.0, 0.5, 0.0]


# -------------------------------------------------------------------------- bad input
def lines(tmp_path, *records):
    path = tmp_path / "b.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def fixture_rows(name):
    text = FILES[name].read_text()
    return (
        json.loads(text)
        if text[0] == "["
        else list(map(json.loads, text.split("\n")[:-1]))
    )


def test_file_that_looks_like_those_of_two_tools(tmp_path):
    both = {**fixture_rows("pandalm")[0], **fixture_rows("alpaca_eval")[0]}
    with pytest.raises(
        BattlesError, match=r"'alpaca_eval' by .*'pandalm' by .* format"
    ):
        read_battles(lines(tmp_path, both))


def test_scores_that_are_not_told_are_read_as_ratings():
    with (
        pytest.warns(AssumptionWarning, match="by 'prompt_id' and 'judge'; a higher"),
        pytest.warns(DataWarning, match="1 of 4 ratings are compared with no other"),
    ):
        table = read_battles(FILES["scores"])
    assert table.attrs["formats"].popitem()[1] == "table"
    told = read_battles(FILES["scores"], "scores")
    assert table.to_dict("list") == told.to_dict("list")


def test_unknown_file_says_what_it_comes_near(tmp_path):
    row = fixture_rows("alpaca_eval")[0]
    del row["generator_1"]
    match = (
        r"has the columns \['instruction'.*alpaca_eval \(lacks generator_1\).*columns="
    )
    with pytest.raises(BattlesError, match=match):
        read_battles(lines(tmp_path, row))


@pytest.mark.parametrize(
    ("name", "changes", "match"),
    [
        ("alpaca_eval", {"preference": -1}, "holds -1; AlpacaEval's preferences"),
        ("mt_bench_pairs", {"g1_winner": "owl"}, r"labels \['owl'\] in column 'g1_win"),
        ("wildbench", {"winner": "bee"}, "holds 'bee', which is none of"),
        ("wildbench", {"extent": 3}, "must be one of"),
        ("helpsteer", {"overall_preference": 4}, "must be one of"),
        ("pandalm", {"cmp_key": "a_b_c"}, "cannot be separated"),
        ("pandalm", {"annotator1": 3}, "Unknown outcome labels"),
    ],
)
def test_values_that_a_tool_does_not_write(name, changes, match, tmp_path):
    path = lines(tmp_path, fixture_rows(name)[0] | changes)
    with pytest.raises(BattlesError, match=match) as caught:
        read_battles(path, format=name)
    assert str(path) in str(caught.value)


def test_preferences_without_models(tmp_path):
    row = fixture_rows("helpsteer")[0]
    del row["model_1"]
    with pytest.raises(BattlesError, match="name no models"):
        read_battles(lines(tmp_path, row))


def test_orders_of_judge_arena_that_are_not_told(tmp_path):
    raw = pd.read_csv(FILES["judge_arena"])
    raw.drop(columns="swapped").to_csv(path := tmp_path / "b.csv", index=False)
    with pytest.raises(BattlesError, match="both orders, and no column 'swapped'"):
        read_battles(path)
    raw.drop(columns="preference").to_csv(path, index=False)
    with pytest.raises(BattlesError, match="neither 'preference' nor 'pref'"):
        read_battles(path)


def test_format_that_is_not_the_files():
    with pytest.raises(
        BattlesError, match=r"no file of 'arena_hard', which has .*games"
    ):
        read_battles(FILES["fastchat"], format="arena_hard")
    with pytest.raises(BattlesError, match="Unknown format 'lmsys'; known are 'auto'"):
        read_battles(FILES["fastchat"], format="lmsys")


def test_unnamed_numbers_are_never_taken_for_a_tools(tmp_path):
    row = {"model_a": "owl", "model_b": "elk", "preference": 1}
    match = "may mean 2 things.* favour 'model_a'.* favour 'model_b'"
    with pytest.raises(BattlesError, match=match):
        read_battles(lines(tmp_path, row))


# --------------------------------------------------------------------- published files
@pytest.fixture(scope="module")
def published():
    mirror = os.environ.get("SKANCHOR_DATA_MIRROR")
    if not mirror:
        pytest.skip("SKANCHOR_DATA_MIRROR does not point at the published files")
    return Path(mirror)


def test_published_mt_bench(published):
    table = read_battles([published / "mt_bench" / f for f in ("human.jsonl",)])
    assert table.attrs["formats"].popitem()[1] == "mt_bench"
    assert (table["judge"] == "human").all()
    assert (len(table), (table["winner"] == "tie").sum()) == (3355, 780)
    assert table["rater"].str.match("expert|author").all()
    judged = read_battles(published / "mt_bench" / "gpt4_pair.jsonl")
    assert set(judged["judge"]) == {"gpt4_pair"}
    counts = judged["winner"].value_counts().to_dict()
    assert (counts["model_a"], counts["model_b"], len(judged)) == (190, 1610, 2400)


def test_published_llmfao(published):
    folder = published / "llmfao"
    names = ("crowd", "gpt3", "gpt4")
    table = read_battles([folder / f"{name}-comparisons.csv" for name in names])
    assert set(table.attrs["formats"].values()) == {"llmfao"}
    rows = table["judge"].value_counts().to_dict()
    assert rows == {"human": 8931, "gpt3-comparisons": 3236, "gpt4-comparisons": 3236}
    human = table[table["judge"] == "human"]
    assert (human["winner"] == "tie").sum() == 3471
    named = read_battles(folder / "gpt4-comparisons.csv", judge="gpt-4")
    assert set(named["judge"]) == {"gpt-4"}


def test_published_arena_names_judges_by_file(published, arena_table):
    paths = sorted((published / "arena").glob("*.json"))
    table = read_battles(paths, columns={"num": "prompt_id"})
    assert set(table.attrs["formats"].values()) == {"table"}
    assert set(table["judge"]) == set(arena_table["judge"])
    assert (table["winner"] == "tie (bothbad)").sum() == 5132
    assert len(table) == len(arena_table)


# ------------------------------------------------------------------------------- page
def test_the_page_lists_every_format():
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text("utf-8")
    for reader in READERS:
        line = re.search(rf"^\| `{reader.name}` \|(.*)$", page, re.M)
        assert line, reader.name
        files, marks, assumes = (cell.strip() for cell in line[1].split("|")[:3])
        due = " or ".join(
            ", ".join(f"`{name}`" for name in sorted(own)) for own in reader.markers
        )
        assert (files, marks, assumes) == (
            reader.files,
            due or "must be told",
            reader.assumes,
        )


@pytest.mark.parametrize("name", sorted(set(EXPECTED) - {"evalica", "wins"}))
def test_the_id_of_a_file_is_its_group_by_default(name, monkeypatch):
    monkeypatch.setattr(grouping, "FEW_GROUPS", 1)
    X, _ = split_battles(read(name))
    # As votes and verdicts on one prompt, or two games of a pair, repeat it.
    twice = pd.concat([X, X], ignore_index=True)
    assert grouping.find_groups("auto", twice, len(twice)).name == "prompt_id"


def test_points_that_are_none_are_refused(tmp_path):
    row = json.loads(FILES["soft_elo"].read_text().splitlines()[0])
    for bad in ("many", [1, "x"], 4):
        path = tmp_path / "points.jsonl"
        path.write_text(json.dumps({**row, "scores_b": bad}) + "\n")
        with pytest.raises(
            BattlesError, match=r"'scores_b' holds .* no points by crit"
        ):
            read_battles(path)
    for good in ({"clarity": 1, "truth": 2}, "[1, 2]", '{"clarity": 1, "truth": 2}'):
        path.write_text(json.dumps({**row, "scores_b": good}) + "\n")
        assert read_battles(path)["margin"].tolist() == [2.5, 2.5]
    path.write_text(json.dumps({**row, "scores_b": None}) + "\n")
    assert read_battles(path)["margin"].isna().all()
