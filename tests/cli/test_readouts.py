"""``check``, ``compare``, ``plan`` and ``sensitivity`` have the numbers of Python."""

import json

import numpy as np
import pandas as pd
import pytest

from skanchor import AnchorPipeline, BTLRegressor, JudgeCalibrator
from skanchor.baselines import JointBTL, MeanShift
from skanchor.datasets import load_demo
from skanchor.evaluation import leave_one_model_out

FAST = ["--demo", "--set", "cv=2"]
TWO = ["--models", "amber-otter", "early-moth"]
PRICES = ["--costs", "human=1", "judges=0.05"]
NEW = "ivory-lynx"


@pytest.fixture
def fitted(monkeypatch, anchor):
    """Commands with this fixture read a fit that is there."""
    monkeypatch.setattr("skanchor._cli.rank.fit_rows", lambda options: anchor)


@pytest.fixture(scope="module")
def left_out():
    X, y = load_demo(return_X_y=True)
    return leave_one_model_out(
        AnchorPipeline(cv=2, random_state=0), X, y, models=TWO[1:]
    )


@pytest.fixture
def record(run):
    """What a command says as JSON."""

    def call(*words):
        code, out, err = run(*words, "--json")
        assert (code, err) == (0, [])
        result = json.loads(out)
        assert result["schema_version"] >= 3
        return result

    return call


def numbers(rows, names):
    return [[row[name] for name in names] for row in rows]


def test_check(run, record, left_out, tmp_path):
    result = record("check", *FAST, *TWO)
    assert (result["holds"], result["compatible"], result["n_models"]) == (
        "unknown",
        2,
        2,
    )
    for row in result["models"]:
        assert row["score"] == left_out.loc[row["model"], "score"]
    path = tmp_path / "check.csv"
    assert run("check", *FAST, *TWO, "-o", path)[0] == 0
    table = pd.read_csv(path, index_col="model")
    assert table["low"].tolist() == pytest.approx(left_out["low"].tolist())


def test_compare(run, record, left_out):
    methods = ["--methods", "AnchorPipeline", "HistoricalPPI", "LogisticJudge"]
    anchor, ppi, ranks = record("compare", *FAST, *TWO, *methods)["methods"]
    error = left_out["score"] - left_out["true_score"]
    assert anchor["rmse"] == pytest.approx(np.sqrt((error**2).mean()))
    # What a method does not know is not made up.
    assert ppi["rmse"] > 0 and ppi.get("compatible") is None
    assert ranks.get("rmse") is None and ranks["rank_error"] >= 0


def test_methods_share_ties_counts_and_position_effects(record, tmp_path):
    """All of a comparison are methods on one scale, with one meaning of the rows."""
    X, y = load_demo(return_X_y=True)
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 4, len(y))
    y = np.where(rng.random(len(y)) < 0.2, "tie", y)
    X.assign(winner=y, count=counts).to_csv(path := tmp_path / "b.csv", index=False)
    flags = ["--weights", "frequency", "--methods", "JointBTL", "MeanShift"]
    flags += ["--set", "calibrator__position_effect=false", "ties=drop"]
    result = record("compare", path, *TWO, *flags)["methods"]
    btl = BTLRegressor(ties="drop", weights="frequency")
    calibrator = JudgeCalibrator(position_effect=False)
    by_hand = JointBTL(btl), MeanShift(btl, calibrator)
    for row, method in zip(result, by_hand, strict=True):
        rows = leave_one_model_out(method, X, y, sample_weight=counts, models=TWO[1:])
        error = rows["score"] - rows["true_score"]
        assert row["rmse"] == pytest.approx(np.sqrt((error**2).mean()), rel=1e-6)


def test_plan(run, record, anchor, fitted, tmp_path):
    worth = anchor.worth().table
    result = record("plan", *FAST)["worth"]
    np.testing.assert_allclose(numbers(result, worth.columns), worth.to_numpy(float))
    outlook = anchor.outlook([0.2, 0.01])
    result = record("plan", *FAST, "--widths", "0.2", "0.01")["rows"]
    assert [row["votes"] for row in result] == outlook.table["votes"].tolist()
    # What is infinite is a word in JSON.
    assert {row["verdicts"] for row in result[1::2]} == {"inf"}
    design = anchor.design(30, {"human": 1.0, "judges": 0.05})
    result = record("plan", *FAST, "--budget", "30", *PRICES)
    assert [row["rows"] for row in result["rows"]] == design.table["rows"].tolist()
    path = tmp_path / "list.csv"
    assert run("plan", *FAST, "--budget", 30, *PRICES, "-o", path) == (0, "", [])
    assert pd.read_csv(path)["rows"].sum() == design.table["rows"].sum()


def test_sensitivity(run, record, anchor, fitted, tmp_path):
    result = record("sensitivity", *FAST, "--gamma", "0", "0.2")
    wider, broken = anchor.sensitivity([0, 0.2]).table, anchor.breakdown()
    assert [row["low"] for row in result["sensitivity"]] == wider["low"].tolist()
    gamma = [row["gamma_sign"] for row in result["breakdown"]]
    assert gamma == pytest.approx(broken["gamma_sign"].tolist())
    assert len(result["benchmarks"]) == len(anchor.benchmarks())
    path = tmp_path / "favours.csv"
    assert run("sensitivity", *FAST, "-o", path) == (0, "", [])
    read = pd.read_csv(path, index_col=["model", "opponent"])
    assert read["gamma_sign"].tolist() == pytest.approx(gamma)


def test_few_rows(run, record, tmp_path):
    X, y = load_demo(return_X_y=True)
    plain = AnchorPipeline(cv=2, item_effects="none", random_state=0).fit(X, y)
    flags = [*FAST, "item_effects=none", "--model", NEW, "--opponent", "cedar-fox"]
    (row,) = record("sensitivity", *flags, "--rows", "arrival")["fragility"]
    result = plain.fragility(X, y, "cedar-fox", model=NEW, rows="arrival")
    assert row["k"] == result.table["k"].iloc[0]
    assert [one["row"] for one in row["rows"]] == result.rows(NEW).index.tolist()
    path = tmp_path / "fragility.csv"
    assert run("sensitivity", *flags, "--rows", "arrival", "-o", path) == (0, "", [])
    assert pd.read_csv(path)["k"].tolist() == [row["k"]]
