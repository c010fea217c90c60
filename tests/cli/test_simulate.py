"""``skanchor simulate``: bad input, files to go on with, runs that are killed."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pandas as pd
import pytest

from skanchor.studies import EXPERIMENTS

pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")

TINY = """
import sys
from skanchor import AnchorPipeline
from skanchor._cli import main
from skanchor.baselines import Oracle
from skanchor.studies import EXPERIMENTS, Cell, Experiment, StudyMethod

settings = {"n_historical": 800, "n_models": 5, "human_fraction": 0.5, "n_new": 80}
cells = tuple(Cell(f"rho={rho}", settings | {"rho": rho}, 0.1) for rho in (0.0, 0.5))
anchor = AnchorPipeline(cv=2, item_effects=None)
methods = (StudyMethod("ANCHOR", anchor, "own"), StudyMethod("Oracle", Oracle()))
tiny = Experiment(
    "tiny", "a small one", "No more.", cells, methods, ("rmse", "coverage"),
    replications=4,
)
"""


@pytest.fixture(scope="module")
def tiny():
    space = {}
    exec(TINY, space)
    return space["tiny"]


@pytest.fixture
def run_tiny(run, tiny, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "tiny", tiny)
    return lambda *words: run("simulate", *words)


def same_rows(path, other):
    one, two = (pd.read_parquet(each).drop(columns="seconds") for each in (path, other))
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    return True


def test_rows_are_written_and_summarised(run_tiny, tmp_path):
    path = tmp_path / "tiny.parquet"
    code, out, lines = run_tiny("tiny", "-o", path)
    assert code == 0 and lines == []
    assert "tiny: a small one" in out and "rho=0.5" in out and "rmse" in out
    table = pd.read_parquet(path)
    assert len(table) == 4 * 2 * 2 and table["seed"].max() == 3
    assert json.loads(table["settings"][0])["n_models"] == 5
    assert "skanchor" in json.loads(table["versions"][0])
    assert os.listdir(tmp_path) == ["tiny.parquet"]


def test_more_draws_are_added_and_none_is_repeated(run_tiny, tmp_path):
    path, whole = tmp_path / "some.parquet", tmp_path / "whole.parquet"
    assert run_tiny("tiny", "-o", path, "--replications", 1)[0] == 0
    before = pd.read_parquet(path)
    assert run_tiny("tiny", "-o", path, "--resume", "--jobs", 2)[0] == 0
    assert run_tiny("tiny", "-o", whole)[0] == 0
    assert same_rows(path, whole)
    after = pd.read_parquet(path)
    # Times are never the same twice: those of the first draws are still there.
    first = after[after["seed"] == 0]["seconds"].tolist()
    assert first == before["seconds"].tolist()
    again = pd.read_parquet(path)
    assert run_tiny("tiny", "-o", path, "--resume")[0] == 0
    pd.testing.assert_frame_equal(pd.read_parquet(path), again, check_exact=True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name an experiment, or all"),
        (["shfit"], "there is no experiment 'shfit'; did you mean shift?"),
        (["xyz"], "there is no experiment 'xyz' (known: default, history"),
        (["shift", "--methods", "Foo"], "shift has no method 'Foo' (known: ANCHOR"),
        (["shift", "--replications", "0"], "--replications must be at least 1, got 0"),
        (["shift", "--replications", "x"], "invalid int value: 'x'"),
        (["shift", "--short", "--replications", "3"], "--short sets the replications"),
        (["shift", "--jobs", "0"], "--jobs must not be 0"),
        (["shift", "--resume"], "--resume goes on from a file: name it by --output"),
        (["shift", "-o", "-"], "rows go to a file"),
        (["shift", "-o", "a.csv"], "unknown format; known are .parquet"),
        (["shift", "-o", "no/where.parquet"], "there is no directory no"),
    ],
)
def test_bad_input(run_tiny, words, message):
    code, out, lines = run_tiny(*words)
    assert code == 2 and out == ""
    assert len(lines) == 1 and message in lines[0]


def test_files_of_another_run_are_refused(run_tiny, tiny, tmp_path, monkeypatch):
    path = tmp_path / "tiny.parquet"
    assert run_tiny("tiny", "-o", path, "--replications", 1)[0] == 0
    content = path.read_bytes()

    def refused(*words):
        code, out, lines = run_tiny(*words)
        assert code == 2 and out == "" and len(lines) == 1
        assert path.read_bytes() == content
        assert os.listdir(tmp_path) == ["tiny.parquet"]
        return lines[0]

    assert "exists; write over it with --force" in refused("tiny", "-o", path)
    words = "tiny", "-o", path, "--resume"
    assert "contradict each other" in refused(*words, "--force")
    assert "other settings, methods or versions" in refused(
        *words, "--methods", "Oracle"
    )
    other = replace(tiny, cells=tiny.cells[:1])
    monkeypatch.setitem(EXPERIMENTS, "tiny", other)
    assert "other settings, methods or versions" in refused(*words)
    monkeypatch.setitem(EXPERIMENTS, "tiny", tiny)
    with monkeypatch.context() as patch:
        patch.setattr("skanchor.studies._experiment.version", lambda name: "0.0")
        assert "other settings, methods or versions" in refused(*words)
    pd.DataFrame({"a": [1]}).to_parquet(path)
    content = path.read_bytes()
    assert "no table of a simulation study" in refused(*words)
    path.write_bytes(b"no Parquet")
    content = path.read_bytes()
    assert "does not let a run go on" in refused(*words)


def test_a_journal_of_another_run_is_refused(run_tiny, tmp_path):
    path = tmp_path / "tiny.parquet"
    journal = tmp_path / "tiny.parquet.journal"
    journal.write_text('{"format": "skanchor kept work 1", "key": "x"}\n')
    code, _, lines = run_tiny("tiny", "-o", path)
    assert code == 2 and "go on with --resume, or begin again with --force" in lines[0]
    code, _, lines = run_tiny("tiny", "-o", path, "--resume")
    assert code == 2 and "with other settings" in lines[0] and not path.exists()
    assert run_tiny("tiny", "-o", path, "--force", "--replications", 1)[0] == 0
    assert path.exists() and not journal.exists()


def test_a_list_takes_no_flags_of_a_run(run_tiny, tmp_path):
    journal = tmp_path / "x.parquet.journal"
    journal.write_text("draws of a run that was stopped")
    for flags in (["--replications", 3], ["-o", tmp_path / "x.parquet", "--force"]):
        code, out, err = run_tiny("tiny", "--list", *flags)
        assert (code, out, len(err)) == (2, "", 1)
        assert "--list runs nothing, so that it takes no --" in err[0]
    assert journal.exists()


def test_experiments_are_listed(run_tiny):
    code, out, _ = run_tiny("--list")
    assert code == 0 and all(f"{name}: " in out for name in EXPERIMENTS)
    assert "processor minutes" in out and "rho=2.0, tau=1.0 (0.37 s a draw)" in out
    code, out, _ = run_tiny("tiny", "--list")
    assert "No more." in out and "methods: ANCHOR; Oracle" in out and "shift" not in out
    assert "cells: 2, draws of each: 4, methods: 2; about" in out


# ---------------------------------------------------------------------------- ends
TO_RUN = "\nEXPERIMENTS['tiny'] = tiny\nsys.exit(main(['simulate', *sys.argv[1:]]))"


def begun(code, path, *words):
    """A run in a process of its own, with experiments that ``code`` defines.

    What it says goes to a file: workers that outlive it would keep a pipe open.
    """
    with open(path.with_suffix(".said"), "w") as file:
        return subprocess.Popen(
            [sys.executable, "-c", code + TO_RUN, "tiny", "-o", path, *map(str, words)],
            stdout=subprocess.DEVNULL, stderr=file,
        )  # fmt: skip


def said_by(process, path):
    """Exit code of a run and its lines on stderr, once it has ended."""
    code = process.wait()
    return code, path.with_suffix(".said").read_text().splitlines()


def stopped_after(process, journal, n_lines, number):
    """Send a signal once the journal has some lines; its lines at the end."""
    while process.poll() is None:
        if journal.exists() and journal.read_bytes().count(b"\n") >= n_lines:
            process.send_signal(number)
            break
        time.sleep(0.005)
    process.wait()
    return journal.read_text().count("\n") if journal.exists() else 0


# The draws of the last seed wait until their run is killed, so that no kill comes too
# late on a busy machine.
WAITS = """
import os, time
from dataclasses import replace
from skanchor.studies import draw_battles

