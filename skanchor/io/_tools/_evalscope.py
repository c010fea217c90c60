"""EvalScope's arena reviews: games inside the score of each sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skanchor.io._tools._cells import battles
from skanchor.io._tools._grades import GRADES, grade, graded, mirrored
from skanchor.io._tools._reader import Options, Reader

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
