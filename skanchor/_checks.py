"""Checks of what users give: confidence levels, bounds, arrays with a mask."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["check_bounds", "check_level", "check_unmasked"]


def check_level(level: float) -> float:
    """Refuse a confidence level outside (0, 1)."""
    if isinstance(level, bool) or not isinstance(level, (int, float, np.number)):
        raise ValueError(f"level must be a number between 0 and 1, got {level!r}.")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level!r}.")
    return float(level)


def check_bounds(name: str, bounds: Any) -> tuple[float, float]:
    """Refuse bounds that are not a pair of numbers in order."""
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        low = high = np.nan
    if not low < high:
        raise ValueError(f"{name} must be (low, high) with low < high, got {bounds!r}.")
    return low, high


def check_unmasked(name: str, values: Any) -> None:
    """Refuse an array with masked entries, whose mask would be lost.

    Parameters
    ----------
    name : str
        What the message calls it.
    values : array-like
        What a user gives.
    """
    if not isinstance(values, np.ma.MaskedArray) or not np.ma.is_masked(values):
        return
    row = int(np.nonzero(np.ma.getmaskarray(values))[0][0])
    raise ValueError(f"{name} has masked entries, the first in row {row}; drop them.")
