"""What a fit takes of the machine: threads of linear algebra, and its memory."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import pyarrow as pa

LARGE = 3_000
"""Rows of a matrix from which a second thread may pay. Below, threads wait for each
other longer than they work. Two threads gained nothing in a fit of 1,000 models, and
beside other work they took twice the time of one."""

_LIMITED = threading.Lock()
"""Held while BLAS is limited. Its number of threads belongs to the process: one limit
holds at a time, and those inside it, or of other threads, wait for nothing and change
nothing."""


@cache
def _blas() -> Any:
    """Controller of the BLAS libraries; to find them takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def limited_threads(limit: int | None) -> Iterator[None]:
    """Let BLAS use no more than ``limit`` threads; None leaves it as it is."""
    if limit is None or not _LIMITED.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=limit):
            yield
    finally:
        _LIMITED.release()


def threads_for(size: int) -> int | None:
    """Limit of threads for matrices of at most ``size`` rows; None is no limit."""
    return 1 if size < LARGE else None


def release_memory() -> None:
    """Return memory to the system that Arrow and the C library keep for later use."""
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError):
        # Only the C library of GNU has it.
        ctypes.CDLL(None).malloc_trim(0)
