"""A result in every form that is printed or written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
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
    """A result as text, as data and as tables.

    Attributes
    ----------
    kind : str
        Name of the note below the tables.
    frame : DataFrame
        The numbers, whose index names the rows.
    record : callable
        Returns what its JSON holds.
    tables : sequence of Table
        The tables that people read.
    lines : sequence of str
        Sentences above the tables.
    template : str
        Name of the template of its text.
    values : mapping
        What else the template reads.
    """

    kind: str
    frame: pd.DataFrame
    record: Callable[[], Mapping[str, Any]]
    tables: Sequence[Table]
    lines: Sequence[str] = ()
    template: str = "readout"
    values: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for strict JSON."""
        record = {"schema_version": SCHEMA_VERSION, **self.record()}
        plain: dict[str, Any] = as_json_value(record)
        return plain

    def to_text(self, width: int | None = None, coloured: bool = False) -> str:
        """Sentences, tables and a note; as of `render_text`."""
        context = {"kind": self.kind, "lines": self.lines, "tables": self.tables}
        return render_text(self.template, width, coloured, **context, **self.values)


def ranking(facts: Facts) -> Readout:
    """A run: the leaderboard, the answer and the facts."""
    return Readout(
        "rank",
        facts.models,
        partial(record_of, facts),
        [board_table(facts)],
        answer(facts),
        template="rank",
        values={"facts": facts},
    )


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
    made = environment().get_template(f"{template}.txt")
    text: str = made.render(
        table=lambda one: one.to_text(width, coloured),
        width=min(width or PROSE, PROSE),
        **values,
    )
    return text.strip("\n") + "\n"
