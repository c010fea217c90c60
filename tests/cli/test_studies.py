"""What ``check`` and ``compare`` say."""

import json

import numpy as np
import pandas as pd
import pytest

from skanchor import AnchorPipeline, BTLRegressor, JudgeCalibrator
from skanchor.baselines import HistoricalPPI, JointBTL, MeanShift
from skanchor.bootstrap import Bootstrapped
from skanchor.datasets import load_demo
from skanchor.evaluation import leave_one_model_out

FAST = ["--set", "cv=2"]
TWO = ["--models", "amber-otter", "early-moth"]


@pytest.fixture(scope="module")
def left_out():
    X, y = load_demo(return_X_y=True)
    anchor = AnchorPipeline(cv=2, random_state=0)
    return leave_one_model_out(anchor, X, y, models=TWO[1:])


def test_check_gives_a_verdict_and_its_numbers(run, left_out):
    code, out, err = run("check", "--demo", *FAST, *TWO)
    assert (code, err) == (0, [])
    assert out.startswith("2 models are too few to tell whether the intervals hold.")
    assert "2 of 2 models left out were placed where people's votes place them" in out
    assert "the settings of the ranking: item effects are left out" in out
    assert "amber-otter" in out and "blue-heron" not in out
    code, out, _ = run("check", "--demo", *FAST, *TWO, "--json")
    found = json.loads(out)
    assert (found["holds"], found["compatible"], found["n_models"]) == ("unknown", 2, 2)
    for row in found["models"]:
        assert row["score"] == left_out.loc[row["model"], "score"]


def test_check_writes_its_table(run, tmp_path, left_out):
    pytest.importorskip("openpyxl")
    for suffix, read in {"csv": pd.read_csv, "xlsx": pd.read_excel}.items():
        path = tmp_path / f"check.{suffix}"
        assert run("check", "--demo", *FAST, *TWO, "-o", path) == (0, "", [])
        table = read(path, index_col="model")
        assert table["low"].tolist() == pytest.approx(left_out["low"].tolist())
        assert table["compatible"].tolist() == [True, True]


def test_compare_sets_methods_side_by_side(run, left_out):
    methods = ["--methods", "AnchorPipeline", "HistoricalPPI", "LogisticJudge"]
    code, out, err = run("compare", "--demo", *FAST, *TWO, *methods, "--json")
    assert (code, err) == (0, [])
    anchor, ppi, ranks = json.loads(out)["methods"]
    error = left_out["score"] - left_out["true_score"]
    assert anchor["rmse"] == pytest.approx(np.sqrt((error**2).mean()))
    assert anchor["new_models"] == {"ivory-lynx": "4 (3-5)", "jade-finch": "6 (5-7)"}
    # What a method does not know is not made up.
    assert ppi["rmse"] > 0 and ppi["compatible"] is None
    assert ranks["rmse"] is None and ranks["rank_error"] >= 0
    code, out, _ = run("compare", "--demo", *FAST, *TWO, *methods)
    line = next(line for line in out.splitlines() if "LogisticJudge" in line)
    assert code == 0 and line.split()[1] == "–"


def test_compare_gives_intervals_by_refits(run):
    names = ["AnchorPipeline", "HistoricalPPI", "LogisticJudge"]
    flags = ["compare", "--demo", *FAST, *TWO, "--methods", *names, "--json"]
    code, plain, _ = run(*flags)
    found = run(*flags, "--n-resamples", "20")
    assert code == 0 and found[0] == 0
    anchor, ppi, ranks = json.loads(found[1])["methods"]
    assert [anchor, ranks] == json.loads(plain)["methods"][::2]
    X, y = load_demo(return_X_y=True)
    by_hand = Bootstrapped(HistoricalPPI(), 20, random_state=0)
    rows = leave_one_model_out(by_hand, X, y, models=TWO[1:])
    assert ppi["width"] == pytest.approx((rows["high"] - rows["low"]).mean())
    assert ppi["compatible"] == rows["compatible"].mean()
    assert ppi["new_models"]["jade-finch"].endswith(")")
    assert json.loads(found[1])["bootstrap"] == 20 and ranks["width"] is None
    code, out, _ = run(*flags[:-1], "--n-resamples", "20")
    assert code == 0 and "those of 20 refits" in out
    assert "--n-resamples 200 gives" in run(*flags[:-1])[1]
    code, _, err = run(*flags, "--n-resamples", "1")
    assert code == 2 and "--n-resamples must be at least 20" in err[0]


