"""The scale on which a judge sees score differences: straight, or bent.

A straight scale has log-odds ``c delta``; a bent one ``c sinh(b asinh(delta)) / b``,
which is odd and monotone for every b > 0: below one a judge saturates, or lapses, above
one it is the surer the farther two models are apart.
"""

from __future__ import annotations

import numpy as np

from skanchor._numerics.types import Array

__all__ = ["bend"]


def bend(delta: Array) -> Array:
    """Derivative of ``sinh(b asinh(delta)) / b`` by -log b at b = 1."""
    return np.asarray(delta - np.sqrt(1.0 + delta**2) * np.arcsinh(delta))
