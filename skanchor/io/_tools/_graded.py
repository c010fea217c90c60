"""Games with graded verdicts: Arena-Hard-Auto, EvalScope and WildBench."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._tools._cells import FAILED, as_numbers, battles, interleaved
from skanchor.io._tools._grades import GRADES, grade, graded, mirrored
from skanchor.io._tools._reader import Options, Reader


# ---------------------------------------------------------------------- Arena-Hard-Auto
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


# ---------------------------------------------------------------------------- EvalScope
_PATHS = (("sample_score", "score"), ("score",))


def _games(record: dict[Any, Any]) -> list[dict[str, Any]]:
    """Games of a sample; an empty list where the judge's answers were unusable."""
    for path in _PATHS:
        found: Any = record
        for key in (*path, "metadata", "battle_result", "games"):
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, (list, tuple, np.ndarray)):
            return [game for game in found if isinstance(game, dict)]
    return []


def _read_evalscope(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    rows: dict[str, list[Any]] = {name: [] for name in ("at", *_GAME)}
    for at, record in enumerate(raw.to_dict("records")):
        games = _games(record)
        first = games[0] if games else {}
        # The old benchmark does not name the models of a game.
        pair = [first.get(name, old) for name, old in _OLD_NAMES.items()]
        # Every second game shows the models in the other order, as A and B: its
        # verdict is mirrored to be about the first order.
        for number, game in enumerate(games):
            verdict = grade(game.get("judgment", game.get("score")))
            is_turned = number % 2 == 1
            rows["at"].append(at)
            rows["model_a"].append(pair[0])
            rows["model_b"].append(pair[1])
            rows["verdict"].append(mirrored(verdict) if is_turned else verdict)
            rows["shown_first"].append("model_b" if is_turned else "model_a")
    source = raw.iloc[rows["at"]].reset_index(drop=True)
    prompt = next((n for n in ("index", "id", "group_id") if n in raw), None)
    return battles(
        source,
        {"prompt_id": prompt},
        *("sample_score", "score", "target", "prediction"),
        **({} if prompt else {"prompt_id": [str(at) for at in rows["at"]]}),
        model_a=rows["model_a"],
        model_b=rows["model_b"],
        **graded(pd.Series(np.array(rows["verdict"], object)), options.levels),
        shown_first=rows["shown_first"],
    )


_GAME = ("model_a", "model_b", "verdict", "shown_first")
_OLD_NAMES = {"model_a": "gpt4-0314", "model_b": "test_model"}


def _has_games(raw: pd.DataFrame) -> bool:
    return any(map(_games, raw.head(100).to_dict("records")))


EVALSCOPE = Reader(
    name="evalscope",
    files="EvalScope reviews of `general_arena` and `arena_hard`",
    markers=(frozenset({"sample_score", "index"}), frozenset({"score", "index"})),
    fits=_has_games,
    assumes="Games lie at `score.metadata.battle_result.games`; the first one shows "
    "its `model_a` first, the second the other; reviews of `arena_hard` name no "
    "models: gpt4-0314, then test_model.",
    read=_read_evalscope,
    levels=GRADES,
    needs_judge=True,
)


# ---------------------------------------------------------------------------- WildBench
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
