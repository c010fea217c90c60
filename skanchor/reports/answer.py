"""The answer in plain words: where a new model stands, and how sure that is."""

from __future__ import annotations

import math
from typing import Any

from scipy.special import expit

from skanchor._text import printable
from skanchor.results import AnchorResult, RankingResult, Scale, new_by_score

_TOLD_APART = 3
"""Most new models that are each told in full; the table has the others."""
_NAMED = 6
"""Most models that a sentence names."""


def answer(result: RankingResult, level: float = 0.95) -> list[str]:
    """Say in plain words where the new models stand, and how sure that is.

    Parameters
    ----------
    result : RankingResult
        Of a fit.
    level : float, default=0.95
        Level of intervals and rank sets.

    Returns
    -------
    list of str
        Sentences, a paragraph each; without a new model about the best of all.
    """
    if not result.is_new.any():
        return _about_the_best(result, level)
    sets = result.rank_sets(level)
    n_old = int((~result.is_new).sum())
    order = new_by_score(result)
    told = [
        _about_one(result, model, sets.loc[model], n_old, level)
        for model in order[:_TOLD_APART]
    ]
    more = len(order) - len(told)
    if more:
        told.append(f"The leaderboard has {_number_of(more, 'more new model')}.")
    ranges = "all of these ranges of places are" if len(sets) > 1 else "this range is"
    told.append(
        f"With {percent(level)} confidence {ranges} right. Places are counted among "
        f"the {_number_of(n_old, 'model')} that people have voted on, 1 being the best."
    )
    return told


def _about_one(
    result: RankingResult, model: Any, ranks: Any, n_old: int, level: float
) -> str:
    error, score = result.standard_errors[model], result.scores[model]
    name = label(model)
    if not math.isfinite(error) or not math.isfinite(score):
        return (
            f"Where people would place {name} is not determined by these rows: its "
            "score has no finite error. Any place is possible."
        )
    low, high, places = int(ranks["low"]), int(ranks["high"]), n_old + 1
    guess = f"People would place {name} {_ordinal(int(ranks['rank']))} of {places}"
    if (low, high) == (1, places):
        where = f"{guess}, but these rows leave room for every place."
    elif low == high:
        where = f"{guess}, and these rows leave room for no other place."
    else:
        where = f"{guess}; these rows leave room for places {low} to {high}."
    interval = result.conf_int(level).loc[model]
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
    """Say what the errors of the new models come from, and what would lower them.

    Parameters
    ----------
    result : AnchorResult
        Of a fit.
    scale : Scale, optional
        What errors are measured in, if not in logits.

    Returns
    -------
    list of str
        A sentence for each of the best new models whose error is finite, and one for
        all the others.
    """
    shown = Scale() if scale is None else scale
    errors = result.standard_errors * shown.per_logit
    bounds = result.variance["lower_bound"] * shown.per_logit**2
    known = [
        (label(model), errors[model], math.sqrt(max(bounds[model], 0.0)))
        for model in new_by_score(result)
        if math.isfinite(errors[model]) and errors[model] > 0
        if math.isfinite(bounds[model])
    ]
    # That of the table is of the difference to the anchor.
    anchored = shown.anchor is not None
    beside = ", measured from the mean of the historical models," if anchored else ""
    told = [
        f"The standard error of {name}{beside} is {error:.{shown.digits}f}. "
        f"{_lowered_to(floor, error, shown)}"
        for name, error, floor in known[:_TOLD_APART]
    ]
    others = known[_TOLD_APART:]
    if others:
        _, most, floor = max(others, key=lambda each: each[1])
        told.append(
            f"The largest of the other {_number_of(len(others), 'new model')} is "
            f"{most:.{shown.digits}f}. {_lowered_to(floor, most, shown)}"
        )
    return told


def _lowered_to(floor: float, error: float, scale: Scale) -> str:
    """What verdicts can do about an error."""
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
    """A name as it is shown: in one line, nothing in it hidden."""
    return printable(str(name)).replace("\n", "\\n")


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.6g} %"


def joined_names(names: list[str]) -> str:
    """Names in a row, the last after "and"; of many the first few."""
    if len(names) > _NAMED:
        names = [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} more"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _number_of(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _ordinal(n: int) -> str:
    tail = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10)
    return f"{n}{tail or 'th'}"


def _chance(score: float) -> str:
    """Chance to be preferred to a model of score zero, never rounded to certainty."""
    if math.isnan(score):
        return "an unknown share"
    chance = 100.0 * expit(score)
    if chance < 1.0:
        return "under 1 %"
    if 99.0 < chance:
        return "over 99 %"
    return f"{chance:.0f} %"
