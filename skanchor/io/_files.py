"""Files become tables as they are: CSV, JSON, Parquet and Feather, packed or not."""

from __future__ import annotations

import codecs
import json
import os
import re
import stat
import sys
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from skanchor.exceptions import BattlesError, DataWarning, located
from skanchor.io._words import is_in_role, names_in_role, side_of
from skanchor.io.spreadsheet import unmarked
from skanchor.warning_log import warn

STDIN = "-"
"""The path that means standard input."""

LIMIT, TIMES = 1 << 30, 100
"""A packed file may unpack to 1 GiB, or to 100 times its own size if that is more."""

BLOCK = 1 << 23
"""Most bytes of a row of text with separators."""

Lines = list[tuple[int, str]]
"""Numbers of lines that cannot be read, and why."""

_HEAD = 1 << 16  # bytes by which the kind and the encoding of a file are recognised
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_PACKED = {".gz", ".bz2", ".zst", ".zip"}
_TEXT, _JSON = {".csv", ".tsv", ".txt"}, {".json", ".jsonl", ".ndjson"}
_WORKBOOKS = {".xlsx", ".xls", ".ods"}
_SUFFIXES = {*_PACKED, *_TEXT, *_JSON, ".parquet", ".pq", ".feather", ".arrow"}
_ENVELOPES = ("matches", "battles", "data", "records", "comparisons", "rows")
# zipfile raises RuntimeError for a password or an unknown compression, and some
# encodings of Python, such as punycode, an AttributeError on a stream.
_UNREADABLE = (pa.ArrowException, AttributeError, EOFError, MemoryError, OSError,
               RuntimeError, TypeError, ValueError, zipfile.BadZipFile,
               zlib.error)  # fmt: skip
_SURROGATE = re.compile("[\ud800-\udfff]")
_MISSING = ["", "NA", "N/A", "nan", "NaN", "null", "None"]


def read_file(
    path: Any, encoding: str | None = None, drop_invalid: bool = False
) -> pd.DataFrame:
    """Table of a file as it is; all cells of a CSV are text."""
    name = os.fspath(path)
    label = "standard input" if name == STDIN else name
    bad: Lines = []
    with located(label):
        try:
            frame = _read(name, encoding, bad)
        except _UNREADABLE as error:
            # The system's own errors have a number; those of decompression have none.
            if isinstance(error, BattlesError) or getattr(error, "errno", None):
                raise
            text = str(error).partition("\n")[0] or "it does not fit in memory."
            if isinstance(error, RecursionError):
                text = "it is nested too deeply."
            if isinstance(error, UnicodeError) or "UTF8" in text:
                text = (
                    f"it is not {encoding or 'utf-8'}; give its encoding, such as "
                    "cp1252 in the west of Europe or gb18030 in China."
                )
            raise BattlesError(f"cannot be read: {text}") from None
        twice = frame.columns[frame.columns.duplicated()]
        if len(twice):
            raise BattlesError(
                f"has the column {twice[0]!r} more than once; rename or drop one."
            )
        if bad:
            number, why = bad[0]
            n_lines = len(frame) + len(bad)
            text = f"line {number} {why}; {len(bad)} of {n_lines} lines cannot be read"
            if not drop_invalid or not len(frame):
                raise BattlesError(
                    f"{text}. Correct them, or leave them out with drop_invalid "
                    "(--drop-invalid)."
                )
            text = f"{label}: {text} and are left out."
            warn(DataWarning(text, code="lines-left-out"), stacklevel=4)
        if not len(frame):
            raise BattlesError("holds names of columns, but no comparisons.")
    return frame


def stem_of(path: str) -> str:
    """Name of a file up to the first suffix of a format."""
    name = Path(path)
    while name.suffix.lower() in _SUFFIXES:
        name = name.with_suffix("")
    return "standard input" if path == STDIN else name.name


