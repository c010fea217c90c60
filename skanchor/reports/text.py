"""The text of a result, for a terminal or a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from skanchor.reports.facts import Facts
from skanchor.reports.record import SCHEMA_VERSION, as_json_value, record_of
from skanchor.reports.sentences import answer
from skanchor.reports.tables import Table
from skanchor.reports.views import board_table
from skanchor.reports.wording import environment

PROSE = 79
"""Widest line of prose on a terminal, in characters."""


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
        What its JSON holds.
    tables : sequence of Table
        The tables that people read.
    lines : sequence of str
        Sentences above the tables.
    values : mapping
        What else the template reads.
    """

    kind: str
    frame: pd.DataFrame
    record: Mapping[str, Any]
    tables: Sequence[Table]
    lines: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for strict JSON."""
        record = {"schema_version": SCHEMA_VERSION, **self.record}
        plain: dict[str, Any] = as_json_value(record)
        return plain

    def to_text(self, width: int | None = None, coloured: bool = False) -> str:
        """Sentences, tables and a note; as of `render_text`."""
        known: dict[str, Any] = {"lines": self.lines, "tables": self.tables}
        known |= {"kind": self.kind, **self.values}
        return render_text("readout", width, coloured, **known)


class Ranking:
    """A run as text, as data and as tables; each form is made when it is read."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    @property
    def frame(self) -> pd.DataFrame:
        """The leaderboard, whose index names the models."""
        return self.facts.models

    @property
    def tables(self) -> Sequence[Table]:
        """The leaderboard as people read it."""
        return [board_table(self.facts)]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for strict JSON."""
        return record_of(self.facts)

    def to_text(self, width: int | None = None, coloured: bool = False) -> str:
        """The leaderboard, the answer and the facts; as of `render_text`."""
        known = {"board": self.tables[0], "answer": answer(self.facts)}
        return render_text("rank", width, coloured, facts=self.facts, **known)


def render_text(
    template: str, width: int | None = None, coloured: bool = False, **values: Any
) -> str:
    """The text of a template, for a terminal of some width or for a file.

    Parameters
    ----------
    template : str
        Name of a file of the folder ``templates``, without its suffix.
    width : int, optional
        Width in characters; None lets tables be as wide as they are.
    coloured : bool, default=False
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
            table=lambda one: one.to_text(width, coloured),
            width=min(width or PROSE, PROSE),
            **values,
        )
    )
    return text.strip("\n") + "\n"
