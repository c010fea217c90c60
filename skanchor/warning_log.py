"""Warnings of a fit, collected in one place and issued once it has succeeded.

A fit runs through many functions, some of them in other processes and once per fold.
None hands warnings back: each calls :func:`warn`, which adds to the log that is open,
and whoever opened the log decides what to make of it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from copy import copy
from itertools import chain
from typing import Any, Self

from skanchor.exceptions import DataWarning, SkanchorWarning, locate

__all__ = ["WarningLog", "warn", "warn_at_once"]

MANY_ALIKE = 10
"""Warnings of one kind, beyond which the first five stand for the others."""


class WarningLog:
    """Collects the warnings of :func:`warn` inside its ``with`` block.

    Logs nest: the innermost one collects. Every thread has its own log.

    Attributes
    ----------
    warnings : list of Warning
        The collected warnings, in order.

    Examples
    --------
    >>> from skanchor.exceptions import DataWarning
    >>> from skanchor.warning_log import WarningLog, warn
    >>> with WarningLog() as log:
    ...     warn(DataWarning("3 rows are left out."))
    ...     warn(DataWarning("3 rows are left out."))
    ...
    >>> [str(warning) for warning in log.distinct]
    ['3 rows are left out.']
    """

    def __init__(self) -> None:
        self.warnings: list[Warning] = []
        self._tokens: list[Token[WarningLog | None]] = []
        self._outer: WarningLog | None = None

    def __enter__(self) -> Self:
        self._outer = _open_log.get()
        self._tokens.append(_open_log.set(self))
        return self

    def __exit__(self, *exception: object) -> None:
        _open_log.reset(self._tokens.pop())
        self._outer = None

    @property
    def seen(self) -> list[Warning]:
        """Warnings collected by this log and by the logs around it."""
        outer = [] if self._outer is None else self._outer.seen
        return [*outer, *self.warnings]

    @property
    def distinct(self) -> list[Warning]:
        """Each warning that was collected, once."""
        first_of_kind: dict[tuple[type, str], Warning] = {}
        for warning in self.warnings:
            first_of_kind.setdefault((type(warning), str(warning)), warning)
        return list(first_of_kind.values())

    def reissue(self) -> None:
        """Pass each distinct warning to the log that is open now."""
        for warning in self.distinct:
            warn(warning)

    def issue(self, stacklevel: int = 3, codes: Container[str] | None = None) -> None:
        """Issue each distinct warning once, by ``warnings``; many alike in short.

        With ``codes`` only warnings of these are issued.
        """
        for warning in in_short(self.distinct):
            if codes is None or getattr(warning, "code", "") in codes:
                warnings.warn(warning, stacklevel=stacklevel)


_open_log: ContextVar[WarningLog | None] = ContextVar("open_log", default=None)


def warn(warning: Warning, stacklevel: int = 3) -> None:
    """Add a warning to the open log, or issue it at once if no log is open.

    Parameters
    ----------
    warning : Warning
        One of :mod:`skanchor.exceptions`.
    stacklevel : int, default=3
        Stack level of the caller that is named if no log is open.

    Examples
    --------
    >>> from skanchor.exceptions import DataWarning
    >>> from skanchor.warning_log import WarningLog, warn
    >>> with WarningLog() as log:
    ...     warn(DataWarning("3 rows are left out."))
    ...
    >>> len(log.warnings)
    1
    """
    if not is_heard(type(warning)):
        return
    log = _open_log.get()
    if log is None:
        warnings.warn(warning, stacklevel=stacklevel)
    else:
        log.warnings.append(warning)


def warn_of_data(
    code: str,
    subject: Iterable[Any],
    message: str,
    category: type[SkanchorWarning] = DataWarning,
) -> None:
    """Warn of rows or labels of a table."""
    warn(category(message, code=code, subject=subject), stacklevel=4)


_unheard: ContextVar[tuple[type[Warning], ...]] = ContextVar("unheard", default=())


@contextmanager
def unheard(*kinds: type[Warning]) -> Iterator[None]:
    """Leave out warnings of some kinds, which then need not be looked for either.

    Parameters
    ----------
    *kinds : type
        Kinds of warnings.

    Examples
    --------
    >>> from skanchor.exceptions import DataWarning
    >>> from skanchor.warning_log import WarningLog, unheard, warn
    >>> with WarningLog() as log, unheard(DataWarning):
    ...     warn(DataWarning("3 rows are left out."))
    ...
    >>> len(log.warnings)
    0
    """
    token = _unheard.set(kinds)
    try:
        yield
    finally:
        _unheard.reset(token)


def is_heard(kind: type[Warning]) -> bool:
    """Whether warnings of a kind are not left out by :func:`unheard`."""
    return not issubclass(kind, _unheard.get())


def warn_at_once(warning: Warning, stacklevel: int = 3) -> None:
    """Issue a warning at once, even if a log is open; used before long work.

    Examples
    --------
    >>> import warnings
    >>> from skanchor.exceptions import SlowWarning
    >>> from skanchor.warning_log import WarningLog, warn_at_once
    >>> with warnings.catch_warnings(record=True) as caught, WarningLog() as log:
    ...     warnings.simplefilter("always")
    ...     warn_at_once(SlowWarning("This will take about five minutes."))
    ...
    >>> len(caught), len(log.warnings)
    (1, 0)
    """
    warnings.warn(warning, stacklevel=stacklevel)


def warn_of_parts(
    by_part: Mapping[Any, Iterable[Warning]],
    where: str,
    known_warnings: Iterable[Warning] = (),
) -> None:
    """Warn once of what several fits have warned of and the open logs do not hold yet.

    Parameters
    ----------
    by_part : mapping from label to warnings
        Those of each fit; ones that differ in their numbers alone are merged.
    where : str
        Which fits warned; braces stand for the list of their labels, or of the first
        ten and the number of the others.
    known_warnings : iterable of Warning, default=()
        Further warnings that have been issued already.
    """
    log = _open_log.get()
    seen = {
        _gist(warning) for warning in chain(known_warnings, log.seen if log else ())
    }
    merged: dict[tuple[Any, ...], list[tuple[Any, Any]]] = {}
    for label, warnings_of_part in by_part.items():
        for warning in warnings_of_part:
            if _gist(warning) not in seen:
                merged.setdefault(_gist(warning), []).append((label, warning))
    for alike in merged.values():
        parts = list(dict.fromkeys(label for label, _ in alike))
        located = copy(alike[0][1])
        if isinstance(located, SkanchorWarning):
            located.subject = _subjects(warning for _, warning in alike)
        more = f" and {len(parts) - 10} more" if len(parts) > 10 else ""
        locate(located, where.format(f"{parts[:10]}{more}"))
        warn(located)


def in_short(warnings_found: Iterable[Warning]) -> Iterator[Warning]:
    """Tell of many warnings of a kind the first five, and the others in one.

    Parameters
    ----------
    warnings_found : iterable of Warning
        Those that say the same of one name after another are of a kind: what comes
        before the name, and the four words after it. Without a subject each is of its
        own, since only subjects tell which the others are.

    Yields
    ------
    Warning
    """
    kinds: dict[Any, list[Any]] = {}
    for warning in warnings_found:
        category, opening, *others = _gist(warning)
        words = "".join(others[1:2]).split()[:4]
        kind = category, getattr(warning, "code", ""), opening, *words
        has_subject = bool(getattr(warning, "subject", ()))
        kinds.setdefault(kind if has_subject else warning, []).append(warning)
    for alike in kinds.values():
        if len(alike) <= MANY_ALIKE:
            yield from alike
            continue
        yield from alike[:5]
        names = _subjects(alike[5:])
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        yield type(alike[0])(
            f"{', '.join(map(repr, names[:5]))}{more}: much as in the five warnings "
            "before.",
            code=alike[0].code,
            subject=names,
        )


def _subjects(alike: Iterable[Warning]) -> tuple[str, ...]:
    """Each label that one of the warnings is about, once."""
    subjects = (getattr(warning, "subject", ()) for warning in alike)
    return tuple(dict.fromkeys(chain.from_iterable(subjects)))


def _gist(warning: Warning) -> tuple[Any, ...]:
    """The text without its numbers; names, in quotes, keep their digits."""
    parts = re.split(r"('[^']*')", str(warning))
    parts[::2] = [re.sub(r"-?\d[\d.,e+-]*", "#", part) for part in parts[::2]]
    return type(warning), *parts
