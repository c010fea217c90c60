"""Files are written whole or not at all."""

import errno
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from skanchor.io.atomic import check_writable, write_atomically


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


def test_a_draft_is_as_private_as_the_file_that_it_replaces(tmp_path):
    path = tmp_path / "private"
    path.write_text("old")
    path.chmod(0o600)
    modes = []

    def look():
        modes.extend(one.stat().st_mode & 0o777 for one in tmp_path.iterdir())

    write_atomically(path, "new", check=look)
    assert modes == [0o600, 0o600] and path.stat().st_mode & 0o777 == 0o600


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


@pytest.mark.parametrize("has_links", [True, False])
def test_file_that_exists_is_kept(tmp_path, monkeypatch, has_links):
    def link(*names):
        raise OSError(errno.EPERM, "no links here")

    if not has_links:
        monkeypatch.setattr(os, "link", link)
    path = tmp_path / "out.txt"
    write_atomically(path, "one", overwrite=False)
    with pytest.raises(FileExistsError, match=r"out\.txt"):
        check_writable(path, overwrite=False)
    # Another program was faster.
    with pytest.raises(FileExistsError, match=r"out\.txt"):
        write_atomically(path, "two", overwrite=False)
    check_writable(path)
    assert path.read_text() == "one"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_two_writers_at_once(tmp_path):
    path = tmp_path / "out.txt"
    texts = [str(number) * 100_000 for number in range(8)]

    def write(text):
        try:
            write_atomically(path, text, overwrite=False)
        except FileExistsError:
            return None
        return text

    with ThreadPoolExecutor(8) as pool:
        written = [text for text in pool.map(write, texts) if text is not None]
    assert written == [path.read_text()]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda text: write_atomically(path, text), texts))
    assert path.read_text() in texts
    assert os.listdir(tmp_path) == ["out.txt"]