def test_compare_says_how_far_models_left_out_are_off(run):
    code, out, _ = run("compare", "--demo", *TWO, "--methods", "JointBTL", "--json")
    (found,) = json.loads(out)["methods"]
    X, y = load_demo(return_X_y=True)
    rows = leave_one_model_out(JointBTL(), X, y, models=TWO[1:])
    error = rows["score"] - rows["true_score"]
    assert code == 0 and found["rmse"] == pytest.approx(np.sqrt((error**2).mean()))
    assert found["held"] == rows["covered"].mean()
    off = (rows["true_rank"] - rows["fitted_rank"]).abs()
    assert found["own_rank_error"] == pytest.approx(off.mean())
    whole = (rows["true_rank"] - rows["rank"]).abs()
    assert found["largest_rank_error"] == whole.max()


def test_compare_of_old_models_alone(run):
    flags = ["--methods", "JointBTL", "--no-new"]
    code, out, err = run("compare", "--demo", *TWO, *flags)
    assert (code, err) == (0, []) and "new models" not in out


def test_methods_share_ties_counts_and_position_effects_of_the_flags(run, tmp_path):
    """All of a comparison are methods on one scale, with one meaning of the rows."""
    X, y = load_demo(return_X_y=True)
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 4, len(y))
    y = np.where(rng.random(len(y)) < 0.2, "tie", y)
    path = tmp_path / "battles.csv"
    X.assign(winner=y, count=counts).to_csv(path, index=False)
    flags = ["--set", "ties=drop", "--weights", "frequency"]
    flags += ["--set", "calibrator__position_effect=false"]
    names = ["JointBTL", "MeanShift"]
    found = run("compare", path, *TWO, *flags, "--methods", *names, "--json")
    btl = BTLRegressor(ties="drop", weights="frequency")
    calibrator = JudgeCalibrator(position_effect=False)
    by_hand = JointBTL(btl), MeanShift(btl, calibrator)
    for record, method in zip(json.loads(found[1])["methods"], by_hand, strict=True):
        rows = leave_one_model_out(method, X, y, sample_weight=counts, models=TWO[1:])
        error = rows["score"] - rows["true_score"]
        assert record["rmse"] == pytest.approx(np.sqrt((error**2).mean()), rel=1e-6)
        if "width" in rows:
            assert record["width"] == pytest.approx((rows["high"] - rows["low"]).mean())


@pytest.mark.parametrize(
    ("names", "flags", "unread"),
    [
        (["MeanShift"], ["--set", "human_bias=linear"], "--human-bias"),
        (
            ["JointBTL", "SoftElo"],
            ["--set", "calibrator__position_effect=false"],
            "--set calibrator__position_effect",
        ),
        (
            ["JointBTL", "MeanShift"],
            ["--set", "calibrator__position_effect=false", "item_prior=[1, 5]"],
            "--set item_prior",
        ),
    ],
)
def test_flags_that_no_method_reads_are_refused(run, names, flags, unread):
    code, out, (error,) = run("compare", "--demo", "--methods", *names, *flags)
    assert (code, out) == (2, "")
    assert f"{', '.join(names)} would not read {unread}: leave that out" in error


@pytest.mark.parametrize(
    ("names", "flags", "unread"),
    [
        (["HistoricalPPR", "ScalarJudge"], ["--level", "0.9"], "--level"),
        (
            ["ScalarJudge"],
            ["--set=random_state=3", "--level", "0.95"],
            "--random-state, --level",
        ),
        (
            ["JointBTL", "ScalarJudge"],
            ["--level", "0.9", "--set", "random_state=3"],
            "--random-state",
        ),
    ],
)
def test_a_level_without_intervals_and_a_seed_without_draws(run, names, flags, unread):
    command = ["compare", "--demo", "--methods", *names, *flags]
    code, out, (error,) = run(*command)
    assert (code, out) == (2, "")
    assert f"{', '.join(names)} would not read {unread}: leave that out" in error
    # Refits have intervals, and are drawn; here the file is missing.
    command[1:2] = ["absent.csv", "--n-resamples", "20"]
    assert "absent.csv" in run(*command)[2][0]
