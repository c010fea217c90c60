"""Text from files of others, fit for a screen."""

from __future__ import annotations

import re

__all__ = ["brief", "printable"]

_LONGEST_WORD, _LONGEST_TEXT = 400, 20_000
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")


def brief(text: str) -> str:
    """Cut the middle out of words of more than 400 characters, and of endless text.

    A cell of megabytes, quoted whole, would hide what a message says.

    Parameters
    ----------
    text : str
        Which may quote names.

    Returns
    -------
    str

    Examples
    --------
    >>> from skanchor._text import brief
    >>> len(brief("Unknown model: " + 1_000_000 * "x"))
    115
    """
    text = _LONG_WORD.sub(lambda found: _ends(found[0], 100), text)
    return text if len(text) <= _LONGEST_TEXT else _ends(text, _LONGEST_TEXT)


def _ends(text: str, length: int) -> str:
    """As much of the two ends of a text as the length allows."""
    return f"{text[: length - 23]}...{text[-20:]}"


def printable(text: str) -> str:
    r"""Write out what does not print, such as the commands of a terminal.

    Names come from files of others: one must not colour the screen, or hide a line.

    Parameters
    ----------
    text : str
        Which may quote names. Its line feeds are kept.

    Returns
    -------
    str
        With Python's escapes.

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
