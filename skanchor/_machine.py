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
        libraries = _blas()
        known = [one.num_threads for one in libraries.lib_controllers]
        if max(known, default=0) <= limit:
            # To set it again takes longer than a small fit.
            yield
        else:
            with libraries.limit(limits=min([limit, *known])):
                yield
    finally:
        _LIMITED.release()


def threads_for(size: int) -> int | None:
    """Limit of threads for matrices of at most ``size`` rows; None is no limit."""
    return 1 if size < LARGE else None


def available_bytes() -> int:
    """Bytes that can still be allocated without swapping.

    On Linux the available memory that the kernel reports, at most the limit of the
    container. Elsewhere all memory of the machine, or a constant if that is not known.
    """
    sizes = []
    with suppress(AttributeError, OSError, ValueError):
        sizes.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, KeyError, ValueError):
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        reported = dict(line.split(":", 1) for line in lines)
        sizes = [int(reported["MemAvailable"].split()[0]) * 1024]
    with suppress(OSError, ValueError):
        # Without a limit the file contains the word "max".
        sizes.append(int(_LIMIT.read_text(encoding="ascii")))
    return min(sizes, default=ASSUMED)


def release_memory() -> None:
    """Return memory to the system that Arrow and the C library keep for later use."""
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError):
        # Only the C library of GNU has it.
        ctypes.CDLL(None).malloc_trim(0)
