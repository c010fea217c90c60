"""Passes over a stream: run in parallel, summed in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from joblib import effective_n_jobs
from numpy.typing import NDArray

from skanchor._folds import stream_plan
from skanchor.exceptions import BattlesError
from skanchor.streaming._parts import Data, Part, with_groups

WAVE = 8
"""Jobs for each worker that are started together; their results wait in memory."""

Result = TypeVar("Result")


class Runs:
    """Passes over the rows of a stream.

    Parameters
    ----------
    data : Data
        The stream.
    job_rows : int
        Smallest number of rows of a job, which takes several parts where these are
        short. The last digits of the sums depend on it, but not on the workers.
    n_jobs : int, optional
        Number of workers, as in joblib.
    verbose : int
        Shows a progress bar when positive.

    Attributes
    ----------
    groups : mapping of int to ndarray, or None
        Number of the group of each row of each part, by that of its first row, once a
        pass has read them: later passes need not read and hash labels again.
    """

    def __init__(self, data: Data, job_rows: int, n_jobs: int | None, verbose: int):
        self.data, self.job_rows = data, job_rows
        self.n_jobs, self.verbose = n_jobs, verbose
        self.layout: list[tuple[int, int]] | None = None
        self.groups: Mapping[int, NDArray[np.int32]] | None = None
        self.passes: list[tuple[str, int, float]] = []

    def run(
        self,
        what: str,
        task: Callable[..., Result],
        arguments: tuple[Any, ...],
        add: Callable[[Result, Result], Result],
    ) -> Result:
        """Run a task on every job, and add the results up in the order of the rows.

        Parameters
        ----------
        what : str
            Purpose of the pass, for the progress bar and messages.
        task : callable
            Function of the parts of a job and the ``arguments``.
        arguments : tuple
            Arguments that are the same for every job.
        add : callable
            Adds two results.

        Returns
        -------
        object
            Sum of the results of all jobs.
        """
        total: Result | None = None
        layout: list[tuple[int, int]] = []
        start = time.perf_counter()
        with _bar(what, self._n_rows, self.verbose) as advance:
            for wave in self._waves():
                layout += [(part.start, part.length) for job in wave for part in job]
                jobs = [(job, *arguments) for job in wave]
                results = stream_plan(task, jobs, n_jobs=self.n_jobs)
                for job, found in zip(wave, results, strict=True):
                    # Added in the order of the rows: rounding is always the same.
                    total = found if total is None else add(total, found)
                    advance(_length(job))
        release_memory()
        if total is None:
            raise BattlesError("The stream has no rows.")
        self._check(layout)
        n_rows = sum(length for _, length in layout)
        self.passes.append((what, n_rows, time.perf_counter() - start))
        return total

    def _check(self, layout: list[tuple[int, int]]) -> None:
        """Refuse a stream whose parts differ from those of earlier passes."""
        if self.layout is None:
            self.layout = layout
        if layout != self.layout:
            raise BattlesError(
                "The stream has changed between two passes: it has "
                f"{sum(n for _, n in layout)} rows in {len(layout)} parts, and had "
                f"{sum(n for _, n in self.layout)} in {len(self.layout)}."
            )

    @property
    def _n_rows(self) -> int | None:
        if self.layout is not None:
            return sum(length for _, length in self.layout)
        return self.data.n_rows

    def _waves(self) -> Iterator[list[list[Part]]]:
        """Lists of jobs that are run together, as ``WAVE`` limits them."""
        n_workers = effective_n_jobs(self.n_jobs)
        size = 1 if n_workers == 1 else WAVE * n_workers
        jobs = self._jobs()
        while wave := list(islice(jobs, size)):
            yield wave

    def _jobs(self) -> Iterator[list[Part]]:
        """Lists of whole parts with at least ``job_rows`` rows together."""
        job: list[Part] = []
        for part in self.data.parts():
            job.append(part if self.groups is None else with_groups(part, self.groups))
            if _length(job) >= self.job_rows:
                yield job
                job = []
        if job:
            yield job


@contextmanager
def _bar(
    what: str, n_rows: int | None, verbose: int
) -> Iterator[Callable[[int], None]]:
    """Show a bar of the rows of a pass on the standard error, if asked for."""
    if verbose <= 0:
        yield lambda n_rows: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=n_rows)
        yield lambda n_rows: bar.advance(task, n_rows)


def release_memory() -> None:
    """Return memory of columns that were read, which Arrow keeps for later ones."""
    pa.default_memory_pool().release_unused()


def _length(job: list[Part]) -> int:
    """Number of rows of a job."""
    return sum(part.length for part in job)
