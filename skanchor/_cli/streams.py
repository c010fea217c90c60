"""Signals that ask the program to end, and what it prints.

Signals are handled like Ctrl-C. By default they would end the process at once, while
its workers would go on and keep open the pipe into which it wrote. Results go to
stdout, errors and warnings in one line to stderr. Both streams may be closed (then they
are None), or may break while they are written.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from skanchor._cli.parser import BadInputError
from skanchor._text import brief, printable

# Windows has no SIGHUP.
_ENDING = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
_arrived: list[int] = []


@contextmanager
def raised_as_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt when such a signal arrives.

    Signals that are ignored, or have another handler, are left as they are.
    """
    _arrived.clear()
    # Python allows handlers to be set in the main thread only.
    ending = _ENDING if threading.current_thread() is threading.main_thread() else set()
    taken = [one for one in ending if signal.getsignal(one) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def raise_if_stopped() -> None:
    """Raise again what a signal has raised: call before anything is written.

    Python swallows what a handler raises inside a finaliser.
    """
    if _arrived:
        raise KeyboardInterrupt


def exit_code() -> int:
    """Exit code by which a shell reports a program that a signal has ended."""
    return 128 + int(_arrived[0] if _arrived else signal.SIGINT)


def _stop(number: int, frame: FrameType | None) -> None:
    _arrived.append(number)
    raise_if_stopped()


# Signs of tables, and what stands for them where an encoding lacks them.
_PLAIN = {"\u2500": "-", "\u00b1": "+-", "\u2212": "-", "\u2013": "-"}


def is_watched() -> bool:
    """Whether stderr is a terminal, so that a progress bar is useful."""
    return sys.stderr is not None and sys.stderr.isatty()


def check_stdout() -> None:
    """Refuse a closed stdout before any work is done."""
    if sys.stdout is None:
        raise BadInputError("standard output is closed")


def print_result(text: str) -> None:
    """Print on stdout; characters that its encoding lacks are escaped."""
    check_stdout()
    raise_if_stopped()
    encoding = sys.stdout.encoding or "utf-8"
    for sign, plain in _PLAIN.items():
        if sign.encode(encoding, "ignore") == b"":
            text = text.replace(sign, plain)
    text = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_stdout()
        raise OSError(error.errno, error.strerror, "standard output") from error


def drop_stdout() -> None:
    """Redirect stdout to the null device.

    Otherwise the interpreter, when it ends, would flush into the broken stream and
    print an error.
    """
    with suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_line(message: str) -> None:
    """Print one line on stderr, if it is open."""
    # With ``file=None``, ``print`` would write to stdout.
    if sys.stderr is not None:
        line = printable(brief(" ".join(message.split())))
        if re.search(r"\brow \d", line):
            line += " Rows are counted from 0."
        # If the stream is broken, the exit code still reports the failure.
        with suppress(OSError):
            print(f"skanchor: {line}", file=sys.stderr, flush=True)


def show_own_warnings() -> list[Warning]:
    """Print warnings about data and fit in one line each, and hide all others.

    Returns
    -------
    list of Warning
        Every warning that is printed is appended to it.
    """
    from sklearn.exceptions import ConvergenceWarning

    from skanchor.exceptions import SkanchorWarning

    shown: list[Warning] = []

    def show(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        if isinstance(message, Warning):
            shown.append(message)
        print_line(f"warning: {message}")

    warnings.simplefilter("ignore")
    for category in (SkanchorWarning, ConvergenceWarning):
        warnings.simplefilter("always", category)
    warnings.showwarning = show
    return shown
