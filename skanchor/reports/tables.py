"""A DataFrame as a table of a report, and a table as text for a screen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from skanchor.reports.answers import label
from skanchor.reports.document import Cell, Heading, Table, number

if TYPE_CHECKING:
    from rich.table import Table as Grid


def table_of(
    frame: pd.DataFrame,
    caption: str,
    columns: Mapping[str, tuple[str, int | str]],
    *,
    name: str = "table",
) -> Table:
    """Turn chosen columns of a DataFrame into a table of a report.

    Parameters
    ----------
    frame : DataFrame
        The data; its index names the rows.
    caption : str
        What the table shows.
    columns : mapping from str to (str, int or str)
        By column, the heading, and either the number of decimals, ``"share"`` for
        shares in percent, ``"yes"`` for truth values, or ``"text"``. Columns that the
        frame lacks are left out.
    name : str, default="table"
        Target of links to the table.

    Returns
    -------
    Table
        The names of the rows in the first column, then the chosen columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor.reports import table_of
    >>> frame = pd.DataFrame({"score": [0.71, -0.2]}, index=["otter", "heron"])
    >>> table = table_of(frame, "Scores", {"score": ("Score", 2)})
    >>> table.caption
    'Scores'
    >>> [heading.text for heading in table.headings]
    ['', 'Score']
    """
    chosen = {key: shown for key, shown in columns.items() if key in frame}
    headings = [Heading(str(frame.index.name or "").capitalize(), is_number=False)]
    headings += [
        Heading(heading, is_number=form not in ("yes", "text"))
        for heading, form in chosen.values()
    ]
    rows = [
        [
            Cell(label(key), label(key)),
            *(_cell(row[column], form) for column, (_, form) in chosen.items()),
        ]
        for key, row in zip(frame.index, frame.to_dict("records"), strict=True)
    ]
    return Table(name, caption, headings, rows)


def table_text(table: Table) -> Grid:
    """Lay out a table for rich.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    rich.table.Table
        For ``rich.print``, or for `skanchor.reports.render`, which gives a string.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor.reports import render, table_of, table_text
    >>> frame = pd.DataFrame({"score": [0.71, -0.2]}, index=["otter", "heron"])
    >>> table = table_of(frame, "Scores", {"score": ("Score", 2)})
    >>> print(render(table_text(table)))
           Score
    ────────────
    otter   0.71
    heron  −0.20
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for heading in table.headings:
        justify: Any = "right" if heading.is_number else "left"
        grid.add_column(heading.text, justify=justify, no_wrap=True)
    for row in table.rows:
        grid.add_row(*(Text(cell.text) for cell in row))
    return grid


def share(value: float) -> Cell:
    """A share in percent, shown as 0 or 100 % only if it is exactly that.

    Parameters
    ----------
    value : float
        Between 0 and 1.

    Returns
    -------
    Cell
        Whole percents; a dash for NaN.
    """
    value = float(value)
    if math.isnan(value):
        return number(value)
    shown = round(100 * value)
    if 0 < value < 1:
        shown = min(max(shown, 1), 99)
    return Cell(f"{shown} %", value)


def _cell(value: Any, form: int | str) -> Cell:
    if form == "text":
        return Cell(label(value), label(value))
    if form == "yes":
        # NaN, the one value unequal to itself, where it is not known.
        word = "–" if value != value else "yes" if value else "no"
        return Cell(word, word)
    if form == "share":
        return share(value)
    assert isinstance(form, int)
    return number(value, form)
