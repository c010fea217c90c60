"""``skanchor history`` stopped, short of room, or beside another one."""

import resource
import subprocess
import sys

import pandas as pd
import pytest

from skanchor import AnchorHistory
from skanchor.datasets import load_demo
from skanchor.io.archive import FIRST_LINE

FAST = ["--set", "cv=3"]
# Stops itself by a signal once the first pass over the rows is finished.
STOPPED = """
import os, signal, sys
from skanchor._cli import main
from skanchor.large._passes import Passes
known = Passes.run
def run(self, *arguments):
    result = known(self, *arguments)
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    return result
Passes.run = run
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("large")
    load_demo().frame.to_parquet(path / "battles.parquet", row_group_size=500)
    return path


def build(table, output, *more):
    return ["build", table, *FAST, "--output", output, *more]


def stop(arguments, signal="SIGTERM", limit=None):
    """Run the program, and stop it by a signal or a limit on the size of files."""

    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    start = ["-c", STOPPED, signal] if limit is None else ["-m", "skanchor"]
    return subprocess.run(
        [sys.executable, *start, "history", *map(str, arguments)],
        preexec_fn=no_room if limit else None,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("how", "code", "message"),
    [
        ({"signal": "SIGTERM"}, 143, "skanchor: interrupted"),
        ({"limit": 30_000}, 2, "File too large"),
    ],
)
def test_a_folder_whose_fit_is_stopped_leaves_the_old_history(
    table, tmp_path, how, code, message
):
    output = tmp_path / "history"
    output.write_bytes(b"the old one")
    done = stop(build(table, output, "--force"), **how)
    assert done.returncode == code and done.stdout == ""
    told = done.stderr.splitlines()
    assert message in told[-1] and "Traceback" not in done.stderr
    assert all(line.startswith("skanchor: ") for line in told)
    # The old file is whole, and no draft is left beside it.
    assert output.read_bytes() == b"the old one"
    assert list(tmp_path.iterdir()) == [output]


def test_build_does_not_write_over_what_it_reads(run, battles, table, tmp_path):
    plain, folder = tmp_path / "battles.csv", tmp_path / "folder"
    plain.write_bytes(battles.read_bytes())
    folder.mkdir()
    (folder / "a.parquet").write_bytes((table / "battles.parquet").read_bytes())
    link = tmp_path / "link"
    link.symlink_to(plain)
    prints = tmp_path / "prints.json"
    prints.write_text("{}")
    for arguments in (
        [plain, "--output", plain],
        [plain, "--output", link],
        [link, "--output", plain],
        [plain, "--fingerprints", prints, "--output", prints],
        [folder, "--output", folder / "a.parquet"],
    ):
        code, _, err = run("history", "build", *arguments, *FAST, "--force")
        assert code == 2 and err[-1].endswith("is a file that is read"), arguments
    assert plain.read_bytes() == battles.read_bytes()
    assert prints.read_text() == "{}"
    assert (folder / "a.parquet").read_bytes()[:4] == b"PAR1"


def test_update_does_not_write_over_what_it_reads(run, battles, tmp_path):
    path, added, past = (tmp_path / name for name in ("history", "new.csv", "old.csv"))
    past.write_bytes(battles.read_bytes())
    frame = load_demo().frame
    frame[frame["judge"] == "human"][:50].to_csv(added, index=False)
    assert run("history", "build", past, *FAST, "--output", path)[0] == 0
    before = [each.read_bytes() for each in (path, added, past)]
    update = ("history", "update", path, added, "--past", past, "--force")
    for output in (added, past):
        code, _, err = run(*update, "--output", output)
        assert code == 2 and err[-1].endswith("is a file that is read")
    assert [each.read_bytes() for each in (path, added, past)] == before


@pytest.mark.parametrize("spelling", ["other", "dotted", "linked", "itself"])
def test_only_the_history_that_is_replaced_must_stay_as_it_was(
    run, battles, tmp_path, monkeypatch, spelling
):
    """Another update of it in between is lost else; beside it, nothing is."""
    path, added = tmp_path / "history", tmp_path / "new.csv"
    frame = load_demo().frame
    frame[frame["judge"] == "human"][:50].to_csv(added, index=False)
    assert run("history", "build", battles, *FAST, "--output", path)[0] == 0
    whole, known = path.read_bytes(), AnchorHistory.update
    (tmp_path / "link").symlink_to(path)
    output = {
        "other": tmp_path / "next",
        "dotted": f"{tmp_path}/./history",
        "linked": tmp_path / "link",
        "itself": path,
    }[spelling]

    def beside_another(self, *args, **kwargs):
        changed = bytearray(path.read_bytes())
        changed[len(FIRST_LINE)] ^= 1
        path.write_bytes(changed)
        return known(self, *args, **kwargs)

    monkeypatch.setattr(AnchorHistory, "update", beside_another)
    code, _, err = run(
        *("history", "update", path, added, "--past", battles),
        *("--output", output, "--force"),
    )
    if spelling == "other":
        assert code == 0 and (tmp_path / "next").exists()
    else:
        assert code == 2 and "has changed since it was read" in err[-1]
    assert path.read_bytes()[len(FIRST_LINE) + 1 :] == whole[len(FIRST_LINE) + 1 :]
    assert not path.with_name("history.lock").exists()


def test_other_labels_of_people_are_named(run, table, tmp_path):
    frame = pd.read_parquet(table)
    (folder := tmp_path / "battles").mkdir()
    frame["judge"] = frame["judge"].replace({"human": "expert"})
    frame.to_parquet(folder / "expert.parquet")
    code, _, err = run("history", *build(folder, tmp_path / "h.history"))
    assert code == 2 and "'expert'" in err[-1]
    assert "name it in human" in err[-1]
    more = ["--human", "expert"]
    code, _, err = run("history", *build(folder, tmp_path / "h.history"), *more)
    assert code == 0, err
