"""Curvature of the scale on which a judge sees score differences.

On a straight scale the log-odds are ``c delta``, on a curved one
``c sinh(b asinh(delta)) / b``, which is odd and monotone for every b > 0. With b below
one a judge saturates (or lapses): its log-odds grow more slowly than the difference.
With b above one they grow faster.
"""

from __future__ import annotations

import numpy as np

from skanchor._numerics.types import Array

__all__ = ["bend"]


def bend(delta: Array) -> Array:
    """Derivative of ``sinh(b asinh(delta)) / b`` by -log b at b = 1."""
    return np.asarray(delta - np.sqrt(1.0 + delta**2) * np.arcsinh(delta))
