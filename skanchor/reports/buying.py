"""What to buy next, in a report: for a budget, or for prices that may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skanchor._anchor import AnchorPipeline
from skanchor._comparisons import HUMAN
from skanchor.exceptions import BattlesError
from skanchor.planning import (
    Design,
    Forecast,
    Worth,
    design_of,
    outlook_of,
    worth_of,
)
from skanchor.reports.answers import joined_names, label, percent
from skanchor.reports.document import Block, Cell, Heading, Points, Table, Text, word
from skanchor.reports.plans import design_table, worth_table

PROBE = 100
"""Rows of one source whose best opponents are named."""

OPPONENTS = 2
"""Most opponents that are named."""

BUDGETS = (100, 500)
"""Budgets that are shown where none is given, in prices of a vote."""

PRICES = {0.1: "a tenth of a vote", 0.01: "a hundredth"}
"""Prices of a verdict that are shown then, in those of a vote."""

NEGLIGIBLE = 0.05
"""Share of today's half width below which a limit is no news."""

LITTLE = 0.005
"""Votes below which a verdict is said to be worth hardly any."""

_BUYING = Text("What to buy next:")

_WRONG = (
    "This advice is wrong in three cases. The judges may share a favour as large as "
    "those above: more of their verdicts then narrow an interval around a wrong score, "
    "and only votes on the model help. Further rows may be unlike these, with other "
    "prompts or another version of a judge. Or the true score of the model may be far "
    "from its estimate. So buy a third, rank again, and check again."
)


def buying_blocks(
    fitted: Any, models: list[Any], level: float, design: Design | None
) -> list[Block]:
    """Blocks of a report on what to buy next.

    Parameters
    ----------
    fitted : RankingEstimator or RankingResult
        A fitted method, or a result; others than pipelines plan nothing.
    models : list of label
        New models that are described, whose scores are determined.
    level : float
        Confidence level of the intervals.
    design : Design or None
        What a budget buys; None shows some budgets and prices.

    Returns
    -------
    list of Block
        Empty where no closed form says what further rows would do.
    """
    if not isinstance(fitted, AnchorPipeline):
        return []
    if design is not None:
        said = Points([(line, "") for line in design.lines()])
        return [_BUYING, said, design_table(design), Text(_WRONG)]
    try:
        forecast = Forecast.of(
            fitted.result_,
            fitted._distinct_sample,
            fitted.btl_,
            fitted.calibrator_,
            fitted.debiaser_,
        )
        worth = worth_of(forecast)
    except BattlesError:
        return []
    limits = outlook_of(forecast, level=level).limits
    lines = [
        _best_spent(forecast, model, worth.table.loc[model], limits.loc[model])
        for model in models
    ]
    shown = worth.table.index.isin(models, level="model")
    return [
        _BUYING,
        Points([(line, "") for line in lines]),
        _budgets_table(forecast, models, level),
        worth_table(Worth(worth.table[shown])),
        Text(
            "Budgets, prices and worth are in votes on the new models. One more: the "
            "worth of the judge's next verdict; divided by its price it says which "
            "judge to buy from. Replace: the votes that would make up for the loss of "
            "the verdicts. With your prices, skanchor plan FILE --budget SUM --costs "
            "human=PRICE judges=PRICE lists the rows to buy.",
            is_note=True,
        ),
        Text(_WRONG),
    ]


def _best_spent(
    forecast: Forecast, model: Any, worth: pd.DataFrame, limits: pd.Series
) -> str:
    """Where the first rows on a model are best spent, and what verdicts are worth."""
    name = label(model)
    # All judges together come last, where there are several.
    by_judge = worth["next_verdict"].iloc[: max(len(worth) - 1, 1)]
    best, size = by_judge.idxmax(), float(by_judge.max())
    text = (
        f"A vote on {name} narrows its interval most against "
        f"{_opponents(forecast, model, HUMAN)}."
    )
    if not size >= LITTLE:
        return f"{text} A further verdict on it is worth hardly any vote."
    text += (
        f" The next verdict of {label(best)} is worth {size:.2g} votes, most against "
        f"{_opponents(forecast, model, best)}: do not pay more for it."
    )
    if limits["verdicts"] > NEGLIGIBLE * limits["now"]:
        text += (
            " Later ones are worth less: no number of verdicts brings the interval "
            f"from ±{limits['now']:.2f} below ±{limits['verdicts']:.2f} logits."
        )
    return text


def _budgets_table(forecast: Forecast, models: list[Any], level: float) -> Table:
    """What budgets are best spent on, by the price of a verdict beside a vote."""
    rows = []
    for budget in BUDGETS:
        for price, words in PRICES.items():
            costs = {HUMAN: 1.0, "judges": price}
            found = design_of(forecast, budget, costs, level=level)
            by_source = found.table.groupby("source", sort=False)["rows"].sum()
            verdicts = by_source.drop(HUMAN, errors="ignore")
            most = label(verdicts.idxmax()) if len(verdicts) else "–"
            numbers = float(by_source.get(HUMAN, 0.0)), float(verdicts.sum())
            rows.append(
                [
                    Cell(f"{budget:,} votes", float(budget)),
                    Cell(words, price),
                    *(Cell(f"{each:,.0f}", each) for each in numbers),
                    word(most),
                    *(_narrowed(found.half_widths.loc[model]) for model in models),
                ]
            )
    headings = [
        Heading("Money for", is_number=False),
        Heading("A verdict costs", is_number=False),
        Heading("Buy votes"),
        Heading("Buy verdicts"),
        Heading("Most by", is_number=False),
        *(Heading(label(model)) for model in models),
    ]
    caption = (
        f"What to buy, and the half width of the {percent(level)} interval in logits "
        "before and after"
    )
    return Table("budgets", caption, headings, rows)


def _narrowed(widths: pd.Series) -> Cell:
    now, then = float(widths["now"]), float(widths["design"])
    return Cell(f"{now:.2f} to {then:.2f}", then)


def _opponents(forecast: Forecast, model: Any, source: Any) -> str:
    """Opponents on which the first rows of a source are best spent."""
    bought = design_of(forecast, PROBE, {source: 1.0}, [model], floor=0.0).table
    first = bought.nlargest(OPPONENTS, "rows")["opponent"]
    return joined_names([label(one) for one in np.asarray(first, dtype=object)])
