"""Files of arrays and a header are read whole, or refused."""

import hashlib
import io
import os
import pickle
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

from skanchor.io.archive import FIRST_LINE, read_archive, write_archive
from skanchor.io.atomic import locked

ARRAYS = {"a/b": np.arange(6.0).reshape(2, 3), "flags": np.array([True, False])}
REFUSED = r"is damaged: |is no |written by |cut off|, no history"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "file"
    write_archive(path, {"name": "é", "n": 1}, ARRAYS)
    return path


def test_what_is_written_is_read(path):
    result = read_archive(path)
    assert result.header == {"name": "é", "n": 1}
    assert list(result.arrays) == list(ARRAYS)
    for name, values in ARRAYS.items():
        assert result.arrays[name].dtype == values.dtype
        np.testing.assert_array_equal(result.arrays[name], values)


def test_a_hundred_cuts_and_flipped_bits_are_refused(path):
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    bad = [whole[:n] for n in rng.choice(len(whole), 50, replace=False)]
    for position in rng.choice(len(whole), 50, replace=False):
        flipped = bytearray(whole)
        flipped[position] ^= 1 << rng.integers(8)
        bad.append(bytes(flipped))
    for content in [*bad, b"", whole + b"\0"]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=REFUSED):
            read_archive(path)


MISTAKEN = {
    b"skanchor history, format 3\n": "newer skanchor .format 3; this one reads",
    b"skanchor history, format 1\n": "by skanchor 0.1.0 .*: fit the history again",
    b"skanchor bootstrap checkpoint, format 2\n": "is no history",
    pickle.dumps(1): "is a pickle, which can run any code",
    b"": "is empty or cut off",
    b"model_a,model_b\n": "is no history",
}


@pytest.mark.parametrize(("content", "match"), MISTAKEN.items())
def test_what_is_something_else_is_named(tmp_path, content, match):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=match):
        read_archive(path)


def crafted(path, members, compression=zipfile.ZIP_STORED):
    """A file with a valid checksum and any members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    content = buffer.getvalue()
    digest = hashlib.sha256(content).digest()
    path.write_bytes(FIRST_LINE + digest + content)


def npy(shape, dtype="<f8", content=b""):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    return buffer.getvalue() + content


@pytest.mark.parametrize(
    ("member", "match"),
    [
        (npy((10**12,)), "declares 8000000000000 bytes, and holds 0"),
        (npy((10**6, 10**6), content=bytes(64)), "declares 8000000000000 bytes"),
        (npy((2,), content=bytes(8)), "declares 16 bytes, and holds 8"),
        (npy((-1, -8), content=bytes(64)), "no .* that can be read"),
        (npy((1,), "|O", bytes(8)), "no .* that can be read"),
        (b"\x93NUMPY\x09\x00" + bytes(20), "no .* that can be read"),
        (b"", "no .* that can be read"),
    ],
)
def test_no_memory_is_asked_for_that_the_file_cannot_fill(path, member, match):
    crafted(path, {"header": npy((2,), "|u1", b"{}"), "a": member})
    with pytest.raises(ValueError, match=match):
        read_archive(path)


def test_a_file_declares_little_more_than_it_holds(path):
    """Compressed zeros might take a thousand times as much as the file."""
    write_archive(path, {}, {"a": np.zeros(10**5)})
    assert path.stat().st_size < 10**4
    assert not read_archive(path).arrays["a"].any()
    members = {
        "header": npy((2,), "|u1", b"{}"),
        "a": npy((10**7,), "|i1", bytes(10**7)),
    }
    crafted(path, members, zipfile.ZIP_DEFLATED)
    assert not read_archive(path).arrays["a"].any()
    members |= {str(k): members["a"] for k in range(8)}
    crafted(path, members, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match=r"declares 9[0-9]+ bytes, of which at most"):
        read_archive(path)


def test_a_file_that_has_changed_is_not_replaced(path):
    before = read_archive(path)
    write_archive(path, {"n": 2}, ARRAYS, replaces=before.checksum)
    with pytest.raises(FileExistsError, match="has changed since it was read"):
        write_archive(path, {"n": 3}, ARRAYS, replaces=before.checksum)
    assert read_archive(path).header == {"n": 2}
    assert list(path.parent.iterdir()) == [path]


def test_a_file_is_locked_once(path, tmp_path):
    (tmp_path / "link").symlink_to(path)
    with locked(path):
        with (
            pytest.raises(FileExistsError, match=r"another process .*file.lock"),
            locked(tmp_path / "link"),
        ):
            pass
    with locked(path):
        pass
    assert {item.name for item in tmp_path.iterdir()} == {"file", "link"}


WRITER = """
import sys
import numpy as np
from skanchor.io.archive import write_archive
for n in range(10**6):
    arrays = {"n": np.full(200_000, n)}
    write_archive(sys.argv[1], {"n": n}, arrays)
"""


def test_a_killed_writer_leaves_a_whole_file(path):
    """Old or new, never between, while the writer writes and when it dies."""
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)])
    before = path.read_bytes()
    while path.read_bytes() == before:
        time.sleep(0.005)
    for wait in (0.02, 0.03, 0.05):
        time.sleep(wait)
        result = read_archive(path)
        assert (result.arrays["n"] == result.header["n"]).all()
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    result = read_archive(path)
    assert (result.arrays["n"] == result.header["n"]).all()


def test_arrays_that_hold_no_numbers_are_refused(path):
    """A type may have a size of its own, whatever the shape."""
    header = npy((2,), "|u1", b"{}")
    for kind in ("<U100000000", "|V1000000000", "<M8[s]", ("<f8", (10**8,))):
        crafted(path, {"header": header, "a": npy((0,), kind)})
        with pytest.raises(ValueError, match="can be read"):
            read_archive(path)
    for odd in (np.array([object()], dtype=object), np.array(["a"])):
        with pytest.raises(ValueError, match="'odd' does not hold numbers"):
            write_archive(path, {}, {"odd": odd})
