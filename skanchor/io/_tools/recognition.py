"""Which tool wrote a file: named by the user, or recognised by its columns.

To add a tool, define a `Reader` in a module of its own and list it in `READERS`.
"""

from __future__ import annotations

import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._tools._arena import (
    ARENA_55K,
    ARENA_100K,
    ARENA_140K,
    COMPARIA,
    FASTCHAT,
)
from skanchor.io._tools._graded import ARENA_HARD, EVALSCOPE, WILDBENCH
from skanchor.io._tools._mt_bench import MT_BENCH, MT_BENCH_PAIRS
from skanchor.io._tools._pandalm import PANDALM
from skanchor.io._tools._preferences import ALPACA_EVAL, HELPSTEER, JUDGE_ARENA
from skanchor.io._tools._reader import Reader
from skanchor.io._tools._scores import MT_BENCH_SCORES, SCORES
from skanchor.io._tools._sides import EVALICA, LLMFAO, OPENCOMPASS
from skanchor.io._tools._soft_elo import SOFT_ELO
from skanchor.io._tools._wins import WINS

READERS = (
    FASTCHAT,
    ARENA_55K,
    ARENA_100K,
    ARENA_140K,
    COMPARIA,
    MT_BENCH,
    MT_BENCH_PAIRS,
    MT_BENCH_SCORES,
    ALPACA_EVAL,
    ARENA_HARD,
    WILDBENCH,
    JUDGE_ARENA,
    PANDALM,
    EVALICA,
    LLMFAO,
    EVALSCOPE,
    OPENCOMPASS,
    HELPSTEER,
    SOFT_ELO,
    SCORES,
    WINS,
)
"""All readers of tools' files."""

_BY_NAME = {reader.name: reader for reader in READERS}


def reader_called(name: str) -> Reader:
    """Return the reader of a name.

    Parameters
    ----------
    name : str
        Name such as ``"alpaca_eval"``; case and dashes do not matter.

    Returns
    -------
    Reader

    Raises
    ------
    BattlesError
        If there is no reader of this name.
    """
    key = name.strip().casefold().replace("-", "_")
    if key not in _BY_NAME:
        raise BattlesError(
            f"Unknown format {name!r}; known are 'auto', 'table' and {list(_BY_NAME)}."
        )
    return _BY_NAME[key]


def recognise(raw: pd.DataFrame) -> Reader | None:
    """Recognise which tool wrote a table, by its columns and, if needed, its values.

    Parameters
    ----------
    raw : DataFrame
        Table as it is in the file.

    Returns
    -------
    Reader or None
        None if the table has the markers of no tool.

    Raises
    ------
    BattlesError
        If it has the markers of several tools.
    """
    names = set(raw.columns)
    found = {
        reader: max(complete, key=len)
        for reader in _BY_NAME
        if (complete := [own for own in _BY_NAME[reader].markers if own <= names])
        and _fits(_BY_NAME[reader], raw)
    }
    # Markers that are a subset of another tool's are overruled by these.
    best = [
        reader
        for reader, marks in found.items()
        if not any(marks < other for other in found.values())
    ]
    if len(best) > 1:
        marks = "; ".join(f"{name!r} by {sorted(found[name])}" for name in best)
        raise BattlesError(
            f"The file looks like those of several tools: {marks}. Say which it is "
            "with format (--from).",
        )
    return _BY_NAME[best[0]] if best else None


def nearest(raw: pd.DataFrame) -> list[str]:
    """List the formats most similar to a table of unknown format, and what it lacks.

    Parameters
    ----------
    raw : DataFrame
        Table as it is in the file.

    Returns
    -------
    list of str
        Nearest first, such as ``"alpaca_eval (lacks generator_1)"``.
    """
    names = set(raw.columns)
    near = []
    for reader in READERS:
        for marks in reader.markers:
            missing = sorted(marks - names)
            if 2 * len(missing) <= len(marks):
                what = f"lacks {', '.join(missing)}" if missing else "other values"
                near.append((len(missing) / len(marks), f"{reader.name} ({what})"))
    return [text for _, text in sorted(near)[:3]]


def _fits(reader: Reader, raw: pd.DataFrame) -> bool:
    return reader.fits is None or bool(reader.fits(raw))
