"""Winners by their side and no more: evalica, llmfao and OpenCompass."""

from __future__ import annotations

import pandas as pd

from skanchor.io._tools._cells import battles, labelled
from skanchor.io._tools._reader import Options, Reader

_LABELS = {"left": "model_a", "right": "model_b", "tie": "tie"}
_SIDES = {"model_a": "left", "model_b": "right"}
_CORE = frozenset({"left", "right", "winner"})


def _read_evalica(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    return battles(
        raw,
        _SIDES,
        winner=labelled(raw["winner"], _LABELS),
    )


def _by_sides(raw: pd.DataFrame) -> bool:
    winners = raw["winner"].dropna().astype("str").str.strip().str.casefold()
    return bool(winners.isin({*_LABELS, ""}).all())


EVALICA = Reader(
    name="evalica",
    files="evalica's tables of `left`, `right`, `winner`",
    markers=(_CORE,),
    fits=_by_sides,
    assumes="Models are in `left` and `right`, outcomes are `left`, `right`, `tie`; "
    "without `judge` all rows are people's, unless several files are read or "
    "the judge is told.",
    read=_read_evalica,
)


def _read_llmfao(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    people = {"judge": "human", "rater": raw["worker"]} if "worker" in raw else {}
    return battles(
        raw,
        {"prompt_id": "prompt", **_SIDES},
        *("model_x", "model_y", "worker", "id"),
        winner=labelled(raw["winner"], _LABELS),
        **people,
    )


LLMFAO = Reader(
    name="llmfao",
    files="llmfao `*-comparisons.csv`",
    markers=(frozenset({*_CORE, "model_x", "model_y", "prompt"}),),
    fits=_by_sides,
    assumes="Rows with a `worker` are people's (`rater`), files without hold the "
    "verdicts of one judge, named by the file unless told; `prompt` is the group.",
    read=_read_llmfao,
    needs_judge=True,
)


_MODELS = {"model_a": "model_a", "model_b": "model_b", "tie": "tie"}


def _read_opencompass(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    texts = {"response_a": "prediction1", "response_b": "prediction2"}
    prompt = next((n for n in ("question_id", "idx", "question") if n in raw), None)
    return battles(
        raw,
        {"prompt_id": prompt, **texts},
        winner=labelled(raw["winner"], _MODELS),
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
