"""``skanchor history``: fit once, and place by the file."""

import json

import pytest

from skanchor import AnchorHistory, judge_fingerprint
from skanchor.cli.wording import ADVICE
from skanchor.datasets import load_demo
from skanchor.exceptions import Remedy

FAST = ["--folds", "3"]
NEW = "ivory-lynx"


@pytest.fixture(scope="module")
def file(tmp_path_factory, battles):
    from skanchor.cli import main

    path = tmp_path_factory.mktemp("history") / "history"
    build = ["history", "build", battles, *FAST, "--output", path]
    assert main([str(one) for one in build]) == 0
    return path


@pytest.fixture(scope="module")
def arrivals(tmp_path_factory):
    frame = load_demo().frame
    late = (frame[["model_a", "model_b"]] == NEW).any(axis=1)
    path = tmp_path_factory.mktemp("arrivals") / "arrivals.csv"
    frame[late].to_csv(path, index=False)
    return path


def test_build_leaves_new_models_to_place(run, battles, tmp_path):
    path = tmp_path / "history"
    build = ["history", "build", battles, *FAST, "--output", path]
    code, out, err = run(*build)
    assert (code, out) == (0, "")
    assert (
        "rows of models without human votes (ivory-lynx, jade-finch) are no history"
        in err[0]
    )
    assert NEW not in AnchorHistory.load(path).models_
    code, _, err = run(*build)
    assert code == 2 and "exists; write over it with --force" in err[-1]
    assert run(*build, "--force")[0] == 0


def test_place_prints_a_leaderboard(run, file, arrivals, tmp_path):
    code, out, err = run("history", "place", file, arrivals)
    assert (code, err) == (0, [])
    assert any(NEW in line for line in out.splitlines())
    assert run("rank", "--history", file, arrivals)[1] == out
    code, out, _ = run("history", "place", file, arrivals, "--json", "--level", ".9")
    found = json.loads(out)
    assert found["level"] == 0.9
    assert [one["model"] for one in found["new_models"]] == [NEW]
    assert {"judge", "sensitivity_z"} <= set(found["summary"]["judges"][0])
    path = tmp_path / "board.csv"
    assert run("history", "place", file, arrivals, "--output", path)[0] == 0
    assert NEW in path.read_text()


def test_show_says_what_is_kept(run, file):
    code, out, _ = run("history", "show", file)
    assert code == 0
    assert "folds: 1: 3" in out and "item effects: " in out
    facts = json.loads(run("history", "show", file, "--json")[1])
    assert facts["folds"] == [3]
    assert len(facts["models"]) == len(AnchorHistory.load(file).models_)


def test_update_and_promote(run, file, arrivals, battles, tmp_path):
    frame = load_demo().frame
    late = (frame[["model_a", "model_b"]] == NEW).any(axis=1)
    more = tmp_path / "votes.csv"
    frame[late].assign(judge="human").to_csv(more, index=False)
    path = tmp_path / "other"
    promote = ["history", "promote", NEW, file, more, "--output", path]
    code, _, err = run(*promote)
    assert code == 2 and ADVICE[Remedy.GIVE_PAST] in err[-1]
    code, _, err = run(*promote, "--past", battles)
    assert code == 0
    assert "the history was fitted again from all rows" in err[-1]
    assert NEW in AnchorHistory.load(path).models_
    code, _, err = run("history", "place", path, arrivals)
    assert code == 2 and ADVICE[Remedy.UPDATE_HISTORY] in err[-1]
    code, _, err = run("history", "promote", NEW, file, arrivals)
    assert code == 2 and ADVICE[Remedy.PLACE_ARRIVALS] in err[-1]


def test_bad_files_cost_a_line(run, battles, arrivals, tmp_path, file):
    code, out, err = run("history", "place", battles, arrivals)
    assert (code, out, len(err)) == (2, "", 1)
    assert "is no history." in err[0] and ADVICE[Remedy.BUILD_HISTORY] in err[0]
    code, _, err = run("history", "show", tmp_path / "nothing")
    assert code == 2 and "No such file" in err[0]
    code, _, err = run("history", "place", file, arrivals, "--groups", "judge")
    assert code == 2 and ADVICE[Remedy.FIT_HISTORY_AGAIN] in err[-1]
    code, _, err = run("rank", arrivals, "--fingerprints", battles)
    assert (code, err) == (2, ["skanchor: error: --fingerprints goes with --history"])


def test_changed_judges_are_told(run, battles, arrivals, tmp_path):
    judge = load_demo().frame["judge"].drop_duplicates().drop(0, errors="ignore")
    judge = next(name for name in judge if name != "human")
    path, prints = tmp_path / "history", tmp_path / "prints.json"
    prints.write_text(json.dumps({judge: judge_fingerprint(judge, "old prompt")}))
    flags = ["--fingerprints", prints]
    run("history", "build", battles, *FAST, *flags, "--output", path)
    assert run("history", "place", path, arrivals, *flags)[0] == 0
    prints.write_text(json.dumps({judge: judge_fingerprint(judge, "new prompt")}))
    code, _, err = run("history", "place", path, arrivals, *flags)
    assert code == 2
    assert "have changed since the history was fitted" in err[-1]
    assert ADVICE[Remedy.CALIBRATE_CHANGED] in err[-1]
    prints.write_text("[]")
    code, _, err = run("history", "place", path, arrivals, *flags)
    assert code == 2 and "must hold a text for each judge" in err[-1]


def test_build_from_a_stream(run, arrivals, tmp_path):
    table, path = tmp_path / "all.parquet", tmp_path / "history"
    load_demo().frame.to_parquet(table, row_group_size=500)
    build = ["history", "build", table, *FAST, "--stream", "--output", path]
    checkpoint = tmp_path / "checkpoint"
    code, out, err = run(*build, "--checkpoint", checkpoint)
    assert (code, out) == (0, "")
    assert "have no human row" in " ".join(err)
    assert "rows were read" in err[-1]
    assert checkpoint.exists()
    assert NEW not in AnchorHistory.load(path).models_
    code, out, _ = run("history", "place", path, arrivals)
    assert code == 0 and NEW in out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--stream", "--groups", "prompt_id"], "--groups does not go with --stream"),
        (["--stream"], "--stream reads Parquet files and folders of them, not"),
        (["--checkpoint", "file"], "--checkpoint goes with --stream"),
        (["--stream", "--human", "expert_*"], "labels are no patterns"),
    ],
)
def test_what_a_stream_does_not_read_is_refused(run, battles, tmp_path, flags, message):
    build = ["history", "build", battles, *FAST, "--output", tmp_path / "history"]
    code, _, err = run(*build, *flags)
    assert code == 2 and message in err[-1]
