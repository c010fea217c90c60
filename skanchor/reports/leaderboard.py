"""The leaderboard as text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skanchor._text import printable
from skanchor.reports.answers import label, percent
from skanchor.reports.document import Heading, Table, word
from skanchor.reports.summary_text import summary_lines
from skanchor.reports.tables import UNBOUNDED, table_text
from skanchor.results import Scale

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, ConsoleOptions
    from rich.table import Table as Grid

    from skanchor.reports.summary import RunSummary

# Columns that a narrow page may omit, in the order of removal. The interval stays.
_DISPENSABLE = ("judge\nrows", "human\nrows", "s.e.")
_PROSE = 79  # widest line of prose, in characters


def leaderboard_text(
    table: pd.DataFrame,
    level: float = 0.95,
    summary: RunSummary | None = None,
    scale: Scale | None = None,
) -> LeaderboardText:
    """Lay out a leaderboard in which new models are marked.

    Parameters
    ----------
    table : DataFrame
        A leaderboard, as returned by `AnchorPipeline.leaderboard`.
    level : float, default=0.95
        Level of its intervals and rank sets.
    summary : RunSummary, optional
        Facts of the run to print below the table, from `summarize`.
    scale : Scale, optional
        Unit and zero of the scores; logits if not given.

    Returns
    -------
    LeaderboardText
        For ``rich.print``, or for `render`, which gives a string.
    """
    lines = () if summary is None else tuple(summary_lines(summary))
    shown = Scale() if scale is None else scale
    return LeaderboardText(table, percent(level), shown, lines)


@dataclass(frozen=True)
class LeaderboardText:
    """A leaderboard that rich can print on a page of any width.

    Names and numbers are never broken. On a narrow page some columns are left out; on a
    page that is narrower still, lines run over the edge.

    Attributes
    ----------
    table : DataFrame
        A leaderboard, as returned by `AnchorPipeline.leaderboard`.
    percent : str
        Level of its intervals and rank sets, in percent.
    scale : Scale
        Unit and zero of the scores.
    notes : tuple of str
        Lines printed below the table.
    """

    table: pd.DataFrame
    percent: str
    scale: Scale
    notes: tuple[str, ...] = ()

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[Any]:
        from rich.text import Text

        columns = self._columns()
        left_out = []
        grid, width = self._grid(columns, console, options)
        # Remove one column at a time until the table fits on the page.
        for name in _DISPENSABLE:
            if width <= options.max_width:
                break
            del columns[name]
            left_out.append(" ".join(name.split()))
            grid, width = self._grid(columns, console, options)
        yield from console.render(grid, options.update(width=width))
        yield Text("")
        # Long lines of prose are hard to read, so a wide page does not widen them.
        width = min(options.max_width, _PROSE)
        for line in self._notes(left_out):
            yield Text(_wrap_indented(line, width), style="dim")

    def _columns(self) -> dict[str, list[str]]:
        """Cells of each column, by heading, from left to right."""
        table, number = self.table, self._number
        width = len(str(len(table)))
        # Both ends of all intervals have one width, so that they align.
        low, high = ([number(value) for value in table[s]] for s in ("low", "high"))
        pad = max(map(len, low + high), default=0)
        known = table["determined"].to_numpy()
        ranks = np.where(known, table["rank"].astype(str), "?")
        return {
            "rank (set)": [
                f"{rank:>{width}} ({_span(*ends)})"
                for rank, *ends in zip(
                    ranks, table["rank_low"], table["rank_high"], strict=True
                )
            ],
            "  model": [
                ("* " if is_new else "  ") + label(model)
                for model, is_new in table["is_new"].items()
            ],
            "score": [number(value) for value in table["score"]],
            "s.e.": [number(value) for value in table["standard_error"]],
            f"{self.percent} interval": [
                f"[{a:>{pad}}, {b:>{pad}}]" for a, b in zip(low, high, strict=True)
            ],
            "human\nrows": [str(n) for n in table["n_human"]],
            "judge\nrows": [str(n) for n in table["n_judge"]],
        }

    def _number(self, value: float) -> str:
        if math.isnan(value):
            return "-"
        digits = 3 if self.scale.name == "logit" else 1
        # Adding zero turns -0.0 into 0.0, so that "-0.000" is never shown.
        return f"{round(value, digits) + 0.0:.{digits}f}"

    def _grid(
        self,
        columns: dict[str, list[str]],
        console: Console,
        options: ConsoleOptions,
    ) -> tuple[Grid, int]:
        """Table of these columns for rich, and the width in characters it needs."""
        headings = [Heading(text, at >= 2) for at, text in enumerate(columns)]
        rows = [list(map(word, row)) for row in zip(*columns.values(), strict=True)]
        is_new = self.table["is_new"].tolist()
        grid = table_text(Table("board", "", headings, rows, is_new))
        unbounded = options.update(width=UNBOUNDED)
        return grid, console.measure(grid, options=unbounded).maximum

    def _notes(self, left_out: list[str]) -> list[str]:
        n, n_new = len(self.table), int(self.table["is_new"].sum())
        lines = [
            f"Scores are {self.scale}.",
            f"In brackets: joint {self.percent} rank sets of all {n} models."
            + (" * marks new models." if n_new else ""),
        ]
        if not self.table["determined"].all():
            lines.append(
                "? in place of a rank: the data do not determine the score; such "
                "models come last."
            )
        lines += map(printable, self.notes)
        if left_out:
            lines.append(f"Columns left out: {', '.join(left_out)}")
        return lines


def _wrap_indented(line: str, width: int) -> str:
    """Break a line between words; the lines that follow are indented."""
    text = line.lstrip(" ")
    indent = " " * (len(line) - len(text))
    return textwrap.fill(
        text,
        max(width, 20),
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"
