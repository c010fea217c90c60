"""What to buy next, in a report: what further rows on the new models are worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skanchor._battles import HUMAN
from skanchor.exceptions import BattlesError
from skanchor.readouts import Answer
from skanchor.reports.answers import joined_names, label
from skanchor.reports.document import Block, Points, Text
from skanchor.reports.readouts import worth_table

PROBE = 100
"""Rows of one source whose best opponents are named."""

OPPONENTS = 2
"""Most opponents that are named."""

LITTLE = 0.005
"""Votes below which a verdict is said to be worth hardly any."""

_WRONG = (
    "This advice is wrong in three cases. The judges may share a favour as large as "
    "those above: more of their verdicts then narrow an interval around a wrong score, "
    "and only votes on the model help. Further rows may be unlike these, with other "
    "prompts or another version of a judge. Or the true score of the model may be far "
    "from its estimate. So buy a third, rank again, and check again."
)


def buying_blocks(fitted: Any, models: list[Any]) -> list[Block]:
    """Blocks of a report on what to buy next.

    Parameters
    ----------
    fitted : RankingEstimator or RankingResult
        A fitted method, or a result.
    models : list of label
        New models that are described, whose scores are determined.

    Returns
    -------
    list of Block
        Empty where no closed form says what further rows would do.
    """
    if not hasattr(fitted, "worth"):
        return []
    try:
        worth = fitted.worth()
    except BattlesError:
        return []
    lines = [_best_spent(fitted, model, worth.table.loc[model]) for model in models]
    shown = worth.table.index.isin(models, level="model")
    return [
        Text("What to buy next:"),
        Points([(line, "") for line in lines]),
        worth_table(Answer(worth.table[shown], ())),
        Text(
            "Worth is in votes on the new model. One more: the worth of the judge's "
            "next verdict; divided by its price it says which judge to buy from. "
            "Replace: the votes that would make up for the loss of the verdicts. With "
            "your prices, skanchor plan FILE --budget SUM --costs human=PRICE "
            "judges=PRICE lists the rows to buy.",
            is_note=True,
        ),
        Text(_WRONG),
    ]


def _best_spent(fitted: Any, model: Any, worth: pd.DataFrame) -> str:
    """Where the first rows on a model are best spent, and what verdicts are worth."""
    name = label(model)
    # All judges together come last, where there are several.
    by_judge = worth["next_verdict"].iloc[: max(len(worth) - 1, 1)]
    best, size = by_judge.idxmax(), float(by_judge.max())
    text = (
        f"A vote on {name} narrows its interval most against "
        f"{_opponents(fitted, model, HUMAN)}."
    )
    if not size >= LITTLE:
        return f"{text} A further verdict on it is worth hardly any vote."
    return (
        f"{text} The next verdict of {label(best)} is worth {size:.2g} votes, most "
        f"against {_opponents(fitted, model, best)}: do not pay more for it."
    )


def _opponents(fitted: Any, model: Any, source: Any) -> str:
    """Opponents on which the first rows of a source are best spent."""
    bought = fitted.design(PROBE, {source: 1.0}, [model], floor=0.0).table
    first = bought.nlargest(OPPONENTS, "rows")["opponent"]
    return joined_names([label(one) for one in np.asarray(first, dtype=object)])
