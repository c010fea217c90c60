"""The loop over the fits of a plan, possibly in parallel."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend


def run_plan(*args: Any, **kwargs: Any) -> list[Any]:
    """Return the list of what :func:`stream_plan` yields."""
    return list(stream_plan(*args, **kwargs))


def stream_plan(
    task: Callable[..., Any],
    jobs: Sequence[tuple[Any, ...]],
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
    description: str = "folds",
) -> Iterator[Any]:
    """Run ``task(*job)`` for every job, possibly in parallel.

    Parameters
    ----------
    task : callable
        Picklable function.
    jobs : sequence of tuples
        Arguments of each call.
    n_jobs : int, optional
        Number of workers, as in joblib.
    verbose : int
        Shows a progress bar on the standard error when positive.
    description : str
        What the bar counts.

    Yields
    ------
    object
        What each call returns.
    """
    # Not every backend can hand over results as they come.
    streams = get_active_backend()[0].supports_return_generator
    results: Any = Parallel(n_jobs=n_jobs, return_as="generator" if streams else "list")
    results = results(delayed(_run_with_warnings)(os.getpid(), task, j) for j in jobs)
    if verbose > 0:
        from rich.console import Console
        from rich.progress import track

        console = Console(stderr=True)
        results = track(
            results, description, len(jobs), console=console, transient=True
        )
    issued = set()
    for result, caught in results:
        for warning in caught:
            key = (type(warning), str(warning))
            if key not in issued:
                issued.add(key)
                warnings.warn(warning, stacklevel=3)
        yield result


def _run_with_warnings(
    parent_pid: int, task: Callable[..., Any], job: tuple[Any, ...]
) -> tuple[Any, list[Warning | str]]:
    """Run a task; hand back the warnings of another process, lost otherwise."""
    if os.getpid() == parent_pid:
        return task(*job), []
    with warnings.catch_warnings(record=True) as caught:
        result = task(*job)
    # Themselves, not their texts: they may carry advice.
    return result, [record.message for record in caught]
