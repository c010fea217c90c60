"""Ratings of single responses become comparisons of two responses to one prompt."""

from __future__ import annotations

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError, DataWarning
from skanchor.warning_log import warn

_KEYS = ("prompt_id", "judge", "rater", "turn")
_TEXTS = ("response", "output")


def paired(rated: pd.DataFrame, where: str) -> pd.DataFrame:
    """All pairs of responses to a prompt that one judge has rated.

    Parameters
    ----------
    rated : DataFrame
        A row for each rating, with ``model``, ``score`` (a larger one is better),
        ``prompt_id`` and, if known, who rated.
    where : str
        Name of the file in messages.

    Returns
    -------
    DataFrame
        A row for each pair, with ``model_a``, ``model_b`` and ``winner``.
    """
    rated = rated.dropna(subset=["score"])
    rated = rated.assign(at=np.arange(len(rated)))
    keys = [name for name in _KEYS if name in rated]
    sides = [name for name in _TEXTS if name in rated] + ["model", "score", "at"]
    rest = [name for name in rated.columns if name not in {*keys, *sides}]
    pairs = rated[[*keys, *rest, *sides]].merge(
        rated[[*keys, *sides]], on=keys, suffixes=("_a", "_b")
    )
    once = (pairs["at_a"] < pairs["at_b"]) & (pairs["model_a"] != pairs["model_b"])
    pairs = pairs[once]
    if not len(pairs):
        raise BattlesError(
            f"{where}: no two ratings can be compared: none are of two models by the "
            f"same {' and '.join(keys)}."
        )
    alone = len(rated) - len({*pairs["at_a"], *pairs["at_b"]})
    if alone:
        said = f"{where}: {alone} of {len(rated)} ratings are compared with no other."
        warn(DataWarning(said, code="lone-ratings"), stacklevel=5)
    gap = pairs["score_a"] - pairs["score_b"]
    won = np.select([gap > 0, gap < 0], ["model_a", "model_b"], "tie")
    pairs = pairs.drop(columns=["at_a", "at_b", "score_a", "score_b"])
    return pairs.assign(winner=won, shown_first=None).reset_index(drop=True)
