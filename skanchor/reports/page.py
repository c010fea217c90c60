"""What rich can print, as text for a page of any width."""

from __future__ import annotations

from typing import Any

UNBOUNDED = 1_000_000
"""More columns than any page has, in characters."""


def render(renderable: Any, *, width: int | None = None, terminal: bool = False) -> str:
    """Turn a rich renderable into text.

    Parameters
    ----------
    renderable : object
        Anything rich can print.
    width : int, optional
        Width in characters; None means as wide as the content.
    terminal : bool, default=False
        Whether to use bold and colour (`NO_COLOR` is respected).

    Returns
    -------
    str
        The text, lines without trailing blanks.

    Examples
    --------
    >>> from rich.table import Table
    >>> from skanchor.reports import render
    >>> table = Table("model", "score", box=None)
    >>> table.add_row("amber-otter", "0.71")
    >>> print(render(table))
     model        score
     amber-otter  0.71
    """
    from io import StringIO

    from rich.console import Console

    console = Console(
        file=StringIO(),
        width=UNBOUNDED if width is None else width,
        force_terminal=terminal,
        color_system="auto" if terminal else None,
        legacy_windows=False,
    )
    with console.capture() as capture:
        # Lines that are too wide run over the edge; cropped, their ends would be lost.
        console.print(renderable, crop=False)
    lines = capture.get().splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"
