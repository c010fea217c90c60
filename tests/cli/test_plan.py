"""``skanchor plan``: what it prints, writes and refuses."""

import json

import numpy as np
import pandas as pd
import pytest

from skanchor.reports.records import as_json_value

FAST = ["--demo", "--cv", "2"]
PRICES = ["--costs", "human=1", "judges=0.05"]


@pytest.fixture
def fitted(monkeypatch, anchor):
    """Commands with this fixture read a fit that is there."""
    monkeypatch.setattr("skanchor._cli.plan.fit_method", lambda options: anchor)


def words_of(out):
    return " ".join(out.split())


def test_worth(run, anchor, tmp_path):
    code, out, err = run("plan", *FAST)
    assert (code, err) == (0, [])
    found = anchor.worth()
    assert all(line in words_of(out) for line in found.sentences)
    assert "ivory-lynx" in out and "all judges" in out and "Cost of" not in out
    costs = {judge: 0.05 for judge in anchor.judges_} | {"judge-beta": 1.0}
    code, out, _ = run(
        "plan", *FAST, "--costs", "judges=0.05", "judge-beta=1", "--model",
        "jade-finch", "--json",
    )  # fmt: skip
    record = json.loads(out)
    due = anchor.worth(costs, "jade-finch").to_dict()["rows"]
    assert record["worth"] == as_json_value(due)
    assert record["schema_version"] >= 2
    path = tmp_path / "worth.csv"
    assert run("plan", *FAST, "-o", path) == (0, "", [])
    read = pd.read_csv(path, index_col=["model", "judge"])
    pd.testing.assert_frame_equal(read, found.table, check_index_type=False)


def test_outlook(run, anchor, fitted, tmp_path):
    code, out, err = run("plan", *FAST, "--widths", 0.2, 0.01)
    assert (code, err) == (0, [])
    assert "never" in out and "is its score ±" in out
    found = anchor.outlook([0.2, 0.01])
    votes = found.table.loc[("ivory-lynx", 0.01), "votes"]
    assert f"{np.ceil(votes):,.0f}" in out
    code, out, _ = run("plan", *FAST, "--widths", "--level", 0.9, "--json")
    record = json.loads(out)
    assert record["level"] == 0.9
    assert (
        record["limits"] == as_json_value(anchor.outlook(level=0.9).to_dict())["limits"]
    )
    record = json.loads(run("plan", *FAST, "--widths", 0.01, "--json")[1])
    # What is infinite is a word in JSON.
    assert {row["verdicts"] for row in record["rows"]} == {"inf"}
    path = tmp_path / "outlook.csv"
    assert run("plan", *FAST, "--widths", 0.2, "-o", path) == (0, "", [])
    assert pd.read_csv(path)["width"].tolist() == [0.2, 0.2]


def test_design(run, anchor, fitted, tmp_path):
    code, out, err = run("plan", *FAST, "--budget", 30, *PRICES)
    assert (code, err) == (0, [])
    found = anchor.design(30, {"human": 1.0, "judges": 0.05})
    assert all(line in words_of(out) for line in found.sentences)
    assert "Separated from ivory-lynx?" in out and "Gain (1e-6)" in out
    code, out, _ = run("plan", *FAST, "--budget", 30, *PRICES, "--json")
    assert json.loads(out)["rows"] == as_json_value(found.to_dict())["rows"]
    near = ["--targets", "neighbours", "--floor", "0.2"]
    code, out, _ = run("plan", *FAST, "--budget", 30, *PRICES, *near, "--json")
    assert json.loads(out)["floor"] == 0.2
    path = tmp_path / "list.csv"
    assert run("plan", *FAST, "--budget", 30, *PRICES, "-o", path) == (0, "", [])
    assert pd.read_csv(path)["rows"].sum() == found.table["rows"].sum()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--costs", "judges"], "--costs takes SOURCE=PRICE"),
        (["--costs", "judges=-1"], "prices above zero, got 'judges=-1'"),
        (["--costs", "owl=1"], "no sources of rows ['owl']"),
        (["--costs", "a=1", "a=2"], "--costs has a twice"),
        (["--model", "owl"], "no new models ['owl']"),
        (["--level", "0.9"], "--level does not go with the worth of verdicts"),
        (["--floor", "0"], "--floor goes with --budget"),
        (["--widths", "0"], "--widths takes half widths"),
        (["--width", "nan"], "--widths takes half widths"),
        (["--widths", *PRICES], "--costs does not go with --widths"),
        (["--budget", "-3", *PRICES], "--budget takes the money available"),
        (["--budget", "3"], "--budget needs the price of a row"),
        (["--budget", "0.01", *PRICES], "A budget of 0.01 buys no row"),
        (["--budget", "9", *PRICES, "--floor", "2"], "floor must be a number between"),
        (["--budget", "9", *PRICES, "--widths"], "--widths does not go with --budget"),
        (["--budget", "9", *PRICES, "--model", "x"], "--model does not go with"),
    ],
)
def test_bad_input_costs_one_line(run, fitted, flags, said):
    code, out, err = run("plan", *FAST, *flags)
    assert (code, out) == (2, "")
    assert len(err) == 1 and said in err[0]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["plan", "--costs", "human=1"],
         "the price of a vote ('human') alone. What verdicts cost for each vote that "
         "they replace follows from the prices of verdicts: give that of a judge, such "
         "as 'judge-alpha', or of 'judges'."),
        (["plan", "--budget", "9", "--costs", "crowd=1"],
         "no sources of rows ['crowd']; there are ['human', 'judge-alpha', "
         "'judge-beta', 'judge-gamma']."),
        (["rank", "--pool", "human"],
         "pool is the name that all judges get, such as 'judges', got "
         "'human'."),
    ],
)  # fmt: skip
def test_labels_of_people_are_refused(run, command, said):
    code, out, (error,) = run(command[0], *FAST, *command[1:])
    assert (code, out) == (2, "")
    assert said in error
