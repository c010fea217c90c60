"""The summary of a run: one place for each fact, in words and as plain data."""

import json
import re
from copy import copy
from pathlib import Path

import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from skanchor import AnchorPipeline, JudgeCalibrator
from skanchor.baselines import JointBTL, PooledLLM
from skanchor.datasets import load_demo
from skanchor.exceptions import DataWarning, DiagnosticWarning, WeakJudgeWarning
from skanchor.reports import to_dict
from skanchor.reports.advice import points
from skanchor.reports.leaderboard import leaderboard_text
from skanchor.reports.records import SCHEMA_VERSION
from skanchor.reports.sections import report_document
from skanchor.reports.summary import summarize
from skanchor.reports.summary_text import summary_lines
from skanchor.reports.tables import render
from skanchor.results import Scale
from skanchor.warning_log import in_short

PAGE = Path(__file__).parents[2] / "docs" / "json.md"


@pytest.fixture(scope="module")
def anchor():
    X, y = load_demo(return_X_y=True)
    return AnchorPipeline(cv=2, random_state=0).fit(X, y, groups="prompt_id")


@pytest.mark.parametrize("of", [report_document, to_dict, summarize])
def test_methods_without_errors_and_unfitted_ones_are_refused(of):
    X, y = load_demo(return_X_y=True)
    with pytest.raises(TypeError, match=r"PooledLLM has none. Its leaderboard\(\) has"):
        of(PooledLLM().fit(X, y))
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        of(AnchorPipeline())


def test_every_fact_has_its_place(anchor):
    summary = summarize(anchor)
    assert summary.method == "AnchorPipeline" and summary.warnings == ()
    assert summary.rows == {
        "human": 1100, "historical": 2200, "arrival": 700, "unused": 0,
    }  # fmt: skip
    assert summary.models["new"] == ["ivory-lynx", "jade-finch"]
    assert len(summary.models["historical"]) == 8
    assert summary.models["undetermined"] == []
    assert summary.inputs == anchor.result_.inputs
    assert summary.n_groups == 1157
    pd.testing.assert_frame_equal(summary.judges, anchor.summary())
    assert summary.judges["has_position_effect"].all()
    items = summary.item_effects
    assert items.reported == anchor.item_effects_ == "none"
    assert items.p_value == anchor.result_.diagnostics.item_p
    assert summary.settings["cv"] == 2 and summary.defaults["cv"] == 10
    assert summary.seed == 0 and "numpy" in summary.versions
    assert re.fullmatch("[0-9a-f]{64}", summary.input_hash)


def test_lines_say_it_all(anchor):
    text = "\n".join(summary_lines(summarize(anchor, 0.9)))
    for said in (
        "Rows: 1100 human votes, 2200 verdicts on historical models, 700 verdicts on "
        "new models; 1157 groups.",
        "Features: length, markdown.",
        "Judges: 3.",
        "judge-alpha: 937 rows, 17% ties, sensitivity 1.26.",
        "Item effects: left out, as a test does not see them (p = 0.",
        "Position effects: on, in judge logits judge-alpha -0.19",
        "Warnings: none.",
        "Settings: cv=2, random_state=0.",
        "Input: SHA-256 ",
    ):
        assert said in text


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("none", "left out, as asked"),
        ("random", "taken into account, as asked"),
    ],
)
def test_item_effects_as_asked(asked, said):
    X, y = load_demo(return_X_y=True)
    anchor = AnchorPipeline(cv=2, random_state=0, item_effects=asked).fit(X, y)
    summary = summarize(anchor)
    assert said in "\n".join(summary_lines(summary))


def test_why_item_effects_are_taken_or_not():
    X, y = load_demo(return_X_y=True)
    few = (X["judge"].isin(["human", "judge-alpha"])).to_numpy()
    position = JudgeCalibrator(position_effect=False)
    anchor = AnchorPipeline(calibrator=position, cv=2, random_state=0)
    anchor.fit(X[few], y[few])
    summary = summarize(anchor)
    text = "\n".join(summary_lines(summary))
    always = "taken into account, as they always are with one or two judges"
    assert f"{always} (a test for them has p = " in text
    assert "Position effects: off." in text
    assert "calibrator=JudgeCalibrator(position_effect=False)" in text


def test_warnings_stand_in_one_place(anchor):
    X, y = load_demo(return_X_y=True)
    odd = X.assign(score_a=1.0, score_b=2.0)
    with pytest.warns(DataWarning, match="left out"):
        fitted = AnchorPipeline(cv=2, random_state=0).fit(odd, y)
    assert [type(w) for w in fitted.warnings_] == [DataWarning]
    earlier = DataWarning("2 rows hold no verdict.")
    said = summarize(fitted, earlier=[earlier, *fitted.warnings_]).warnings
    assert said == (earlier, *fitted.warnings_)
    text = "\n".join(summary_lines(summarize(fitted)))
    assert f"Warnings: 1.\n  - {fitted.warnings_[0]}\n" in text


