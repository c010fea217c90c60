"""Reading a battles table, whatever its format."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa

from skanchor.exceptions import BattlesError
from skanchor.io.columns import typed
from skanchor.io.registry import format_of

__all__ = ["read_battles"]

_IDS = ("model_a", "model_b", "judge", "prompt_id")


def read_battles(
    path: str | os.PathLike[str], *, ids: Iterable[str] = ()
) -> pd.DataFrame:
    """Read a battles table from a file, whose suffix gives the format.

    Parameters
    ----------
    path : str or path
        ``.csv``, ``.tsv`` or ``.jsonl`` (``.ndjson``, ``.json``), each also with
        ``.gz`` behind it, or ``.parquet`` (``.pq``). Text is UTF-8.
    ids : iterable of str, optional
        Further columns to keep as text, such as a group column or model columns under
        other names.

    Returns
    -------
    DataFrame
        The table. ``model_a``, ``model_b``, ``judge`` and ``prompt_id`` are text in
        every format: a model called "1" or "NA" keeps its name, and only an empty cell
        or a null is missing. ``winner`` is text too, unless it holds nothing but
        numbers. Of the other columns of a CSV, those that hold nothing but numbers
        (or markers of missing ones, such as "NA") are numeric.

    Raises
    ------
    BattlesError
        If the format is not known, or the file does not hold what its suffix says.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> from skanchor.io import read_battles
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     size = file.write("model_a,model_b,winner,length_a\\n1,NA,model_a,12\\n")
    ...     file.flush()
    ...     table = read_battles(file.name)
    >>> table["model_a"].tolist(), table["length_a"].tolist()
    (['1'], [12])
    """
    path = Path(path)
    known = format_of(path)
    # Says what is wrong in the words of the system, before a parser can.
    with open(path, "rb"):
        pass
    try:
        table = known.read(path)
        if table.columns.has_duplicates:
            twice = table.columns[table.columns.duplicated()].tolist()
            raise ValueError(f"the columns {twice} occur more than once.")
        return typed(table, {*_IDS, *ids}, from_text=known.is_text)
    # A damaged gzip file ends in EOFError or OSError.
    except (ValueError, TypeError, OSError, EOFError, pa.ArrowException) as error:
        cause = " ".join(str(error).split()) or type(error).__name__
        raise BattlesError(f"{path}: not readable as {known.name}: {cause}") from error
