"""A DataFrame as a table of a report or as records, and tables as text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from skanchor.reports.answers import label
from skanchor.reports.document import Cell, Heading, Table, number, word

if TYPE_CHECKING:
    from rich.table import Table as Grid

Columns = Mapping[Any, tuple[Any, ...]]
"""Heading, form and direction of columns, as in :func:`table_of`."""


def table_of(
    frame: pd.DataFrame,
    caption: str,
    columns: Columns,
    *,
    name: str = "table",
    **more: Any,
) -> Table:
    """Turn chosen columns of a DataFrame into a table of a report.

    Parameters
    ----------
    frame : DataFrame
        The data; its index names the rows.
    caption : str
        What the table shows.
    columns : mapping from str to (str, int or str or callable, ...)
        By column, the heading, and either the number of decimals, ``"share"`` for
        shares in percent, ``"yes"`` for truth values, ``"text"``, or a function that
        makes a cell of a value; then True if the first click sorts in descending order.
        Values that are cells stay as they are. Columns that the frame lacks are left
        out.
    name : str, default="table"
        Target of links to the table.
    **more : object
        Further attributes of the table.

    Returns
    -------
    Table
        The names of the rows in the first column, then the chosen columns.
    """
    chosen = {key: shown for key, shown in columns.items() if key in frame}
    headings = [Heading(str(frame.index.name or "").capitalize(), is_number=False)]
    headings += [
        Heading(heading, form not in ("yes", "text"), *first_down)
        for heading, form, *first_down in chosen.values()
    ]
    rows = [
        [word(label(key)), *(_cell(row[each], chosen[each][1]) for each in chosen)]
        for key, row in zip(frame.index, frame.to_dict("records"), strict=True)
    ]
    return Table(name, caption, headings, rows, **more)


def records_of(frame: pd.DataFrame, label: str) -> list[dict[Any, Any]]:
    """Rows of a DataFrame as dicts, with its index under the key ``label``."""
    return frame.rename_axis(label).reset_index().to_dict("records")


def table_text(table: Table) -> Grid:
    """Lay out a table for rich.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    rich.table.Table
        For ``rich.print``, or for :func:`render`, which gives a string.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for heading in table.headings:
        justify: Any = "right" if heading.is_number else "left"
        grid.add_column(heading.text, justify=justify, no_wrap=True)
    for place, row in enumerate(table.rows):
        # As Text, a name with square brackets is not read as markup.
        style = "bold green" if table.is_marked(place) else None
        grid.add_row(*(Text(cell.text) for cell in row), style=style)
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


def _cell(value: Any, form: Any) -> Cell:
    if isinstance(value, Cell):
        return value
    if callable(form):
        made: Cell = form(value)
        return made
    if form == "text":
        return word(label(value))
    if form == "yes":
        # NaN, the one value unequal to itself, where it is not known.
        return word("–" if value != value else "yes" if value else "no")
    if form == "share":
        return share(value)
    assert isinstance(form, int)
    return number(value, form)


# ------------------------------------------------------------------------------ text
UNBOUNDED = 1_000_000
"""More columns than any page has, in characters."""


def render(renderable: Any, *, width: int | None = None, terminal: bool = False) -> str:
    """Turn a rich renderable into text.

    Parameters
    ----------
    renderable : object
        Anything rich can print.
    width : int, optional
        Width in characters; None means as wide as the content.
    terminal : bool, default=False
        Whether to use bold and colour (`NO_COLOR` is respected).

    Returns
    -------
    str
        The text, lines without trailing blanks.
    """
    from io import StringIO

    from rich.console import Console

    console = Console(
        file=StringIO(),
        width=UNBOUNDED if width is None else width,
        force_terminal=terminal,
        color_system="auto" if terminal else None,
        legacy_windows=False,
    )
    with console.capture() as capture:
        # Lines that are too wide run over the edge; cropped, their ends would be lost.
        console.print(renderable, crop=False)
    lines = capture.get().splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"
