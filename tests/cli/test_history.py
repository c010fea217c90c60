"""``skanchor history``: fit once, and place by the file."""

import json
import os
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest

from skanchor import AnchorHistory, AnchorPipeline
from skanchor.datasets import load_demo

FAST = ["--set", "cv=3"]
NEW = "ivory-lynx"


@pytest.fixture(scope="module")
def file(tmp_path_factory, battles):
    from skanchor._cli import main

    path = tmp_path_factory.mktemp("history") / "history"
    build = ["history", "build", battles, *FAST, "--output", path]
    assert main([str(one) for one in build]) == 0
    return path


@pytest.fixture(scope="module")
def arrivals(tmp_path_factory):
    frame = load_demo().frame
    is_new_row = (frame[["model_a", "model_b"]] == NEW).any(axis=1)
    path = tmp_path_factory.mktemp("arrivals") / "arrivals.csv"
    frame[is_new_row].to_csv(path, index=False)
    return path


def test_show_says_what_is_kept(run, file):
    code, out, _ = run("history", "show", file)
    assert code == 0
    assert "folds: 1: 3" in out and "item effects: " in out
    facts = json.loads(run("history", "show", file, "--json")[1])
    assert facts["folds"] == [3]
    assert len(facts["models"]) == len(AnchorHistory.load(file).models_)
    assert f"groups: {facts['groups']} of rows" in out.splitlines()


def test_update_and_promote(run, file, arrivals, battles, tmp_path):
    frame = load_demo().frame
    is_new_row = (frame[["model_a", "model_b"]] == NEW).any(axis=1)
    more = tmp_path / "votes.csv"
    frame[is_new_row].assign(judge="human").to_csv(more, index=False)
    path = tmp_path / "other"
    promote = ["history", "update", file, more, "--promote", NEW, "--output", path]
    code, _, err = run(*promote)
    assert code == 2 and "Give the rows of the history, too, as past" in err[-1]
    code, _, err = run(*promote, "--past", battles)
    assert code == 0
    assert "the history was fitted again from all rows" in err[-1]
    assert NEW in AnchorHistory.load(path).models_
    code, _, err = run("history", "place", path, arrivals)
    assert code == 2 and "Add such rows to the history with update" in err[-1]
    code, _, err = run("history", "update", file, arrivals, "--promote", NEW)
    assert code == 2 and "Leave their rows out of the history" in err[-1]


def test_bad_files_cost_a_line(run, battles, arrivals, tmp_path, file):
    code, out, err = run("history", "place", battles, arrivals)
    assert (code, out, len(err)) == (2, "", 1)
    assert "is no history." in err[0] and "skanchor history build" in err[0]
    code, _, err = run("history", "show", tmp_path / "nothing")
    assert code == 2 and "No such file" in err[0]
    code, _, err = run("history", "place", file, arrivals, "--groups", "judge")
    assert code == 0  # by the judge, as it was asked for
    alone = tmp_path / "alone"
    run("history", "build", battles, *FAST, "--groups", "none", "--output", alone)
    code, _, err = run("history", "place", alone, arrivals, "--groups", "judge")
    assert code == 2 and "fit it again with all rows" in err[-1]
    code, _, err = run("history", "place", alone, arrivals)
    assert code == 0 and "these rows count as independent, although" in " ".join(err)


def test_counts_of_added_rows_mean_what_the_flag_says(run, file, battles, tmp_path):
    frame = load_demo().frame
    new_rows = frame[(frame[["model_a", "model_b"]] == NEW).any(axis=1)]
    count = np.arange(len(new_rows)) % 3 + 1
    rows, listed, weighed = (tmp_path / f"{k}.csv" for k in ("rows", "listed", "known"))
    new_rows.assign(count=count).to_csv(rows, index=False)
    new_rows.iloc[np.repeat(np.arange(len(new_rows)), count)].to_csv(
        listed, index=False
    )

    def placed(path, history, *flags):
        code, out, err = run("history", "place", history, path, "--json", *flags)
        return json.loads(out)["contrasts"] if code == 0 else err

    expected = placed(listed, file)
    assert placed(rows, file, "--weights", "frequency") == expected
    # Rows without weights count as numbers of rows.
    refused = placed(rows, file, "--weights", "importance")[-1]
    assert "the history was built with --weights frequency" in refused
    # Weights of the history are no numbers of rows.
    frame.assign(count=np.arange(len(frame)) % 3 + 1).to_csv(weighed, index=False)
    for mine, other in (("importance", "frequency"), ("frequency", "importance")):
        path = tmp_path / f"{mine}.history"
        build = ["history", "build", weighed, *FAST, "--weights", mine]
        assert run(*build, "--output", path)[0] == 0
        assert (
            f"the history was built with --weights {mine}"
            in placed(rows, path, "--weights", other)[-1]
        )
        update = run("history", "update", path, rows, "--weights", other)
        assert update[0] == 2 and f"built with --weights {mine}" in update[2][-1]


def test_an_update_beside_another_one_loses_neither(tmp_path):
    """Of updates at the same time, all that succeed are in the history."""
    frame = load_demo().frame[["model_a", "model_b", "judge", "winner"]]
    human = frame["judge"] == "human"
    path, added = tmp_path / "history", tmp_path / "added.csv"
    frame[human][:50].to_csv(added, index=False)
    voted = set(frame[human][["model_a", "model_b"]].to_numpy().ravel())
    old = frame[frame["model_a"].isin(voted) & frame["model_b"].isin(voted)]
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects="none")
    history = AnchorHistory(anchor).fit(old.drop(columns="winner"), old["winner"])
    history.save(path)
    update = [sys.executable, "-m", "skanchor", "history", "update", path, added]
    runs = [
        subprocess.Popen(
            [*update, "--groups", "none"], stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    errors = [run.communicate()[1] for run in runs]
    codes = [run.returncode for run in runs]
    assert 0 in codes and set(codes) <= {0, 2}, errors
    if 2 in codes:
        assert "is being replaced by another process" in errors[codes.index(2)]
    rows = AnchorHistory.load(path).state_.facts["rows"]
    assert rows == len(old) + 50 * codes.count(0)
    assert {item.name for item in tmp_path.iterdir()} == {"history", "added.csv"}


def test_a_full_disk_or_a_signal_leaves_the_old_history(file, battles, tmp_path):
    path, pipe = tmp_path / "history", tmp_path / "pipe.csv"
    path.write_bytes(file.read_bytes())
    os.mkfifo(pipe)
    build = [sys.executable, "-m", "skanchor", "history", "build"]
    ends = [*FAST, "--output", str(path), "--force"]

    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = subprocess.run(
        [*build, str(battles), *ends],
        preexec_fn=no_room,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and "File too large" in done.stderr.splitlines()[-1]
    with (
        subprocess.Popen(
            [*build, str(pipe), *ends], stderr=subprocess.PIPE, text=True
        ) as waiting,
        open(pipe, "wb"),  # from which nothing ever comes
    ):
        waiting.send_signal(signal.SIGTERM)
        assert waiting.wait(60) == 143
        assert waiting.stderr.read() == "skanchor: interrupted\n"
    assert path.read_bytes() == file.read_bytes()
    assert {item.name for item in tmp_path.iterdir()} == {"history", "pipe.csv"}
