"""Labels of models, judges and groups as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor.exceptions import BattlesError

__all__ = ["pack_labels", "unpack_labels"]


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
    values = array.tolist()
    for label in values:
        if type(label) not in (str, int, float, bool):
            raise BattlesError(
                f"The labels of {what} must be text or numbers to be kept in a file, "
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
