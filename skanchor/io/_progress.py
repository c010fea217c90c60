"""A progress bar on the terminal while a large file is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import IO

from skanchor.io._source import Source

LARGE = 50_000_000
"""Size of a file in bytes from which a bar is shown."""


@contextmanager
def with_bar(source: Source, verbose: int) -> Iterator[Source]:
    """Show how many of the stored bytes of a large file have been read.

    Parameters
    ----------
    source : Source
        The file.
    verbose : int
        Whether to show a bar.

    Yields
    ------
    Source
        The same file, whose reading moves the bar.
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
        # Without the path: rich would read brackets in it as markup.
        task = progress.add_task("Reading")

        def opener(path: str) -> IO[bytes]:
            # Closed here, since not every archive closes the file that it reads.
            return opened.enter_context(progress.open(path, "rb", task_id=task))

        yield replace(source, opener=opener)
