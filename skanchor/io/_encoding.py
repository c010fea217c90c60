"""Encoding of text: what the user gave, else by its first bytes UTF-16, else UTF-8."""

from __future__ import annotations

import codecs
import re
from array import array
from typing import IO

_LATIN = ("cp1252", "latin-1")
_OTHERS = ("gb18030", "shift_jis", "cp1251")
"""Encodings that are offered where a text is not in UTF-8."""

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
    return next(marks, _by_zeros(head))


def _by_zeros(head: bytes) -> str:
    """UTF-16 without a mark, whose plain letters have a zero byte each; else UTF-8."""
    n_pairs = len(head) // 2
    if n_pairs:
        if 2 * head[1::2].count(0) > n_pairs and not head[::2].count(0):
            return "utf-16-le"
        if 2 * head[::2].count(0) > n_pairs and not head[1::2].count(0):
            return "utf-16-be"
    return "utf-8"


def likely_encodings(data: bytes) -> dict[str, str]:
    """Encodings that a text may have, and how each reads its first foreign line.

    They are for messages: single bytes have a meaning in many encodings.

    Parameters
    ----------
    data : bytes
        The text, or its beginning up to the end of a line.

    Returns
    -------
    dict
        By encoding, the most likely first, the first line that is not plain ASCII.
    """
    foreign = re.findall(rb"[\x80-\xff]+", data)
    alone = sum(len(run) == 1 for run in foreign)
    # Accents stand alone between plain letters; letters of other scripts do not.
    latin = 2 * alone > len(foreign)
    names = ["utf-8", *(_LATIN if latin else (*_OTHERS, *_LATIN))]
    line = next((n for n in data.splitlines() if re.search(rb"[\x80-\xff]", n)), data)
    found: dict[str, str] = {}
    for name in names:
        try:
            data.decode(name)
            text = line.decode(name)
        except UnicodeDecodeError:
            continue
        if text not in found.values():
            found[name] = text
    return found


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
    return data.decode(encoding_of(data[:1024], given))


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
