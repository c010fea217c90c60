"""A decision about a column, an outcome or a judge."""

from __future__ import annotations

from typing import Any, NamedTuple

UNCLEAR = "?"
"""In place of a meaning that is not known."""


class Decision(NamedTuple):
    """What a column, an outcome or a judge is taken for, and why.

    Parameters
    ----------
    meaning : str or float
        What it is taken for; ``"?"`` if that is not known.
    reason : str
        Why.
    rows : int, optional
        Number of rows that hold it.

    Examples
    --------
    >>> from skanchor.io import Decision
    >>> Decision("?", "a word of no table", 12).is_open
    True
    """

    meaning: Any
    reason: str = "by the mapping"
    rows: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether the meaning is not known."""
        return self.meaning == UNCLEAR
