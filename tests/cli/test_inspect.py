"""``skanchor inspect`` says what files are understood to hold."""

import json
from pathlib import Path

import pandas as pd
from offers import offers

from skanchor.datasets import load_demo


def test_json_has_the_numbers_of_the_table(run, battles):
    code, out, _ = run("inspect", battles, "--json")
    found, frame = json.loads(out), pd.read_csv(battles)
    assert code == 0
    judges = frame["judge"][frame["judge"] != "human"].value_counts().to_dict()
    assert {row["judge"]: row["rows"] for row in found["judges"]} == judges
    outcomes = frame["winner"].value_counts()
    assert found["outcomes"]["first"] == outcomes["model_a"]
    assert found["outcomes"]["tie"] == (frame["winner"].str.startswith("tie")).sum()
    assert found["groups"]["n"] == frame["prompt_id"].nunique()
    assert found["files"]["formats"] == {str(battles): "table"}
    assert found["refusal"] is None
    assert found["to_decide"] is None


def test_the_page_names_all_of_the_json(run):
    found = json.loads(run("inspect", "--demo", "--json")[1])
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text("utf-8")
    names = {*found, *found["rows"], *found["models"][0], *found["judges"][0]}
    names |= {*found["outcomes"], *found["groups"], *found["files"]}
    assert {name for name in names if f"`{name}`" not in page} == set()


def test_what_must_be_decided_is_a_finding(run, tmp_path):
    frame = load_demo().frame
    frame.drop(columns="judge").to_csv(path := tmp_path / "votes.csv", index=False)
    code, out, _ = run("inspect", path)
    (line,) = [line for line in out.splitlines() if line.startswith("To decide: ")]
    assert code == 0 and "no column judge" in line
    assert offers(line) == [("If people gave these outcomes", {"all_human": True})]
    assert json.loads(run("inspect", path, "--json")[1])["to_decide"] in line
    assert run("rank", path, "--all-human", "--no-new", "--set", "cv=2")[0] == 0


def test_a_column_that_may_name_the_judges_is_proposed_once(run, tmp_path):
    frame = load_demo().frame.rename(columns={"judge": "umpire", "winner": "outcome"})
    names = ["visitors", "north", "south", "west"]
    labels = ["human", "judge-alpha", "judge-beta", "judge-gamma"]
    frame["umpire"] = frame["umpire"].map(dict(zip(labels, names, strict=True)))
    frame.to_csv(path := tmp_path / "votes.csv", index=False)
    code, out, err = run("inspect", path)
    assert code == 0 and len(err) == len(set(err)) == 1
    (line,) = [line for line in out.splitlines() if line.startswith("To decide: ")]
    (proposed,) = [more for _, more in offers(line) if "columns" in more]
    assert proposed == {"columns": {"umpire": "judge"}}
    more = ["--columns", "umpire=judge", "--human", "visitors"]
    code, out, _ = run("inspect", path, *more)
    assert code == 0 and "Judges: 3." in out


def test_parts_and_what_is_left_out_are_said(run, tmp_path):
    rows = [("x", "y"), ("y", "x"), ("u", "v"), ("v", "u")] * 4 + [("x", "x")]
    table = pd.DataFrame(rows, columns=["model_a", "model_b"])
    table["winner"] = ["model_a", "model_a", "model_b", "tie"] * 4 + ["tie"]
    table.assign(judge="human").to_csv(path := tmp_path / "b.csv", index=False)
    code, out, _ = run("inspect", path, "--no-new")
    assert code == 0
    assert "human rows leave 2 separate groups of models" in out
    assert "compare a model with itself" in out
    parts = json.loads(run("inspect", path, "--no-new", "--json")[1])
    parts = parts["connected_by_people"]
    assert sorted(map(sorted, parts)) == [["u", "v"], ["x", "y"]]
