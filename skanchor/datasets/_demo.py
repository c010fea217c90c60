"""A small simulated battles table, and the forms that loaders return."""

from __future__ import annotations

import gzip
import io
from importlib.resources import files
from typing import Any

import pandas as pd
from sklearn.utils import Bunch

SCORES = {
    "amber-otter": 0.9, "blue-heron": 0.65, "cedar-fox": 0.45, "dusty-lark": 0.2,
    "early-moth": 0.0, "fern-badger": -0.35, "grey-robin": -0.75, "hazel-newt": -1.1,
}  # fmt: skip
"""Scores of the historical models by which the table was simulated."""

NEW_SCORES = {"ivory-lynx": 0.55, "jade-finch": -0.2}
SENSITIVITIES = {"judge-alpha": 1.4, "judge-beta": 0.8, "judge-gamma": 1.1}


def load_demo(*, return_X_y: bool = False, as_frame: bool = True) -> Any:
    """Load the demo battles: a small SIMULATED table with two new models.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=True
        Return data as a DataFrame and target as a Series; otherwise both are arrays
        (data of dtype object) and the order of the columns is `feature_names`.

    Returns
    -------
    data : Bunch
        - data : the battles without their outcome, of shape (4000, 8).
        - target : the outcomes, "model_a", "model_b" or "tie", of shape (4000,).
        - frame : DataFrame of both, None if `as_frame` is False.
        - feature_names, target_names : the columns of data, and of target.
        - new_models : the models without human comparisons.
        - true_scores, true_sensitivities : Series, the values used.
        - DESCR : how the table was made.
    (data, target) : tuple
        If `return_X_y` is True.

    Examples
    --------
    >>> from skanchor.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> X.shape, sorted(y.unique())
    ((4000, 8), ['model_a', 'model_b', 'tie'])
    """
    packed = (files(__package__) / "data" / "demo_battles.csv.gz").read_bytes()
    frame = pd.read_csv(io.BytesIO(gzip.decompress(packed)))
    return as_bunch(
        frame,
        return_X_y,
        as_frame,
        "demo",
        new_models=list(NEW_SCORES),
        true_scores=pd.Series(SCORES | NEW_SCORES, name="score"),
        true_sensitivities=pd.Series(SENSITIVITIES, name="sensitivity"),
    )


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
    data: Any = frame.drop(columns="winner")
    target: Any = frame["winner"]
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
        target_names=["winner"],
        DESCR=(files(__package__) / "data" / f"{name}.rst").read_text("utf-8"),
        **more,
    )
