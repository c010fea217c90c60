"""Models that may be the best: a confidence set for the best one, and probabilities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from skanchor.reports.answers import label, percent

if TYPE_CHECKING:
    from skanchor.results import RankingResult

_MANY = 100
"""With more models than this, the set comes from the rank sets of the leaderboard.

Its own test compares all models with each other, which then takes too long.
"""

_LISTED = 5


def may_be_best(result: RankingResult, level: float = 0.95) -> pd.Series:
    """Models that may be the best of all, with the probability of each.

    Parameters
    ----------
    result : RankingResult
        The result of a fit.
    level : float, default=0.95
        Probability that the best model is in the set.

    Returns
    -------
    Series
        Probabilities by model, best first; NaN where there are no errors.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.reports import may_be_best
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> may_be_best(anchor.result_).round(2).to_dict()
    {'amber-otter': 0.98, 'blue-heron': 0.02}
    """
    if len(result.models) > _MANY:
        # A rank set that includes rank 1 says that the model may be the best.
        board = result.leaderboard(level)
        found = board.index[board["rank_low"] == 1]
    else:
        found = result.best_set(level=level)
    return result.prob_best()[found]


def best_lines(found: pd.Series, level: float = 0.95) -> tuple[str, str]:
    """Say which models may be the best, as an introduction and a list of names.

    Parameters
    ----------
    found : Series
        Probabilities by model, as returned by :func:`may_be_best`.
    level : float, default=0.95
        Probability that the best model is in the set.

    Returns
    -------
    head : str
        The introduction, which ends in a colon.
    names : str
        Names with probabilities; of many models only the first five.
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
    found : Series
        Probability of being the best, for each model of the set that
        :func:`may_be_best` returns.
    level : float
        Joint level of the set.

    Returns
    -------
    str
        Two lines, the second indented.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.reports import best_note, may_be_best
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> print(best_note(may_be_best(anchor.result_)))
    May be the best, by 95 % set (and probability):
      amber-otter (0.98), blue-heron (0.02)
    """
    return "\n  ".join(best_lines(found, level))
