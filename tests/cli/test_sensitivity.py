"""``skanchor sensitivity``: sentences, tables and JSON, and what is refused."""

import json

import pandas as pd
import pytest

FAST = ["--demo", "--set", "cv=2"]


@pytest.fixture
def fitted(monkeypatch, anchor):
    """Commands with this fixture read a fit that is there."""
    monkeypatch.setattr("skanchor._cli.sensitivity.fit_method", lambda options: anchor)


def test_breakdowns_are_said_and_listed(run, anchor):
    code, out, err = run("sensitivity", *FAST)
    assert (code, err) == (0, [])
    table = anchor.breakdown().loc["ivory-lynx"]
    clear = table[(table["gamma_interval"] > 0) & (table["difference"] > 0)]
    first = clear["gamma_interval"].idxmin()
    size = clear.loc[first, "gamma_interval"]
    said = (
        f"ivory-lynx is above {first} unless judges favour it by more than {size:.2f}"
    )
    assert said in " ".join(out.split())
    assert "Turned from" in out and "hazel-newt" in out and " now " in out


def test_json_and_files_have_all_numbers(run, fitted, anchor, tmp_path):
    code, out, _ = run("sensitivity", *FAST, "--gamma", 0, 0.2, "--json")
    found = json.loads(out)
    assert code == 0 and found["kind"] == "favour"
    due = anchor.sensitivity([0, 0.2]).table
    assert [row["low"] for row in found["sensitivity"]] == due["low"].tolist()
    known = anchor.breakdown()
    assert [row["gamma_sign"] for row in found["breakdown"]] == pytest.approx(
        known["gamma_sign"].tolist()
    )
    assert len(found["benchmarks"]) == len(anchor.benchmarks())
    path = tmp_path / "favours.csv"
    assert run("sensitivity", *FAST, "-o", path) == (0, "", [])
    read = pd.read_csv(path, index_col=["model", "opponent"])
    assert read["gamma_sign"].tolist() == pytest.approx(known["gamma_sign"].tolist())
    code, out, _ = run("sensitivity", *FAST, "--gamma", 0.2)
    assert code == 0 and "worst rank" in out.lower()


def test_families_and_judges(run, fitted, anchor):
    code, out, _ = run(
        "sensitivity", *FAST, "--kind", "family", "--family", "ivory-lynx",
        "dusty-lark", "--favouring", "judge-beta", "--json",
    )  # fmt: skip
    assert code == 0
    due = anchor.breakdown(
        "family", judges=["judge-beta"], family=["ivory-lynx", "dusty-lark"]
    )
    found = json.loads(out)["breakdown"]
    assert [row["weakest_judge"] for row in found] == due["weakest_judge"].tolist()


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--gamma", "-0.1"], "--gamma must be finite and not negative"),
        (["--gamma", "much"], "invalid float value: 'much'"),
        (["--kind", "frown"], "invalid choice: 'frown'"),
        (["--kind", "family"], "--kind family and --family go together"),
        (["--family", "ivory-lynx"], "--kind family and --family go together"),
        (["--favouring", "nobody"], "no judges ['nobody']"),
        (["--kind", "family", "--family", "owl"], "no models ['owl']"),
    ],
)
def test_bad_flags_are_refused(run, fitted, flags, says):
    code, out, err = run("sensitivity", *FAST, *flags)
    assert (code, out) == (2, "") and says in err[0]