def draw(settings, seed, known=draw_battles):
    parent = os.getppid()
    while seed == 3 and os.getppid() == parent:
        time.sleep(0.05)
    return known(settings, seed)

draw.__module__, draw.__qualname__ = draw_battles.__module__, "draw_battles"
tiny = replace(tiny, draw=draw)
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_run_is_gone_on_with(run_tiny, tmp_path, jobs):
    path, whole = tmp_path / "tiny.parquet", tmp_path / "whole.parquet"
    journal = tmp_path / "tiny.parquet.journal"
    words = "--resume", "--jobs", jobs
    lines = stopped_after(begun(TINY + WAITS, path, *words), journal, 3, signal.SIGKILL)
    assert 3 <= lines < 9 and not path.exists()
    # A kill may also cut a line.
    with open(journal, "a") as file:
        file.write('{"method": "tiny: rho')
    stored = [json.loads(line) for line in journal.read_text().splitlines()[1:-1]]
    assert run_tiny("tiny", "-o", path, *words)[0] == 0 and not journal.exists()
    assert run_tiny("tiny", "-o", whole)[0] == 0
    assert same_rows(path, whole)
    # Draws of the killed run were not made again: their times are still there.
    known = set(pd.read_parquet(path)["seconds"])
    assert {row["seconds"] for part in stored for row in part["row"]["rows"]} <= known


