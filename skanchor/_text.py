"""Text from files of others, fit for a screen."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    """Write out what does not print, such as the commands of a terminal.

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
