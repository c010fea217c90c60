"""Files become tables as they are: CSV, JSON, Parquet and Feather."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from skanchor.exceptions import BattlesError, DataWarning, located
from skanchor.io._bytes import Source, encoding_of, require_encoding
from skanchor.io.spreadsheet import unmarked
from skanchor.warning_log import warn

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

# A block must hold a whole row: if one does not, the next size is tried.
_BLOCKS = (1 << 20, 1 << 26)
_DELIMITERS = ",\t;|"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ENVELOPES = ("matches", "battles", "data", "records", "comparisons", "rows")


def read_file(
    path: Any,
    encoding: str | None = None,
    drop_invalid: bool = False,
    coded: bool = False,
) -> pd.DataFrame:
    """Table of a file as it is; all cells of a CSV are text.

    With ``coded``, columns of text of which a Parquet file holds codes are categories.
    """
    source = Source.of(path)
    with located(source.label):
        try:
            frame = _read(source, encoding, drop_invalid, coded)
        except (pa.ArrowException, EOFError, OSError, TypeError, ValueError) as error:
            # The system's own errors have a number; those of decompression have none.
            if isinstance(error, BattlesError) or getattr(error, "errno", None):
                raise
            said = str(error).partition("\n")[0]
            raise BattlesError(f"cannot be read: {said}") from None
        except MemoryError:
            raise BattlesError("cannot be read: it does not fit in memory.") from None
        twice = frame.columns[frame.columns.duplicated()]
        if len(twice):
            raise BattlesError(
                f"has the column {twice[0]!r} more than once; rename or drop one."
            )
    return frame


def _read(
    source: Source, encoding: str | None, drop_invalid: bool, coded: bool
) -> pd.DataFrame:
    """Read a file as what its first bytes show, or else as text with separators."""
    head = source.head()
    if not head.strip():
        raise ValueError("it is empty.")
    if head.startswith(b"PAR1"):
        return _read_parquet(source, coded)
    if head.startswith(b"ARROW1"):
        from pyarrow import feather

        with source.open() as file:
            return _to_pandas(feather.read_table(pa.BufferReader(file.read())))
    encoding = encoding_of(head, encoding)
    start = head.decode(encoding, "ignore").lstrip("\ufeff \r\n\t")[:1]
    is_json = source.suffix in (".json", ".jsonl", ".ndjson")
    if is_json or (start in "[{" and source.suffix not in (".csv", ".tsv", ".txt")):
        return _read_json(source, encoding, drop_invalid)
    return _read_separated(source, head, encoding, drop_invalid)


# -------------------------------------------------------------------------------- text
def _read_separated(
    source: Source, head: bytes, encoding: str, drop_invalid: bool
) -> pd.DataFrame:
    """Read text with separators; ragged rows are counted, and refused or left out."""
    lines = head.decode(encoding, "ignore").lstrip("\ufeff").split("\n")
    skipped = 0
    while lines[skipped].startswith("#") and skipped + 1 < len(lines):
        skipped += 1
    header = _QUOTED.sub("", lines[skipped])
    usual = "\t" if source.suffix == ".tsv" else ","
    separator = max(usual + _DELIMITERS, key=header.count)
    for size in _BLOCKS:
        try:
            table, bad = _read_rows(source, separator, encoding, skipped, size)
            break
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            if "straddling" not in str(error):
                require_encoding(source, encoding)
                raise
            if size == _BLOCKS[-1]:
                raise ValueError(f"a row has more than {size} bytes.") from None
    texts = [f"has {row.actual_columns} cells for {row.expected_columns} columns"
             for row in bad[:1]]  # fmt: skip
    numbers = [row.number for row in bad]
    _refuse_lines(source, numbers, texts, table.num_rows, drop_invalid)
    names = [name.strip() for name in table.column_names]
    frame = _to_pandas(table.rename_columns([f"{i}" for i in range(len(names))]))
    # Spreadsheets write empty columns without a name for cells that were used once.
    used = [bool(name) or frame.iloc[:, at].ne("").any() for at, name in
            enumerate(names)]  # fmt: skip
    frame = frame.set_axis(names, axis=1).loc[:, used]
    frame.attrs["is_text"] = True
    return frame


def _read_rows(
    source: Source, separator: str, encoding: str, skipped: int, size: int
) -> tuple[pa.Table, list[Any]]:
    """Table of text, and ragged rows."""
    from pyarrow import csv

    bad: list[Any] = []

    def skip(row: Any) -> str:
        bad.append(row)
        return "skip"

    parse = csv.ParseOptions(
        delimiter=separator, newlines_in_values=True, invalid_row_handler=skip
    )
    # pyarrow drops the byte order mark of UTF-8 itself.
    name = "utf8" if encoding in ("utf-8", "utf-8-sig") else encoding
    read = csv.ReadOptions(encoding=name, block_size=size, skip_rows=skipped)
    with source.open() as file, csv.open_csv(file, read, parse) as opened:
        names = opened.schema.names
    # All columns are text: pyarrow would guess types from the first block.
    text = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
    )
    bad.clear()
    with source.open() as file:
        table = csv.read_csv(file, read, parse, text)
    if bad:
        # With several threads pyarrow does not give the numbers of rows.
        bad.clear()
        read.use_threads = False
        with source.open() as file:
            table = csv.read_csv(file, read, parse, text)
    return pa.Table.from_arrays([unmarked(one) for one in table.columns], names), bad


def _refuse_lines(
    source: Source, numbers: list[int], what: Sequence[str], good: int, drop: bool
) -> None:
    """Refuse lines that cannot be read, or warn that they are left out."""
    if not numbers:
        return
    said = (
        f"line {numbers[0]} {what[0]}; {len(numbers)} of {good + len(numbers)} lines "
        "cannot be read"
    )
    if not (drop and good):
        raise ValueError(f"{said}. Correct them, or leave them out with drop_invalid.")
    said = f"{source.label}: {said} and are left out."
    warn(DataWarning(said, code="lines-left-out"), stacklevel=6)


# -------------------------------------------------------------------------------- JSON
def _read_json(source: Source, encoding: str, drop_invalid: bool) -> pd.DataFrame:
    """Read records: an array, one on each line, or the only list of an object."""
    with source.open() as file:
        data = file.read()
    try:
        text = data.decode(encoding).lstrip("\ufeff")
    except UnicodeDecodeError:
        require_encoding(source, encoding)
    del data
    try:
        records = _records(source, text, drop_invalid)
    except RecursionError:
        raise ValueError("it is nested too deeply.") from None
    if _SURROGATE.search(text):
        for row, record in enumerate(records):
            _refuse_surrogates(record, row)
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = {name: _column([r.get(name) for r in records]) for name in names}
    return pd.DataFrame(columns)


def _column(values: list[Any]) -> pd.Series:
    """Column of values, in which large whole numbers beside nulls stay exact."""
    column = pd.Series(values, dtype=object)
    inferred = column.infer_objects()
    large = inferred.dtype == float and any(
        isinstance(value, int) and abs(value) > 1 << 53 for value in values
    )
    return column if large else inferred


def _records(source: Source, text: str, drop_invalid: bool) -> list[dict[str, Any]]:
    """Records of a text."""
    records: Any
    try:
        records = _loaded(text)
    except ValueError as error:
        if text.lstrip()[:1] == "[":
            raise
        records = _lines(source, text, drop_invalid, str(error))
    if isinstance(records, dict):
        records = _of_object(records)
    for number, record in enumerate(records):
        if not isinstance(record, dict):
            raise ValueError(
                f"record {number} is {json.dumps(record)[:40]}, not an object; write "
                "one object for each comparison."
            )
    return records


def _loaded(text: str) -> Any:
    """Parse one JSON text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        digits = sys.get_int_max_str_digits()
        raise ValueError(
            f"it holds a whole number of more than {digits} digits."
        ) from None


