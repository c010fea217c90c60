"""Memory that is available on this machine."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["available_bytes"]

ASSUMED = 16 * 2**30
"""Bytes assumed to be available where the system does not report them."""

_MEMINFO = Path("/proc/meminfo")
_LIMIT = Path("/sys/fs/cgroup/memory.max")


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
