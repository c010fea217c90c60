"""Files of histories: arrays and a header, with a checksum. Reading one runs no code.

A file consists of a line with its format, the SHA-256 of the rest, and an ``.npz``
archive of plain arrays, one of which holds the header as JSON. What an archive declares
is checked before memory is asked for.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import math
import os
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor.io.atomic import write_atomically

FORMAT = 2
"""Number of the format that is written, and the only one that is read."""

FIRST_LINE = f"skanchor history, format {FORMAT}\n".encode()

DIGEST_SIZE = hashlib.sha256().digest_size
HEADER = "header"

_BEGIN = 80
"""More bytes than a first line has."""

_SMALL = 1 << 22
"""Bytes of the arrays of a file below which it is compressed."""

_MOST, _MOST_TIMES = 1 << 26, 8
"""Bytes that the arrays of any file may declare, and how many times those of the file
they may declare besides."""

_NUMBERS = "biuf"
"""Kinds of arrays that a file may have."""

_UNREADABLE = (EOFError, KeyError, OSError, RecursionError, RuntimeError, ValueError,
               zipfile.BadZipFile, zlib.error)  # fmt: skip
"""What reading a crafted archive may raise."""


@dataclass(frozen=True, eq=False, slots=True)
class Archive:
    """Content of a file.

    Attributes
    ----------
    header : dict
        Values of types that JSON has.
    arrays : dict of str to ndarray
        Arrays of numbers or booleans.
    checksum : bytes
        That of the file; empty where there is none yet.
    """

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    checksum: bytes = b""


def write_archive(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    overwrite: bool = True,
    replaces: bytes = b"",
) -> None:
    """Write a file. On failure no partial file is left.

    Parameters
    ----------
    path : str or path
        The file.
    header : mapping
        Values of types that JSON has.
    arrays : mapping of str to ndarray
        Arrays of numbers or booleans.
    overwrite : bool, default=True
        Whether an existing file may be replaced.
    replaces : bytes
        Checksum of the file to replace. If it has another one when the new file is
        complete, nothing is written.

    Raises
    ------
    FileExistsError
        If the file has changed.
    """
    text = json.dumps(dict(header), allow_nan=False).encode()
    start = len(FIRST_LINE) + DIGEST_SIZE
    buffer = io.BytesIO(FIRST_LINE.ljust(start, b"\0"))
    buffer.seek(start)
    arrays = {HEADER: np.frombuffer(text, np.uint8), **arrays}
    for name, values in arrays.items():
        if values.dtype.kind not in _NUMBERS:
            raise ValueError(f"array {name!r} does not hold numbers")
    # Sums of many groups are large, and hardly compress. Members have a fixed time, so
    # that equal content is an equal file.
    is_small = sum(values.nbytes for values in arrays.values()) < _SMALL
    save: Any = np.savez_compressed if is_small else np.savez
    save(buffer, **arrays)
    # A view, since a file with many groups is large; it must be gone before its buffer.
    with buffer.getbuffer() as whole, whole[start:] as content:
        whole[len(FIRST_LINE) : start] = hashlib.sha256(content).digest()

    def check() -> None:
        if replaces and checksum_of(path) != replaces:
            raise FileExistsError(
                errno.EEXIST, "has changed since it was read", os.fspath(path)
            )

    write_atomically(path, buffer.getvalue(), overwrite=overwrite, check=check)


def checksum_of(path: str | os.PathLike[str]) -> bytes:
    """Checksum that a file begins with."""
    with open(path, "rb") as file:
        return file.read(len(FIRST_LINE) + DIGEST_SIZE)[len(FIRST_LINE) :]


def read_archive(path: str | os.PathLike[str]) -> Archive:
    """Read a file, which may come from anybody.

    Raises
    ------
    ValueError
        If the file is of another kind or format, damaged or cut off.
    """
    where = os.fspath(path)
    with open(path, "rb") as file:
        begin = file.read(_BEGIN)
        if not begin.startswith(FIRST_LINE):
            raise ValueError(f"{where} {_mistaken(begin)}")
        file.seek(len(FIRST_LINE))
        digest = file.read(DIGEST_SIZE)
        if hashlib.file_digest(file, "sha256").digest() != digest:
            raise ValueError(
                f"{where} is damaged: its content is not what its checksum says. "
                "Delete it, or put back a copy."
            )
        # ``allow_pickle=False``: unpickling a foreign file could run any code.
        try:
            with zipfile.ZipFile(file) as stored:
                members = stored.infolist()
                declared = sum(one.file_size for one in members)
                most = _MOST + _MOST_TIMES * os.path.getsize(path)
                if declared > most:
                    raise ValueError(
                        f"it declares {declared} bytes, of which at most {most} fit"
                    )
                arrays = dict(_read_array(stored, one) for one in members)
            header = json.loads(arrays.pop(HEADER).tobytes())
        except _UNREADABLE as error:
            raise ValueError(
                f"{where} is no history that can be read ({error})."
            ) from None
    return Archive(header, arrays, digest)


def _mistaken(begin: bytes) -> str:
    """Message about a file whose first line is not the expected one."""
    match = re.match(rb"skanchor history, format (\d+)\n", begin)
    if match:
        is_newer = int(match[1]) > FORMAT
        who = "a newer skanchor" if is_newer else "skanchor 0.1.0"
        what = "update skanchor" if is_newer else "fit the history again"
        formats = f"(format {int(match[1])}; this one reads format {FORMAT})"
        return f"was written by {who} {formats}: {what}."
    if begin.startswith(b"\x80"):
        return "is a pickle, which can run any code; it is not opened, and no history."
    is_cut = FIRST_LINE.startswith(begin)
    return "is empty or cut off, no history." if is_cut else "is no history."


def _read_array(
    stored: zipfile.ZipFile, info: zipfile.ZipInfo
) -> tuple[str, NDArray[Any]]:
    """Name and content of an array of an archive.

    A checksum says that a file is whole, not who made it: memory is asked for only once
    the declared shape fits the bytes that are there.
    """
    name = info.filename.removesuffix(".npy")
    content = stored.read(info)
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(f"array {name!r} has an unknown format")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    # Others might run code, or be as large as they say.
    if dtype.kind not in _NUMBERS:
        raise ValueError(f"array {name!r} does not hold numbers")
    declared, there = math.prod(shape) * dtype.itemsize, len(content) - stream.tell()
    if declared != there:
        raise ValueError(f"array {name!r} declares {declared} bytes, and holds {there}")
    stream.seek(0)
    return name, np.lib.format.read_array(stream)
