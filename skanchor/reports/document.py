"""What a report says, free of how it is set: sections of texts, tables and figures."""

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
        Plain text: no renderer reads markup in it.
    is_note : bool
        Whether it only explains.
    """

    text: str
    is_note: bool = False


@dataclass(frozen=True, slots=True)
class Points:
    """A list of sentences.

    Attributes
    ----------
    items : sequence of (str, str)
        What is so, and what to do about it, which may be empty.
    """

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Code:
    """Lines to be typed as they stand.

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
        Whether the cells are numbers, set to the right.
    first_down : bool
        Whether a reader wants the largest value first.
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
        What is read.
    key : float or str
        What is sorted by.
    """

    text: str
    key: float | str


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column names its rows.

    Attributes
    ----------
    name : str
        By which it can be linked to.
    caption : str
        What it shows.
    headings : sequence of Heading
        Of its columns.
    rows : sequence of sequences of Cell
        One cell for each heading.
    marked : sequence of bool
        Rows of new models.
    ordered_by : int or None
        The column that the rows are ordered by.
    searchable : bool
        Whether a page that can search offers to.
    bars : sequence of (float, float, float)
        Low end, value and high end of each row, for a page that can draw.
    middle : float
        What the bars are compared with.
    """

    name: str
    caption: str
    headings: Sequence[Heading]
    rows: Sequence[Sequence[Cell]]
    marked: Sequence[bool] = ()
    ordered_by: int | None = None
    searchable: bool = False
    bars: Sequence[tuple[float, float, float]] = ()
    middle: float = 0.0

    def is_marked(self, row: int) -> bool:
        """Whether a row is a new model's."""
        return bool(self.marked) and bool(self.marked[row])


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing.

    Attributes
    ----------
    name : str
        By which it can be linked to.
    svg : str
        An ``svg`` element, text as text.
    title, description : str
        What it is, and what it shows.
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
        By which it can be linked to.
    title : str
        Its heading.
    blocks : list of Block
        What it holds.
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
        The answer in a few sentences, which stand before everything else.
    sections : list of Section
        All the rest.
    """

    title: str
    lead: list[str]
    sections: list[Section]


def number(value: float, digits: int = 2) -> Cell:
    """A number as a cell; what is not known is a dash, and sorts below.

    Parameters
    ----------
    value : float
        The number.
    digits : int, default=2
        Decimals.

    Returns
    -------
    Cell
    """
    value = float(value)
    if math.isnan(value):
        return Cell("–", -math.inf)
    if math.isinf(value):
        return Cell("∞" if value > 0 else "−∞", value)
    # Adding zero keeps "-0.00" away.
    rounded = round(value, digits) + 0.0
    return Cell(f"{rounded:.{digits}f}".replace("-", "−"), value)
