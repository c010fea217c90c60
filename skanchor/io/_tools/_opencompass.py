"""OpenCompass's matches of its Bradley-Terry benchmarks."""

from __future__ import annotations

import pandas as pd

from skanchor.io._tools._cells import battles, labelled
from skanchor.io._tools._reader import Options, Reader

_LABELS = {"model_a": "model_a", "model_b": "model_b", "tie": "tie"}


def _read_opencompass(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    texts = {"response_a": "prediction1", "response_b": "prediction2"}
    prompt = next((n for n in ("question_id", "idx", "question") if n in raw), None)
    return battles(
        raw,
        {"prompt_id": prompt, **texts},
        winner=labelled(raw["winner"], _LABELS),
    )


OPENCOMPASS = Reader(
    name="opencompass",
    files="OpenCompass results with `matches` (CompassArena and its like)",
    markers=(
        frozenset({"winner", "model_a", "model_b", "prediction1", "prediction2"}),
        frozenset({"winner", "model_a", "model_b", "conv_metadata", "difficulty"}),
    ),
    assumes="Grades were folded by the tool; `model_a` was shown first; the judge is "
    "not named.",
    read=_read_opencompass,
    needs_judge=True,
)
