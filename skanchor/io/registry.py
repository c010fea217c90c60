"""The known file formats, by suffix.

To add a format, define a `Format` in a module of its own and list it in `FORMATS`.
"""

from __future__ import annotations

from skanchor.exceptions import BattlesError
from skanchor.io._csv import CSV, TSV
from skanchor.io._format import Format
from skanchor.io._json_lines import JSON_LINES
from skanchor.io._parquet import FEATHER, PARQUET
from skanchor.io._source import PACKED, Source

FORMATS = (CSV, TSV, JSON_LINES, PARQUET, FEATHER)
"""All formats that `read_battles` reads; a suffix belongs to exactly one of them."""

_BY_SUFFIX = {suffix: each for each in FORMATS for suffix in each.suffixes}
# First bytes of files, for streams without a name.
_MAGIC = {b"PAR1": PARQUET, b"ARROW1": FEATHER, b"{": JSON_LINES, b"[": JSON_LINES}


def format_of(source: Source, given: str | None = None) -> Format:
    """Find the format of a source by its suffix or, without a name, its first bytes.

    Parameters
    ----------
    source : Source
        The file.
    given : str, optional
        Format that the user gave, such as ``"csv"``, which has precedence.

    Returns
    -------
    Format
        One of `FORMATS`.

    Raises
    ------
    BattlesError
        If the suffix or the given format is unknown.
    """
    if given is not None:
        known = _BY_SUFFIX.get(f".{given.strip().lower().removeprefix('.')}")
        if known is None:
            keys = [each.key for each in FORMATS]
            raise BattlesError(f"Unknown file format {given!r}; known are {keys}.")
        return known
    if source.is_nameless:
        # Byte order marks and blanks may come first.
        head = source.head(64).lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")
        starts = (each for magic, each in _MAGIC.items() if head.startswith(magic))
        return next(starts, CSV)
    known = _BY_SUFFIX.get(source.suffix)
    if known is None or (source.packing and not known.packed):
        plain, packed = (
            ", ".join(each.suffixes[0] for each in FORMATS if each.packed == may)
            for may in (False, True)
        )
        raise BattlesError(
            f"{source.path}: unknown format; known are {packed} (each also with "
            f"{', '.join(PACKED)}) and {plain}."
        )
    return known
