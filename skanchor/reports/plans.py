"""Tables of what verdicts are worth, of rows until a width, and of what to buy next."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skanchor.planning import Design, Outlook, Worth
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


def worth_table(worth: Worth, model: Any = None) -> Table:
    """Lay out what verdicts are worth.

    Parameters
    ----------
    worth : Worth
        Of :meth:`skanchor.AnchorPipeline.worth`.
    model : label, optional
        One of its models, whose rows are then named by judge; None shows all.

    Returns
    -------
    Table

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.reports import worth_table
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> len(worth_table(anchor.worth(), "ivory-lynx").rows)
    4
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

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.reports import outlook_table
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> len(outlook_table(anchor.outlook([0.2]), "ivory-lynx").rows)
    1
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

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.reports import design_table
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> design = anchor.design(10.0, {"human": 1.0, "judge-beta": 0.02})
    >>> len(design_table(design).rows) > 0
    True
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

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.reports import separation_table
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> design = anchor.design(10.0, {"human": 1.0})
    >>> len(separation_table(design, "ivory-lynx").rows) > 0
    True
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
