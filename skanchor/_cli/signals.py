"""Signals that ask the program to end: each is handled like Ctrl-C.

By default they would end the process at once, while its workers would go on and keep
open the pipe into which it wrote.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Windows has no SIGHUP.
_ENDING = [
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
]
_arrived: list[int] = []


class Stopped(KeyboardInterrupt):
    """A signal has asked the program to end.

    Parameters
    ----------
    number : int
        Number of the signal.
    """

    def __init__(self, number: int):
        super().__init__()
        self.number = number


@contextmanager
def raised_as_interrupts() -> Iterator[None]:
    """Raise `Stopped` when such a signal arrives.

    Signals that are ignored, or have another handler, are left as they are.
    """
    _arrived.clear()
    if threading.current_thread() is not threading.main_thread():
        # Python allows handlers to be set in the main thread only.
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


def raise_if_stopped() -> None:
    """Raise `Stopped` if such a signal has arrived: call before anything is written.

    Python swallows what a handler raises inside a finaliser.
    """
    if _arrived:
        raise Stopped(_arrived[0])


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """Exit code by which a shell reports a program that the signal has ended."""
    number = interrupt.number if isinstance(interrupt, Stopped) else signal.SIGINT
    return 128 + int(number)


def _stop(number: int, frame: FrameType | None) -> None:
    _arrived.append(number)
    raise_if_stopped()
