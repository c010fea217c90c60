"""The loop over the fits of a plan, possibly in parallel."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from skanchor._machine import limited_threads


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
    backend = get_active_backend()[0]
    with _few_threads(backend, effective_n_jobs(n_jobs)):
        # Not every backend can hand over results as they come.
        results: Any = Parallel(
            n_jobs=n_jobs,
            return_as="generator" if backend.supports_return_generator else "list",
        )(delayed(_run_with_warnings)(os.getpid(), task, job) for job in jobs)
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


def _few_threads(backend: Any, n_workers: int) -> Any:
    """Leave each worker that is a thread its share of the cores for BLAS.

    For worker processes joblib sets the limit itself.
    """
    if n_workers == 1 or not getattr(backend, "uses_threads", False):
        return nullcontext()
    return limited_threads(max(1, cpu_count() // n_workers))


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
