"""Labels of people in several spellings, kinds beside names, names of judges."""

import json

import pandas as pd
import polars as pl
import pytest
from offers import offers

from skanchor import read_battles, split_battles
from skanchor.exceptions import AssumptionWarning, BattlesError, DataWarning
from skanchor.io import judge_cases, partial_labels

BATTLE = {"model_a": "owl", "model_b": "elk", "winner": "model_a"}


def battles(*judges, **more):
    return pd.DataFrame([BATTLE] * len(judges)).assign(judge=judges, **more)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_spellings_of_the_label_of_people_are_one(library):
    table = battles("human", "Human", "HUMAN", " human ", "gpt-4")
    table = pl.from_pandas(table) if library == "polars" else table
    with pytest.warns(AssumptionWarning, match="' human ', 'HUMAN', 'Human', 'human' "):
        X, _ = split_battles(table)
    assert list(X["judge"]) == ["human"] * 4 + ["gpt-4"]
    assert "rater" not in X.columns


def test_labels_of_a_polars_table_are_said_in_its_order():
    """They had another order in each run."""
    judges = [f"gpt-{k}" for k in range(8)]
    table = battles(*judges).rename(columns={"judge": "user_id"}).assign(voter_id="x")
    with pytest.raises(BattlesError) as refused:
        split_battles(pl.from_pandas(table))
    places = [str(refused.value).find(repr(label)) for label in judges]
    shown = [place for place in places if place >= 0]
    assert len(shown) > 1 and shown == sorted(shown) and places[0] >= 0


def test_spellings_of_another_label_are_one():
    with pytest.warns(AssumptionWarning, match="'Crowd', 'crowd' are one label"):
        X, _ = split_battles(battles("Crowd", "crowd", "gpt-4"))
    assert X["judge"].tolist() == ["human", "human", "gpt-4"]
    assert "rater" not in X


def test_other_labels_of_people_count_beside_human():
    """They were judges, in silence."""
    with pytest.warns(AssumptionWarning, match="judge 'human', 'crowd' are people's"):
        X, _ = split_battles(battles("human", "crowd", "gpt-4"))
    assert X["judge"].tolist() == ["human", "human", "gpt-4"]
    assert X["rater"].tolist()[:2] == ["human", "crowd"]


def test_a_label_that_is_named_is_taken_by_the_letter():
    with pytest.raises(BattlesError, match="holds 'human' beside"):
        split_battles(battles("human", "Human", "gpt-4"), human="Human")


def test_people_are_found_beside_judges_that_are_left_out():
    with pytest.warns(AssumptionWarning, match="'Human' are people's"):
        X, _ = split_battles(battles("Human", "gpt-4", "claude"), without="claude")
    assert X["judge"].tolist() == ["human", "gpt-4"]


def test_a_row_without_a_judge_keeps_none():
    """Text made of it would be one judge more, called None or nan."""
    table = battles("crowd", "gpt-4", None, float("nan"))
    table["judge"] = table["judge"].astype(object)
    X, _ = split_battles(table, human="crowd")
    assert X["judge"].tolist()[:2] == ["human", "gpt-4"]
    assert X["judge"].isna().tolist() == [False, False, True, True]


def test_judges_become_one_by_name():
    table = battles("crowd", "human", "gpt-4", "claude", None)
    X, _ = split_battles(table, human=["crowd", "human"], pool="panel")
    assert X["judge"].tolist()[:4] == ["human", "human", "panel", "panel"]
    assert X["judge"].isna().tolist() == [False] * 4 + [True]
    assert X["rater"].tolist()[:2] == ["crowd", "human"]
    without, _ = split_battles(table[1:4], without="claude", pool="panel")
    assert without["judge"].tolist() == ["human", "panel"]
    assert table["judge"].tolist()[2] == "gpt-4"


@pytest.mark.parametrize("name", ["human", "Human ", " ", 3])
def test_what_is_no_name_of_a_judge(name):
    with pytest.raises(BattlesError, match="all judges get, such as 'judges', got"):
        split_battles(battles("human", "gpt-4"), pool=name)
    with pytest.raises(BattlesError, match="lacks the columns"):
        split_battles(battles("human").drop(columns="judge"), pool="panel")


def test_names_in_files_are_stripped(tmp_path):
    table = battles("human", "gpt-4 ", " claude").assign(model_b="elk ")
    table.to_csv(path := tmp_path / "blanks.csv", index=False)
    found = read_battles(path)
    assert found["judge"].tolist() == ["human", "gpt-4", "claude"]
    assert {*found["model_b"]} == {"elk"}


def test_judges_that_differ_in_case_stay_two_until_they_are_joined(tmp_path):
    from skanchor import BTLRegressor

    table = battles(*["human"] * 4, "GPT-4", "gpt-4", model_a=["owl", "elk"] * 3,
                    model_b=["elk", "owl"] * 3)  # fmt: skip
    table.to_csv(path := tmp_path / "case.csv", index=False)
    with pytest.warns(DataWarning, match=r"\['GPT-4', 'gpt-4'\] differ"):
        BTLRegressor().fit(*split_battles(read_battles(path)))
    joined = read_battles(path, models={"gpt-4": "GPT-4"})
    assert {*joined["judge"]} == {"human", "GPT-4"}


