"""A bar on the terminal while a large file is read."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from skanchor.io._source import Source

__all__ = ["LARGE", "with_bar"]

LARGE = 50_000_000
"""Bytes from which on reading a file takes long enough to be watched."""


@contextmanager
def with_bar(source: Source, verbose: int) -> Iterator[Source]:
    """Show how much of a large file has been read, as stored, packed or not.

    Parameters
    ----------
    source : Source
        The file.
    verbose : int
        Whether to show anything.

    Yields
    ------
    Source
        The same, to be read from.
    """
    if not verbose or source.is_stream or os.path.getsize(source.path) < LARGE:
        yield source
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    console = Console(stderr=True)
    bar = Progress(*columns, Remaining(), console=console, transient=True)
    with bar as progress, ExitStack() as opened:
        # Not the text of a path: rich would take its brackets for markup.
        task = progress.add_task("Reading", total=os.path.getsize(source.path))

        def count(n_bytes: int) -> None:
            progress.advance(task, n_bytes)

        def opener(path: str) -> _Counted:
            # Not every archive closes what it reads from.
            return opened.enter_context(_Counted(path, count))

        yield replace(source, opener=opener)


class _Counted(io.FileIO):
    """A file that tells how much of it is read."""

    def __init__(self, path: str, count: Callable[[int], None]) -> None:
        super().__init__(path)
        self._tell = count

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(-1 if size is None else size) or b""
        self._tell(len(data))
        return data