def _read(name: str, encoding: str | None, bad: Lines) -> pd.DataFrame:
    """Read a file as what its first bytes show, or else as text with separators."""
    content = _content_of(name)
    head = bytes(memoryview(content)[:_HEAD])
    if not head.strip():
        raise ValueError("it is empty.")
    if head.startswith(tuple(_MAGIC)):
        raise ValueError("it is an archive inside another one; unpack it.")
    if head.startswith(b"PAR1"):
        return _read_parquet(content)
    if head.startswith(b"ARROW1"):
        return _to_pandas(pa.ipc.open_file(content).read_all())
    encoding = encoding or _encoding_of(head)
    try:
        start = head.decode(encoding, "ignore").lstrip("\ufeff \r\n\t")
    except LookupError:
        raise ValueError(f"{encoding!r} is no encoding that is known.") from None
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    suffix = next((s for s in reversed(suffixes) if s not in _PACKED), "")
    if suffix in _JSON or (start[:1] in "[{" and suffix not in _TEXT):
        return _read_json(content, encoding, bad)
    # Every second part of the header is quoted.
    header = "".join(start.partition("\n")[0].split('"')[::2])
    usual = "\t" if suffix == ".tsv" else ","
    separator = max(usual + ",\t;|", key=header.count)
    try:
        table = _read_rows(content, separator, encoding, None)
    except pa.ArrowInvalid as error:
        if "straddling" in str(error):
            raise ValueError(f"a row has more than {BLOCK} bytes.") from None
        table = _read_rows(content, separator, encoding, bad)
    names = [name.strip() for name in table.column_names]
    frame = _to_pandas(table.rename_columns(names))
    # Spreadsheets write empty columns without a name for cells that were used once.
    used = [bool(name) or frame.iloc[:, k].ne("").any() for k, name in enumerate(names)]
    return frame.loc[:, used]


# ------------------------------------------------------------------------------- bytes
def _content_of(path: str) -> pa.Buffer:
    """Unpacked bytes of a file; those of a plain one stay on the disk."""
    if path == STDIN:
        if sys.stdin is None:
            raise OSError(9, "standard input is closed")
        content = pa.py_buffer(sys.stdin.buffer.read())
    else:
        if Path(path).suffix.lower() in _WORKBOOKS:
            raise ValueError(
                "it is a workbook; save its table as CSV, or pass "
                "pandas.read_excel(...) to split_battles."
            )
        status = os.stat(path)
        if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
            # It may have no end, as /dev/zero.
            raise ValueError("it is a device, not a file.")
        if stat.S_ISREG(status.st_mode) and status.st_size:
            content = pa.memory_map(path).read_buffer()
        else:
            content = pa.py_buffer(Path(path).read_bytes())
    start = bytes(memoryview(content)[:4])
    packing = next((v for k, v in _MAGIC.items() if start.startswith(k)), None)
    if packing is None:
        return content
    packed, whole = pa.BufferReader(content), pa.BufferOutputStream()
    unpacked = _only_member(packed) if packing == "zip" else pa.input_stream(
        packed, compression=packing)  # fmt: skip
    limit = max(LIMIT, TIMES * content.size)
    while chunk := unpacked.read(1 << 20):
        whole.write(chunk)
        if whole.tell() > limit:
            raise ValueError(
                f"it unpacks to more than {limit} bytes; unpack it yourself, and look "
                "at what it holds."
            )
    return whole.getvalue()


def _only_member(packed: Any) -> IO[bytes]:
    """Open the only file of an archive; folders and macOS's additions do not count."""
    archive = zipfile.ZipFile(packed)
    names = [name for name in archive.namelist()
             if not (name.endswith("/") or name.startswith("__MACOSX/"))]  # fmt: skip
    if len(names) != 1:
        raise ValueError(f"the archive holds {len(names)} files, {names[:5]}, not one.")
    parts = PurePosixPath(names[0].replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or ":" in parts.parts[0]:
        raise ValueError(f"the file {names[0]!r} of the archive leaves its folder.")
    return archive.open(names[0])


def _encoding_of(head: bytes) -> str:
    """Encoding of a text by its first bytes."""
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    if b"\0" in head:
        # In UTF-16 without a mark, plain letters have a zero byte each.
        raise ValueError("it holds zero bytes; give its encoding, such as utf-16-le.")
    return "utf-8"


# -------------------------------------------------------------------------------- text
def _read_rows(
    content: pa.Buffer, separator: str, encoding: str, bad: Lines | None
) -> pa.Table:
    """Table of text; with a list for ragged rows, these are left out and listed."""
    from pyarrow import csv

    def skip(row: Any) -> str:
        why = f"has {row.actual_columns} cells for {row.expected_columns} columns"
        lines.append((row.number, why))
        return "skip"

    lines: Lines = [] if bad is None else bad
    parse = csv.ParseOptions(
        delimiter=separator,
        newlines_in_values=True,
        invalid_row_handler=None if bad is None else skip,
    )
    read = csv.ReadOptions(
        # pyarrow drops the byte order mark of UTF-8 itself.
        encoding="utf8" if encoding in ("utf-8", "utf-8-sig") else encoding,
        block_size=BLOCK,
        # With several threads pyarrow does not give the numbers of rows.
        use_threads=bad is None,
    )
    with csv.open_csv(pa.BufferReader(content), read, parse) as opened:
        names = opened.schema.names
    # All columns are text: pyarrow would guess types from the first block.
    text = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
    )
    lines.clear()
    table = csv.read_csv(pa.BufferReader(content), read, parse, text)
    return pa.Table.from_arrays([unmarked(one) for one in table.columns], names)


