"""WildBench's pairwise results: one graded game in each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._tools._cells import FAILED, as_numbers, battles
from skanchor.io._tools._grades import GRADES, graded
from skanchor.io._tools._reader import Options, Reader

_WON = {1.0: ("A>B", "B>A"), 2.0: ("A>>B", "B>>A")}


def _grade_of(winner: Any, extent: float, sides: tuple[str, str]) -> str | None:
    """Grade of a verdict: ``winner`` is a model's name, ``extent`` how clear it was."""
    text = str(winner).strip()
    if text.casefold() == "tie":
        return "A=B"
    if text in sides and extent in _WON:
        return _WON[extent][sides.index(text)]
    if text in sides or text.casefold() in FAILED:
        return None
    raise BattlesError(f"Column 'winner' holds {text!r}, which is none of {sides}.")


def _shown(assignment: Any, sides: tuple[str, str]) -> str | None:
    """Which model was shown first, as A; None where it is unknown."""
    first = assignment.get("A") if isinstance(assignment, dict) else None
    return ("model_a", "model_b")[sides.index(first)] if first in sides else None


def _read_wildbench(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    sides = list(zip(raw["model_A"], raw["model_B"], strict=True))
    extent = as_numbers(raw["extent"], (0, 1, 2))
    verdicts = [
        _grade_of(*cells) for cells in zip(raw["winner"], extent, sides, strict=True)
    ]
    columns: dict[str, Any] = {"shown_first": None}
    if "assignment" in raw:
        shown = zip(raw["assignment"], sides, strict=True)
        columns["shown_first"] = [_shown(*cells) for cells in shown]
    if "model_outputs" in raw:
        for at, name in enumerate(("response_a", "response_b")):
            columns[name] = [
                outputs.get(pair[at]) if isinstance(outputs, dict) else None
                for outputs, pair in zip(raw["model_outputs"], sides, strict=True)
            ]
    return battles(
        raw,
        {"prompt_id": "session_id", "model_a": "model_A", "model_b": "model_B"},
        *("extent", "assignment", "model_outputs"),
        **graded(
            pd.Series(np.array(verdicts, object), index=raw.index), options.levels
        ),
        **columns,
    )


WILDBENCH = Reader(
    name="wildbench",
    files="WildBench pairwise v2 results",
    markers=(frozenset({"extent", "model_A", "model_B", "winner", "session_id"}),),
    assumes="`winner` is a model's name, `extent` 1 or 2 how clearly it won; the order "
    "shown is read from `assignment` where that is there, else unknown.",
    read=_read_wildbench,
    levels=GRADES,
    needs_judge=True,
)
