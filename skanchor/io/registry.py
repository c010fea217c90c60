"""The file formats that are known, by suffix.

Another format is one more module, which defines a `Format`, and its name in `FORMATS`.
"""

from __future__ import annotations

from pathlib import Path

from skanchor.exceptions import BattlesError
from skanchor.io._csv import CSV, TSV
from skanchor.io._format import Format
from skanchor.io._json_lines import JSON_LINES
from skanchor.io._parquet import PARQUET

__all__ = ["FORMATS", "format_of"]

FORMATS = (CSV, TSV, JSON_LINES, PARQUET)
"""Every format that `read_battles` reads; a suffix belongs to one of them."""

_BY_SUFFIX = {suffix: each for each in FORMATS for suffix in each.suffixes}


def format_of(path: Path) -> Format:
    """Find the format of a file by its suffix.

    Parameters
    ----------
    path : Path
        The file, which need not exist.

    Returns
    -------
    Format
        One of `FORMATS`.

    Raises
    ------
    BattlesError
        If the suffix is not known.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    gzipped = suffixes[-1:] == [".gz"]
    suffix = suffixes[-2 if gzipped else -1] if len(suffixes) > gzipped else ""
    known = _BY_SUFFIX.get(suffix)
    if known is None or (gzipped and not known.gzipped):
        plain, packed = (
            ", ".join(each.suffixes[0] for each in FORMATS if each.gzipped == with_gz)
            for with_gz in (False, True)
        )
        raise BattlesError(
            f"{path}: unknown format; known are {packed} (each also with .gz) and "
            f"{plain}."
        )
    return known
