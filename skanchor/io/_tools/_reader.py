"""The definition of a reader of a tool's files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from skanchor.exceptions import BattlesError


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a user for reading a file.

    Attributes
    ----------
    levels : mapping from str to float
        For every graded verdict of a reader, the preference for the side named first.
    tie_margin : float, default=0.0
        Largest difference of two point scores that is a tie.
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
        Name of the format as an argument.
    files : str
        Which files it reads, for the documentation.
    markers : tuple of frozenset of str
        Sets of at least two columns that only files of this tool have together. A file
        with one of the sets is recognised. Without any, the user must name the format.
    assumes : str
        Assumptions about the files, for the documentation.
    read : callable
        Function from a raw table to battles. Failed verdicts have a null winner.
    fits : callable, optional
        Function from a raw table to whether its values, too, are those of this tool.
    levels : mapping from str to float, optional
        Graded verdicts, and the preferences that they mean by default.
    needs_judge : bool, default=False
        Whether its files hold verdicts of a judge that they do not name.
    has_scores : bool, default=False
        Whether its files hold point scores, to which `Options.tie_margin` applies.
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
        """Options with the reader's own levels where the user gave none."""
        given = {str(level): float(value) for level, value in levels.items()}
        outside = {k: v for k, v in given.items() if not 0.0 <= v <= 1.0}
        if outside:
            raise BattlesError(f"Levels are preferences in [0, 1], got {outside}.")
        known = {k: v for k, v in given.items() if k in self.levels}
        return Options({**self.levels, **known}, tie_margin)
