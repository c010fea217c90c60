"""The file formats that are known, by suffix.

Another format is one more module, which defines a `Format`, and its name in `FORMATS`.
"""

from __future__ import annotations

from skanchor.exceptions import BattlesError
from skanchor.io._csv import CSV, TSV
from skanchor.io._format import Format
from skanchor.io._json_lines import JSON_LINES
from skanchor.io._parquet import FEATHER, PARQUET
from skanchor.io._source import PACKED, Source

FORMATS = (CSV, TSV, JSON_LINES, PARQUET, FEATHER)
"""Every format that `read_battles` reads; a suffix belongs to one of them."""

_BY_SUFFIX = {suffix: each for each in FORMATS for suffix in each.suffixes}
_MAGIC = {b"PAR1": PARQUET, b"ARROW1": FEATHER, b"{": JSON_LINES, b"[": JSON_LINES}


def format_of(source: Source, told: str | None = None) -> Format:
    """Tell the format of a source by its suffix; else by how it begins.

    Parameters
    ----------
    source : Source
        The file.
    told : str, optional
        What the user says, such as ``"csv"``, which counts.

    Returns
    -------
    Format
        One of `FORMATS`.

    Raises
    ------
    BattlesError
        If the suffix, or what the user says, is not known.
    """
    if told is not None:
        known = _BY_SUFFIX.get(f".{told.strip().lower().removeprefix('.')}")
        if known is None:
            keys = [each.key for each in FORMATS]
            raise BattlesError(f"Unknown file format {told!r}; known are {keys}.")
        return known
    if source.is_nameless:
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
