"""``skanchor history`` never writes over what it reads, nor over another update."""

import pytest

from skanchor import AnchorHistory
from skanchor.datasets import load_demo
from skanchor.io.archive import FIRST_LINE

FAST = ["--set", "cv=3"]


def test_build_does_not_write_over_what_it_reads(run, battles, tmp_path):
    plain = tmp_path / "battles.csv"
    plain.write_bytes(battles.read_bytes())
    link = tmp_path / "link"
    link.symlink_to(plain)
    for arguments in (
        [plain, "--output", plain],
        [plain, "--output", link],
        [link, "--output", plain],
    ):
        code, _, err = run("history", "build", *arguments, *FAST, "--force")
        assert code == 2 and err[-1].endswith("is a file that is read"), arguments
    assert plain.read_bytes() == battles.read_bytes()


def test_update_does_not_write_over_what_it_reads(run, battles, tmp_path):
    path, added, past = (tmp_path / name for name in ("history", "new.csv", "old.csv"))
    past.write_bytes(battles.read_bytes())
    frame = load_demo().frame
    frame[frame["judge"] == "human"][:50].to_csv(added, index=False)
    assert run("history", "build", past, *FAST, "--output", path)[0] == 0
    before = [item.read_bytes() for item in (path, added, past)]
    update = ("history", "update", path, added, "--past", past, "--force")
    for output in (added, past):
        code, _, err = run(*update, "--output", output)
        assert code == 2 and err[-1].endswith("is a file that is read")
    assert [item.read_bytes() for item in (path, added, past)] == before


@pytest.mark.parametrize("spelling", ["other", "dotted", "linked", "itself"])
def test_only_the_history_that_is_replaced_must_stay_as_it_was(
    run, battles, tmp_path, monkeypatch, spelling
):
    """Another update of it in between is lost else; beside it, nothing is."""
    path, added = tmp_path / "history", tmp_path / "new.csv"
    frame = load_demo().frame
    frame[frame["judge"] == "human"][:50].to_csv(added, index=False)
    assert run("history", "build", battles, *FAST, "--output", path)[0] == 0
    whole, reference = path.read_bytes(), AnchorHistory.update
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
        return reference(self, *args, **kwargs)

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
