"""The answer in plain words: the rank of each new model, and how sure it is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from skanchor._text import printable
from skanchor.results import RankingResult, new_by_score

_IN_FULL = 3
"""Largest number of new models described one by one; the table has the others."""
_NAMED = 6
"""Largest number of names in a sentence."""


def answer(result: RankingResult, level: float = 0.95) -> list[str]:
    """Say in plain words which ranks the new models have, and how sure that is.

    Parameters
    ----------
    result : RankingResult
        The result of a fit.
    level : float, default=0.95
        Level of intervals and rank sets.

    Returns
    -------
    list of str
        One text per paragraph. Without new models they are about the models that may
        be the best.
    """
    mix = _about_the_mix(result)
    if not result.is_new.any():
        return [*_about_the_best(result, level), *mix]
    sets = result.leaderboard(level)[["rank", "rank_low", "rank_high"]]
    n_ranks = len(sets)
    order = new_by_score(result)
    paragraphs = [
        _about_one(result, model, sets.loc[model], n_ranks, level)
        for model in order[:_IN_FULL]
    ]
    more = len(order) - len(paragraphs)
    if more:
        paragraphs.append(f"The leaderboard has {number_of(more, 'more new model')}.")
    return [
        *paragraphs,
        *mix,
        "Ranks are counted among all models on the leaderboard; 1 is best. With "
        f"{percent(level)} confidence the ranks of all {n_ranks} models lie within "
        "their rank sets at once.",
    ]


def _about_one(
    result: RankingResult, model: Any, ranks: Any, n_ranks: int, level: float
) -> str:
    """Rank, rank set, and chance to win against a model of average score."""
    score, name = result.scores[model], label(model)
    interval = result.conf_int(level).loc[model]
    is_limited = np.isfinite(interval.to_numpy())
    if not is_limited.any() or not math.isfinite(score):
        return (
            f"These rows do not determine where people would rank {name}: its score "
            "has no finite error. Every rank is possible."
        )
    low, high = int(ranks["rank_low"]), int(ranks["rank_high"])
    guess = f"People would rank {name} {_ordinal(int(ranks['rank']))} of {n_ranks}"
    if (low, high) == (1, n_ranks):
        where = f"{guess}, but these rows exclude no rank."
    elif low == high:
        where = f"{guess}; these rows exclude every other rank."
    else:
        where = f"{guess}; its rank lies between {low} and {high}."
    # Historical scores have mean zero, so a score is the logit of this chance.
    chances = [_chance(value) for value in (score, interval["low"], interval["high"])]
    told = (
        f"{chances[0]} of comparisons ({percent(level)} interval: {chances[1]} to "
        f"{chances[2]}; ties count half)"
    )
    if not is_limited.all():
        # It won, or lost, all its rows.
        most = f"at least {chances[1]}" if is_limited[0] else f"at most {chances[2]}"
        told = f"{most} of comparisons ({percent(level)} limit; ties count half)"
    return (
        f"{where} They would prefer it to a model with the mean score of the "
        f"historical models in {told}."
    )


def _about_the_mix(result: RankingResult) -> list[str]:
    """Which mix of contexts the ranks are for, where there are contexts."""
    mix = result.inputs.mix
    if not mix:
        return []
    shares = joined_names([f"{percent(share)} {label(name)}" for name, share in mix])
    return [
        f"This is for prompts that are {shares} (column {result.inputs.context}); "
        "another mix gives other scores and ranks."
    ]


def _about_the_best(result: RankingResult, level: float) -> list[str]:
    best = [label(model) for model in result.best_set(level=level)]
    if len(best) == 1:
        first = f"People like {best[0]} best, with {percent(level)} confidence."
    else:
        first = (
            f"With {percent(level)} confidence the model that people like best is one "
            f"of these {len(best)}: {joined_names(best)}."
        )
    return [first, "No model is new: this is the leaderboard of those with votes."]


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


# ----------------------------------------------------------------------------- wording
def label(name: Any) -> str:
    """A name as it is shown: on one line, with control characters visible."""
    return printable(str(name)).replace("\n", "\\n")


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.6g} %"


def joined_names(names: list[str]) -> str:
    """Names separated by commas, with "and" before the last; only a few of many."""
    if len(names) > _NAMED:
        names = [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} more"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def number_of(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _ordinal(n: int) -> str:
    # 11th, 12th and 13th, but 21st, 22nd and 23rd.
    tail = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10)
    return f"{n}{tail or 'th'}"


def _chance(score: float) -> str:
    """Chance to be preferred to a model of score zero, never shown as 0 or 100 %."""
    if math.isnan(score):
        return "an unknown share"
    chance = 100.0 * expit(score)
    if chance < 1.0:
        return "under 1 %"
    if 99.0 < chance:
        return "over 99 %"
    return f"{chance:.0f} %"
