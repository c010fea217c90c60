"""Tables of what is read out of a fit: worth, outlook, design, and fragility."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.readouts import Answer, Design, Fragility, Outlook
from skanchor.reports.document import Table
from skanchor.reports.tables import table_of

_WORTH: dict[str, tuple[str, int | str]] = {
    "judge": ("Judge", "text"),
    "verdicts": ("Verdicts", 0),
    "replaces": ("Replace", 0),
    "alone": ("Alone", 0),
    "next_verdict": ("One more", 3),
    "never_more": ("Never more", 0),
    "cost_per_vote": ("Cost of a vote", 3),
}
_OUTLOOK: dict[str, tuple[str, int | str]] = {
    "width": ("±", 3),
    "votes": ("Votes", "text"),
    "verdicts": ("Verdicts", "text"),
    "both": ("Of each", "text"),
}
_DESIGN: dict[str, tuple[str, int | str]] = {
    "source": ("Source", "text"),
    "opponent": ("Opponent", "text"),
    "rows": ("Rows", 0),
    "spend": ("Cost", 2),
    "gain": ("Gain (1e-6)", 2),
}
_SEPARATION: dict[str, tuple[str, int | str]] = {
    "opponent": ("Opponent", "text"),
    "difference": ("Difference", 2),
    "now": ("Separated now", "yes"),
    "probability": ("Then", "share"),
}
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


def worth_table(worth: Answer, model: Any = None) -> Table:
    """Lay out what verdicts are worth.

    Parameters
    ----------
    worth : Answer
        Of :meth:`skanchor.AnchorPipeline.worth`.
    model : label, optional
        One of its models, whose rows are then named by judge; None shows all.

    Returns
    -------
    Table
    """
    caption = "What verdicts are worth, in human votes"
    return table_of(
        _rows_of_model(worth.table, model, "judge"), caption, _WORTH, name="worth"
    )


def outlook_table(outlook: Outlook, model: Any = None) -> Table:
    """Lay out the rows needed for half widths; "never" if no number is enough.

    Parameters
    ----------
    outlook : Outlook
        Of :meth:`skanchor.AnchorPipeline.outlook`.
    model : label, optional
        One of its models, whose rows are then named by width; None shows all.

    Returns
    -------
    Table
    """
    rows = _rows_of_model(outlook.table, model, "width")
    for name in ("votes", "verdicts", "both"):
        rows[name] = [
            "never" if np.isinf(each) else f"{np.ceil(each):,.0f}"
            for each in rows[name].tolist()
        ]
    return table_of(rows, "Rows until a half width", _OUTLOOK, name="outlook")


def design_table(design: Design) -> Table:
    """Lay out the rows to buy.

    Parameters
    ----------
    design : Design
        Of :meth:`skanchor.AnchorPipeline.design`.

    Returns
    -------
    Table
    """
    rows = design.table.assign(gain=1e6 * design.table["gain"])
    return table_of(rows, "What to buy next", _DESIGN, name="design")


def separation_table(design: Design, model: Any) -> Table:
    """Lay out which historical models a design would distinguish from a new one.

    Parameters
    ----------
    design : Design
        Of :meth:`skanchor.AnchorPipeline.design`.
    model : label
        A new model.

    Returns
    -------
    Table
        Models that are not distinguished now, or with the design; nearest first.
    """
    own = design.separation.loc[model]
    own = own[~own["now"] | (own["probability"] < 0.995)]
    own = own.iloc[np.argsort(own["difference"].abs())].rename_axis("opponent")
    caption = f"Probability that {model} is separated with these rows"
    shown = {name: form for name, form in _SEPARATION.items() if name in own}
    return table_of(own, caption, shown, name="separation")


def _rows_of_model(table: pd.DataFrame, model: Any, by: str) -> pd.DataFrame:
    """Rows of a model by judge or width, or of all models by model."""
    if model is None:
        return table.reset_index(by)
    return table.loc[[model]].droplevel("model")


# -------------------------------------------------------------------------- fragility
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
    if not hasattr(fitted, "fragility"):
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
            found = fitted.fragility(
                opponent=opponent, goal="interval", model=model, level=level
            )
        except BattlesError:
            # Contexts, and styles that are included, have none.
            return []
        lines += found.sentences
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
    """
    columns = ["model_a", "model_b", "judge", "outcome"]
    count = found.rows(model, opponent).groupby(columns, sort=True)["count"].sum()
    count = count.sort_values(ascending=False, kind="stable")
    cells = count.reset_index().set_index("model_a")
    return table_of(cells, "Which rows", _ROWS, name="fragile-rows")


def _number_found(value: float) -> str:
    if np.isnan(value):
        return "not searched"
    return "more" if np.isinf(value) else f"{value:,.0f}"
