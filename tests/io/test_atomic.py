"""Files are written whole or not at all."""

import os

import pytest

from skanchor.io import write_atomically


def test_write_replaces_and_keeps_permissions(tmp_path):
    path = tmp_path / "out.txt"
    write_atomically(path, "one\n")
    path.chmod(0o640)
    link = tmp_path / "link.txt"
    link.symlink_to(path)
    write_atomically(link, "zwei ü\n")
    assert path.read_bytes() == "zwei ü\n".encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link.txt", "out.txt"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_failed_write_leaves_everything_as_it_was(tmp_path, monkeypatch, call):
    path = tmp_path / "out.txt"
    path.write_text("old")

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match=r"No space.*out\.txt"):
        write_atomically(path, "new")
    assert os.listdir(tmp_path) == ["out.txt"]
    assert path.read_text() == "old"


def test_write_into_a_missing_folder_names_the_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent/out\.txt"):
        write_atomically(tmp_path / "absent" / "out.txt", "new")


def test_write_does_not_replace_a_device():
    write_atomically(os.devnull, "gone")
    assert not os.path.isfile(os.devnull)


def test_write_into_a_pipe_by_its_link():
    reader, writer = os.pipe()
    write_atomically(f"/dev/fd/{writer}", "through")
    os.close(writer)
    with open(reader, "rb") as end:
        assert end.read() == b"through"
