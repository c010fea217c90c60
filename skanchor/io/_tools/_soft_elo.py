"""SoftElo's rows: a vote, a verdict, and points for several criteria in each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._tools._cells import battles, interleaved, labelled
from skanchor.io._tools._reader import Options, Reader

_PREFERENCES = {
    **dict.fromkeys(("a", "model_a", "left"), "model_a"),
    **dict.fromkeys(("b", "model_b", "right"), "model_b"),
    **dict.fromkeys(("tie", "c", "equal"), "tie"),
}


def _mean_points(cell: Any) -> float:
    """Mean of the points for all criteria; NaN where there are none."""
    if cell is None or (isinstance(cell, float) and np.isnan(cell)):
        return np.nan
    if isinstance(cell, str):
        cell = json.loads(cell)
    if isinstance(cell, Mapping):
        cell = list(cell.values())
    points = np.array([np.nan if one is None else one for one in cell], dtype=float)
    return float(points.mean()) if points.size else np.nan


def _points_of_cells(column: pd.Series) -> pd.Series:
    """Mean points of a column whose cells are lists, objects or JSON of either."""
    found = []
    for row, cell in enumerate(column):
        try:
            found.append(_mean_points(cell))
        except (TypeError, ValueError):
            raise BattlesError(
                f"Column {column.name!r} holds {cell!r:.60} in row {row}, which are no "
                "points by criterion."
            ) from None
    return pd.Series(found, index=column.index)


def _read_soft_elo(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    names = ("prompt_id", "question_id", "id")
    key = next((name for name in names if name in raw), None)
    sides = {
        "margin": _points_of_cells(raw["scores_a"]) - _points_of_cells(raw["scores_b"]),
        # Vote and verdict are about the same two responses.
        "prompt_id": raw[key] if key else [f"row-{i}" for i in range(len(raw))],
    }
    used = ("human_pref", "judge_pref", "scores_a", "scores_b", key)
    judges = (("human", "human_pref"), (raw.get("judge", "judge"), "judge_pref"))
    return interleaved(
        *(
            battles(
                raw, {}, *used, judge=who, winner=labelled(raw[name], _PREFERENCES),
                **sides,
            )
            for who, name in judges
        )
    )  # fmt: skip


SOFT_ELO = Reader(
    name="soft_elo",
    files="rows with a vote, a verdict and points by criterion",
    markers=(frozenset({"human_pref", "judge_pref", "scores_a", "scores_b"}),),
    assumes="Each row is a vote and a verdict on the same two responses, in one group; "
    "`margin` is the judge's mean points for `model_a` less those for `model_b`, over "
    "all criteria; without `judge` there is one, called `judge`.",
    read=_read_soft_elo,
)
