"""Bytes of a file: decompressed up to a limit, and decoded."""

from __future__ import annotations

import codecs
import io
import os
import stat
import sys
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, Any

STDIN = "-"
"""The path that means standard input."""

LIMIT, TIMES = 1 << 30, 100
"""A packed file may unpack to 1 GiB, or to 100 times its own size if that is more."""

HEAD = 1 << 16
"""Bytes by which the kind and the encoding of a file are recognised."""

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class _Limited(io.RawIOBase):
    """Decompressed bytes, refused once they are more than a limit."""

    def __init__(self, file: Any, packed: Any, limit: int):
        self._file, self._packed = file, packed
        self._left = self._limit = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._file.read(len(buffer))
        self._left -= len(found)
        if self._left < 0:
            raise ValueError(
                f"it unpacks to more than {self._limit} bytes; unpack it yourself, and "
                "look at what it holds."
            )
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
            self._packed.close()
        super().close()


@dataclass(frozen=True)
class Source:
    """A file, a pipe or standard input, decompressed when it is opened."""

    path: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Source:
        """Source of a path; the system's error is raised if it cannot be opened."""
        source = cls(os.fspath(path))
        if source.path == STDIN:
            return source
        mode = os.stat(source.path).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            # It may have no end, as /dev/zero.
            raise ValueError(f"{source.path}: is a device, not a file.")
        if not stat.S_ISFIFO(mode):
            with open(source.path, "rb"):
                pass
        return source

    @property
    def label(self) -> str:
        """Name in messages."""
        return "standard input" if self.path == STDIN else self.path

    @property
    def stem(self) -> str:
        """Name of the file up to the first dot that a suffix of a format follows."""
        name = Path(self.path)
        while name.suffix.lower() in _SUFFIXES:
            name = name.with_suffix("")
        return "standard input" if self.path == STDIN else name.name

    @property
    def suffix(self) -> str:
        """The last suffix that is not one of compression."""
        found = [s.lower() for s in Path(self.path).suffixes]
        found = [s for s in found if s not in _PACKED]
        return found[-1] if found else ""

    @cached_property
    def _stream(self) -> bytes | None:
        """All bytes of standard input or a pipe, which can be read only once."""
        if self.path == STDIN:
            if sys.stdin is None:
                raise OSError(9, "standard input is closed")
            return sys.stdin.buffer.read()
        if not stat.S_ISFIFO(os.stat(self.path).st_mode):
            return None
        with open(self.path, "rb") as pipe:
            return pipe.read()

    def open(self) -> IO[bytes]:
        """Open the decompressed bytes."""
        # A file of Python's: Arrow may read its own ahead after it is closed.
        raw: Any = io.BytesIO(self._stream) if self._stream is not None else None
        raw = open(self.path, "rb") if raw is None else raw
        start = raw.read(4)
        size = raw.seek(0, os.SEEK_END)
        raw.seek(0)
        packing = next((v for k, v in _MAGIC.items() if start.startswith(k)), None)
        if packing is None:
            return raw
        try:
            if packing == "zip":
                opened = _only_member(raw)
            else:
                import pyarrow as pa

                opened = pa.input_stream(raw, compression=packing)
        except BaseException:
            raw.close()
            raise
        return io.BufferedReader(
            _Limited(opened, raw, max(LIMIT, TIMES * size)), 1 << 20
        )

    def head(self) -> bytes:
        """Return the first decompressed bytes."""
        with self.open() as file:
            found = file.read(HEAD)
        if any(found.startswith(magic) for magic in _MAGIC):
            raise ValueError("it is an archive inside another one; unpack it.")
        return found


_PACKED = {".gz", ".bz2", ".zst", ".zip"}
_SUFFIXES = _PACKED | {
    *(".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson"),
    *(".parquet", ".pq", ".feather", ".arrow"),
}


def _only_member(raw: Any) -> IO[bytes]:
    """Open the only file of an archive; folders and macOS's additions do not count."""
    try:
        archive = zipfile.ZipFile(raw)
        names = [
            name
            for name in archive.namelist()
            if not name.endswith("/") and not name.startswith("__MACOSX/")
        ]
        if "xl/workbook.xml" in names:
            raise ValueError("it is a workbook; save its table as CSV.")
        if len(names) != 1:
            raise ValueError(
                f"the archive holds {len(names)} files, {names[:5]}, not one."
            )
        parts = PurePosixPath(names[0].replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or ":" in parts.parts[0]:
            raise ValueError(f"the file {names[0]!r} of the archive leaves its folder.")
        return archive.open(names[0])
    # zipfile raises RuntimeError for a password or an unknown compression.
    except (zipfile.BadZipFile, RuntimeError) as error:
        raise ValueError(f"no file can be read from the archive: {error}.") from None


def encoding_of(head: bytes, given: str | None) -> str:
    """Encoding of a text: what the user gave, else by its first bytes."""
    if given is not None:
        import pyarrow as pa

        try:
            # Python also has codecs that decode to bytes, and punycode reads no buffer.
            b"a".decode(given, "ignore")
            codecs.decode(pa.py_buffer(b"aa"), given, "ignore")
            return codecs.lookup(given).name
        except (LookupError, ValueError, AttributeError, TypeError):
            raise ValueError(f"{given!r} is no encoding that is known.") from None
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    # In UTF-16 without a mark, plain letters have a zero byte each.
    for name, at in (("utf-16-le", 1), ("utf-16-be", 0)):
        if 4 * head[at::2].count(0) > len(head) and not head[1 - at :: 2].count(0):
            return name
    return "utf-8"


def require_encoding(source: Source, encoding: str) -> None:
    """Refuse a text in another encoding, and name its first line that shows it."""
    decoder = codecs.getincrementaldecoder(encoding)()
    n_lines = 1
    with source.open() as file:
        try:
            while block := file.read(1 << 20):
                decoder.decode(block)
                n_lines += block.count(b"\n")
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            n_lines += error.object.count(b"\n", 0, error.start)
            raise ValueError(
                f"line {n_lines} is not {encoding}; give its encoding, such as cp1252 "
                "in the west of Europe or gb18030 in China."
            ) from None