KINDS = ["human", "human", "llm", "llm"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("judge_type", "judge_name"), ("by.type", "by.name"), ("judge", "judge_model"),
        ("done by kind", "done by"), ("type", "evaluator"), ("source", "source name"),
    ],
)  # fmt: skip
def test_names_beside_kinds_are_the_judges(tmp_path, kind, name):
    table = battles(*KINDS).drop(columns="judge")
    table = table.assign(**{kind: KINDS, name: ["ann", "bob", "gpt-4", "claude"]})
    table.to_csv(path := tmp_path / "kinds.csv", index=False)
    with pytest.warns(AssumptionWarning, match="names the judges of the others"):
        found = read_battles(path)
    assert found["judge"].tolist() == ["human", "human", "gpt-4", "claude"]
    assert found["rater"].dropna().tolist() == ["ann", "bob"]


def test_names_in_objects_beside_kinds(tmp_path):
    rows = [
        {**BATTLE, "judgement": {"by": {"type": kind, "name": name}}}
        for kind, name in zip(KINDS, ["ann", "bob", "gpt-4", "claude"], strict=True)
    ]
    path = tmp_path / "kinds.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.warns(AssumptionWarning, match="'judgement_by_name' names the judges"):
        assert read_battles(path)["judge"].tolist()[2:] == ["gpt-4", "claude"]


def test_names_of_llms_elsewhere_are_asked_about(tmp_path):
    table = battles(*KINDS).drop(columns="judge")
    table = table.assign(kind=KINDS, engine=["", "", "gpt-4", "claude"])
    table.to_csv(path := tmp_path / "kinds.csv", index=False)
    with pytest.raises(BattlesError, match="calls all judges alike") as error:
        read_battles(path)
    names, one = (more for _, more in offers(error.value))
    with pytest.warns(AssumptionWarning):
        assert {*read_battles(path, **names)["judge"]} == {"human", "gpt-4", "claude"}
    with pytest.warns(AssumptionWarning):
        assert {*read_battles(path, **one)["judge"]} == {"human", "llm"}


def test_a_refusal_lists_the_columns_of_the_file(tmp_path):
    table = battles(*KINDS).drop(columns=["judge", "winner"])
    table = table.assign(annotator=["ann", "bob", "gpt-4", "x"], type=KINDS)
    table.to_csv(path := tmp_path / "columns.csv", index=False)
    with pytest.raises(BattlesError) as error:
        read_battles(path)
    assert str([*table.columns]) in str(error.value)
    assert "rater" not in str(error.value)


def test_columns_of_ratings_that_are_not_read_are_said(tmp_path):
    table = pd.DataFrame(
        {"prompt": ["p", "p", "q", "q"], "model": ["owl", "elk"] * 2,
         "judge": "human", "score": [1, 2, 3, 4], "response_tokens": [9, 8, 7, 6],
         "category": "x", "remark": "y"}
    )  # fmt: skip
    table.to_csv(path := tmp_path / "ratings.csv", index=False)
    match = "a tie; 'response_tokens', 'remark' are not read"
    with pytest.warns(AssumptionWarning, match=match):
        assert read_battles(path)["category"].tolist() == ["x", "x"]


FLAGGED = {
    "model_a": ["owl", "elk", "fox", "new"] * 6,
    "model_b": ["elk", "fox", "owl", "owl"] * 6,
    "winner": ["model_a", "model_b", "tie"] * 8,
    "is_human": [True, True, True, False] * 3 + [False] * 12,
    "llm": ["ann", "bob", "ann", "gpt-4"] * 3 + ["fable", "gpt-4"] * 6,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.AssumptionWarning")
@pytest.mark.parametrize("name", ["llm", "by", "created_by", "model_name"])
def test_judges_that_a_flag_calls_alike_are_not_merged(tmp_path, name):
    table = pd.DataFrame(FLAGGED).rename(columns={"llm": name})
    table.to_csv(path := tmp_path / "flag.csv", index=False)
    said = f"'is_human' calls all judges alike, and '{name}' may say which"
    with pytest.raises(BattlesError, match=said) as caught:
        read_battles(path)
    named, pooled = (more["columns"] for _, more in offers(caught.value))
    found = read_battles(path, columns=named)
    assert {*found["judge"]} == {"human", "gpt-4", "fable"}
    assert {*read_battles(path, columns=pooled)["judge"]} == {"human", "judge"}


def test_names_that_nobody_knows_are_told_apart_by_the_models_that_they_compared():
    table = pd.DataFrame(FLAGGED).drop(columns="is_human")
    assert sorted(partial_labels(table, "llm")) == ["ann", "bob", "fable"]
    seen = [*"abcd", *"abcd"]
    table = pd.DataFrame(
        {
            "model_a": [*"abc", *seen], "model_b": [*"bca", *seen[1:], "a"],
            "rater": ["ann", "bob", "ann", *["fable"] * 4, *["gpt-4"] * 4],
        }
    )  # fmt: skip
    partial = partial_labels(table, "rater")
    (case,) = judge_cases("rater", ["ann", "bob", "fable", "gpt-4"], partial)
    assert case.arguments["human"] == ["ann", "bob"]
    people = [f"name {letter}" for letter in "uvwxyz"]
    (case,) = judge_cases("rater", [*people, "fable", "gpt-4"], people)
    assert case.arguments["judges"] == ["fable", "gpt-4"]
    assert partial_labels(table[["rater"]], "rater") == []