def test_many_warnings_alike_are_listed_in_short(anchor):
    own = [WeakJudgeWarning(f"Judge 'j-{i}' is weak: {i}.") for i in range(30)]
    fitted = copy(anchor)
    fitted.warnings_ = tuple(own)
    read = DataWarning("2 rows hold no verdict.")
    # What was issued holds a word about 25 of them, which is no warning more.
    summary = summarize(fitted, earlier=[read, *in_short(own)])
    assert summary.warnings[:31] == (read, *own)
    lines = summary_lines(summary)
    n = len(summary.warnings)
    assert f"Warnings: {n}; of many alike, five are listed." in lines
    told = [line for line in lines if "Judge 'j-" in line]
    assert len(told) == 6
    assert "'j-9' and 20 more: much as in the five warnings before." in told[-1]
    said = [text for text, _ in points(anchor.result_, own)]
    assert [text for text in said if "Judge 'j-" in text] == [t[4:] for t in told]
    # As data, all of them.
    assert len(summary.to_dict()["warnings"]) == n


def test_each_threshold_is_a_warning_of_its_own(anchor):
    diagnostics = anchor.result_.diagnostics
    judges = diagnostics.judges.assign(sensitivity_z=1.0)
    object.__setattr__(diagnostics, "judges", judges)
    try:
        found = summarize(anchor).warnings
    finally:
        kept = judges.assign(sensitivity_z=5.0)
        object.__setattr__(diagnostics, "judges", kept)
    assert [type(w) for w in found] == [DiagnosticWarning] * 3
    assert "judge-beta" in str(found[1])


def test_the_hash_is_that_of_the_rows(anchor):
    X, y = load_demo(return_X_y=True)

    def hash_of(X, y):
        anchor = AnchorPipeline(cv=2, random_state=1).fit(X, y, groups=None)
        return anchor._inference.cells.digest

    first = hash_of(X, y)
    assert first == hash_of(X.copy(), y.to_numpy())
    assert first != anchor._inference.cells.digest  # which has groups
    assert first != hash_of(X.iloc[::-1], y.iloc[::-1])


def test_other_methods_tell_what_they_know():
    X, y = load_demo(return_X_y=True)
    baseline = JointBTL().fit(X, y)
    summary = summarize(baseline)
    assert summary.method == "JointBTL" and summary.item_effects is None
    assert summary.rows == {"human": 1100, "judge": 2900}
    text = "\n".join(summary_lines(summary))
    assert "Judges" not in text and "Settings: all defaults." in text
    alone = summarize(baseline.result_)
    assert alone.settings == {} and alone.method == "RankingResult"
    for of in (baseline, baseline.result_):
        record = to_dict(of)
        json.dumps(record, allow_nan=False)
        [new, _] = record["new_models"]
        assert new["variance"] is new["breakdown"] is None
        assert len(new["contrasts"]) == 9 and record["check"] is None


def test_json_is_what_the_page_says(anchor):
    result = to_dict(anchor, scale="elo", anchor={"amber-otter": 1000})
    json.dumps(result, allow_nan=False)
    assert result["schema_version"] == SCHEMA_VERSION
    assert result["scale"]["anchor"] == "amber-otter"
    assert result["models"][0]["score"] == 1000
    new = result["new_models"][0]
    row = next(row for row in new["contrasts"] if row["opponent"] == "amber-otter")
    assert row["difference"] == pytest.approx(new["score"] - 1000)
    assert row["low"] == pytest.approx(new["low"] - 1000)
    if not PAGE.exists():
        pytest.skip("needs the pages")
    page = PAGE.read_text("utf-8")
    assert f"version {SCHEMA_VERSION}" in page

    def keys(value):
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, (dict, list)):
                yield from keys(item)
        if isinstance(value, dict):
            yield from value

    free = {*anchor.get_params(), *summarize(anchor).versions, "random"}
    missing = {key for key in keys(result) if f"`{key}`" not in page} - free
    assert not missing


def test_the_board_tells_scale_and_undetermined_models(anchor):
    board = anchor.leaderboard(scale="elo")
    board.loc["hazel-newt", "determined"] = False
    text = render(leaderboard_text(board, scale=Scale.of("elo")))
    assert "Scores are Elo points, mean 1000 over the historical models." in text
    assert "?" in text.split("hazel-newt")[0].splitlines()[-1]
    assert "the data do not determine the score" in text
    assert re.search(r"amber-otter\s+11\d\d\.\d ", text)
