"""Makes text from users' files safe and short enough to print."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

# Longest word, and longest text, that is printed whole, in characters.
_LONGEST_WORD, _LONGEST_TEXT = 400, 20_000
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")


def brief(text: str) -> str:
    """Cut the middle out of words above 400 characters, and of text above 20,000.

    A message that quotes a cell of megabytes would be unreadable.

    Parameters
    ----------
    text : str
        A text, which may quote names.

    Returns
    -------
    str
        The shortened text.

    Examples
    --------
    >>> from skanchor._text import brief
    >>> len(brief("Unknown model: " + 1_000_000 * "x"))
    115
    """
    text = _LONG_WORD.sub(lambda match: _ends(match[0], 100), text)
    return text if len(text) <= _LONGEST_TEXT else _ends(text, _LONGEST_TEXT)


def _ends(text: str, length: int) -> str:
    """Beginning and end of a text, `length` characters with the dots between them."""
    return f"{text[: length - 23]}...{text[-20:]}"


def first_five(names: Sequence[Any]) -> str:
    """List the first five names, as Python writes a list, and count the others.

    Parameters
    ----------
    names : sequence
        Labels of models or judges.

    Returns
    -------
    str

    Examples
    --------
    >>> from skanchor._text import first_five
    >>> first_five(["elk", "owl"])
    "['elk', 'owl']"
    >>> first_five(range(7))
    '[0, 1, 2, 3, 4] and 2 more'
    """
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{list(names[:5])}{more}"


def printable(text: str) -> str:
    r"""Escape characters that do not print, such as control sequences of a terminal.

    Names come from users' files, and must not colour the screen or hide a line.

    Parameters
    ----------
    text : str
        A text, which may quote names. Line feeds are left as they are.

    Returns
    -------
    str
        The text with Python's escapes.

    Examples
    --------
    >>> from skanchor._text import printable
    >>> print(printable("owl\x1b[31m"))
    owl\x1b[31m
    """
    if text.isprintable():
        return text
    return "".join(
        char
        if char.isprintable() or char == "\n"
        else char.encode("unicode_escape").decode()
        for char in text
    )
