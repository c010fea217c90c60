"""Lines of a file that cannot be read and are left out: counted, and named."""

from __future__ import annotations

from collections.abc import Sequence

from skanchor.exceptions import DataWarning
from skanchor.warning_log import warn

__all__ = ["BadLinesError", "warn_of_lost_lines"]


class BadLinesError(ValueError):
    """Lines of a file cannot be read.

    Parameters
    ----------
    first : str
        Which is the first, and what is wrong with it.
    n_bad, n_good : int
        How many there are, and how many others.
    what : str
        What is wrong with them all.
    """

    def __init__(self, first: str, n_bad: int, n_good: int, what: str):
        n_lines = n_bad + n_good
        count = f" ({n_bad} of {n_lines} lines {what})" if n_lines > 1 else ""
        super().__init__(first + count)
        self.may_be_dropped = n_good > 0


def warn_of_lost_lines(label: str, lost: Sequence[int], kept: int, what: str) -> None:
    """Warn of lines that are left out, if there are any.

    Parameters
    ----------
    label : str
        What messages call the file.
    lost : sequence of int
        Numbers of its lines, from one.
    kept : int
        How many others there are.
    what : str
        What is wrong with them.
    """
    if not lost:
        return
    listed = ", ".join(map(str, lost[:5]))
    more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
    warn(
        DataWarning(
            f"{label}: {len(lost)} of {len(lost) + kept} lines {what} and are left "
            f"out: {listed}{more}."
        ),
        stacklevel=6,
    )
