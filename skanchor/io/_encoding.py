"""How text is encoded: told by its byte order mark, else UTF-8, else by the user."""

from __future__ import annotations

import codecs
from array import array
from typing import IO

__all__ = ["decoded", "encoding_of", "require_encoding"]

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def encoding_of(head: bytes, told: str | None) -> str:
    """Tell the encoding of a text from how it begins.

    Every text is readable as Latin-1, rightly or not, so that is never guessed.

    Parameters
    ----------
    head : bytes
        The beginning.
    told : str or None
        What the user says, which counts.

    Returns
    -------
    str
        A name that `codecs` knows.

    Raises
    ------
    ValueError
        If what the user says is no encoding.
    """
    if told is not None:
        try:
            # Python has codecs that give no text, and some that take bytes alone.
            b"a".decode(told, "ignore")
            codecs.decode(array("b", b"a"), told, "ignore")
            return codecs.lookup(told).name
        except (LookupError, ValueError, AttributeError):
            raise ValueError(f"{told!r} is no encoding that is known.") from None
    marks = (name for mark, name in _MARKS.items() if head.startswith(mark))
    return next(marks, "utf-8")


def decoded(data: bytes, told: str | None) -> str:
    """Decode a text.

    Parameters
    ----------
    data : bytes
        All of it.
    told : str or None
        Its encoding, if the user says.

    Returns
    -------
    str

    Raises
    ------
    UnicodeDecodeError
        If it is in another encoding.
    """
    return data.decode(encoding_of(data[:4], told))


def require_encoding(file: IO[bytes], encoding: str) -> None:
    """Refuse a text that is in another encoding, without keeping it.

    Parameters
    ----------
    file : file
        Opened at its beginning.
    encoding : str
        What :func:`encoding_of` tells.

    Raises
    ------
    UnicodeDecodeError
        If it is.
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    while block := file.read(1 << 20):
        decoder.decode(block)
    decoder.decode(b"", final=True)
