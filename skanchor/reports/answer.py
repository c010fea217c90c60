"""The answer in plain words: the rank of each new model, and how sure it is."""

from __future__ import annotations

import math
from typing import Any

from scipy.special import expit

from skanchor._text import printable
from skanchor.results import AnchorResult, RankingResult, Scale, new_by_score

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
    if not result.is_new.any():
        return _about_the_best(result, level)
    sets = result.rank_sets(level)
    n_old = int((~result.is_new).sum())
    order = new_by_score(result)
    paragraphs = [
        _about_one(result, model, sets.loc[model], n_old, level)
        for model in order[:_IN_FULL]
    ]
    more = len(order) - len(paragraphs)
    if more:
        paragraphs.append(f"The leaderboard has {_number_of(more, 'more new model')}.")
    ranges = "all of these ranges of places are" if len(sets) > 1 else "this range is"
    paragraphs.append(
        f"With {percent(level)} confidence {ranges} right. Places are counted among "
        f"the {_number_of(n_old, 'model')} that people have voted on, 1 being the best."
    )
    return paragraphs


def _about_one(
    result: RankingResult, model: Any, ranks: Any, n_old: int, level: float
) -> str:
    """Rank, rank set, and chance to win against a model of average score."""
    error, score = result.standard_errors[model], result.scores[model]
    name = label(model)
    if not math.isfinite(error) or not math.isfinite(score):
        return (
            f"Where people would place {name} is not determined by these rows: its "
            "score has no finite error. Any place is possible."
        )
    # Each new model is ranked among the historical ones alone: ranks 1 to n_old + 1.
    low, high, places = int(ranks["low"]), int(ranks["high"]), n_old + 1
    guess = f"People would place {name} {_ordinal(int(ranks['rank']))} of {places}"
    if (low, high) == (1, places):
        where = f"{guess}, but these rows leave room for every place."
    elif low == high:
        where = f"{guess}, and these rows leave room for no other place."
    else:
        where = f"{guess}; these rows leave room for places {low} to {high}."
    interval = result.conf_int(level).loc[model]
    # Historical scores have mean zero, so a score is the logit of this chance.
    chances = [_chance(value) for value in (score, interval["low"], interval["high"])]
    return (
        f"{where} Against a model of average score they would prefer it in "
        f"{chances[0]} of comparisons ({percent(level)} interval: {chances[1]} to "
        f"{chances[2]}; ties count half)."
    )


def _about_the_best(result: RankingResult, level: float) -> list[str]:
    best = [label(model) for model in result.best_set(level=level)]
    if len(best) == 1:
        first = f"People like {best[0]} best, with {percent(level)} confidence."
    else:
        first = (
            f"With {percent(level)} confidence the model that people like best is one "
            f"of these {len(best)}: {joined_names(best)}."
        )
    return [first, "No model is new: this is the leaderboard of those voted on."]


def errors_explained(result: AnchorResult, scale: Scale | None = None) -> list[str]:
    """Say how large the errors of the new models are, and what would lower them.

    Parameters
    ----------
    result : AnchorResult
        The result of a fit.
    scale : Scale, optional
        Unit of the errors; logits if not given.

    Returns
    -------
    list of str
        One text for each of the best new models whose error is finite, and one for all
        others.
    """
    shown = Scale() if scale is None else scale
    errors = result.standard_errors * shown.per_logit
    # The lower bound is a variance, which no number of verdicts can lower.
    bounds = result.variance["lower_bound"] * shown.per_logit**2
    known = [
        (label(model), errors[model], math.sqrt(max(bounds[model], 0.0)))
        for model in new_by_score(result)
        if math.isfinite(errors[model]) and errors[model] > 0
        if math.isfinite(bounds[model])
    ]
    # With an anchor, the table has errors of differences to the anchor. The errors here
    # are those of the centred scores, and the text must say so.
    anchored = shown.anchor is not None
    beside = ", measured from the mean of the historical models," if anchored else ""
    texts = [
        f"The standard error of {name}{beside} is {error:.{shown.digits}f}. "
        f"{_lowered_to(floor, error, shown)}"
        for name, error, floor in known[:_IN_FULL]
    ]
    others = known[_IN_FULL:]
    if others:
        _, most, floor = max(others, key=lambda each: each[1])
        texts.append(
            f"The largest of the other {_number_of(len(others), 'new model')} is "
            f"{most:.{shown.digits}f}. {_lowered_to(floor, most, shown)}"
        )
    return texts


def _lowered_to(floor: float, error: float, scale: Scale) -> str:
    """How far more verdicts can lower a standard error whose lower bound is `floor`."""
    if floor >= error:
        return (
            "More judges and verdicts can hardly lower it: that takes votes of people."
        )
    return (
        "More judges and verdicts could bring it down to about "
        f"{floor:.{scale.digits}f} at best; below that only more votes of people help."
    )


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


def _number_of(n: int, what: str) -> str:
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
