"""Checks of what users give: confidence levels, bounds, arrays with a mask."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_number(value: Any) -> bool:
    """Whether a value is a number; True and False are none, although of type int."""
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def check_level(level: float) -> float:
    """Return a confidence level as a float; raise unless it is in (0, 1)."""
    if not is_number(level) or not 0.0 < level < 1.0:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level!r}.")
    return float(level)


def check_whole(name: str, value: Any, low: int, high: float = np.inf) -> int:
    """Return a whole number; raise unless it is one from ``low`` to ``high``."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number, got {value!r}.")
    if not low <= value <= high:
        most = "" if high == np.inf else f" and at most {high}"
        raise ValueError(f"{name} must be at least {low}{most}, got {value!r}.")
    return int(value)


def check_bounds(name: str, bounds: Any) -> tuple[float, float]:
    """Return bounds as two floats; raise unless they are (low, high), low < high."""
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        low = high = np.nan
    # "not <" rather than ">=", so that NaN is refused.
    if not low < high:
        raise ValueError(f"{name} must be (low, high) with low < high, got {bounds!r}.")
    return low, high


def check_unmasked(name: str, values: Any) -> None:
    """Raise for an array with masked entries, whose mask would be ignored.

    Parameters
    ----------
    name : str
        Name of the array in the message.
    values : array-like
        An argument of the user.
    """
    if not isinstance(values, np.ma.MaskedArray) or not np.ma.is_masked(values):
        return
    row = int(np.nonzero(np.ma.getmaskarray(values))[0][0])
    raise ValueError(f"{name} has masked entries, the first in row {row}; drop them.")


def refuse_contexts(estimator: Any, what: str) -> None:
    """Raise for a method with contexts where contexts are not supported.

    Parameters
    ----------
    estimator : estimator
        The method, or a scikit-learn pipeline that ends in it.
    what : str
        Name of the function that does not support contexts.
    """
    method = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if getattr(method, "context", None) is not None:
        raise ValueError(
            f"{what} does not support contexts, and {method.context!r} names "
            "some: leave it out, and give the rows of one context at a time."
        )
