"""Scratch arrays whose memory is reused."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Workspace:
    """Named scratch arrays, separate for each thread.

    A new array of some hundred kilobytes costs several times the arithmetic that fills
    it, since the memory comes from the system page by page.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def take(
        self, name: str, shape: tuple[int, ...], dtype: Any = np.float64
    ) -> NDArray[Any]:
        """Uninitialised array of the given shape, valid until ``name`` is taken again.

        The memory of a name is allocated once, and again only for a larger shape.
        """
        size = int(np.prod(shape))
        arrays: dict[str, NDArray[Any]] = self._local.__dict__
        flat = arrays.get(name)
        if flat is None or flat.size < size:
            flat = arrays[name] = np.empty(size, dtype=dtype)
        return flat[:size].reshape(shape)

    def __reduce__(self) -> tuple[Any, ...]:
        # Thread-local memory cannot be pickled: a copy starts without arrays.
        return Workspace, ()
