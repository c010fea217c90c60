"""``skanchor sensitivity --rows``: text, JSON and files, and what is refused."""

import json

import pandas as pd
import pytest

from skanchor import AnchorPipeline
from skanchor.datasets import load_demo

FAST = ["--demo", "--set", "cv=2", "--set", "item_effects=none"]
NEW = "ivory-lynx"


@pytest.fixture(scope="module")
def demo():
    X, y = load_demo(return_X_y=True)
    anchor = AnchorPipeline(cv=2, item_effects="none", random_state=0).fit(X, y)
    return anchor, X, y


def test_it_says_how_few_rows_and_which(run, demo):
    anchor, X, y = demo
    nearest = anchor.contrasts()["difference"].loc[NEW].abs().idxmin()
    asked = ["--model", NEW, "--opponent", nearest, "--rows", "arrival"]
    code, out, err = run("sensitivity", *FAST, *asked)
    assert (code, err) == (0, [])
    found = anchor.fragility(X, y, nearest, model=NEW, rows="arrival")
    said = " ".join(out.split())
    assert found.sentences[0] in said
    assert "Which rows" in said and "re-solved" in said.lower()
    code, out, _ = run("sensitivity", *FAST, *asked, "--json")
    record = json.loads(out)
    assert record["goal"] == "sign" and record["finished"] is True
    (row,) = record["fragility"]
    assert row["k"] == found.table["k"].iloc[0]
    gone = found.rows(NEW)
    assert [each["row"] for each in row["rows"]] == gone.index.tolist()
    assert {point["by"] for point in row["path"]} == {"re-solved", "refit"}


def test_files_and_a_limit_of_time(run, tmp_path):
    path = tmp_path / "fragility.csv"
    assert run(
        "sensitivity", *FAST, "--rows", "--goal", "interval", "--max-seconds", 0,
        "-o", path,
    ) == (0, "", [])  # fmt: skip
    table = pd.read_csv(path)
    assert set(table["status"]) == {"stopped"} and len(table) == 18
    code, out, _ = run("sensitivity", *FAST, "--rows", "--max-seconds", 0)
    assert code == 0 and "the search was stopped" in " ".join(out.split())
    assert "not searched" in out


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--max-seconds", "-1"], "--max-seconds takes a number of seconds"),
        (["--opponent", "owl"], "no models ['owl']"),
        (["--model", "owl"], "no new models ['owl']"),
        (["--by", "group", "--groups", "none"], "none"),
        (["--level", "0.9"], "--level does not go with --goal sign"),
        (["--gamma", "0.1"], "--gamma does not go with --rows"),
        (["--rows", "all"], "invalid choice: 'all'"),
    ],
)
def test_what_is_refused(run, flags, why):
    code, out, err = run("sensitivity", *FAST, "--rows", *flags)
    assert (code, out) == (2, "") and why in " ".join(err)


def test_flags_of_rows_need_them(run):
    code, out, err = run("sensitivity", *FAST, "--opponent", "amber-otter")
    assert (code, out) == (2, "") and "--opponent goes with --rows" in err[0]
