"""Preferences that are numbers: AlpacaEval, JudgeArena and HelpSteer."""

from __future__ import annotations

from typing import Any

import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._tools._cells import as_numbers, battles, prompt_key, prompt_text
from skanchor.io._tools._reader import Options, Reader


# --------------------------------------------------------------------------- AlpacaEval
def _read_alpaca_eval(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    # From 1 (output_1 is better) to 2; old files write a tie as 0.
    preference = as_numbers(raw["preference"])
    preference = preference.mask(preference == 0.0, 1.5)
    # Written so that NaN, a failed verdict, is not refused.
    odd = preference.notna() & ~preference.between(1.0, 2.0)
    if odd.any():
        raise BattlesError(
            f"Column 'preference' holds {preference[odd].iloc[0]:g}; AlpacaEval's "
            "preferences go from 1 (output_1) to 2 (output_2)."
        )
    texts = {
        "prompt": "instruction",
        "response_a": "output_1",
        "response_b": "output_2",
    }
    sides = {"model_a": "generator_1", "model_b": "generator_2", "judge": "annotator"}
    has_prompt = "instruction" in raw
    return battles(
        raw,
        {**sides, **texts},
        "preference",
        *(name for name in raw.columns if name.endswith("_completion")),
        **({"prompt_id": raw["instruction"].map(prompt_key)} if has_prompt else {}),
        winner=2.0 - preference,
        shown_first=None,
    )


ALPACA_EVAL = Reader(
    name="alpaca_eval",
    files="AlpacaEval `annotations.json`",
    markers=(frozenset({"generator_1", "generator_2", "preference"}),),
    assumes="`preference` is 1 where output_1 wins, 2 where output_2 does, soft in "
    "between; 0 is a tie of old files; the order shown was not saved; the text of the "
    "instruction names the prompt.",
    read=_read_alpaca_eval,
    needs_judge=True,
)


# --------------------------------------------------------------------------- JudgeArena
def _read_judge_arena(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    column = next((name for name in ("preference", "pref") if name in raw), None)
    if column is None:
        raise BattlesError(
            "This file of JudgeArena holds what the judge wrote, but neither "
            "'preference' nor 'pref'; add the verdicts that JudgeArena read from it."
        )
    preference = as_numbers(raw[column])
    if ((preference < 0) | (preference > 1)).any():
        raise BattlesError(
            f"Column {column!r} goes outside [0, 1]; JudgeArena's preferences are 0 "
            "where A wins and 1 where B does."
        )
    prompt = next(n for n in ("question_id", "instruction_index") if n in raw)
    # Models are named in the order shown, but preferences are about the first order of
    # a pair: in swapped rows they are turned round.
    if "swapped" in raw:
        swapped = raw["swapped"].astype("str").str.casefold().isin({"true", "1"})
        preference = preference.mask(swapped, 1.0 - preference)
    else:
        _refuse_both_orders(raw, prompt)
    texts = {"response_a": "completion_A", "response_b": "completion_B"}
    return battles(
        raw,
        {"prompt_id": prompt, "model_a": "model_A", "model_b": "model_B", **texts},
        *(column, "swapped", "judge_completion", "judge_input"),
        winner=1.0 - preference,
        shown_first="model_a",
    )


def _refuse_both_orders(raw: pd.DataFrame, prompt: str) -> None:
    """Refuse pairs in both orders where no column tells which rows were swapped."""
    by = [prompt, *(name for name in ("judge", "turn") if name in raw)]
    shown = raw[[*by, "model_A", "model_B"]]
    turned = shown.rename(columns={"model_A": "model_B", "model_B": "model_A"})
    # Rows that occur with their models exchanged, too.
    both = shown.merge(turned.drop_duplicates(), how="inner")
    if len(both):
        raise BattlesError(
            f"Models {both['model_A'].iloc[0]!r} and {both['model_B'].iloc[0]!r} were "
            "shown in both orders, and no column 'swapped' tells which rows hold "
            "preferences about the other order."
        )


JUDGE_ARENA = Reader(
    name="judge_arena",
    files="JudgeArena `*-annotations.csv`",
    markers=(
        frozenset({"model_A", "model_B", "judge_completion"}),
        frozenset({"model_A", "model_B", "swapped", "preference"}),
    ),
    assumes="A preference is 0 where A wins, 1 where B does; `model_A` was shown "
    "first; in rows marked `swapped` preferences are about the other order.",
    read=_read_judge_arena,
    needs_judge=True,
)


# ---------------------------------------------------------------------------- HelpSteer
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
