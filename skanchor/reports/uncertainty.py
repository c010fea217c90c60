"""What the errors of new models are made of, and what would make them smaller."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from skanchor._anchor import AnchorPipeline
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.planning import Outlook
from skanchor.reports.answers import label, percent
from skanchor.reports.document import Block, Cell, Section, Table, Text, number
from skanchor.reports.summary import result_with_errors
from skanchor.reports.tables import table_of
from skanchor.results import (
    AnchorResult,
    ContextResult,
    Scale,
    new_by_score,
)

_IN_FULL = 3
"""Largest number of new models described one by one; the table has all of them."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What verdicts on a new model are worth in votes.

    Attributes
    ----------
    verdicts : float
        Number of verdicts on the model.
    replaces : float
        Number of votes on the model that would do what these verdicts do.
    judge : label
        The judge whose next verdict is worth most.
    next_verdict : float
        Number of votes that it is worth.
    """

    verdicts: float
    replaces: float
    judge: Any
    next_verdict: float


@dataclass(frozen=True, slots=True)
class Reach:
    """Parts of the error of a new model, and how far more data narrow its interval.

    Attributes
    ----------
    model : label
        The model.
    half_width : float
        Of the interval of its score, in logits.
    shares : dict of str to float
        Shares of its variance: ``human``, ``judge``, ``cross`` and ``items``.
    verdicts : float or None
        Limit of the half width under more and more verdicts of the same judges on the
        model; None where it is not known.
    judges : float or None
        Limit under more and more judges that are as good as the best of these, and
        whose item effects agree with one another as those of these judges do. None if
        there is one judge only, whose agreement with others is unknown.
    floor : float
        Limit under any verdicts of any judges.
    votes : float
        Number of votes on the model that would halve the interval, about.
    worth : Exchange or None
        What verdicts on the model are worth in votes; None where it is not known.
    """

    model: Any
    half_width: float
    shares: dict[str, float]
    verdicts: float | None
    judges: float | None
    floor: float
    votes: float
    worth: Exchange | None = None


def reach_of(fitted: Any, level: float = 0.95) -> list[Reach]:
    """Parts of the errors and limits of the new models, best first.

    Parameters
    ----------
    fitted : AnchorPipeline or AnchorResult
        A fitted pipeline, or its result, of which the limits beside item effects are
        not known.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    list of Reach
        Of the new models whose error is finite.

    Notes
    -----
    The limit of verdicts and the number of votes are those of
    :meth:`skanchor.AnchorPipeline.outlook`. Where it has none, and there are no item
    effects, verdicts leave ``B_l``, the error of the scale of the human scores, and a
    vote adds the information ``p (1 - p)``. New judges leave ``B_l`` and, with item
    effects, the mean correlation of two judges times the smallest variance of one, in
    units of the score.
    """
    result = result_with_errors(fitted)
    if not isinstance(result, AnchorResult):
        return []
    variance, errors = result.variance, result.standard_errors
    limits = result.conf_int(level)
    old = result.all_scores[~result.is_new].to_numpy()
    outlook, worth, found = _outlook_or_none(fitted, level), _worth_by_model(fitted), []
    for model in new_by_score(result):
        error, parts = float(errors[model]), variance.loc[model]
        total = float(parts[["human", "judge", "cross", "items"]].sum())
        bound = float(parts["lower_bound"])
        if not (0 < error < math.inf and total > 0 and math.isfinite(bound)):
            continue
        low, high = limits.loc[model]
        half = 0.5 * float(high - low)
        p = expit(result.scores[model] - old)
        # From the precision 1 / v^2 to 4 / v^2.
        votes = 3.0 / error**2 / float(np.mean(p * (1.0 - p)))
        floor = min(math.sqrt(max(bound, 0.0)) / error, 1.0)
        verdicts = floor if result.item_covariances is None else None
        if outlook is not None:
            known = outlook.limits.loc[model]
            verdicts = min(float(known["verdicts"] / known["now"]), 1.0)
            # The second of the default widths is half of today's.
            votes = float(outlook.table["votes"].loc[model].iloc[1])
        judges = verdicts
        if result.item_covariances is not None:
            many = _many_judges(fitted, result, model)
            judges = None if many is None else math.sqrt(max(bound, 0.0) + many) / error
            if judges is not None:
                judges = min(judges, 1.0 if verdicts is None else verdicts)
        found.append(
            Reach(
                model,
                half,
                {name: float(parts[name]) / total for name in _SHARES},
                None if verdicts is None else verdicts * half,
                None if judges is None else judges * half,
                floor * half,
                votes,
                worth.get(model),
            )
        )
    return found


def _outlook_or_none(fitted: Any, level: float) -> Outlook | None:
    """How many rows narrow the intervals; None where no closed form says."""
    if not isinstance(fitted, AnchorPipeline):
        return None
    try:
        return fitted.outlook(level=level)
    except BattlesError:
        return None


def _worth_by_model(fitted: Any) -> dict[Any, Exchange]:
    """What verdicts on each new model are worth in votes."""
    if not isinstance(fitted, AnchorPipeline):
        return {}
    try:
        table = fitted.worth().table
    except BattlesError:
        # Of a method for which no closed form says what further rows would do.
        return {}
    found = {}
    for model in table.index.unique("model"):
        own = table.loc[model]
        # All judges together come last, where there are several.
        best = own["next_verdict"].iloc[: max(len(own) - 1, 1)]
        found[model] = Exchange(
            float(own["verdicts"].iloc[-1]),
            float(own["replaces"].iloc[-1]),
            best.idxmax(),
            float(best.max()),
        )
    return found


def _many_judges(fitted: Any, result: AnchorResult, model: Any) -> float | None:
    """Variance that the item effects of many judges like these leave."""
    if not isinstance(fitted, AnchorPipeline) or isinstance(result, ContextResult):
        return None
    covariance, debiaser = fitted.item_covariance_, fitted.debiaser_
    if covariance is None or debiaser is None:
        return None
    seen = _judges_of(fitted, model)
    c = fitted.calibrator_.sensitivities_.loc[fitted.judges_[seen]].to_numpy()
    # In units of the score, as far as a judge tells models apart at all.
    clear = c > 0
    c, S = c[clear], covariance[np.ix_(seen, seen)][np.ix_(clear, clear)]
    if len(c) < 2:
        return None
    own = np.diagonal(S)
    if not own.all():
        return 0.0
    at = debiaser.models_.tolist().index(model)
    plain = float(debiaser.system_.item_covariance()[at, at])
    items = float(result.variance.loc[model, "items"])
    # What estimating the covariance, and disagreement about the model, add.
    factor = items / plain if plain > 0 else 1.0
    factor *= 1.0 + 1.0 / max(int((~result.is_new).sum()), 1)
    alike = (S / np.sqrt(np.outer(own, own)))[~np.eye(len(c), dtype=bool)].mean()
    return factor * max(float(alike), 0.0) * float((own / c**2).min())


def _judges_of(fitted: AnchorPipeline, model: Any) -> Array:
    """Places of the judges that have compared the model."""
    sample = fitted._distinct_sample
    X = sample.X
    code = X.models.tolist().index(model)
    rows = ((X.left == code) | (X.right == code)) & ~X.is_human & sample.counts
    judges = X.judges[np.unique(X.judge[rows])].tolist()
    return np.array([fitted.judges_.tolist().index(judge) for judge in judges])


# --------------------------------------------------------------------------- in words
_SHARES = {
    "human": "votes",
    "judge": "single verdicts",
    "cross": "shared groups",
    "items": "item effects",
}


def uncertainty_section(
    fitted: Any, scale: Scale, level: float = 0.95
) -> Section | None:
    """Section of a report about the errors of the new models.

    Parameters
    ----------
    fitted : AnchorPipeline or RankingResult
        A fitted pipeline, or a result.
    scale : Scale
        Unit of the scores.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    Section or None
        None where nothing is known of the errors.
    """
    found = reach_of(fitted, level)
    if not found:
        return None
    blocks: list[Block] = [
        Text(reach_in_words(each, scale, level)) for each in found[:_IN_FULL]
    ]
    if len(found) > 1:
        blocks.append(_parts_table(found, scale, level))
    notes = [
        "Limits and numbers of votes take the current fit as the truth. Verdicts and "
        "votes are on the new model itself, divided evenly over its opponents."
    ]
    if any(each.worth is not None for each in found):
        notes.append(
            "skanchor plan FILE --budget SUM --costs human=PRICE judges=PRICE (or "
            "design() in Python) says which rows to buy."
        )
    if any(each.shares["items"] for each in found):
        notes.append(
            "Item effects are what a judge thinks of a model beyond its score and "
            "features; they do not average out over verdicts."
        )
    if any(abs(each.shares["cross"]) >= 0.005 for each in found):
        notes.append(
            "Shared groups are the covariance of votes and verdicts of one group; it "
            "may be negative."
        )
    if scale.anchor is not None:
        notes.append(
            "Intervals are of scores measured from the mean of the historical models, "
            "not from the anchor."
        )
    blocks.append(Text(" ".join(notes), is_note=True))
    return Section("errors", "What would narrow the intervals", blocks)


def reach_in_words(
    reach: Reach, scale: Scale | None = None, level: float = 0.95
) -> str:
    """Describe the parts of an error, and the limits of an interval, in sentences.

    Parameters
    ----------
    reach : Reach
        Of a new model.
    scale : Scale, optional
        Unit of the scores; logits if not given.
    level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    str
    """
    shown = Scale() if scale is None else scale

    def in_unit(width: float) -> str:
        return f"±{width * shown.per_logit:.{shown.digits}f}"

    parts = ", ".join(
        f"{percent_of_variance(reach.shares[name])} {words}"
        for name, words in _SHARES.items()
        if abs(reach.shares[name]) >= 0.005
    )
    said = [
        f"The {percent(level)} interval of {label(reach.model)} is "
        f"{in_unit(reach.half_width)}; its variance is {parts}."
    ]
    if reach.worth is not None and math.isfinite(reach.worth.replaces):
        one = reach.worth
        said.append(
            f"Its {one.verdicts:,.0f} verdicts do the work of about "
            f"{_rounded(one.replaces)} votes on it. One more, by {label(one.judge)}, "
            f"is worth {one.next_verdict:.2g} votes, so that it pays up to "
            f"{one.next_verdict:.2g} times the price of a vote."
        )
    if reach.verdicts is not None and reach.verdicts == reach.judges:
        said.append(
            "More verdicts, of these judges or of new ones, narrow it to "
            f"{in_unit(reach.verdicts)} at best, however many."
        )
    elif reach.verdicts is not None:
        said.append(
            "More verdicts of these judges narrow it to "
            f"{in_unit(reach.verdicts)} at best, however many."
        )
    if reach.judges is not None and reach.verdicts != reach.judges:
        said.append(
            "New judges, as good as the best of these and agreeing with one another as "
            f"these do, narrow it to {in_unit(reach.judges)} at best."
        )
    if reach.judges is None:
        said.append(
            f"New judges narrow it to {in_unit(reach.floor)} at best, if their item "
            "effects are independent of one another."
        )
    if math.isfinite(reach.votes):
        said.append(
            "Only votes on the model itself have no limit: about "
            f"{_rounded(reach.votes)} would halve it."
        )
    return " ".join(said)


def _parts_table(found: list[Reach], scale: Scale, level: float) -> Table:
    shown = [
        name for name in _SHARES if any(abs(r.shares[name]) >= 0.005 for r in found)
    ]

    def limit(width: float | None) -> Cell:
        return number(
            math.nan if width is None else width * scale.per_logit, scale.digits
        )

    rows = [
        {
            "half_width": limit(each.half_width),
            **each.shares,
            "verdicts": limit(each.verdicts),
            "judges": limit(each.floor if each.judges is None else each.judges),
            "votes": Cell(_rounded(each.votes), each.votes),
        }
        for each in found
    ]
    index = pd.Index([each.model for each in found], name="model", dtype=object)
    return table_of(
        pd.DataFrame(rows, index=index),
        f"Half width of the {percent(level)} interval of each new model, shares of its "
        "variance, and its limits",
        {
            "half_width": ("Half width", 0),
            **{name: (_SHARES[name].capitalize(), _part, True) for name in shown},
            "verdicts": ("With more verdicts", 0),
            "judges": ("With new judges", 0),
            "votes": ("Votes to halve it", 0),
        },
        name="errors-table",
    )


def _part(share: float) -> Cell:
    return Cell(percent_of_variance(share), share)


def percent_of_variance(share: float) -> str:
    # A share that rounds to zero has no sign.
    return f"{round(100 * share):d} %".replace("-", "−")


def _rounded(value: float) -> str:
    """A number to two digits, with commas between thousands."""
    if math.isinf(value):
        return "never"
    if value < 10:
        return f"{math.ceil(value)}"
    digits = 1 - math.floor(math.log10(value))
    return f"{round(value, digits):,.0f}"
