"""The text of a result, for a terminal or a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from skanchor.reports.facts import Facts
from skanchor.reports.record import SCHEMA_VERSION, record_of
from skanchor.reports.sentences import answer
from skanchor.reports.tables import Table, table_of
from skanchor.reports.views import board_table
from skanchor.reports.wording import environment

PROSE = 79
"""Widest line of prose on a terminal, in characters."""


class Ranking:
    """A run as text, as data and as tables; each form is made when it is read."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    @property
    def frame(self) -> pd.DataFrame:
        """The numbers, whose index names the rows."""
        return self.facts.board

    @property
    def tables(self) -> Sequence[Table]:
        """The tables that people read."""
        return [board_table(self.facts)]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return record_of(self.facts)

    def to_text(self, **screen: Any) -> str:
        """The leaderboard, the answer and the facts; ``screen`` as of `render_text`."""
        facts, board = self.facts, board_table(self.facts)
        return render_text(
            "rank", facts=facts, answer=answer(facts), board=board, **screen
        )


@dataclass(frozen=True, slots=True)
class Readout:
    """An answer as text, as data and as tables.

    Attributes
    ----------
    kind : str
        Name of the note below the tables.
    frame : DataFrame
        The numbers, whose index names the rows.
    record : mapping
        Plain data, numbers that JSON lacks included.
    tables : sequence of Table
        The tables that people read.
    lines : sequence of str
        Sentences above the tables.
    values : mapping
        What else the note reads.
    """

    kind: str
    frame: pd.DataFrame
    record: Mapping[str, Any]
    tables: Sequence[Table]
    lines: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data with the version of its schema."""
        return {"schema_version": SCHEMA_VERSION, **self.record}

    def to_text(self, **screen: Any) -> str:
        """Sentences, tables and a note; ``screen`` as of `render_text`."""
        known: dict[str, Any] = {"lines": self.lines, "tables": self.tables}
        known |= {"kind": self.kind, **self.values}
        return render_text("readout", **known, **screen)


def render_text(
    template: str, *, width: int | None = None, terminal: bool = False, **values: Any
) -> str:
    """The text of a template, for a terminal of some width or for a file.

    Parameters
    ----------
    template : str
        Name of a file of the folder ``templates``, without its suffix.
    width : int, optional
        Width in characters; None lets tables be as wide as they are.
    terminal : bool, default=False
        Whether to use bold and colour.
    **values : object
        What the template reads.

    Returns
    -------
    str
    """
    text: str = (
        environment()
        .get_template(f"{template}.txt")
        .render(
            table=lambda one: one.to_text(width, terminal),
            table_of=table_of,
            width=min(width or PROSE, PROSE),
            **values,
        )
    )
    return text.strip("\n") + "\n"
