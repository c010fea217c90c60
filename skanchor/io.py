"""Battles tables from files, and results to files."""

from __future__ import annotations

import gzip
import json
import os
import secrets
import stat
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from skanchor.exceptions import BattlesError, DataWarning

__all__ = ["read_battles", "write_atomically"]

_IDS = ("model_a", "model_b", "judge", "prompt_id")
_MISSING = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None"})
_BOOLEANS = {"True": True, "true": True, "False": False, "false": False}
_DUE = (
    "Each line must be one battle, as pandas writes it with "
    "to_json(path, orient='records', lines=True)."
)
_FORMATS = {
    ".csv": "CSV",
    ".tsv": "TSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".jsonl": "JSON Lines",
    ".ndjson": "JSON Lines",
    ".json": "JSON Lines",
}


def read_battles(
    path: str | os.PathLike[str], *, ids: Iterable[str] = ()
) -> pd.DataFrame:
    """Read a battles table from a file, its format told by the suffix.

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
    kind = _kind(path)
    # Says what is wrong in the words of the system, before a parser can.
    with open(path, "rb"):
        pass
    try:
        table = _read(path, kind)
        if table.columns.has_duplicates:
            twice = table.columns[table.columns.duplicated()].tolist()
            raise ValueError(f"the columns {twice} occur more than once.")
        return _typed(table, {*_IDS, *ids}, from_text=kind in ("CSV", "TSV"))
    # A damaged gzip file ends in EOFError or OSError.
    except (ValueError, TypeError, OSError, EOFError, pa.ArrowException) as error:
        raise BattlesError(f"{path}: not readable as {kind}: {_line(error)}") from error


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file whole or not at all.

    Parameters
    ----------
    path : str or path
        The file; one that exists is replaced when the new one is complete, and stays as
        it was if writing fails. A link keeps pointing to its file.
    content : str or bytes
        What to write; text is written as UTF-8.

    Raises
    ------
    OSError
        If the directory is missing or not writable, or the disk is full.
    """
    data = content.encode() if isinstance(content, str) else content
    mode = None
    if os.path.exists(path):
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            # A device or a pipe must not be replaced by a file. Its name may be a link
            # to what has none, such as /dev/stdout.
            with open(path, "wb") as file:
                file.write(data)
            return
    target = os.path.realpath(path)
    draft = os.path.join(os.path.dirname(target), f".skanchor-{secrets.token_hex(8)}")
    try:
        # Unlike a file of tempfile, this one gets the permissions of any new file.
        with open(draft, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(draft, stat.S_IMODE(mode))
        os.replace(draft, target)
    except BaseException as error:
        if os.path.exists(draft):
            os.unlink(draft)
        if isinstance(error, OSError):
            # The reader asked for `path` and has never heard of the draft.
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


# -------------------------------------------------------------------------- formats
def _kind(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] == [".gz"]
    suffix = suffixes[-2 if packed else -1] if len(suffixes) > packed else ""
    kind = _FORMATS.get(suffix)
    if kind is None or (packed and kind == "Parquet"):
        raise BattlesError(
            f"{path}: unknown format; known are .csv, .tsv, .jsonl (each also "
            "with .gz) and .parquet."
        )
    return kind


def _read(path: Path, kind: str) -> pd.DataFrame:
    if kind == "Parquet":
        return _read_parquet(path)
    if kind == "JSON Lines":
        return _read_json_lines(path)
    return _read_separated(path, "\t" if kind == "TSV" else ",")


def _read_separated(path: Path, delimiter: str) -> pd.DataFrame:
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    # Everything as text: pyarrow guesses types from the first block of the file.
    with csv.open_csv(path, parse_options=parse) as head:
        names = head.schema.names
    table = csv.read_csv(
        path,
        parse_options=parse,
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )
    return _to_pandas(table)


def _read_parquet(path: Path) -> pd.DataFrame:
    from pyarrow import parquet

    # Not read_table, which takes columns from the names of folders too.
    with parquet.ParquetFile(path) as file:
        return _to_pandas(file.read())


def _to_pandas(table: pa.Table) -> pd.DataFrame:
    columns = [column.to_pandas() for column in table.columns]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    return frame.set_axis(table.column_names, axis=1)


def _read_json_lines(path: Path) -> pd.DataFrame:
    if path.suffix.lower() == ".gz":
        with gzip.open(path, "rb") as file:
            text = file.read().decode("utf-8-sig")
    else:
        text = path.read_text(encoding="utf-8-sig")
    if text.lstrip().startswith("["):
        records = json.loads(text)
    else:
        records = []
        # Not splitlines: a string may hold U+2028 and its like.
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                try:
                    records.append(json.loads(line))
                except ValueError as error:
                    raise ValueError(f"line {number}: {error}") from None
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            raise ValueError(
                f"record {number} is {json.dumps(record)[:40]}, not an object. {_DUE}"
            )
    if len(records) == 1 and all(
        isinstance(value, (dict, list)) for value in records[0].values()
    ):
        raise ValueError(f"its one object holds a table by columns. {_DUE}")
    return pd.DataFrame.from_records(records)


# -------------------------------------------------------------------------- columns
def _typed(table: pd.DataFrame, ids: set[str], *, from_text: bool) -> pd.DataFrame:
    columns = {}
    for name in table.columns:
        column = table[name]
        if from_text:
            column = _parsed(column, name, is_id=name in ids)
        elif name in ids:
            column = _as_text(column)
        columns[name] = column
    return pd.DataFrame(columns, columns=table.columns)


def _parsed(column: pd.Series, name: str, *, is_id: bool) -> pd.Series:
    """Give a column of text its type."""
    missing = column == ""
    if is_id:
        return column.mask(missing)
    missing = column.isin(_MISSING)
    values = column[~missing]
    numbers = pd.to_numeric(values, errors="coerce")
    if numbers.notna().all():
        return pd.to_numeric(column.mask(missing))
    if values.isin(_BOOLEANS).all():
        return column.mask(missing).map(_BOOLEANS)
    if name[-2:] in ("_a", "_b") and numbers.notna().mean() > 0.5:
        row = int(numbers.index[numbers.isna()][0])
        warnings.warn(
            f"Column {name!r} is taken as text, not as a feature: row {row} holds "
            f"{column[row]!r}.",
            DataWarning,
            stacklevel=4,
        )
    # In a column of text only shown_first has a word for "unknown".
    return column.mask(missing if name == "shown_first" else column == "")


def _as_text(column: pd.Series) -> pd.Series:
    codes, labels = pd.factorize(column)
    names = [_label_text(label) for label in labels.tolist()]
    texts = [None if code < 0 else names[code] for code in codes]
    return pd.Series(texts, index=column.index, dtype="str")


def _label_text(label: Any) -> str:
    # Whole numbers arrive as floats where the column has a null.
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    if isinstance(label, bytes):
        return label.decode()
    return str(label)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
