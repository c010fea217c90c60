"""A table of battles in the forms that scikit-learn's loaders return."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pandas as pd
from sklearn.utils import Bunch

_TARGET = "winner"


def as_bunch(
    frame: pd.DataFrame, return_X_y: bool, as_frame: bool, name: str, **more: Any
) -> Any:
    """Return a table in the form that the caller of a loader asks for.

    Parameters
    ----------
    frame : DataFrame
        Battles with their outcome, ``winner``.
    return_X_y : bool
        Whether to give ``(data, target)`` instead of a Bunch.
    as_frame : bool
        Whether data is a DataFrame and target a Series; otherwise both are arrays, data
        of dtype object.
    name : str
        Name of the set, whose description is in a file.
    **more
        Further entries of the Bunch.

    Returns
    -------
    Bunch or tuple
        With entries ``data``, ``target``, ``frame`` (None if not `as_frame`),
        ``feature_names``, ``target_names`` and those given.
    """
    data: Any = frame.drop(columns=_TARGET)
    target: Any = frame[_TARGET]
    columns = list(data.columns)
    if not as_frame:
        data, target = data.to_numpy(dtype=object), target.to_numpy(dtype=object)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame if as_frame else None,
        feature_names=columns,
        target_names=[_TARGET],
        DESCR=(files(__package__) / "data" / f"{name}.rst").read_text("utf-8"),
        **more,
    )
