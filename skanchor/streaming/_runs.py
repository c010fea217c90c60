"""Passes over a stream: side by side, summed in order, and kept in case of a stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from joblib import effective_n_jobs

from skanchor._folds import stream_plan
from skanchor.exceptions import BattlesError
from skanchor.streaming._journal import Journal
from skanchor.streaming._parts import Data, Part
from skanchor.streaming._progress import Progress

__all__ = ["Runs"]

WAVE = 8
"""Jobs of each worker that are under way, or whose results wait in memory."""

Result = TypeVar("Result")


class Runs:
    """Passes over the rows of a stream.

    Parameters
    ----------
    data : Data
        The stream.
    job_rows : int
        Rows of a job at least, of several parts where these are short. Sums depend on
        it, in their last digits, and on nothing else of how the work is shared out.
    n_jobs : int, optional
        Workers, as in joblib.
    verbose : int
        Shows a progress bar when positive.
    journal : Journal
        Results of passes that were finished before.
    """

    def __init__(
        self,
        data: Data,
        job_rows: int,
        n_jobs: int | None,
        verbose: int,
        journal: Journal,
    ):
        self.data, self.job_rows = data, job_rows
        self.n_jobs, self.verbose = n_jobs, verbose
        self.journal = journal
        self.number = 0
        self.layout = journal.layout
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
            What the pass is for.
        task : callable
            Takes the parts of a job and the ``arguments``.
        arguments : tuple
            The same for every job.
        add : callable
            Adds two results.

        Returns
        -------
        object
        """
        number, self.number = self.number, self.number + 1
        kept = self.journal.pass_of(number)
        if kept.is_complete:
            return kept.result  # type: ignore[no-any-return]
        with Progress(what, self._n_rows, self.verbose) as progress:
            try:
                layout = self._go(number, task, arguments, add, progress)
            except BaseException:
                # What is done is done, whatever stops the rest; that is what is told.
                with suppress(OSError, ValueError):
                    self.journal.save()
                raise
        if kept.result is None:
            raise BattlesError("The stream has no rows.")
        self._check(layout)
        self.journal.finish(number, layout)
        n_rows = sum(length for _, length in layout)
        self.passes.append((what, n_rows, progress.seconds))
        return kept.result  # type: ignore[no-any-return]

    def _go(
        self,
        number: int,
        task: Callable[..., Result],
        arguments: tuple[Any, ...],
        add: Callable[[Result, Result], Result],
        progress: Progress,
    ) -> list[tuple[int, int]]:
        """Run the jobs that are left of a pass; say where its parts lie."""
        kept, layout = self.journal.pass_of(number), []
        done = kept.n_jobs
        for wave in self._waves():
            layout += [(part.start, part.length) for job in wave for part in job]
            known, fresh = wave[:done], wave[done:]
            done -= len(known)
            progress.skip(sum(map(_length, known)))
            jobs = [(job, *arguments) for job in fresh]
            results = stream_plan(task, jobs, n_jobs=self.n_jobs)
            for job, found in zip(fresh, results, strict=True):
                total = found if kept.result is None else add(kept.result, found)
                self.journal.note(number, total)
                progress.advance(_length(job))
        return layout

    def _check(self, layout: list[tuple[int, int]]) -> None:
        """Refuse a stream that is another one from pass to pass."""
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
        """Jobs, as many at a time as may be under way."""
        n_workers = effective_n_jobs(self.n_jobs)
        size = 1 if n_workers == 1 else WAVE * n_workers
        wave: list[list[Part]] = []
        for job in self._jobs():
            wave.append(job)
            if len(wave) == size:
                yield wave
                wave = []
        if wave:
            yield wave

    def _jobs(self) -> Iterator[list[Part]]:
        """Parts, short ones together."""
        job: list[Part] = []
        for part in self.data.parts():
            job.append(part)
            if _length(job) >= self.job_rows:
                yield job
                job = []
        if job:
            yield job


def _length(job: list[Part]) -> int:
    """Rows of a job."""
    return sum(part.length for part in job)
