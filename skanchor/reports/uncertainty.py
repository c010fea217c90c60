"""What the errors of new models are made of, and what would make them smaller."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.readouts import Outlook
from skanchor.reports.answers import label, percent
from skanchor.reports.document import Block, Cell, Section, Table, Text, number
from skanchor.reports.summary import result_with_errors
from skanchor.reports.tables import table_of
from skanchor.results import AnchorResult, Scale, new_by_score

_IN_FULL = 3
"""Largest number of new models described one by one; the table has all of them."""

_SHARES = {
    "human": "votes",
    "judge": "single verdicts",
    "cross": "shared groups",
    "items": "item effects",
}


def limits_of_errors(fitted: Any, level: float = 0.95) -> pd.DataFrame:
    """Parts of the errors of the new models, and how far more data narrow them.

    Parameters
    ----------
    fitted : AnchorPipeline or AnchorResult
        A fitted pipeline, or its result, of which the limits beside item effects are
        not known.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    DataFrame
        By new model whose error is finite, best first: the ``half_width`` of its
        interval in logits; the shares ``human``, ``judge``, ``cross`` and ``items`` of
        its variance; the limit of the half width under more and more ``verdicts`` of
        the same judges, and under verdicts of new ``judges`` whose item effects are
        independent of one another; and the number of ``votes`` on the model that would
        halve it. NaN where a limit is not known.

    Notes
    -----
    The limit of verdicts and the number of votes are those of
    :meth:`skanchor.AnchorPipeline.outlook`. New judges leave ``B_l``, the error of the
    scale of the human scores, and so do verdicts where there are no item effects.
    """
    result = result_with_errors(fitted)
    if not isinstance(result, AnchorResult):
        return pd.DataFrame()
    models = new_by_score(result)
    variance, error = result.variance.loc[models], result.standard_errors[models]
    parts, bound = variance[list(_SHARES)], variance["lower_bound"]
    interval = result.conf_int(level).loc[models]
    half = 0.5 * (interval["high"] - interval["low"])
    total = parts.sum(axis=1)
    floor = half * (np.sqrt(bound.clip(lower=0.0)) / error).clip(upper=1.0)
    has_items = result.item_covariances is not None
    table = parts.div(total, axis=0)
    table.insert(0, "half_width", half)
    table["verdicts"] = np.nan if has_items else floor
    table["votes"] = np.nan
    outlook = _outlook_or_none(fitted, level)
    if outlook is not None:
        limits = outlook.limits
        narrowed = (limits["verdicts"] / limits["now"]).clip(upper=1.0)
        table["verdicts"] = half * narrowed.reindex(models)
        # The second of the default widths is half of today's.
        halved = outlook.table["votes"].groupby(level="model").nth(1)
        table["votes"] = halved.droplevel("width").reindex(models)
    table["judges"] = floor if has_items else table["verdicts"]
    stable = (error > 0) & np.isfinite(error) & (total > 0) & np.isfinite(bound)
    return table[stable]


def _outlook_or_none(fitted: Any, level: float) -> Outlook | None:
    """How many rows narrow the intervals; None where no closed form says."""
    if not hasattr(fitted, "outlook"):
        return None
    try:
        found: Outlook = fitted.outlook(level=level)
        return found
    except BattlesError:
        return None


# --------------------------------------------------------------------------- in words
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
    table = limits_of_errors(fitted, level)
    if table.empty:
        return None
    blocks: list[Block] = [
        Text(limits_in_words(row, scale, level))
        for _, row in table.head(_IN_FULL).iterrows()
    ]
    if len(table) > 1:
        blocks.append(_parts_table(table, scale, level))
    notes = [
        "Limits and numbers of votes take the current fit as the truth. Verdicts and "
        "votes are on the new model itself, divided evenly over its opponents."
    ]
    if table["items"].any():
        notes.append(
            "Item effects are what a judge thinks of a model beyond its score and "
            "features; they do not average out over verdicts."
        )
    if _is_shown(table["cross"]):
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


def limits_in_words(
    row: pd.Series, scale: Scale | None = None, level: float = 0.95
) -> str:
    """Describe the parts of an error, and the limits of an interval, in sentences.

    Parameters
    ----------
    row : Series
        Of :func:`limits_of_errors`, named by the new model.
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
        f"{percent_of_variance(row[name])} {words}"
        for name, words in _SHARES.items()
        if _is_shown(row[[name]])
    )
    sentences = [
        f"The {percent(level)} interval of {label(row.name)} is "
        f"{in_unit(row['half_width'])}; its variance is {parts}."
    ]
    if row["verdicts"] == row["judges"]:
        sentences.append(
            "More verdicts, of these judges or of new ones, narrow it to "
            f"{in_unit(row['verdicts'])} at best, however many."
        )
    else:
        if not math.isnan(row["verdicts"]):
            sentences.append(
                "More verdicts of these judges narrow it to "
                f"{in_unit(row['verdicts'])} at best, however many."
            )
        sentences.append(
            f"New judges narrow it to {in_unit(row['judges'])} at best, if their item "
            "effects are independent of one another."
        )
    if math.isfinite(row["votes"]):
        sentences.append(
            "Only votes on the model itself have no limit: about "
            f"{_rounded(row['votes'])} would halve it."
        )
    return " ".join(sentences)


def _is_shown(shares: pd.Series) -> bool:
    """Whether one of these shares is not zero in percent."""
    return bool((shares.abs() >= 0.005).any())


def _parts_table(table: pd.DataFrame, scale: Scale, level: float) -> Table:
    def limit(width: float) -> Cell:
        return number(width * scale.per_logit, scale.digits)

    shown = [name for name in _SHARES if _is_shown(table[name])]
    return table_of(
        table.rename_axis("model"),
        f"Half width of the {percent(level)} interval of each new model, shares of its "
        "variance, and its limits",
        {
            "half_width": ("Half width", limit),
            **{name: (_SHARES[name].capitalize(), _part, True) for name in shown},
            "verdicts": ("With more verdicts", limit),
            "judges": ("With new judges", limit),
            "votes": ("Votes to halve it", _votes),
        },
        name="errors-table",
    )


def _part(share: float) -> Cell:
    return Cell(percent_of_variance(share), share)


def _votes(value: float) -> Cell:
    return number(value) if math.isnan(value) else Cell(_rounded(value), value)


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
