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


_KINDS = {
    ".xlsx": "workbook",
    ".xls": "workbook",
    ".ods": "workbook",
    ".numbers": "workbook",
    ".md": "Markdown text",
    ".html": "web page",
    ".htm": "web page",
    ".pdf": "PDF document",
    ".docx": "text document",
}
"""What files are that are often given in place of a table."""

_BEGINS = {
    b"PK\x03\x04": "workbook",
    b"\xd0\xcf\x11\xe0": "workbook",
    b"%PDF": "PDF document",
    b"<!doctype html": "web page",
    b"<html": "web page",
    b"<table": "web page",
}
"""How such files begin, in lower case but for the first."""


def refuse_other_kinds(source: Source, known: Format) -> None:
    """Refuse a workbook, a web page or the like under the suffix of a text.

    Parameters
    ----------
    source : Source
        The file.
    known : Format
        Format of its suffix.

    Raises
    ------
    ValueError
        It says what the file is, and what to do.
    """
    if not known.is_encoded:
        return
    head = source.head(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    for start, kind in _BEGINS.items():
        if head.startswith(start) or head.lower().startswith(start):
            raise ValueError(_of_kind(kind))


def _of_kind(kind: str) -> str:
    """What to do with a file that is no table of text."""
    part = "each of its sheets" if kind == "workbook" else "its table"
    return (
        f"a {kind}, which is not read. Save {part} as CSV, with the "
        "names of the columns in the first line, and give the CSV files"
    )


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
        kind = _KINDS.get(source.suffix)
        if kind is not None:
            raise BattlesError(
                f"{source.path}: {_of_kind(kind)}; known are {packed} and {plain}."
            )
        raise BattlesError(
            f"{source.path}: unknown format; known are {packed} (each also with "
            f"{', '.join(PACKED)}) and {plain}."
        )
    return known
