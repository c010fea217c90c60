"""HelpSteer-style preferences: from -3 to 3, positive where response 2 is better."""

from __future__ import annotations

from typing import Any

import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._tools._cells import as_numbers, battles, prompt_key, prompt_text
from skanchor.io._tools._reader import Options, Reader

_GRADES = range(-3, 4)
# From -3, preference 1 for response 1, to 3, preference 0.
_LEVELS = {str(grade): (3 - grade) / 6 for grade in _GRADES}
_MODELS = (("model_a", "model_b"), ("model_1", "model_2"), ("model1", "model2"))


def _read_helpsteer(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    sides = next((pair for pair in _MODELS if set(pair) <= set(raw)), None)
    if sides is None:
        raise BattlesError(
            "The preferences name no models (HelpSteer's own set does not), so there "
            "is nothing to rank; add columns model_1 and model_2."
        )
    grades = as_numbers(raw["overall_preference"], _GRADES)
    names = {"response_a": "response1", "response_b": "response2"}
    texts: dict[str, Any] = {}
    if "context" in raw:
        texts["prompt"] = raw["context"].map(prompt_text)
        texts["prompt_id"] = texts["prompt"].map(prompt_key)
    return battles(
        raw,
        {"model_a": sides[0], "model_b": sides[1], **names},
        *("overall_preference", "context"),
        judge=raw.get("judge", "human"),
        winner=grades.map(lambda grade: options.levels[str(int(grade))], "ignore"),
        verdict=grades,
        **texts,
    )


HELPSTEER = Reader(
    name="helpsteer",
    files="HelpSteer3-style preferences, with models added",
    markers=(frozenset({"overall_preference", "response1", "response2"}),),
    assumes="`overall_preference` goes from -3 (response 1 is much better) to 3; "
    "without `judge` rows are people's; the context's text names the prompt.",
    read=_read_helpsteer,
    levels=_LEVELS,
)
