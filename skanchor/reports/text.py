"""A result in every form that is printed or written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

_TEMPLATES = ("rank", "inspect", "history")  # of their own; others share one


@dataclass(frozen=True, slots=True)
class Readout:
    """A result as text, as data and as tables.

    Attributes
    ----------
    kind : str
        Name of its template, or of the note below its tables.
    record : mapping or callable
        What its JSON holds, or a function that returns it.
    frame : DataFrame, optional
        The numbers, whose index names the rows.
    tables : sequence of Table
        The tables that people read.
    lines : sequence of str
        Sentences above the tables.
    values : mapping
        What else the template reads.
    """

    kind: str
    record: Any
    frame: pd.DataFrame | None = None
    tables: Sequence[Table] = ()
    lines: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for strict JSON."""
        record = self.record() if callable(self.record) else self.record
        plain: dict[str, Any] = as_json_value(
            {"schema_version": SCHEMA_VERSION, **record}
        )
        return plain

    def to_text(self, width: int | None = None, coloured: bool = False) -> str:
        """The text, for a terminal of some width or for a file.

        Parameters
        ----------
        width : int, optional
            Width in characters; None lets tables be as wide as they are.
        coloured : bool, default=False
            Whether to use bold and colour.

        Returns
        -------
        str
        """
        template = self.kind if self.kind in _TEMPLATES else "readout"
        text: str = (
            environment()
            .get_template(f"{template}.txt")
            .render(
                kind=self.kind,
                lines=self.lines,
                tables=self.tables,
                table=lambda one: one.to_text(width, coloured),
                width=min(width or PROSE, PROSE),
                **self.values,
            )
        )
        return text.strip("\n") + "\n"


def ranking(facts: Facts) -> Readout:
    """A run: the leaderboard, the answer and the facts."""
    return Readout(
        "rank",
        partial(record_of, facts),
        facts.models,
        [board_table(facts)],
        answer(facts),
        {"facts": facts},
    )
