"""The array types that signatures share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Indices"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