# -------------------------------------------------------------------------------- JSON
def _read_json(content: pa.Buffer, encoding: str, bad: Lines) -> pd.DataFrame:
    """Read records: an array, one on each line, or the only list of an object."""
    text = codecs.decode(content, encoding).lstrip("\ufeff")
    try:
        whole = json.loads(text)
    except ValueError:
        if text.lstrip()[:1] == "[":
            raise
        whole = []
        # ``splitlines`` would also split at U+2028 and similar characters in a string.
        for number, line in enumerate(text.split("\n"), start=1):
            try:
                whole += [json.loads(line)] if line.strip() else []
            except ValueError as error:
                bad.append((number, f"is no JSON ({error})"))
    records = whole if isinstance(whole, list) else _records_of(whole)
    has_escapes = re.search(r"\\u[dD]", text)
    for row, record in enumerate(records):
        if not isinstance(record, dict):
            raise ValueError(
                f"record {row} is {json.dumps(record)[:40]}, not an object; write one "
                "object for each comparison."
            )
        if has_escapes and _SURROGATE.search(json.dumps(record, ensure_ascii=False)):
            # No file can be written with it.
            raise BattlesError(f"row {row} holds half a character (a lone surrogate).")
    names = dict.fromkeys(name for record in records for name in record)
    columns = {name: _column([r.get(name) for r in records]) for name in names}
    return pd.DataFrame(columns)


def _records_of(record: Any) -> list[Any]:
    """Records of an object: its only list of records, or the object itself."""
    if not isinstance(record, dict):
        return [record]
    lists = [record[name] for name in _ENVELOPES if isinstance(record.get(name), list)]
    if len(lists) == 1:
        # Texts beside the list, such as a judge, are those of every record.
        texts = {name: text for name, text in record.items() if isinstance(text, str)}
        return [{**texts, **r} if isinstance(r, dict) else r for r in lists[0]]
    if all(isinstance(value, (dict, list)) for value in record.values()):
        raise ValueError(
            f"it is one object that holds {', '.join(map(repr, record))[:80]}; write "
            "its comparisons as one list (the page 'Reshape your file' shows how)."
        )
    return [record]


def _column(values: list[Any]) -> pd.Series:
    """Column of values, in which large whole numbers beside nulls stay exact."""
    column = pd.Series(values, dtype=object)
    inferred = column.infer_objects()
    is_large = inferred.dtype == float and any(
        isinstance(value, int) and abs(value) > 1 << 53 for value in values
    )
    return column if is_large else inferred


# ------------------------------------------------------------------------------- Arrow
def _read_parquet(content: pa.Buffer) -> pd.DataFrame:
    """Read Parquet; names of folders do not become columns.

    Models, judges and outcomes are read as codes, in a fifth of the time; texts that
    all differ would take longer.
    """
    from pyarrow import parquet

    schema = parquet.ParquetFile(content).schema_arrow
    texts = [n for n in schema.names
             if schema.field(n).type in (pa.string(), pa.large_string())]  # fmt: skip
    labels = [*names_in_role(texts, "judge"), *names_in_role(texts, "winner")]
    labels += [name for name in texts if is_in_role(side_of(name)[0], "model _")]
    return _to_pandas(parquet.ParquetFile(content, read_dictionary=labels).read())


def _to_pandas(table: pa.Table) -> pd.DataFrame:
    """Table of pandas; each column of Arrow is freed once it is turned."""
    return table.unify_dictionaries().to_pandas(
        # Whole numbers in a column with nulls would become floats.
        integer_object_nulls=True,
        ignore_metadata=True,
        split_blocks=True,
        self_destruct=True,
    )


def numbers_of(column: pd.Series) -> pd.Series | None:
    """Numbers of a column; None if it holds others. Decimal commas count."""
    if column.dtype != "str":
        try:
            # Numbers, or those of one file beside texts of another one.
            return pd.to_numeric(column.mask(column.eq("")))
        except (TypeError, ValueError):
            return None
    column = column.mask(column.isin(_MISSING))
    if column.head(100).str.contains(",").any():
        # A comma before three digits may mark thousands.
        is_decimal = column.dropna().str.fullmatch(r"-?\d+(,\d+)?")
        if is_decimal.all() and column.str.contains(r",(?:\d{1,2}|\d{4,})$").any():
            column = column.str.replace(",", ".", regex=False)
    texts = pa.array(column, type=pa.string(), from_pandas=True)
    # Arrow would also parse hexadecimal numbers, which are text here.
    if pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py():
        return None
    for kind in (pa.int64(), pa.float64()):
        with suppress(pa.ArrowInvalid):
            numbers = pc.cast(texts, kind).to_numpy(zero_copy_only=False)
            return pd.Series(numbers, index=column.index)
    return None
