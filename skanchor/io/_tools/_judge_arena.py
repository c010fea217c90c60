"""JudgeArena's annotations: preferences of which 0 means that A won."""

from __future__ import annotations

import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._tools._cells import as_numbers, battles
from skanchor.io._tools._reader import Options, Reader


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
