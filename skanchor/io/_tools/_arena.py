"""Votes of people in arenas: FastChat and the published sets of 55k, 100k and 140k."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from skanchor.io._tools._cells import (
    as_numbers,
    battles,
    prompt_text,
    response_text,
    vote_labels,
)
from skanchor.io._tools._reader import Options, Reader

_HUMAN = "human"


def _texts_of_turns(raw: pd.DataFrame) -> dict[str, Any]:
    """Prompt and responses as plain text, as far as the file has them."""
    columns: dict[str, Any] = {}
    for side in "ab":
        source = f"conversation_{side}"
        if source in raw:
            columns[f"response_{side}"] = raw[source].map(response_text)
    if "conversation_a" in raw and "prompt" not in raw:
        columns["prompt"] = raw["conversation_a"].map(prompt_text)
    return columns


_SESSION = "evaluation_session_id"
_CONVERSATIONS = ("conversation_a", "conversation_b")


def _votes(
    raw: pd.DataFrame, options: Options, battle: str, rater: str
) -> pd.DataFrame:
    """Read votes whose outcomes have the arena's labels.

    `battle` is the column that identifies a battle; `more` maps further standard
    columns to columns of the file.
    """
    # Sessions stay a column, by which rows can be grouped.
    stays = {"rater": raw[rater]} if rater == _SESSION and rater in raw else {}
    return battles(
        raw,
        {"prompt_id": battle, **({} if stays else {"rater": rater})},
        *_CONVERSATIONS,
        judge=_HUMAN,
        **vote_labels(raw["winner"]),
        **stays,
        **_texts_of_turns(raw),
    )


def _of_arena_users(raw: pd.DataFrame) -> bool:
    return bool(raw["judge"].astype("str").str.match("arena_user").all())


FASTCHAT = Reader(
    name="fastchat",
    files="FastChat `clean_battle_conv_*.json`; `lmsys/chatbot_arena_conversations`",
    markers=(frozenset({"question_id", "winner", "judge", "model_a", "model_b"}),),
    fits=_of_arena_users,
    assumes="`judge` holds `arena_user_...`: people, who become `rater`; `model_a` was "
    "on the left; `question_id` names the conversation and becomes `prompt_id`.",
    read=partial(_votes, battle="question_id", rater="judge"),
)


ARENA_100K = Reader(
    name="arena_100k",
    files="`lmarena-ai/arena-human-preference-100k`",
    markers=(frozenset({"judge_hash", "winner", "model_a", "model_b"}),),
    assumes="All votes are by people; `judge_hash` is the voter (`rater`); `model_a` "
    "was on the left; `question_id` becomes `prompt_id`.",
    read=partial(_votes, battle="question_id", rater="judge_hash"),
)


ARENA_140K = Reader(
    name="arena_140k",
    files="`lmarena-ai/arena-human-preference-140k`, `arena-expert-5k`",
    markers=(
        frozenset({"evaluation_session_id", "winner", "model_a", "model_b", "id"}),
        frozenset({"occupational_tags", "winner", "model_a", "model_b", "id"}),
    ),
    assumes="All votes are by people; a session is one person's, and so "
    "`evaluation_session_id` is the `rater`; `id` becomes `prompt_id`.",
    read=partial(_votes, battle="id", rater=_SESSION),
)


def _read_55k(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    sides = {"winner_model_a": "model_a", "winner_model_b": "model_b"} | {
        "winner_tie": "tie"
    }
    # One column of 0 and 1 for each outcome: exactly one of them must be 1.
    marks = pd.DataFrame({name: as_numbers(raw[name], (0, 1)) for name in sides})
    decided = marks.sum(axis=1) == 1
    texts = {
        name: raw[name].map(response_text)
        for name in ("prompt", "response_a", "response_b")
        if name in raw
    }
    return battles(
        raw,
        {"prompt_id": "id"},
        *sides,
        judge=_HUMAN,
        winner=marks.fillna(0).idxmax(axis=1).map(sides).where(decided),
        **texts,
    )


ARENA_55K = Reader(
    name="arena_55k",
    files="Kaggle LMSYS and `lmarena-ai/arena-human-preference-55k`: `train.csv`",
    markers=(frozenset({"winner_model_a", "winner_model_b", "winner_tie", "id"}),),
    assumes="All votes are by people, who are not named; 'both bad' is among the ties; "
    "`model_a` was on the left; `id` becomes `prompt_id`.",
    read=_read_55k,
)


def _read_comparia(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    model_a, model_b = raw["model_a_name"], raw["model_b_name"]
    chosen = raw["chosen_model_name"]
    equal = raw["both_equal"].astype("str").str.casefold().isin({"true", "1", "1.0"})
    # Rows without a choice keep no outcome, and so do those of a model with itself.
    winner = pd.Series(None, index=raw.index, dtype=object)
    winner[chosen == model_a] = "model_a"
    winner[(chosen == model_b) & (model_a != model_b)] = "model_b"
    winner[equal] = "tie"
    group = next(name for name in _COMPARIA_GROUPS if name in raw)
    rater = next((name for name in ("visitor_id", "session_hash") if name in raw), None)
    sides = {"model_a": "model_a_name", "model_b": "model_b_name"}
    return battles(
        raw,
        {"prompt_id": group, **sides, "rater": rater},
        *("chosen_model_name", "both_equal", *_CONVERSATIONS),
        judge=_HUMAN,
        winner=winner,
        **_texts_of_turns(raw),
    )


_COMPARIA_GROUPS = ("conversation_pair_id", "id", "model_a_name")

COMPARIA = Reader(
    name="comparia",
    files="ComparIA votes",
    markers=(frozenset({"model_a_name", "chosen_model_name", "both_equal"}),),
    assumes="All votes are by people (`visitor_id`, else `session_hash`, is `rater`); "
    "a vote for no model that is no tie is left out; what people said of a response "
    "after the vote is dropped.",
    read=_read_comparia,
)
