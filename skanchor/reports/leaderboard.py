"""The leaderboard as text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skanchor._text import printable
from skanchor.reports.page import UNBOUNDED

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, ConsoleOptions
    from rich.table import Table

    from skanchor.comparisons import Inputs

__all__ = ["LeaderboardText", "leaderboard_text"]

# Columns that a narrow page can do without, the first to go first. The interval stays.
_DISPENSABLE = ("judge\nrows", "human\nrows", "s.e.")


def leaderboard_text(
    table: pd.DataFrame,
    level: float = 0.95,
    inputs: Inputs | None = None,
    notes: Sequence[str] = (),
) -> LeaderboardText:
    """Lay out a leaderboard, new models marked.

    Parameters
    ----------
    table : DataFrame
        What `AnchorPipeline.leaderboard` returns.
    level : float, default=0.95
        The level that it was asked for.
    inputs : Inputs, optional
        What the fit has used, ``result_.inputs``, to be told below.
    notes : sequence of str, default=()
        What else to tell there, such as ``result_.diagnostics.disagreements()``.

    Returns
    -------
    LeaderboardText
        For ``rich.print``, or for `skanchor.reports.render`, which gives a string.
    """
    return LeaderboardText(table, f"{100 * level:.6g} %", inputs, tuple(notes))


@dataclass(frozen=True)
class LeaderboardText:
    """A leaderboard that rich can print on a page of any width.

    Names and numbers are never broken: a narrow page lacks columns, and lines run over
    the edge of a page that is narrower still.

    Attributes
    ----------
    table : DataFrame
        What `AnchorPipeline.leaderboard` returns.
    percent : str
        The level that it was asked for.
    inputs : Inputs or None
        What the fit has used.
    notes : tuple of str
        What else to tell.
    """

    table: pd.DataFrame
    percent: str
    inputs: Inputs | None = None
    notes: tuple[str, ...] = ()

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[Any]:
        from rich.text import Text

        columns = self._columns()
        left_out = []
        grid, width = self._grid(columns, console, options)
        for name in _DISPENSABLE:
            if width <= options.max_width:
                break
            del columns[name]
            left_out.append(" ".join(name.split()))
            grid, width = self._grid(columns, console, options)
        yield from console.render(grid, options.update(width=width))
        yield Text("")
        yield Text(self._notes(left_out), style="dim")

    def _columns(self) -> dict[str, list[str]]:
        """Cells of every column by its heading."""
        table = self.table
        width = len(str(len(table)))
        low, high = ([_number(value) for value in table[s]] for s in ("low", "high"))
        pad = max(map(len, low + high), default=0)
        return {
            "rank (set)": [
                f"{rank:>{width}} ({_span(*ends)})"
                for rank, *ends in zip(
                    table["rank"], table["rank_low"], table["rank_high"], strict=True
                )
            ],
            "  model": [
                ("* " if is_new else "  ") + _cell(model)
                for model, is_new in table["is_new"].items()
            ],
            "score": [_number(value) for value in table["score"]],
            "s.e.": [_number(value) for value in table["standard_error"]],
            f"{self.percent} interval": [
                f"[{a:>{pad}}, {b:>{pad}}]" for a, b in zip(low, high, strict=True)
            ],
            "human\nrows": [str(n) for n in table["n_human"]],
            "judge\nrows": [str(n) for n in table["n_judge"]],
        }

    def _grid(
        self,
        columns: dict[str, list[str]],
        console: Console,
        options: ConsoleOptions,
    ) -> tuple[Table, int]:
        """The table of these columns, and the width that it needs."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        grid = Table(
            box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0)
        )
        for i, heading in enumerate(columns):
            grid.add_column(heading, justify="left" if i < 2 else "right", no_wrap=True)
        rows = zip(*columns.values(), strict=True)
        for row, is_new in zip(rows, self.table["is_new"], strict=True):
            grid.add_row(*map(Text, row), style="bold green" if is_new else None)
        unbounded = options.update(width=UNBOUNDED)
        return grid, console.measure(grid, options=unbounded).maximum

    def _notes(self, left_out: list[str]) -> str:
        n, n_new = len(self.table), int(self.table["is_new"].sum())
        notes = (
            f"Scores are log-odds of a human vote, mean zero over the {n - n_new} "
            "historical models.\n"
            f"In brackets: joint {self.percent} rank sets of all {n} models."
        )
        if n_new:
            notes += " * marks new models."
        if self.inputs is not None:
            lines = str(self.inputs).splitlines()
            notes += "".join(f"\n{printable(line)}" for line in lines)
        notes += "".join(f"\n{printable(note)}" for note in self.notes)
        if left_out:
            notes += f"\nColumns left out: {', '.join(left_out)}"
        return notes


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    # Adding zero keeps "-0.000" off the board.
    return f"{round(value, 3) + 0.0:.3f}"


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def _cell(label: Any) -> str:
    # A line feed would break the row.
    return printable(str(label)).replace("\n", "\\n")