def _lines(source: Source, text: str, drop_invalid: bool, whole: str) -> list[Any]:
    """Records of all lines; those that are no JSON are refused or left out."""
    records: list[Any] = []
    bad: list[int] = []
    first = whole
    # ``splitlines`` would also split at U+2028 and similar characters in a string.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                records.append(_loaded(line))
            except ValueError as error:
                first = first if bad else f"is no JSON ({error})"
                bad.append(number)
    _refuse_lines(source, bad, [first], len(records), drop_invalid)
    return records


def _of_object(record: dict[str, Any]) -> list[Any]:
    """Records of an object: its list of records, or the object itself."""
    lists = {
        name: rows
        for name, rows in record.items()
        if name in _ENVELOPES and isinstance(rows, list)
    }
    for rows in lists.values() if len(lists) == 1 else ():
        beside = {k: v for k, v in record.items() if isinstance(v, str)}
        return [{**beside, **row} if isinstance(row, dict) else row for row in rows]
    if all(isinstance(value, (dict, list)) for value in record.values()):
        listed = ", ".join(f"{name!r}" for name in record)
        raise ValueError(
            f"it is one object that holds {listed[:80]}; write its comparisons as one "
            "list (the page 'Reshape your file' shows how)."
        )
    return [record]


def _refuse_surrogates(record: dict[str, Any], row: int) -> None:
    """Refuse half a character, which no file can be written with."""
    for name, value in record.items():
        try:
            f"{name}{value}".encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"row {row} holds half a character (a lone surrogate) in column "
                f"{name!a}: {ascii(value)[:60]}."
            ) from None


