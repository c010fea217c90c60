"""Labels and settings of estimators as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from skanchor._anchor import AnchorPipeline
from skanchor._arrivals import ArrivalScorer
from skanchor._btl import BTLRegressor
from skanchor._judges import JudgeCalibrator
from skanchor._riesz import RieszDebiaser
from skanchor.bias import LinearBias
from skanchor.exceptions import BattlesError

CLASSES = {
    one.__name__: one
    for one in (
        AnchorPipeline,
        ArrivalScorer,
        BTLRegressor,
        JudgeCalibrator,
        LinearBias,
        RieszDebiaser,
    )
}
"""Estimators that a file may hold settings of; reading never makes another class."""


def pack_settings(anchor: AnchorPipeline, n_folds: int) -> dict[str, Any]:
    """Settings of a pipeline in types that JSON has.

    Parameters
    ----------
    anchor : AnchorPipeline
        Unfitted pipeline. A generator of random numbers is stored as None.
    n_folds : int
        Stored instead of a ``cv`` that is a plan or a splitter.

    Returns
    -------
    dict
        ``class`` and ``params``.

    Raises
    ------
    BattlesError
        If a setting cannot be stored.
    """
    packed: dict[str, Any] = _packed(anchor, "anchor")
    if not isinstance(anchor.cv, (int, np.integer)):
        packed["params"]["cv"] = n_folds
    return packed


def _packed(value: Any, name: str) -> Any:
    """One setting, or those of an estimator; ``name`` is for errors."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, BaseEstimator) and type(value).__name__ in CLASSES:
        params = {
            key: _packed(one, f"{name}.{key}")
            for key, one in value.get_params(deep=False).items()
            if key != "cv"
        }
        if isinstance(value, AnchorPipeline):
            params["cv"] = value.cv if isinstance(value.cv, int) else None
        return {"class": type(value).__name__, "params": params}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return {"list": [_packed(one, name) for one in value]}
    if isinstance(value, dict):
        pairs = [[_packed(key, name), _packed(one, name)] for key, one in value.items()]
        return {"dict": pairs}
    raise BattlesError(
        f"The setting {name}={value!r:.60} cannot be stored in a file, which holds "
        "numbers and texts, and no objects."
    )


def unpack_settings(packed: Any) -> Any:
    """Rebuild a pipeline from the result of :func:`pack_settings`."""
    if not isinstance(packed, dict):
        return packed
    if "class" in packed:
        params = {key: unpack_settings(one) for key, one in packed["params"].items()}
        return CLASSES[packed["class"]](**params)
    if "list" in packed:
        return tuple(unpack_settings(one) for one in packed["list"])
    return {unpack_settings(a): unpack_settings(b) for a, b in packed["dict"]}


def pack_labels(labels: Iterable[Any], what: str) -> dict[str, Any]:
    """Labels in types that JSON has; refuse labels of other types.

    Parameters
    ----------
    labels : iterable
        Texts or numbers.
    what : str
        What is labelled, for an error.

    Returns
    -------
    dict
        ``dtype`` of the array and its ``values``.
    """
    array = labels if isinstance(labels, np.ndarray) else np.array(labels, dtype=object)
    if array.dtype.kind == "T":
        array = array.astype(object)
    values = array.tolist()
    for label in values:
        if type(label) not in (str, int, float, bool):
            raise BattlesError(
                f"The labels of {what} must be text or numbers to be stored in a file, "
                f"but {label!r} is a {type(label).__name__}."
            )
    return {"dtype": array.dtype.str, "values": values}


def unpack_labels(packed: Mapping[str, Any]) -> NDArray[Any]:
    """Rebuild the labels from the result of :func:`pack_labels`."""
    kind = np.dtype(packed["dtype"])
    if kind.kind != "O":
        return np.array(packed["values"], dtype=kind)
    # Filled one by one, so that Python's types of the labels stay.
    labels = np.empty(len(packed["values"]), dtype=object)
    labels[:] = packed["values"]
    return labels
