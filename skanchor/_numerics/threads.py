"""Threads of the linear algebra: one, where matrices are too small to gain by more."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

__all__ = ["LARGE", "limited_threads", "threads_for"]

LARGE = 1_000
"""Rows of a matrix from which a second thread may pay. Below, threads wait for each
other longer than they work; on a busy machine by far."""


@cache
def _blas() -> Any:
    """Controller of the BLAS libraries; to find them takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


class _Owner:
    """The thread that limits BLAS now, and how many nested limits it has.

    The number of threads of BLAS belongs to the process. So one thread limits it at a
    time, and limits of others wait for nothing and change nothing.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread: int | None = None
        self.depth = 0

    def take(self) -> bool:
        """Whether this thread may limit BLAS; if so, count one more limit."""
        with self.lock:
            if self.thread not in (None, threading.get_ident()):
                return False
            self.thread, self.depth = threading.get_ident(), self.depth + 1
            return True

    def give_back(self) -> None:
        """End the innermost limit."""
        with self.lock:
            self.depth -= 1
            if not self.depth:
                self.thread = None


_OWNER = _Owner()


@contextmanager
def limited_threads(limit: int | None) -> Iterator[None]:
    """Let BLAS use no more than ``limit`` threads; None leaves it as it is."""
    if limit is None or not _OWNER.take():
        yield
        return
    try:
        libraries = _blas()
        known = [one.num_threads for one in libraries.lib_controllers]
        with libraries.limit(limits=min([limit, *known])):
            yield
    finally:
        _OWNER.give_back()


def threads_for(size: int) -> int | None:
    """Limit of threads for matrices of at most ``size`` rows; None is no limit."""
    return 1 if size < LARGE else None
