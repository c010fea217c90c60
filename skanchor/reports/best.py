"""Who may be the best: the set that holds the best model, with probabilities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from skanchor._text import printable

if TYPE_CHECKING:
    from skanchor.results import RankingResult

__all__ = ["best_note", "may_be_best"]

_MANY = 100
"""Models above which the set is read off the board: tests of its own take long."""

_LISTED = 5


def may_be_best(result: RankingResult, level: float = 0.95) -> pd.Series:
    """Models that may be the best of all, with the probability of each.

    Parameters
    ----------
    result : RankingResult
        What is reported.
    level : float, default=0.95
        Probability that the best model is in the set.

    Returns
    -------
    Series
        Probabilities by model, best first; NaN where there are no errors.
    """
    if len(result.models) > _MANY:
        board = result.leaderboard(level)
        found = board.index[board["rank_low"] == 1]
    else:
        found = result.best_set(level=level)
    return result.prob_best()[found]


def best_note(found: pd.Series, level: float = 0.95) -> str:
    """Say in a line which models may be the best.

    Parameters
    ----------
    found : Series
        What :func:`may_be_best` gives.
    level : float, default=0.95
        Probability that the best model is in the set.

    Returns
    -------
    str
        Two lines.
    """
    listed = [
        printable(str(model)) + ("" if math.isnan(p) else f" ({p:.2f})")
        for model, p in found[:_LISTED].items()
    ]
    more = len(found) - len(listed)
    tail = f" and {more} more" if more else ""
    return (
        f"May be the best, by {100 * level:.6g} % set (and probability):\n"
        f"  {', '.join(listed)}{tail}"
    )
