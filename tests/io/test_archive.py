"""Files of arrays and a header are read whole, or refused."""

import hashlib
import io
import json
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

ARRAYS = {"a/b": np.arange(6.0).reshape(2, 3), "flags": np.array([True, False])}
REFUSED = r"is damaged: |is no |written by |cut off|, no history"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "file"
    write_archive(path, {"name": "é", "n": 1}, ARRAYS)
    return path


def test_what_is_written_is_read(path):
    found = read_archive(path)
    assert found.header == {"name": "é", "n": 1}
    assert list(found.arrays) == list(ARRAYS)
    for name, values in ARRAYS.items():
        assert found.arrays[name].dtype == values.dtype
        np.testing.assert_array_equal(found.arrays[name], values)


def test_the_same_content_is_the_same_file(path):
    before = path.read_bytes()
    write_archive(path, {"name": "é", "n": 1}, ARRAYS)
    assert path.read_bytes() == before


def test_a_hundred_cuts_and_flipped_bits_are_refused(path):
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    bad = [whole[:n] for n in rng.choice(len(whole), 50, replace=False)]
    for place in rng.choice(len(whole), 50, replace=False):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.integers(8)
        bad.append(bytes(flipped))
    for content in [*bad, b"", whole + b"\0"]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=REFUSED):
            read_archive(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"skanchor history, format 3\n", "newer skanchor .format 3; this one reads"),
        (
            b"skanchor history, format 1\n",
            "by skanchor 0.1.0 .*: fit the history again",
        ),
        (b"skanchor bootstrap checkpoint, format 2\n", "is a bootstrap checkpoint, no"),
        (pickle.dumps(1), "is a pickle, no history; it is not opened"),
        (b"", "is empty or cut off"),
        (b"model_a,model_b\n", "is no history"),
    ],
)
def test_what_is_something_else_is_named(tmp_path, content, said):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=said):
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
    ("member", "said"),
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
def test_no_memory_is_asked_for_that_the_file_cannot_fill(path, member, said):
    crafted(path, {"header": npy((2,), "|u1", b"{}"), "a": member})
    with pytest.raises(ValueError, match=said):
        read_archive(path)


def test_compressed_arrays_are_refused(path):
    """They might be a thousand times as large as the file."""
    members = {"header": npy((2,), "|u1", b"{}"), "a": npy((9,), content=bytes(72))}
    crafted(path, members)
    assert read_archive(path).arrays["a"].tolist() == [0.0] * 9
    crafted(path, members, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="'header' is compressed"):
        read_archive(path)


def test_objects_in_an_archive_are_never_made(tmp_path):
    path = tmp_path / "file"
    with pytest.raises(TypeError):
        json.dumps({"x": object()})
    write_archive(path, {}, {"odd": np.array([object()], dtype=object)})
    with pytest.raises(ValueError, match="can be read"):
        read_archive(path)


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
        found = read_archive(path)
        assert (found.arrays["n"] == found.header["n"]).all()
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    found = read_archive(path)
    assert (found.arrays["n"] == found.header["n"]).all()
