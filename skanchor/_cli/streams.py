"""What is printed: results on stdout, errors and warnings in one line on stderr.

Both streams may be closed, which makes them None, or break while they are written.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from skanchor._cli.command import BadInputError
from skanchor._text import brief, printable

__all__ = [
    "check_stdout",
    "drop_stdout",
    "is_watched",
    "print_error",
    "print_line",
    "print_result",
    "show_own_warnings",
]


def is_watched() -> bool:
    """Whether somebody may be looking at stderr, so that a bar is of use."""
    return sys.stderr is not None and sys.stderr.isatty()


def check_stdout() -> None:
    """Refuse a stdout that is closed, before any work is done for it."""
    if sys.stdout is None:
        raise BadInputError("standard output is closed")


def print_result(text: str) -> None:
    """Print on stdout what its encoding can hold."""
    check_stdout()
    encoding = sys.stdout.encoding or "utf-8"
    # A terminal that lacks a letter must not break on a model's name.
    if "\u2500".encode(encoding, "ignore") == b"":
        text = text.replace("\u2500", "-")
    text = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            drop_stdout()
            raise OSError(error.errno, error.strerror, "standard output") from error
        raise


def drop_stdout() -> None:
    """Keep the interpreter from flushing once more into a stream that is gone."""
    try:
        stdout = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout)
    except (AttributeError, OSError, ValueError):
        pass


def print_error(message: str) -> None:
    """Print in one line on stderr what is wrong."""
    print_line(f"error: {message}")


def print_line(message: str) -> None:
    """Print one line on stderr, if there is anything that takes it."""
    # Without a stream, `print` would take stdout.
    if sys.stderr is None:
        return
    line = printable(brief(" ".join(message.split())))
    try:
        print(f"skanchor: {line}", file=sys.stderr, flush=True)
    except OSError:
        # Nobody listens; the exit code tells.
        pass


def show_own_warnings() -> list[Warning]:
    """Print warnings about data and fit in one line each, leave out all others.

    The list that is given back gains each warning that is printed.
    """
    from sklearn.exceptions import ConvergenceWarning

    from skanchor._cli.wording import worded
    from skanchor.exceptions import SkanchorWarning

    shown: list[Warning] = []

    def show(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        if isinstance(message, Warning):
            shown.append(message)
        print_line(f"warning: {worded(message)}")

    warnings.simplefilter("ignore")
    for category in (SkanchorWarning, ConvergenceWarning):
        warnings.simplefilter("always", category)
    warnings.showwarning = show
    return shown
