"""What a fit takes of the machine: its free memory, and threads of linear algebra."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

ASSUMED = 16 * 2**30
"""Bytes assumed to be available where the system does not report them."""

_MEMINFO = Path("/proc/meminfo")
_LIMIT = Path("/sys/fs/cgroup/memory.max")

LARGE = 3_000
"""Rows of a matrix from which a second thread may pay. Below, threads wait for each
other longer than they work. Two threads gained nothing in a fit of 1,000 models, and
beside other work they took twice the time of one."""


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
        if max(known, default=0) <= limit:
            # An outer limit holds: to set it again takes longer than a small fit.
            yield
            return
        with libraries.limit(limits=min([limit, *known])):
            yield
    finally:
        _OWNER.give_back()


def threads_for(size: int) -> int | None:
    """Limit of threads for matrices of at most ``size`` rows; None is no limit."""
    return 1 if size < LARGE else None


def available_bytes() -> int:
    """Bytes that can still be allocated without swapping.

    On Linux the available memory that the kernel reports, at most the limit of the
    container. Elsewhere all memory of the machine, or a constant if that is not known.

    Returns
    -------
    int
    """
    known = [_available(), _limit()]
    found = [size for size in known if size is not None]
    return min(found) if found else ASSUMED


def _available() -> int | None:
    """Memory that is free or can be freed; all memory if that is not reported."""
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        sizes = dict(line.split(":", 1) for line in lines)
        return int(sizes["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return _physical()


def _physical() -> int | None:
    """All memory of the machine, None if it is not known."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _limit() -> int | None:
    """Memory limit of the container, None if there is none."""
    try:
        return int(_LIMIT.read_text(encoding="ascii"))
    except (OSError, ValueError):
        # Without a limit the file contains the word "max".
        return None


def release_memory() -> None:
    """Return memory to the system that Arrow and the C library keep for later use."""
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError):
        # Only the C library of GNU has it.
        ctypes.CDLL(None).malloc_trim(0)
