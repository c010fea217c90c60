"""MT-Bench: judgments by people, and FastChat's pair and single judgments."""

from __future__ import annotations

from typing import Any

import pandas as pd

from skanchor.io._tools._cells import (
    battles,
    first_named,
    interleaved,
    labelled,
    response_text,
)
from skanchor.io._tools._reader import Options, Reader

_PEOPLE = r"(?:expert|author)_\d+$"
_REVERSIBLE = "tie (inconsistent)"
_WINNERS = {"model_a": "model_a", "model_b": "model_b", "tie": "tie"} | {
    _REVERSIBLE: "tie",
    "inconsistent": "tie",
}


def _answers(raw: pd.DataFrame) -> dict[str, Any]:
    """Answers up to the turn that is judged."""
    return {
        f"response_{side}": [
            response_text(conversation, turn)
            for conversation, turn in zip(
                raw[f"conversation_{side}"], raw["turn"], strict=True
            )
        ]
        for side in "ab"
        if f"conversation_{side}" in raw
    }


def _read_votes(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    people = raw["judge"].str.match(_PEOPLE)
    flips = raw["winner"].isin([_REVERSIBLE, "inconsistent"])
    return battles(
        raw,
        {"prompt_id": "question_id"},
        *("conversation_a", "conversation_b"),
        judge=raw["judge"].mask(people, "human"),
        winner=labelled(raw["winner"], _WINNERS),
        **({"rater": raw["judge"].where(people)} if people.any() else {}),
        **({} if people.all() else {"inconsistent": flips}),
        # The order that people saw is unknown; a judge's row covers both orders.
        shown_first=None,
        **_answers(raw),
    )


def _of_mt_bench(raw: pd.DataFrame) -> bool:
    judges = raw["judge"]
    known = judges.map(lambda judge: isinstance(judge, str)).all()
    return bool(known and judges.str.match(rf"{_PEOPLE}|gpt[\w.-]*_pair$").all())


MT_BENCH = Reader(
    name="mt_bench",
    files="`lmsys/mt_bench_human_judgments`, both splits",
    markers=(
        frozenset({"question_id", "turn", "winner", "judge", "model_a", "model_b"}),
    ),
    fits=_of_mt_bench,
    assumes="`expert_...` and `author_...` are people, who become `rater`; the order "
    "that they saw is unknown; a judge's verdict that changed with the order is a tie, "
    "marked by `inconsistent`; both turns of a question are in one group.",
    read=_read_votes,
)


def _read_pairs(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    # Winners are models, not sides, so that game 2 needs no mirroring.
    labels = {"model_1": "model_a", "model_2": "model_b", "tie": "tie"}
    games_of = [name for name in raw.columns if name.startswith(("g1_", "g2_"))]
    sides = {"model_a": "model_1", "model_b": "model_2"}
    games = [
        battles(
            raw,
            {"prompt_id": "question_id", **sides},
            *games_of,
            judge=first_named(raw["judge"]),
            winner=labelled(raw[f"{game}_winner"], labels),
            shown_first=shown,
        )
        for game, shown in (("g1", "model_a"), ("g2", "model_b"))
    ]
    return interleaved(*games)


MT_BENCH_PAIRS = Reader(
    name="mt_bench_pairs",
    files="FastChat `<judge>_pair.jsonl`",
    markers=(frozenset({"g1_winner", "g2_winner", "model_1", "model_2"}),),
    assumes="Game 1 showed `model_1` first, game 2 `model_2`; winners are models, not "
    "sides; each game is a row, all turns of a question are in one group.",
    read=_read_pairs,
)
