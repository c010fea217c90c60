"""Contents of a report in any format: sections of texts, tables and figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph.

    Attributes
    ----------
    text : str
        Plain text, in which no markup is read.
    is_note : bool
        Whether it only explains something above it; shown in a quieter style.
    """

    text: str
    is_note: bool = False


@dataclass(frozen=True, slots=True)
class Points:
    """A list of sentences.

    Attributes
    ----------
    items : sequence of (str, str)
        Pairs of a statement and the advice that follows from it, which may be empty.
    """

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Code:
    """Lines to type exactly as they are, such as a command.

    Attributes
    ----------
    text : str
        The lines.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Heading:
    """Heading of a column.

    Attributes
    ----------
    text : str
        The heading.
    is_number : bool
        Whether the cells are numbers, which are aligned on the right.
    first_down : bool
        Whether the first click sorts in descending order, largest value first.
    """

    text: str
    is_number: bool = True
    first_down: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """Cell of a table.

    Attributes
    ----------
    text : str
        The text shown.
    key : float or str
        The value by which a page sorts the column.
    """

    text: str
    key: float | str


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column names its rows.

    Attributes
    ----------
    name : str
        Target of links to the table.
    caption : str
        What it shows.
    headings : sequence of Heading
        Headings of the columns.
    rows : sequence of sequences of Cell
        Rows, each with one cell for each heading.
    marked : sequence of bool
        Whether each row is of a new model; empty if none is.
    ordered_by : int or None
        Number of the column that the rows are sorted by; None if by no column.
    searchable : bool
        Whether an HTML page has a search field for it.
    bars : sequence of (float, float, float)
        Lower end, value and upper end of an interval for each row, which HTML draws as
        a bar on a common axis; empty for no bars.
    bars_after : int
        Number of the column after which the bars stand.
    bars_in_percent : bool
        Whether the values of the bars are shares.
    middle : float
        Reference value marked in every bar.
    """

    name: str
    caption: str
    headings: Sequence[Heading]
    rows: Sequence[Sequence[Cell]]
    marked: Sequence[bool] = ()
    ordered_by: int | None = None
    searchable: bool = False
    bars: Sequence[tuple[float, float, float]] = ()
    bars_after: int = 0
    bars_in_percent: bool = False
    middle: float = 0.0

    def is_marked(self, row: int) -> bool:
        """Whether the row with this number is of a new model."""
        return bool(self.marked) and bool(self.marked[row])


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing.

    Attributes
    ----------
    name : str
        Target of links to the drawing.
    svg : str
        An ``svg`` element whose text is stored as text, not as outlines.
    title, description : str
        Its title, and what it shows in words.
    """

    name: str
    svg: str
    title: str
    description: str


Block: TypeAlias = Text | Points | Code | Table | Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report.

    Attributes
    ----------
    name : str
        Target of links to the section.
    title : str
        Its heading.
    blocks : list of Block
        Its texts, tables and figures, in order.
    """

    name: str
    title: str
    blocks: list[Block] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report.

    Attributes
    ----------
    title : str
        Its heading.
    lead : list of str
        The answer in a few sentences, shown before all sections.
    sections : list of Section
        Everything else.
    """

    title: str
    lead: list[str]
    sections: list[Section]


def word(text: str) -> Cell:
    """A word as a cell, sorted by its letters."""
    return Cell(text, text)


def span(low: int, high: int) -> Cell:
    """A range of ranks as a cell, sorted by its lower end."""
    return Cell(str(low) if low == high else f"{low}–{high}", float(low))


def number(value: float, digits: int = 2) -> Cell:
    """A number as a cell; NaN is shown as a dash and sorted below all numbers.

    Parameters
    ----------
    value : float
        The number.
    digits : int, default=2
        Number of decimals.

    Returns
    -------
    Cell
        The rounded number with a typographic minus sign; its key is not rounded.
    """
    value = float(value)
    if math.isnan(value):
        return Cell("–", -math.inf)
    if math.isinf(value):
        return Cell("∞" if value > 0 else "−∞", value)
    # Adding zero turns -0.0 into 0.0, so that "-0.00" is never shown.
    rounded = round(value, digits) + 0.0
    return Cell(f"{rounded:.{digits}f}".replace("-", "−"), value)
