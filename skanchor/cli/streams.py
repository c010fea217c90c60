"""What is printed: results on stdout, errors and warnings in one line on stderr."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

__all__ = ["drop_stdout", "print_error", "print_result", "show_own_warnings"]


def print_result(text: str) -> None:
    """Print on stdout what its encoding can hold."""
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
    except (OSError, ValueError):
        pass


def print_error(message: str) -> None:
    """Print in one line on stderr what is wrong."""
    print(f"skanchor: error: {_line(message)}", file=sys.stderr)


def show_own_warnings() -> None:
    """Print warnings about data and fit in one line each, leave out all others."""
    from sklearn.exceptions import ConvergenceWarning

    from skanchor.cli.wording import worded
    from skanchor.exceptions import SkanchorWarning

    def show(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        print(f"skanchor: warning: {_line(worded(message))}", file=sys.stderr)

    warnings.simplefilter("ignore")
    for category in (SkanchorWarning, ConvergenceWarning):
        warnings.simplefilter("always", category)
    warnings.showwarning = show


def _line(message: str) -> str:
    return " ".join(message.split())
