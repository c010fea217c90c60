"""A progress bar of a pass: rows, rows a second, time left."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self


class Progress:
    """Counts the finished rows of a pass, and shows a bar on the standard error.

    Parameters
    ----------
    what : str
        Purpose of the pass.
    n_rows : int or None
        Number of all rows, where it is known.
    verbose : int
        Shows the bar when positive.
    """

    def __init__(self, what: str, n_rows: int | None, verbose: int):
        self.what, self.n_rows, self.verbose = what, n_rows, verbose
        self.done, self.seconds = 0, 0.0
        self._bar: Any = None

    def __enter__(self) -> Self:
        self._start = time.perf_counter()
        if self.verbose > 0:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed:,.0f} rows, {task.fields[rate]:,.0f} a s"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(self.what, total=self.n_rows, rate=0.0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.seconds = time.perf_counter() - self._start
        if self._bar is not None:
            self._bar.stop()

    def advance(self, n_rows: int) -> None:
        """Count rows that have just been read."""
        self.done += n_rows
        if self._bar is not None:
            rate = self.done / max(time.perf_counter() - self._start, 1e-9)
            self._bar.update(self._task, advance=n_rows, rate=rate)
