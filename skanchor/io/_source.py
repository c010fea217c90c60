"""Where the bytes of a table come from: a file, packed or not, or standard input."""

from __future__ import annotations

import io
import os
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

__all__ = ["PACKED", "STDIN", "Source"]

STDIN = "-"
"""The path that means standard input."""

PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zip": "zip"}
"""How a file is packed, by its last suffix."""

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True)
class Source:
    """A file or standard input, unpacked when it is opened.

    Attributes
    ----------
    path : str
        As the user gave it; ``"-"`` is standard input.
    opener : callable, optional
        Opens the stored bytes of a path in place of Arrow.
    """

    path: str
    opener: Callable[[str], IO[bytes]] | None = None

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Source:
        """Source of a path; refuse in the words of the system what is not there."""
        source = cls(os.fspath(path))
        if not source.is_stdin:
            with open(source.path, "rb"):
                pass
        return source

    @property
    def is_stdin(self) -> bool:
        """Whether the bytes come from standard input."""
        return self.path == STDIN

    @property
    def label(self) -> str:
        """What messages call it."""
        return "standard input" if self.is_stdin else self.path

    @property
    def packing(self) -> str | None:
        """How the file is packed, by its name or, for standard input, its bytes."""
        if self.is_stdin:
            starts = (kind for magic, kind in _MAGIC.items() if self._is(magic))
            return next(starts, None)
        return PACKED.get(Path(self.path).suffix.lower())

    @property
    def suffix(self) -> str:
        """The last suffix that is not one of packing, in lower case."""
        name = Path(self.path)
        return Path(name.stem if self.packing else name.name).suffix.lower()

    @property
    def stem(self) -> str:
        """The name of the file without what tells its format."""
        name = Path(self.path).name
        for suffix in (Path(self.path).suffix if self.packing else "", self.suffix):
            name = name[: len(name) - len(suffix)]
        return name

    def open(self) -> IO[bytes]:
        """Open the bytes, unpacked."""
        import pyarrow as pa

        packing = self.packing
        raw: Any = self.path
        if self.is_stdin:
            raw = io.BytesIO(self._stdin)
        elif self.opener is not None:
            raw = self.opener(self.path)
        if packing == "zip":
            return _only_member(raw)
        if packing is None:
            return pa.OSFile(raw) if isinstance(raw, str) else raw
        return pa.input_stream(raw, compression=packing)

    def head(self, size: int = 1 << 16) -> bytes:
        """Give the first bytes, unpacked."""
        with self.open() as file:
            return file.read(size)

    @cached_property
    def _stdin(self) -> bytes:
        # Read once and kept: it cannot be wound back.
        if sys.stdin is None:
            raise OSError("standard input is closed")
        return sys.stdin.buffer.read()

    def _is(self, magic: bytes) -> bool:
        return self._stdin.startswith(magic)


def _only_member(raw: Any) -> IO[bytes]:
    """Open the one file of an archive; what systems add to it does not count."""
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
    return archive.open(names[0])