# ------------------------------------------------------------------------------- Arrow
def _read_parquet(source: Source, coded: bool) -> pd.DataFrame:
    """Read Parquet; names of folders do not become columns."""
    from pyarrow import parquet

    with source.open() as opened, parquet.ParquetFile(opened) as file:
        names = _coded_texts(file)
        reader = parquet.ParquetFile(
            opened, metadata=file.metadata, read_dictionary=names
        )
        return _to_pandas(reader.read(), coded)


def _coded_texts(file: ParquetFile) -> list[str]:
    """Names of columns of text that the file holds mostly as codes of a dictionary.

    Read as codes, they take a fifth of the time; columns of texts that are all
    different would take longer.
    """
    kinds = (pa.types.is_string, pa.types.is_large_string)
    size = {
        field.name: 0
        for field in file.schema_arrow
        if any(is_text(field.type) for is_text in kinds)
    }
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        for at in range(group.num_columns):
            column = group.column(at)
            if column.path_in_schema in size:
                size[column.path_in_schema] += column.total_uncompressed_size
    # Each text in full takes four bytes for its length alone.
    return [name for name, taken in size.items() if taken < 4 * file.metadata.num_rows]


def _to_pandas(table: pa.Table, coded: bool = False) -> pd.DataFrame:
    """Table of pandas; each column of Arrow is freed once it is turned."""
    names, rest = table.column_names, table.columns[::-1]
    del table
    columns = []
    for _ in names:
        column = rest.pop()
        if pa.types.is_dictionary(column.type) and not coded:
            column = column.cast(column.type.value_type)
        # Whole numbers in a column with nulls would become floats.
        large = pa.types.is_integer(column.type) and bool(column.null_count)
        columns.append(column.unify_dictionaries().to_pandas(integer_object_nulls=large)
                       if pa.types.is_dictionary(column.type)
                       else column.to_pandas(integer_object_nulls=large))  # fmt: skip
    pa.default_memory_pool().release_unused()
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    return frame.set_axis(names, axis=1)


def numbers_of(column: pd.Series) -> pd.Series | None:
    """Numbers of a column of text; None if it holds others. Decimal commas count."""
    texts = pa.array(column, type=pa.string(), from_pandas=True)
    missing = pc.is_in(texts, value_set=pa.array(["", "NA", "N/A", "nan", "NaN",
                                                  "null", "None"]))  # fmt: skip
    texts = pc.if_else(missing, pa.scalar(None, pa.string()), texts)
    # Arrow would also parse hexadecimal numbers, which are text here.
    if pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py():
        return None
    head = texts.slice(0, 100)
    if pc.any(pc.match_substring_regex(head, r"^-?\d+,\d")).as_py():
        if not pc.all(pc.match_substring_regex(texts, r"^-?\d+(,\d+)?$")).as_py():
            return None
        # A comma before three digits may mark thousands.
        if not pc.any(pc.match_substring_regex(texts, r",(\d{1,2}|\d{4,})$")).as_py():
            return None
        texts = pc.replace_substring(texts, ",", ".")
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = pc.cast(texts, kind)
        except pa.ArrowInvalid:
            continue
        return pd.Series(numbers.to_numpy(zero_copy_only=False), index=column.index)
    return None
