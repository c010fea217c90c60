"""Checks of the settings of a simulation beyond their types."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def check_together(
    n_historical: int,
    n_human: int | None,
    n_judges: int,
    item_corr: float,
    bias: object,
    bias_coef: object,
    n_features: int,
) -> None:
    """Raise for settings that contradict one another."""
    if n_human is not None and n_human > n_historical:
        raise ValueError(f"n_human={n_human} exceeds n_historical={n_historical}.")
    # An equicorrelation matrix of M judges has the eigenvalue 1 + (M - 1) r.
    if n_judges > 1 and item_corr < -1 / (n_judges - 1):
        raise ValueError(
            f"item_corr={item_corr} is below -1/(n_judges - 1), the least correlation "
            f"that {n_judges} judges can all have with one another."
        )
    if bias_coef is not None and bias != "linear":
        raise ValueError("bias_coef needs bias='linear'.")
    if bias == "curved" and n_features % 3:
        raise ValueError(
            f"bias='curved' needs n_features to be a multiple of 3, got {n_features}."
        )


def check_rows_among_new(n_rows: int, n_new_models: int) -> None:
    """Raise for rows among new models where there are no two of them."""
    if n_rows and n_new_models < 2:
        raise ValueError(
            "n_new_votes and n_new_verdicts compare new models with each other, which "
            f"needs n_new_models of at least 2, got {n_new_models}."
        )


def model_numbers(name: str, values: ArrayLike, n_models: int) -> np.ndarray:
    """Return numbers of historical models as integers; raise for any other value."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or not array.size:
        raise ValueError(f"{name} must have numbers of models, got {values!r}.")
    unknown = array[(array < 0) | (array >= n_models)]
    if unknown.size:
        raise ValueError(
            f"{name} must have numbers of models from 0 to {n_models - 1}, "
            f"got {unknown[0]}."
        )
    return array.astype(np.intp)


def finite_array(
    name: str, values: ArrayLike, shape: tuple[int, ...], why: str
) -> np.ndarray:
    """Return `values` as a finite float array of `shape`, else raise."""
    array = np.asarray(values, dtype=float)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}: {why}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite.")
    return array
