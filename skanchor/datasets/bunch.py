"""A table of battles in the forms that scikit-learn's loaders return."""

from __future__ import annotations

from typing import Any

import pandas as pd
from sklearn.utils import Bunch

_TARGET = "winner"

COLUMNS = ("prompt_id", "model_a", "model_b", "judge", _TARGET)
"""First columns of every published table."""


def as_bunch(
    frame: pd.DataFrame, *, return_X_y: bool, as_frame: bool, **more: Any
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
    **more
        Further entries of the Bunch.

    Returns
    -------
    Bunch or tuple
        With entries ``data``, ``target``, ``frame`` (None if not `as_frame`),
        ``feature_names``, ``target_names`` and those given.
    """
    # Where files were read is of this machine alone.
    frame.attrs.clear()
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
        **more,
    )
