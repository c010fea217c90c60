"""Scratch arrays that are used again and again."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Workspace"]


class Workspace:
    """Arrays that are used again and again.

    A fresh array of some hundred kilobytes costs several times the arithmetic that
    fills it, since the memory comes from the system page by page. Every thread has its
    own.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def take(
        self, name: str, shape: tuple[int, ...], dtype: Any = np.float64
    ) -> NDArray[Any]:
        """An array of the given shape, with whatever its last user left in it."""
        size = int(np.prod(shape))
        known: dict[str, NDArray[Any]] = self._local.__dict__
        flat = known.get(name)
        if flat is None or flat.size < size:
            flat = known[name] = np.empty(size, dtype=dtype)
        return flat[:size].reshape(shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return Workspace, ()
