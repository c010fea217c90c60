"""Checks of the settings of a simulation beyond their types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def model_numbers(
    name: str, values: ArrayLike | None, n_models: int, n_columns: int = 1
) -> Any:
    """Return numbers of historical models as integers, else raise.

    They are a list, all models for None, or with two columns pairs of different
    models, None for all pairs.
    """
    if values is None:
        return np.arange(n_models) if n_columns == 1 else None
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or not array.size:
        raise ValueError(f"{name} must have numbers of models, got {values!r}.")
    outside = array[(array < 0) | (array >= n_models)]
    if outside.size:
        raise ValueError(
            f"{name} must have numbers of models from 0 to {n_models - 1}, "
            f"got {outside[0]}."
        )
    if array.shape[1:] != (() if n_columns == 1 else (2,)):
        what = "a list" if n_columns == 1 else "two different models in each row"
        raise ValueError(f"{name} must be {what}, got shape {array.shape}.")
    if n_columns == 2 and (array[:, 0] == array[:, 1]).any():
        raise ValueError(f"{name} must have two different models in each row.")
    return array.astype(np.intp)


def finite_array(
    name: str, values: ArrayLike, shape: tuple[int, ...], why: str
) -> np.ndarray:
    """Return values as a finite float array of a shape, else raise."""
    array = np.asarray(values, dtype=float)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}: {why}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite.")
    return array
