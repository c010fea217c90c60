"""What would change the statements on new models, in words and as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.readouts import breakdown_sentences, reversals
from skanchor.reports.answers import label, percent
from skanchor.reports.buying import buying_blocks
from skanchor.reports.document import (
    Block,
    Cell,
    Points,
    Section,
    Table,
    Text,
    number,
    word,
)
from skanchor.reports.readouts import influence_lines
from skanchor.reports.summary import result_with_errors
from skanchor.reports.tables import table_of
from skanchor.results import new_by_score

IN_FULL = 3
"""Largest number of new models that have sentences and tables of their own."""


def change_lines(
    fitted: Any, level: float = 0.95, most: int | None = None
) -> list[str]:
    """Say in sentences what would change the statements about new models.

    Parameters
    ----------
    fitted : AnchorPipeline or AnchorResult
        Fitted.
    level : float, default=0.95
        Confidence level.
    most : int, optional
        Largest number of new models, the best of them; all by default.

    Returns
    -------
    list of str
        For each model, one or two sentences on the statements that the smallest favour
        would undo; the best model comes first.
    """
    table = fitted.breakdown(level=level)
    models = reversals(table).index.unique("model")[:most]
    chosen = table[table.index.isin(models, level="model")]
    return list(breakdown_sentences(chosen, fitted.benchmarks()))


def change_table(fitted: Any, level: float = 0.95, name: str = "change") -> Table:
    """Lay out what would change the statements about new models, one row for each.

    Parameters
    ----------
    fitted, level
        As in :func:`change_lines`.
    name : str, default="change"
        Target of links to the table.

    Returns
    -------
    Table
    """
    found = reversals(fitted.breakdown(level=level))
    # The statement with the smallest favour; of equal ones the first.
    first = found["gamma_interval"].groupby(level="model", sort=False).idxmin()
    table = found.loc[first].reset_index("opponent")
    table["side"] = np.where(table["difference"] > 0, "above", "below")
    caption = (
        "The first statement on each new model that an unrecorded favour would change "
        f"({percent(level)})"
    )
    columns = {
        "side": ("It is", "text"),
        "opponent": ("Opponent", "text"),
        "gamma_interval": ("In doubt from", _favour),
        "gamma_sign": ("Turned from", _favour),
    }
    return table_of(table, caption, columns, name=name)


def breakdown_table(
    own: pd.DataFrame, model: Any, level: float, name: str = "change"
) -> Table:
    """Lay out the breakdowns of a new model, the smallest first.

    Parameters
    ----------
    own : DataFrame
        Its rows of :meth:`skanchor.AnchorResult.breakdown`, by opponent.
    model : label
        The model.
    level : float
        Confidence level.
    name : str, default="change"
        Target of links to the table.

    Returns
    -------
    Table
    """
    order = own["gamma_interval"].to_numpy(), own["gamma_sign"].to_numpy()
    own = own.iloc[np.lexsort(order[::-1])].rename_axis("opponent")
    judges: list[Any] = [
        word("–" if pd.isna(judge) else label(judge)) for judge in own["weakest_judge"]
    ]
    sides = np.where(own["difference"] > 0, "above", "below")
    own = own.assign(side=sides, judge=judges)
    columns = {
        "side": ("It is", "text"),
        "gamma_interval": ("In doubt from", _favour),
        "gamma_sign": ("Turned from", _favour),
        "judge": ("Most by", "text"),
        "weakest_gamma": ("By it alone", _favour),
        "ratio_item_sd": ("Item effects", 1),
        "ratio_favour": ("Recorded favours", 1),
        "ratio_position": ("Position effects", 1),
    }
    absent = [key for key in columns if key[:5] == "ratio" and own[key].isna().all()]
    caption = (
        f"Unrecorded favours that would change where {label(model)} stands "
        f"({percent(level)})"
    )
    own = own.drop(columns=absent)
    return table_of(own, caption, columns, name=name, ordered_by=2)


def _favour(value: float) -> Cell:
    """A favour; a dash where the statement is in doubt without one."""
    return Cell("now", 0.0) if value == 0 else number(value, 2)


def change_section(fitted: Any, level: float) -> Section | None:
    """Section of a report about what would change its statements.

    Parameters
    ----------
    fitted : RankingEstimator or RankingResult
        A fitted method, or a result.
    level : float
        Confidence level.

    Returns
    -------
    Section or None
        None where nothing is known of favours: for other methods, and where no new
        model is determined.
    """
    result = result_with_errors(fitted)
    if not hasattr(fitted, "breakdown"):
        return None
    try:
        table = fitted.breakdown(level=level)
        lines = change_lines(fitted, level, IN_FULL)
    except BattlesError:
        return None
    models = [
        model
        for model in new_by_score(result)
        if table.loc[model, "gamma_sign"].notna().any()
    ]
    blocks: list[Block] = [Points([(line, "") for line in lines])]
    if len(models) > IN_FULL:
        blocks.append(change_table(fitted, level, "change-all"))
    blocks += [
        breakdown_table(table.loc[model], model, level, f"change-{place}")
        for place, model in enumerate(models[:IN_FULL], 1)
    ]
    note = (
        "A favour that no column records, such as that of a judge that recognises the "
        "model's style, cannot be distinguished from a better model. Favours are in "
        "judge logits, on all verdicts of a judge on the model, each judge with its "
        "worst sign. In doubt: the favour with which the interval of the difference "
        "contains zero; now: it contains zero without any. Turned: the favour with "
        "which the estimate is zero. The last columns give the favour as a multiple of "
        "recorded effects. Item effects allow for favours of the usual size; these "
        "favours are additional."
    )
    fragile = influence_lines(fitted, models[:IN_FULL], level)
    if fragile:
        blocks.append(Points([(line, "") for line in fragile]))
    remedy = (
        "More verdicts of the same judges make intervals shorter, but do not reduce a "
        "favour. With votes on the model, or with judges that do not share the favour, "
        "its score depends less on the favour."
    )
    blocks += [Text(remedy), Text(note, is_note=True)]
    blocks += buying_blocks(fitted, models[:IN_FULL])
    return Section("change", "What would change this", blocks)
