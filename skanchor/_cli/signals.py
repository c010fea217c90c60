"""Signals that ask the program to end: each is taken as Ctrl-C is.

By default they end the process at once, and its workers stay behind, holding the pipe
that it wrote into.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

__all__ = ["Stopped", "exit_code", "raised_as_interrupts"]

# Windows has no SIGHUP.
_ENDING = [
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class Stopped(KeyboardInterrupt):
    """A signal has asked the program to end.

    Parameters
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number: int):
        super().__init__()
        self.number = number


@contextmanager
def raised_as_interrupts() -> Iterator[None]:
    """Raise `Stopped` where the signals arrive; one that is ignored stays so."""
    if threading.current_thread() is not threading.main_thread():
        # Only there may handlers be set.
        yield
        return
    before = {number: signal.getsignal(number) for number in _ENDING}
    taken = [number for number, old in before.items() if old is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """Code with which a shell reports a program that the signal has ended."""
    number = interrupt.number if isinstance(interrupt, Stopped) else signal.SIGINT
    return 128 + int(number)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise Stopped(number)
