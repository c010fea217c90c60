"""First verdicts on a model of which nothing has been bought yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from skanchor._comparisons import HUMAN
from skanchor.exceptions import BattlesError
from skanchor.planning._allocation import round_to_budget
from skanchor.planning._design import Design
from skanchor.planning._forecast import check_costs
from skanchor.planning._offer import budget_of

PILOT_ROWS = 5
"""Verdicts of a pilot for each historical model."""


def pilot(
    models: Sequence[Any],
    judges: Sequence[Any],
    costs: Mapping[Any, float],
    budget: float,
    level: float = 0.95,
) -> Design:
    """First verdicts on a model that has no verdicts yet.

    Parameters
    ----------
    models : sequence of label
        Historical models, the opponents.
    judges : sequence of label
        Judges with historical verdicts.
    costs : mapping of label to float
        Cost of a row by source; only those of judges are used.
    budget : float
        The money available.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    Design
        About five verdicts for each historical model, or fewer if the budget is
        smaller, divided evenly over judges and opponents.

    Examples
    --------
    >>> from skanchor.planning import pilot
    >>> costs = {"gpt": 0.02, "claude": 0.01}
    >>> design = pilot(["a", "b", "c"], ["gpt", "claude"], costs, budget=1.0)
    >>> design.table
               source opponent  rows  spend  gain
    model
    new model     gpt        a     3   0.06   NaN
    new model  claude        b     3   0.03   NaN
    new model     gpt        c     2   0.04   NaN
    new model  claude        a     3   0.03   NaN
    new model     gpt        b     2   0.04   NaN
    new model  claude        c     2   0.02   NaN
    """
    prices = check_costs(costs, [HUMAN, *judges])
    paid = [judge for judge in judges if judge in prices]
    if not paid:
        raise BattlesError(
            "A new model needs verdicts: give the cost of a judge's verdict; judges "
            f"are {list(judges)[:10]}."
        )
    # Round by round every opponent meets another judge, so that rows that are left over
    # go to all of them alike.
    opponent = np.tile(np.arange(len(models)), len(paid))
    judge = (opponent + np.repeat(np.arange(len(paid)), len(models))) % len(paid)
    each = np.array([prices[one] for one in paid])[judge]
    budget = budget_of(budget, float(each.min()))
    total = min(budget, PILOT_ROWS * len(models) * float(each.mean()))
    spend = total * each / each.sum()
    rows = round_to_budget(spend, each, total)
    table = pd.DataFrame(
        {
            "source": np.array(paid, dtype=object)[judge],
            "opponent": np.array(models, dtype=object)[opponent],
            "rows": rows,
            "spend": rows * each,
            "gain": np.nan,
        }
    )[rows > 0]
    table.index = pd.Index(["new model"] * len(table), name="model", dtype=object)
    none = pd.MultiIndex.from_arrays([[], []], names=["model", "opponent"])
    return Design(
        table,
        pd.DataFrame(
            columns=["now", "design", "verdicts", "votes"],
            index=pd.Index([], name="target", dtype=object),
        ),
        pd.DataFrame(columns=["difference", "now", "probability"], index=none),
        np.nan,
        np.nan,
        budget,
        0.0,
        level,
        is_pilot=True,
    )
