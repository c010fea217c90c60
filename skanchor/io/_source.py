"""Where the bytes of a table come from: a file, compressed or not, or a stream.

A stream is standard input or a pipe. It cannot be read twice, so all of its bytes are
read once and stored.
"""

from __future__ import annotations

import io
import os
import stat
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

STDIN = "-"
"""The path that means standard input."""

PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zip": "zip"}
"""Compression of a file, by its last suffix."""

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}


@dataclass(frozen=True)
class Source:
    """A file or standard input, decompressed when it is opened.

    Attributes
    ----------
    path : str
        Path as the user gave it; ``"-"`` is standard input.
    opener : callable, optional
        Function that opens the stored bytes of a path.
    """

    path: str
    opener: Callable[[str], IO[bytes]] | None = None

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Source:
        """Source of a path; the system's error is raised if it cannot be opened."""
        source = cls(os.fspath(path))
        if source.is_stdin:
            return source
        mode = os.stat(source.path).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            # It may have no end, as /dev/zero.
            raise ValueError(f"{source.path}: is a device, not a file.")
        # A pipe can be opened only once, so it is not tried here.
        if not stat.S_ISFIFO(mode):
            with open(source.path, "rb"):
                pass
        return source

    @property
    def is_stdin(self) -> bool:
        """Whether the bytes come from standard input."""
        return self.path == STDIN

    @cached_property
    def is_stream(self) -> bool:
        """Whether the bytes come from standard input or a pipe."""
        return self.is_stdin or stat.S_ISFIFO(os.stat(self.path).st_mode)

    @property
    def is_nameless(self) -> bool:
        """Whether the path shows no format, as of standard input and ``<(...)``."""
        return self.is_stream and not Path(self.path).suffix

    @property
    def label(self) -> str:
        """Name of the source in messages."""
        return "standard input" if self.is_stdin else self.path

    @property
    def packing(self) -> str | None:
        """Compression, by the file's suffix or, without a name, by the first bytes."""
        if self.is_nameless:
            starts = (kind for magic, kind in _MAGIC.items() if self._is(magic))
            return next(starts, None)
        return PACKED.get(Path(self.path).suffix.lower())

    @property
    def suffix(self) -> str:
        """The last suffix that is not one of compression, in lower case."""
        name = Path(self.path)
        return Path(name.stem if self.packing else name.name).suffix.lower()

    @property
    def stem(self) -> str:
        """The name of the file without its suffixes."""
        name = Path(self.path).name
        for suffix in (Path(self.path).suffix if self.packing else "", self.suffix):
            name = name[: len(name) - len(suffix)]
        return name

    def open(self) -> IO[bytes]:
        """Open the decompressed bytes."""
        import pyarrow as pa

        packing = self.packing
        raw: Any = self.path
        if self.is_stream:
            raw = io.BytesIO(self._bytes)
        elif self.opener is not None:
            raw = self.opener(self.path)
        if packing == "zip":
            return _only_member(raw)
        if isinstance(raw, str):
            # A file of Python's. Arrow may read its own ahead in a thread after it is
            # closed, and so take rows from the next file with the same number.
            raw = open(raw, "rb")
        return raw if packing is None else pa.input_stream(raw, compression=packing)

    def head(self, size: int = 1 << 16) -> bytes:
        """Return the first decompressed bytes."""
        with self.open() as file:
            return file.read(size)

    @cached_property
    def _bytes(self) -> bytes:
        """All bytes of a stream, read once."""
        if not self.is_stdin:
            with open(self.path, "rb") as pipe:
                return pipe.read()
        if sys.stdin is None:
            raise OSError("standard input is closed")
        return sys.stdin.buffer.read()

    def _is(self, magic: bytes) -> bool:
        return self._bytes.startswith(magic)


def _only_member(raw: Any) -> IO[bytes]:
    """Open the only file of an archive; folders and macOS's additions do not count."""
    try:
        archive = zipfile.ZipFile(raw)
    except zipfile.BadZipFile as error:
        raise ValueError(f"no zip archive: {error}.") from None
    names = [
        name
        for name in archive.namelist()
        if not name.endswith("/") and not name.startswith("__MACOSX/")
    ]
    if len(names) != 1:
        raise ValueError(f"the archive holds {len(names)} files, {names[:5]}, not one.")
    try:
        return archive.open(names[0])
    # zipfile raises RuntimeError for a password or an unknown compression.
    except (zipfile.BadZipFile, RuntimeError) as error:
        raise ValueError(f"no file can be read from the archive: {error}.") from None
