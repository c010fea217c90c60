"""Results as small tables in notebooks."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd

from skanchor._text import printable

SHOWN = 10
"""Models on top, and new models below them, that a table shows."""


def board_html(board: pd.DataFrame, head: str, level: float | None = None) -> str:
    """Lay out a leaderboard for a notebook; all text is escaped.

    Parameters
    ----------
    board : DataFrame
        What ``leaderboard`` returns: with intervals and rank sets, or a value and a
        rank alone.
    head : str
        What stands above it.
    level : float, optional
        Level of its intervals; None where there are none.

    Returns
    -------
    str
        A table that takes its looks from the notebook.
    """
    value = str(board.columns[0])
    names = ["rank", "model", value] if level is None else [
        "rank (set)", "model", value, f"{100 * level:.6g} % interval"
    ]  # fmt: skip
    new = board.index[board["is_new"]][:SHOWN]
    shown = board[board.index.isin(board.index[:SHOWN]) | board.index.isin(new)]
    lines = [
        '<table class="dataframe">',
        f'<caption style="text-align:left">{_text(head)}</caption>',
        "<thead><tr>",
        *(f'<th scope="col" style="text-align:left">{_text(n)}</th>' for n in names),
        "</tr></thead>",
        "<tbody>",
        *(_table_row(model, row, value, level) for model, row in shown.iterrows()),
        "</tbody></table>",
    ]
    more = len(board) - len(shown)
    notes = ["New models are bold."] if len(new) else []
    if more:
        notes.append(f"And {more} more: see leaderboard().")
    if notes:
        lines.append(f"<p>{_text(' '.join(notes))}</p>")
    return "\n".join(lines)


def _table_row(model: Any, row: pd.Series, value: str, level: float | None) -> str:
    name = _text(model)
    cells = [f"{row[value]:.3f}"]
    rank = str(row["rank"])
    if level is not None:
        ends = row["rank_low"], row["rank_high"]
        span = str(ends[0]) if ends[0] == ends[1] else f"{ends[0]}–{ends[1]}"
        rank = f"{rank if row['determined'] else '?'} ({span})"
        cells.append(
            f"[{row['low']:.3f}, {row['high']:.3f}]"
            if row["determined"]
            else "not determined"
        )
    left = 'style="text-align:left"'
    strong = f"<strong>{name}</strong>" if row["is_new"] else name
    return (
        f'<tr><td {left}>{_text(rank)}</td><th scope="row" {left}>{strong}</th>'
        + "".join(f"<td>{_text(cell)}</td>" for cell in cells)
        + "</tr>"
    )


def _text(value: Any) -> str:
    return escape(printable(str(value)))
