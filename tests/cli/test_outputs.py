"""What each command prints, as it stands in a file of the folder ``outputs``.

Numbers are masked: the words, tables and lines are compared. Other tests compare the
numbers with those of Python. ``SKANCHOR_WRITE_OUTPUTS=1`` writes the files anew.
"""

import os
import re
import sys
from pathlib import Path

import pytest

from skanchor.datasets import load_demo

OUTPUTS = Path(__file__).parent / "outputs"
NUMBER = re.compile(r"[+−-]?\d[\d.,]*(e-?\d+)?")
RANKING = ("rank", "inspect", "check", "compare", "plan", "sensitivity")
CASES = {
    **{f"{name}, demo": [name, "--demo"] for name in RANKING},
    "rank, Elo": ["rank", "--demo", "--scale", "elo", "--anchor", "amber-otter=1000"],
    "plan, widths": ["plan", "--demo", "--widths"],
    "plan, budget": ["plan", "--demo", "--budget", "9", "--costs", "judges=0.1"],
    "sensitivity, gamma": ["sensitivity", "--demo", "--gamma", "0.1"],
    "sensitivity, rows": [
        *("sensitivity", "--demo", "--rows", "--model", "ivory-lynx"),
        *("--opponent", "cedar-fox"),
    ],
    **{f"{name}, votes alone": [name, "votes.csv", "--no-new"]
       for name in ("rank", "inspect", "plan", "sensitivity")},
    **{f"{name}, votes alone": [name, "votes.csv"] for name in ("check", "compare")},
    **{f"{name}, broken": [name, "broken.csv"] for name in RANKING},
    "history, build": ["history", "build", "battles.csv", "-o", "new.history"],
    "history, place": ["history", "place", "demo.history", "battles.csv"],
    "history, update": [
        *("history", "update", "demo.history", "votes.csv", "-o", "more.history"),
        *("--past", "battles.csv"),
    ],
    "history, show": ["history", "show", "demo.history"],
    "history, broken": ["history", "place", "broken.csv", "battles.csv"],
    "fetch": ["fetch", "mt_bench"],
    **{f"{name}, help": [name, "--help"] for name in (*RANKING, "history", "fetch")},
    "help": ["--help"],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the demo table, its votes alone, and a file that is torn."""
    path, frame = tmp_path_factory.mktemp("outputs"), load_demo().frame
    frame.to_csv(path / "battles.csv", index=False)
    frame[frame["judge"] == "human"].to_csv(path / "votes.csv", index=False)
    (path / "broken.csv").write_text("model_a,model_b,judge,winner\na,b\n")
    return path


def masked(text):
    """Words and signs of a text, numbers as #; versions and hashes are left out."""
    lines = [
        re.sub(r" {2,}", "  ", re.sub("─+", "─", NUMBER.sub("#", line))).rstrip()
        for line in text.splitlines()
        if not re.match(r"Versions:|Input:|  scikit-learn", line)
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("case", CASES)
def test_a_command_prints_what_it_did(run, folder, monkeypatch, case):
    words = CASES[case]
    if words[0] == "fetch" and "SKANCHOR_DATA_MIRROR" not in os.environ:
        pytest.skip("SKANCHOR_DATA_MIRROR does not point at the published files")
    if "--help" in words and sys.version_info >= (3, 13):
        pytest.skip("Python 3.13 writes the flags of help in another way")
    monkeypatch.chdir(folder)
    if "demo.history" in words and not Path("demo.history").exists():
        assert run("history", "build", "battles.csv", "-o", "demo.history")[0] == 0
    fits = words[0] in RANKING and words[0] != "inspect" and "--help" not in words
    code, out, err = run(*words, *(["--set", "cv=2"] if fits else []))
    result = masked("\n".join([f"code {code}", *err, "", out]))
    path = OUTPUTS / f"{case.replace(', ', '-').replace(' ', '-')}.txt"
    if "SKANCHOR_WRITE_OUTPUTS" in os.environ:
        path.write_text(result, encoding="utf-8")
    assert result == path.read_text("utf-8")
    assert code == (2 if "broken" in case or case in NOTHING_NEW else 0)
    if "votes alone" in case:
        assert "fold" not in out


NOTHING_NEW = [f"{name}, votes alone" for name in RANKING[2:]]
"""Questions about new models and judges that a table without them refuses."""


def test_arena_is_ranked(run, tmp_path):
    if "SKANCHOR_DATA_MIRROR" not in os.environ:
        pytest.skip("SKANCHOR_DATA_MIRROR does not point at the published files")
    path = tmp_path / "arena.csv"
    assert run("fetch", "arena", "-o", path)[0] == 0
    new = "--hide-votes-of", "claude-v1"
    code, out, _ = run("rank", path, *new, "--set", "cv=2", "item_effects=none")
    assert code == 0 and "People would rank claude-v1" in out


def test_help_fits_on_a_screen_and_a_half(run):
    _, out, _ = run("rank", "--help")
    assert len(out.splitlines()) <= 60
