"""The scale of a leaderboard: ``--scale`` and ``--anchor``."""

import json

import pandas as pd
import pytest

FAST = ["--set", "cv=2"]


def test_scale_and_anchor(run, tmp_path):
    flags = ["--scale", "elo", "--anchor", "amber-otter=1000"]
    code, out, err = run("rank", "--demo", *FAST, *flags, "--json")
    assert (code, err) == (0, [])
    result = json.loads(out)
    assert result["scale"]["name"] == "elo"
    rows = result["models"]
    assert (rows[0]["model"], rows[0]["score"]) == ("amber-otter", 1000)
    path = tmp_path / "board.csv"
    assert run("rank", "--demo", *FAST, *flags, "--output", path)[0] == 0
    scores = [row["score"] for row in rows]
    assert pd.read_csv(path)["score"].tolist() == pytest.approx(scores, rel=1e-14)
    text = run("rank", "--demo", *FAST, *flags)[1]
    assert "Scores are Elo points, measured from amber-otter" in text


@pytest.mark.parametrize(
    ("anchor", "cause"),
    [
        ("amber-otter", "takes MODEL=SCORE"),
        ("=1000", "takes MODEL=SCORE"),
        ("amber-otter=high", "takes MODEL=SCORE"),
        ("amber-otter=inf", "takes MODEL=SCORE"),
        ("nobody=1000", "'nobody' is none of the models"),
    ],
)
def test_anchors_that_are_none(run, anchor, cause):
    code, _, err = run("rank", "--demo", *FAST, "--anchor", anchor)
    assert (code, len(err)) == (2, 1) and cause in err[0]


def test_what_reading_warns_of_stands_with_the_rest(run, battles, tmp_path):
    frame = pd.read_csv(battles)
    frame.loc[[3, 5], "winner"] = ["error", None]
    frame.to_csv(path := tmp_path / "b.csv", index=False)
    flags = [*FAST, "--drop-invalid", "--json"]
    code, out, err = run("rank", path, *flags)
    [told] = json.loads(out)["warnings"]
    assert (code, len(err)) == (0, 1)
    assert err[0] == f"skanchor: warning: {told['message']}"
