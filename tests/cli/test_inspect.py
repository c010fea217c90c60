"""``skanchor inspect`` says what files are understood to hold."""

import json
import re
import shlex
from pathlib import Path

import pandas as pd

from skanchor.datasets import load_demo


def test_judges_have_the_numbers_of_the_fit(run, battles, anchor):
    rows = json.loads(run("inspect", battles, "--json")[1])["judges"]
    result = pd.DataFrame(rows).set_index("judge")
    assert (result.pop("both_orders") == 1).all()
    pd.testing.assert_frame_equal(result, anchor.summary()[result.columns])


def test_the_page_names_all_of_the_json(run, battles):
    result = json.loads(run("inspect", battles, "--json")[1])
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text("utf-8")
    names = {*result, *result["rows"], *result["models"][0], *result["judges"][0]}
    names |= {*result["outcomes"], *result["inputs"], *result["mapping"]}
    assert {name for name in names if f"`{name}`" not in page} == set()


def test_what_is_unclear_is_a_finding(run, tmp_path):
    frame = load_demo().frame.rename(columns={"judge": "umpire"})
    frame["winner"] = frame["winner"].replace("tie", "hm")
    frame.drop(columns="umpire").to_csv(path := tmp_path / "battles.csv", index=False)
    code, out, err = run("inspect", path)
    assert (code, err) == (0, [])
    for line in (
        "  - outcome 'hm' in 769 rows",
        "  - no column says who decided in 'battles': people or a judge?",
    ):
        assert line in out.splitlines()
    record = json.loads(run("inspect", path, "--json")[1])["mapping"]
    assert len(record["unclear"]) == 2
    assert {row["part"] for row in record["decisions"]} == {
        "columns", "outcomes", "judges",
    }  # fmt: skip
    flags = ["--labels", "hm=tie", "--human", "*"]
    code, out, _ = run("inspect", path, *flags)
    assert code == 0 and "Rows: 4000 human votes; 1157 groups." in out
    assert run("rank", path, *flags, "--no-new", "--set", "cv=2")[0] == 0


def test_the_two_commands_of_a_question_can_be_pasted(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = load_demo().frame.rename(columns={"model_a": "l"})
    frame["winner"] = frame["winner"].replace("tie", "hm é")
    frame.to_csv("my file.csv", index=False, encoding="cp1252")
    flags = ["--encoding", "cp1252", "--columns", "l=model_a"]
    code, _, (error,) = run("rank", "my file.csv", *flags)
    assert code == 2 and "1 thing is unclear (outcome 'hm é' in 769 rows)" in error
    inspect, rank = re.findall(r"(skanchor (?:inspect|rank) .*?)(?:, then|\.$)", error)
    assert run(*shlex.split(inspect)[1:])[0] == 0
    path = Path("my file.toml")
    path.write_text(path.read_text().replace('"?"', '"tie"'))
    assert run(*shlex.split(rank)[1:], "--set", "cv=2")[0] == 0


def test_parts_and_what_is_left_out_are_said(run, tmp_path):
    rows = [("x", "y"), ("y", "x"), ("u", "v"), ("v", "u")] * 4 + [("x", "x")]
    table = pd.DataFrame(rows, columns=["model_a", "model_b"])
    table["winner"] = ["model_a", "model_a", "model_b", "tie"] * 4 + ["tie"]
    table.assign(judge="human").to_csv(path := tmp_path / "b.csv", index=False)
    code, out, _ = run("inspect", path, "--no-new")
    assert code == 0
    assert "human comparisons leave 2 separate groups of models: {u, v}; {x, y}" in out
    assert "Rows that compare a model with itself are ignored: 1" in out


def test_columns_of_ratings_go_by_their_names_in_the_file(run, tmp_path):
    rows = [(f"p{n}", model, n % 4) for n in range(9) for model in ("x", "y", "z")]
    table = pd.DataFrame(rows, columns=["task", "System", "rating"])
    table = table.assign(judge="human", response="text", length=3)
    table.to_csv(path := tmp_path / "ratings.csv", index=False)
    result = json.loads(run("inspect", path, "--no-new", "--json")[1])
    assert result["inputs"]["ignored"] == ["task", "length"]
