"""Tables of how few rows change what is said of new models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.fragility import Fragility
from skanchor.reports.document import Table
from skanchor.reports.tables import table_of

_STATEMENTS: dict[str, tuple[str, int | str]] = {
    "opponent": ("opponent", "text"),
    "difference": ("difference", 2),
    "t": ("t", 1),
    "allowed": ("rows", 0),
    "first_order": ("first order", "text"),
    "re_solved": ("re-solved", "text"),
    "k": ("needed", "text"),
    "share": ("share", "text"),
    "status": ("", "text"),
}
_ROWS: dict[str, tuple[str, int | str]] = {
    "model_a": ("model_a", "text"),
    "model_b": ("model_b", "text"),
    "judge": ("judge", "text"),
    "outcome": ("outcome", 2),
    "count": ("rows", 0),
}


def fragility_table(found: Fragility, model: Any = None) -> Table:
    """Lay out how many rows change each statement.

    Parameters
    ----------
    found : Fragility
        Of :meth:`skanchor.AnchorPipeline.fragility`.
    model : label, optional
        One of its models, whose rows are then named by opponent; None shows all.

    Returns
    -------
    Table

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.reports import fragility_table
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> found = anchor.fragility(X, y, "cedar-fox", model="ivory-lynx", rows="arrival")
    >>> len(fragility_table(found).rows)
    1
    """
    rows = found.table if model is None else found.table.loc[[model]]
    rows = rows.reset_index().set_index("model" if model is None else "opponent")
    for name in ("first_order", "re_solved", "k"):
        rows[name] = [_number_found(each) for each in rows[name].tolist()]
    rows["share"] = [
        "" if np.isnan(each) else f"{100 * each:.2g} %"
        for each in rows["share"].tolist()
    ]
    return table_of(rows, "How few rows change this", _STATEMENTS, name="fragility")


def influence_lines(fitted: Any, models: list[Any], level: float) -> list[str]:
    """Say how few rows would leave the weakest clear difference open, by influence.

    Parameters
    ----------
    fitted : RankingEstimator or RankingResult
        A fitted method, or a result; others than pipelines have no rows.
    models : list of label
        New models.
    level : float
        Confidence level.

    Returns
    -------
    list of str
        A sentence for each model with a clear difference. No refit confirms it.
    """
    if not hasattr(fitted, "fragility_by_influence"):
        return []
    lines = []
    contrasts = fitted.contrasts(level)
    clear = contrasts[(contrasts["low"] > 0) | (contrasts["high"] < 0)]
    ratio = (clear["difference"] / clear["standard_error"]).abs()
    for model in models:
        if model not in ratio.index.get_level_values("model"):
            continue
        opponent = ratio.xs(model, level="model").idxmin()
        try:
            found = fitted.fragility_by_influence(
                opponent, "interval", model=model, level=level
            )
        except BattlesError:
            # Contexts, and styles that are included, have none.
            return []
        lines += found.lines()
    return lines


def rows_table(found: Fragility, model: Any, opponent: Any) -> Table:
    """Lay out the rows whose loss changes a statement; equal rows share a line.

    Parameters
    ----------
    found : Fragility
        Of :meth:`skanchor.AnchorPipeline.fragility`.
    model, opponent : label
        The model and the opponent of the statement.

    Returns
    -------
    Table

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.reports import rows_table
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> found = anchor.fragility(X, y, "cedar-fox", model="ivory-lynx", rows="arrival")
    >>> len(rows_table(found, "ivory-lynx", "cedar-fox").rows) > 0
    True
    """
    cells: pd.DataFrame = found.cells(model, opponent).set_index("model_a")
    return table_of(cells, "Which rows", _ROWS, name="fragile-rows")


def _number_found(value: float) -> str:
    if np.isnan(value):
        return "not searched"
    return "more" if np.isinf(value) else f"{value:,.0f}"
