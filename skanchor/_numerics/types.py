"""Types of arrays that signatures share."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
"""An array of floats."""

Indices: TypeAlias = NDArray[np.intp]
"""An array of row numbers or codes."""
