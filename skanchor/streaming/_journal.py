"""Results of passes, kept so that an interrupted fit goes on where it stopped.

What lies between two passes follows from their results alone, so that these are all
that is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Journal", "KeptPass"]


@dataclass(slots=True)
class KeptPass:
    """What is known of one pass.

    Attributes
    ----------
    result : object
        Added up so far; None where nothing is.
    n_jobs : int
        Jobs that it holds.
    is_complete : bool
        Whether these are all.
    """

    result: Any = None
    n_jobs: int = 0
    is_complete: bool = False


class Journal:
    """Passes of a fit."""

    def __init__(self) -> None:
        self.passes: dict[int, KeptPass] = {}

    def pass_of(self, number: int) -> KeptPass:
        """What is known of a pass."""
        return self.passes.setdefault(number, KeptPass())

    def note(self, number: int, result: Any) -> None:
        """Keep what one more job has added."""
        kept = self.passes[number]
        kept.result, kept.n_jobs = result, kept.n_jobs + 1

    def finish(self, number: int, result: Any) -> None:
        """Keep the result of a whole pass."""
        self.passes[number].is_complete = True
