"""Arena-Hard-Auto's ``model_judgment`` files: two graded games against a baseline."""

from __future__ import annotations

from typing import Any

import pandas as pd

from skanchor.io._tools._cells import battles, interleaved
from skanchor.io._tools._grades import GRADES, grade, graded, mirrored
from skanchor.io._tools._reader import Options, Reader


def _verdict(games: Any, number: int) -> str | None:
    if games is None or len(games) <= number or not isinstance(games[number], dict):
        return None
    return grade(games[number].get("score"))


def _read_arena_hard(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    prompt = "uid" if "uid" in raw else "question_id"
    tables = []
    # In all rows ``model_a`` is the model. Game 0 showed the baseline as A, so that its
    # verdict is mirrored; game 1 showed the model as A.
    for number, shown in ((0, "model_b"), (1, "model_a")):
        verdicts = raw["games"].map(lambda games, at=number: _verdict(games, at))
        verdicts = verdicts.map(mirrored) if number == 0 else verdicts
        tables.append(
            battles(
                raw,
                {"prompt_id": prompt, "model_a": "model", "model_b": "baseline"},
                "games",
                **graded(verdicts.astype(object), options.levels),
                shown_first=shown,
            )
        )
    return interleaved(*tables)


ARENA_HARD = Reader(
    name="arena_hard",
    files="Arena-Hard-Auto `model_judgment/*.jsonl`, v0.1 and v2",
    markers=(frozenset({"games", "model", "baseline"}),),
    assumes="In game 1 A is the baseline, in game 2 the model; each game is a row; a "
    "game without a verdict is left out, the other one stays; `>>` is a level, not a "
    "number of votes.",
    read=_read_arena_hard,
    levels=GRADES,
    needs_judge=True,
)
