"""Point scores of single responses, turned into pairs of responses to one prompt."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._tools._cells import as_numbers, battles, first_named
from skanchor.io._tools._reader import Options, Reader

_PROMPTS = ("prompt_id", "question_id", "uid", "instruction_index", "prompt", "id")


def _read_scores(
    raw: pd.DataFrame, options: Options, failed: float | None = None
) -> pd.DataFrame:
    """Pairs of all responses to one prompt; ``failed`` is the score of a failure."""
    prompt = next((name for name in _PROMPTS if name in raw), None)
    missing = [name for name in ("model", "score") if name not in raw]
    if missing or prompt is None:
        raise BattlesError(
            f"Point scores need columns 'model', 'score' and one of {_PROMPTS}; the "
            f"file has {list(raw)[:20]}."
        )
    rest = [n for n in ("judge", "turn", "category", "language") if n in raw]
    table = raw[[prompt, "model", "score", *rest]].rename(columns={prompt: "prompt_id"})
    if "judge" in table:
        table["judge"] = first_named(table["judge"])
    text = next((name for name in ("response", "output") if name in raw), None)
    if text:
        table["response"] = raw[text]
    score = as_numbers(table["score"])
    table["score"] = score.mask(score == failed)
    table["at"] = np.arange(len(table))
    # All ordered pairs within a prompt, judge and turn, of which each is used once.
    keys = [name for name in ("prompt_id", "judge", "turn") if name in table]
    pairs = table.merge(table, on=keys, suffixes=("_a", "_b"))
    pairs = pairs[
        (pairs["at_a"] < pairs["at_b"]) & (pairs["model_a"] != pairs["model_b"])
    ].reset_index(drop=True)
    gap = pairs["score_a"] - pairs["score_b"]
    winner = pd.Series("tie", index=pairs.index).where(gap.notna())
    winner[gap > options.tie_margin] = "model_a"
    winner[gap < -options.tie_margin] = "model_b"
    responses = [name for name in ("response_a", "response_b") if name in pairs]
    extras = {name: pairs[f"{name}_a"] for name in rest if name not in keys}
    columns = [*keys, "model_a", "model_b", *responses]
    names = {name: name for name in columns}
    return battles(pairs[columns], names, winner=winner, shown_first=None, **extras)


_ASSUMES = (
    "A higher score is better; scores that differ by no more than `tie_margin` (0) are "
    "a tie; all pairs of responses to one prompt by one judge are rows, and depend on "
    "each other: they are one group."
)

SCORES = Reader(
    name="scores",
    files="Point scores: `model`, `score` and a prompt, also `judge`",
    markers=(),
    assumes=_ASSUMES,
    read=_read_scores,
    needs_judge=True,
    has_scores=True,
)

MT_BENCH_SCORES = Reader(
    name="mt_bench_scores",
    files="FastChat `<judge>_single.jsonl`",
    markers=(frozenset({"question_id", "model", "score", "judge", "judgment"}),),
    assumes=f"A score of -1 has failed. {_ASSUMES}",
    read=partial(_read_scores, failed=-1.0),
    needs_judge=True,
    has_scores=True,
)
