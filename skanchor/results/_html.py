"""Results as small tables in notebooks."""

from __future__ import annotations

from collections.abc import Mapping
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
    new = board.index[board["is_new"]][:SHOWN]
    shown = board[board.index.isin([*board.index[:SHOWN], *new])]
    names = [escape(printable(str(model))) for model in shown.index]
    value, rank = str(board.columns[0]), shown["rank"].astype(str)
    columns = {
        "rank": rank,
        "model": [
            f"<strong>{name}</strong>" if is_new else name
            for name, is_new in zip(names, shown["is_new"], strict=True)
        ],
        value: shown[value].map("{:.3f}".format),
    }
    if level is not None:
        rows = shown.to_dict("records")
        columns["rank"] = [
            f"{row['rank'] if row['determined'] else '?'} ({_span(row)})"
            for row in rows
        ]
        columns[f"{100 * level:.6g} % interval"] = [
            f"[{row['low']:.3f}, {row['high']:.3f}]"
            if row["determined"]
            else "not determined"
            for row in rows
        ]
        columns = {"rank (set)" if k == "rank" else k: v for k, v in columns.items()}
    table = pd.DataFrame(columns).to_html(index=False, escape=False, border=0)
    notes = ["New models are bold."] if len(new) else []
    if len(board) > len(shown):
        notes.append(f"And {len(board) - len(shown)} more: see leaderboard().")
    return f"<p>{escape(printable(head))}</p>\n{table}\n<p>{' '.join(notes)}</p>"


def _span(row: Mapping[Any, Any]) -> str:
    low, high = row["rank_low"], row["rank_high"]
    return str(low) if low == high else f"{low}–{high}"
