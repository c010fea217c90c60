"""What a reader of a tool's files is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from skanchor.exceptions import BattlesError

__all__ = ["Options", "Reader"]


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may set of how a file is read.

    Attributes
    ----------
    levels : mapping from str to float
        Preference for the side named first of each graded verdict, all of a reader's.
    tie_margin : float, default=0.0
        Gap of point scores up to which they are a tie.
    """

    levels: Mapping[str, float] = field(default_factory=dict)
    tie_margin: float = 0.0


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of the files of one evaluation tool.

    A module of this folder defines one, and `recognition.READERS` lists it.

    Attributes
    ----------
    name : str
        What users call it.
    files : str
        Which files it reads.
    markers : tuple of frozenset of str
        Columns that only files of this tool have, at least two of them, together. One
        set is enough; none means that its files are never recognised, only told.
    assumes : str
        What it takes for granted, for the documentation.
    read : callable
        Gives the battles of a raw table. Failed verdicts have a null winner.
    fits : callable, optional
        Whether the values, too, are those of this tool.
    levels : mapping from str to float, optional
        Its graded verdicts, and the preference that they mean unless told otherwise.
    needs_judge : bool, default=False
        Whether its files hold verdicts of a judge that they do not name.
    has_scores : bool, default=False
        Whether its files hold point scores, of which `Options.tie_margin` makes ties.
    """

    name: str
    files: str
    markers: tuple[frozenset[str], ...]
    assumes: str
    read: Callable[[pd.DataFrame, Options], pd.DataFrame]
    fits: Callable[[pd.DataFrame], bool] | None = None
    levels: Mapping[str, float] = field(default_factory=dict)
    needs_judge: bool = False
    has_scores: bool = False

    def options(self, levels: Mapping[str, float], tie_margin: float) -> Options:
        """Complete what a user has set by the reader's own levels."""
        given = {str(level): float(value) for level, value in levels.items()}
        outside = {k: v for k, v in given.items() if not 0.0 <= v <= 1.0}
        if outside:
            raise BattlesError(f"Levels are preferences in [0, 1], got {outside}.")
        known = {k: v for k, v in given.items() if k in self.levels}
        return Options({**self.levels, **known}, tie_margin)