def test_an_interrupt_says_how_to_go_on(tmp_path):
    path = tmp_path / "tiny.parquet"
    process = begun(TINY, path, "--replications", 400)
    journal = tmp_path / "tiny.parquet.journal"
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= 2):
        time.sleep(0.005)
    process.send_signal(signal.SIGTERM)
    code, lines = said_by(process, path)
    assert code == 128 + signal.SIGTERM and len(lines) == 1
    assert "draws are stored in" in lines[0] and "--resume" in lines[0]


def test_a_full_disk_ends_in_one_line(tmp_path, run_tiny):
    path = tmp_path / "tiny.parquet"
    limit = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))\n"
    )
    code, lines = said_by(begun(limit + TINY, path), path)
    assert code == 2 and len(lines) == 1 and "File too large" in lines[0]
    # What was finished before is there, and is gone on with.
    assert run_tiny("tiny", "-o", path, "--resume")[0] == 0


def test_a_worker_that_is_killed_ends_in_one_line(tmp_path, run_tiny):
    path = tmp_path / "tiny.parquet"
    kills = TINY + (
        "from skanchor.studies import draw_battles\n"
        "from dataclasses import replace\n"
        "def draw(settings, seed):\n"
        "    import os, time\n"
        "    if seed == 3:\n"
        "        time.sleep(1.0)\n"
        "        os.kill(os.getpid(), 9)\n"
        "    return draw_battles(settings, seed)\n"
        "draw.__module__, draw.__qualname__ = draw_battles.__module__, 'draw_battles'\n"
        "tiny = replace(tiny, draw=draw)\n"
    )
    code, lines = said_by(begun(kills, path, "--jobs", 2), path)
    own = [line for line in lines if line.startswith("skanchor")]
    assert code == 2 and len(own) == 1 and "a worker was killed" in own[0]
    journal = (tmp_path / "tiny.parquet.journal").read_text()
    assert journal.count("\n") >= 2
    assert run_tiny("tiny", "-o", path, "--resume")[0] == 0


@pytest.mark.slow
def test_all_in_short_though_killed_three_times(tmp_path):
    path, whole = tmp_path / "all.parquet", tmp_path / "whole.parquet"
    journal = tmp_path / "all.parquet.journal"
    command = [sys.executable, "-m", "skanchor", "simulate", "all", "--short"]
    for n_lines in (7, 40, 90):
        process = subprocess.Popen(
            [*command, "--jobs", "2", "-o", path, "--resume"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert stopped_after(process, journal, n_lines, signal.SIGKILL) >= n_lines
    subprocess.run([*command, "-o", path, "--resume"], check=True)
    subprocess.run([*command, "--jobs", "2", "-o", whole], check=True)
    assert same_rows(path, whole)
    table = pd.read_parquet(path)
    assert set(table["experiment"]) == set(EXPERIMENTS)
    assert (table.groupby(["experiment", "cell"])["seed"].nunique() == 2).all()
