"""Encoding of text: what the user gave, else by a byte order mark, else UTF-8."""

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


def encoding_of(head: bytes, given: str | None) -> str:
    """Find the encoding of a text from its first bytes.

    Latin-1 is never guessed, since any bytes can be decoded as Latin-1.

    Parameters
    ----------
    head : bytes
        The first bytes.
    given : str or None
        Encoding that the user gave, which has precedence.

    Returns
    -------
    str
        A name that `codecs` knows.

    Raises
    ------
    ValueError
        If the user gave an unknown encoding.
    """
    if given is not None:
        try:
            # Python also has codecs that decode to bytes, and some that only accept
            # bytes: both are refused.
            b"a".decode(given, "ignore")
            codecs.decode(array("b", b"a"), given, "ignore")
            return codecs.lookup(given).name
        except (LookupError, ValueError, AttributeError):
            raise ValueError(f"{given!r} is no encoding that is known.") from None
    marks = (name for mark, name in _MARKS.items() if head.startswith(mark))
    return next(marks, "utf-8")


def decoded(data: bytes, given: str | None) -> str:
    """Decode a text.

    Parameters
    ----------
    data : bytes
        The whole text.
    given : str or None
        Encoding that the user gave.

    Returns
    -------
    str

    Raises
    ------
    UnicodeDecodeError
        If the text is in another encoding.
    """
    return data.decode(encoding_of(data[:4], given))


def require_encoding(file: IO[bytes], encoding: str) -> None:
    """Refuse a text in another encoding, decoding it block by block.

    Parameters
    ----------
    file : file
        File opened at its beginning.
    encoding : str
        Result of :func:`encoding_of`.

    Raises
    ------
    UnicodeDecodeError
        If the text is in another encoding.
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    while block := file.read(1 << 20):
        decoder.decode(block)
    decoder.decode(b"", final=True)
