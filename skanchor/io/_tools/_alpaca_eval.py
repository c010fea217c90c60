"""AlpacaEval's ``annotations.json``: preferences from 1 to 2."""

from __future__ import annotations

import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._tools._cells import as_numbers, battles, prompt_key
from skanchor.io._tools._reader import Options, Reader


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
