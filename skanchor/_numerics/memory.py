"""How much memory the machine has left."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["available_bytes"]

ASSUMED = 16 * 2**30
"""Bytes taken for available where the system does not say."""

_MEMINFO = Path("/proc/meminfo")
_LIMIT = Path("/sys/fs/cgroup/memory.max")


def available_bytes() -> int:
    """Bytes that can still be taken without swapping.

    What Linux says is available, at most the limit of the container; elsewhere all
    memory of the machine, and a constant where it is not known.

    Returns
    -------
    int
    """
    known = [_available(), _limit()]
    found = [size for size in known if size is not None]
    return min(found) if found else ASSUMED


def _available() -> int | None:
    """Memory that is free or can be freed."""
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        sizes = dict(line.split(":", 1) for line in lines)
        return int(sizes["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return _physical()


def _physical() -> int | None:
    """All memory of the machine."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _limit() -> int | None:
    """Limit of the container, if there is one."""
    try:
        return int(_LIMIT.read_text(encoding="ascii"))
    except (OSError, ValueError):
        # "max" says that there is none.
        return None
