"""Lines of a file that cannot be read: the error, and the warning if left out."""

from __future__ import annotations

from collections.abc import Sequence

from skanchor.exceptions import DataWarning
from skanchor.warning_log import warn


class BadLinesError(ValueError):
    """Lines of a file cannot be read.

    Parameters
    ----------
    first : str
        Message about the first such line.
    n_bad, n_good : int
        Number of such lines, and of the others.
    what : str
        Verb phrase that says what is wrong with the lines.
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
        Name of the file in messages.
    lost : sequence of int
        Numbers of the lines, from one.
    kept : int
        Number of the other lines.
    what : str
        Verb phrase that says what is wrong with the lines.
    """
    if not lost:
        return
    listed = ", ".join(map(str, lost[:5]))
    more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
    warn(
        DataWarning(
            f"{label}: {len(lost)} of {len(lost) + kept} lines {what} and are left "
            f"out: {listed}{more}.",
            code="lines-left-out",
            subject=(),
        ),
        stacklevel=6,
    )
