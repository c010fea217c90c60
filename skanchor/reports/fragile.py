"""Tables of how few rows change what is said of new models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

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
    """
    rows = found.table if model is None else found.table.loc[[model]]
    rows = rows.reset_index().set_index("model" if model is None else "opponent")
    for name in ("first_order", "re_solved", "k"):
        rows[name] = [_number(each) for each in rows[name].tolist()]
    rows["share"] = [
        "" if np.isnan(each) else f"{100 * each:.2g} %"
        for each in rows["share"].tolist()
    ]
    return table_of(rows, "How few rows change this", _STATEMENTS, name="fragility")


def rows_table(found: Fragility, model: Any, opponent: Any) -> Table:
    """Lay out the rows whose loss changes a statement, equal ones together.

    Parameters
    ----------
    found : Fragility
        Of :meth:`skanchor.AnchorPipeline.fragility`.
    model, opponent : label
        Which statement.

    Returns
    -------
    Table
    """
    cells: pd.DataFrame = found.cells(model, opponent).set_index("model_a")
    return table_of(cells, "Which rows", _ROWS, name="fragile-rows")


def _number(value: float) -> str:
    if np.isnan(value):
        return "not searched"
    return "more" if np.isinf(value) else f"{value:,.0f}"
