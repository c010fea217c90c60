"""Lines of a file that cannot be read and are left out: counted, and named."""

from __future__ import annotations

from collections.abc import Sequence

from skanchor.exceptions import DataWarning
from skanchor.warning_log import warn

__all__ = ["warn_of_lost_lines"]


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
