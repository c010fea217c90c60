"""Who may be the best: the set that holds the best model, with probabilities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from skanchor.reports.answer import label, percent

if TYPE_CHECKING:
    from skanchor.results import RankingResult

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


def best_lines(found: pd.Series, level: float = 0.95) -> tuple[str, str]:
    """Say which models may be the best: what they are, and their names.

    Parameters
    ----------
    found : Series
        What :func:`may_be_best` gives.
    level : float, default=0.95
        Probability that the best model is in the set.

    Returns
    -------
    head, names : str
    """
    listed = [
        label(model) + ("" if math.isnan(p) else f" ({p:.2f})")
        for model, p in found[:_LISTED].items()
    ]
    more = len(found) - len(listed)
    tail = f" and {more} more" if more else ""
    head = f"May be the best, by {percent(level)} set (and probability):"
    return head, f"{', '.join(listed)}{tail}"


def best_note(found: pd.Series, level: float = 0.95) -> str:
    """Say in a note which models may be the best.

    Parameters
    ----------
    found, level
        As in :func:`best_lines`.

    Returns
    -------
    str
        Two lines, the second indented.
    """
    return "\n  ".join(best_lines(found, level))
