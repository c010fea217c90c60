"""Files become tables as they are: CSV, JSON, Parquet and Feather, packed or not."""

from __future__ import annotations

import codecs
import io
import json
import os
import stat
import sys
import zipfile
from pathlib import Path, PurePosixPath
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from skanchor.exceptions import BattlesError, DataWarning, located
from skanchor.io.spreadsheet import unmarked
from skanchor.warning_log import warn

STDIN = "-"
"""The path that means standard input."""

LIMIT, TIMES = 1 << 30, 100
"""A packed file may unpack to 1 GiB, or to 100 times its own size if that is more."""

BLOCK = 1 << 23
"""Most bytes of a row of text with separators."""

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
_SUFFIXES = {*_PACKED, *_TEXT, *_JSON, ".parquet", ".pq", ".feather", ".arrow"}
_ENVELOPES = ("matches", "battles", "data", "records", "comparisons", "rows")
# Some encodings of Python, such as punycode, raise an AttributeError on a stream.
_UNREADABLE = (pa.ArrowException, AttributeError, EOFError, MemoryError, OSError,
               TypeError, ValueError)  # fmt: skip
_MISSING = ["", "NA", "N/A", "nan", "NaN", "null", "None"]


def read_file(
    path: Any,
    encoding: str | None = None,
    drop_invalid: bool = False,
    coded: bool = False,
) -> pd.DataFrame:
    """Table of a file as it is; all cells of a CSV are text.

    With ``coded``, columns of text of which a Parquet file holds codes are categories.
    """
    source = Source(path)
    with located(source.label):
        try:
            frame = _read(source, encoding, drop_invalid, coded)
        except _UNREADABLE as error:
            # The system's own errors have a number; those of decompression have none.
            if isinstance(error, BattlesError) or getattr(error, "errno", None):
                raise
            said = str(error).partition("\n")[0] or "it does not fit in memory."
            if isinstance(error, UnicodeError) or "UTF8" in said:
                said = (
                    f"it is not {encoding or 'utf-8'}; give its encoding, such as "
                    "cp1252 in the west of Europe or gb18030 in China."
                )
            raise BattlesError(f"cannot be read: {said}") from None
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
    encoding = encoding or _encoding_of(head)
    try:
        start = head.decode(encoding, "ignore").lstrip("\ufeff \r\n\t")[:1]
    except LookupError:
        raise ValueError(f"{encoding!r} is no encoding that is known.") from None
    if source.suffix in _JSON or (start in "[{" and source.suffix not in _TEXT):
        return _read_json(source, encoding, drop_invalid)
    return _read_separated(source, head, encoding, drop_invalid)


# ------------------------------------------------------------------------------- bytes
class _Limited(io.RawIOBase):
    """Decompressed bytes, refused once they are more than a limit."""

    def __init__(self, file: Any, packed: Any, limit: int):
        self._file, self._packed = file, packed
        self._left = self._limit = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._file.read(len(buffer))
        self._left -= len(found)
        if self._left < 0:
            raise ValueError(
                f"it unpacks to more than {self._limit} bytes; unpack it yourself, and "
                "look at what it holds."
            )
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
            self._packed.close()
        super().close()


class Source:
    """A file, a pipe or standard input, decompressed when it is opened."""

    def __init__(self, path: Any):
        self.path = os.fspath(path)
        self.label = "standard input" if self.path == STDIN else self.path
        # Standard input and pipes can be read only once.
        self._content: bytes | None = None
        if self.path == STDIN:
            if sys.stdin is None:
                raise OSError(9, "standard input is closed")
            self._content = sys.stdin.buffer.read()
            return
        mode = os.stat(self.path).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            # It may have no end, as /dev/zero.
            raise ValueError(f"{self.path}: is a device, not a file.")
        if stat.S_ISFIFO(mode):
            self._content = Path(self.path).read_bytes()

    @property
    def suffix(self) -> str:
        """The last suffix that is not one of compression."""
        found = [s.lower() for s in Path(self.path).suffixes]
        return next((s for s in reversed(found) if s not in _PACKED), "")

    def open(self) -> IO[bytes]:
        """Open the decompressed bytes."""
        # A file of Python's: Arrow may read its own ahead after it is closed.
        raw: Any = open(self.path, "rb") if self._content is None else io.BytesIO(
            self._content)  # fmt: skip
        start = raw.read(4)
        size = raw.seek(0, os.SEEK_END)
        raw.seek(0)
        packing = next((v for k, v in _MAGIC.items() if start.startswith(k)), None)
        if packing is None:
            return raw
        try:
            opened = _only_member(raw) if packing == "zip" else pa.input_stream(
                raw, compression=packing)  # fmt: skip
        except BaseException:
            raw.close()
            raise
        limited = _Limited(opened, raw, max(LIMIT, TIMES * size))
        return io.BufferedReader(limited, 1 << 20)

    def head(self) -> bytes:
        """Return the first decompressed bytes."""
        with self.open() as file:
            found = file.read(_HEAD)
        if found.startswith(tuple(_MAGIC)):
            raise ValueError("it is an archive inside another one; unpack it.")
        return found


def stem_of(path: str) -> str:
    """Name of a file up to the first suffix of a format."""
    name = Path(path)
    while name.suffix.lower() in _SUFFIXES:
        name = name.with_suffix("")
    return "standard input" if path == STDIN else name.name


def _only_member(raw: Any) -> IO[bytes]:
    """Open the only file of an archive; folders and macOS's additions do not count."""
    try:
        archive = zipfile.ZipFile(raw)
        names = [
            name
            for name in archive.namelist()
            if not name.endswith("/") and not name.startswith("__MACOSX/")
        ]
        if "xl/workbook.xml" in names:
            raise ValueError("it is a workbook; save its table as CSV.")
        if len(names) != 1:
            raise ValueError(
                f"the archive holds {len(names)} files, {names[:5]}, not one."
            )
        parts = PurePosixPath(names[0].replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or ":" in parts.parts[0]:
            raise ValueError(f"the file {names[0]!r} of the archive leaves its folder.")
        return archive.open(names[0])
    # zipfile raises RuntimeError for a password or an unknown compression.
    except (zipfile.BadZipFile, RuntimeError) as error:
        raise ValueError(f"no file can be read from the archive: {error}.") from None


def _encoding_of(head: bytes) -> str:
    """Encoding of a text by its first bytes."""
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    # In UTF-16 without a mark, plain letters have a zero byte each.
    for name, at in (("utf-16-le", 1), ("utf-16-be", 0)):
        if 4 * head[at::2].count(0) > len(head) and not head[1 - at :: 2].count(0):
            return name
    return "utf-8"


# -------------------------------------------------------------------------------- text
def _read_separated(
    source: Source, head: bytes, encoding: str, drop_invalid: bool
) -> pd.DataFrame:
    """Read text with separators; ragged rows are counted, and refused or left out."""
    lines = head.decode(encoding, "ignore").lstrip("\ufeff").split("\n")
    skipped = 0
    while lines[skipped].startswith("#") and skipped + 1 < len(lines):
        skipped += 1
    # Every second part is quoted.
    header = "".join(lines[skipped].split('"')[::2])
    usual = "\t" if source.suffix == ".tsv" else ","
    separator = max(usual + ",\t;|", key=header.count)
    bad: list[Any] = []
    try:
        table = _read_rows(source, separator, encoding, skipped, None)
    except pa.ArrowInvalid as error:
        if "straddling" in str(error):
            raise ValueError(f"a row has more than {BLOCK} bytes.") from None
        # Rows may be ragged because the text is in another encoding.
        with source.open() as file, io.TextIOWrapper(file, encoding) as text:
            while text.read(1 << 20):
                pass
        table = _read_rows(source, separator, encoding, skipped, bad)
    first = "".join(f"has {row.actual_columns} cells for {row.expected_columns} columns"
                    for row in bad[:1])  # fmt: skip
    _refuse_lines(source, [row.number for row in bad], first, len(table), drop_invalid)
    names = [name.strip() for name in table.column_names]
    frame = _to_pandas(table.rename_columns([f"{i}" for i in range(len(names))]))
    # Spreadsheets write empty columns without a name for cells that were used once.
    used = [bool(name) or frame.iloc[:, at].ne("").any() for at, name in
            enumerate(names)]  # fmt: skip
    frame = frame.set_axis(names, axis=1).loc[:, used]
    frame.attrs["is_text"] = True
    return frame


def _read_rows(
    source: Source, separator: str, encoding: str, skipped: int, bad: list[Any] | None
) -> pa.Table:
    """Table of text; with a list for ragged rows, these are left out and listed."""
    from pyarrow import csv

    rows: list[Any] = [] if bad is None else bad

    def skip(row: Any) -> str:
        rows.append(row)
        return "skip"

    parse = csv.ParseOptions(
        delimiter=separator,
        newlines_in_values=True,
        invalid_row_handler=None if bad is None else skip,
    )
    read = csv.ReadOptions(
        # pyarrow drops the byte order mark of UTF-8 itself.
        encoding="utf8" if encoding in ("utf-8", "utf-8-sig") else encoding,
        block_size=BLOCK,
        skip_rows=skipped,
        # With several threads pyarrow does not give the numbers of rows.
        use_threads=bad is None,
    )
    with source.open() as file, csv.open_csv(file, read, parse) as opened:
        names = opened.schema.names
    # All columns are text: pyarrow would guess types from the first block.
    text = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
    )
    rows.clear()
    with source.open() as file:
        table = csv.read_csv(file, read, parse, text)
    return pa.Table.from_arrays([unmarked(one) for one in table.columns], names)


def _refuse_lines(
    source: Source, numbers: list[int], first: str, n_read: int, drop_invalid: bool
) -> None:
    """Refuse lines that cannot be read, or warn that they are left out."""
    if not numbers:
        return
    said = (
        f"line {numbers[0]} {first}; {len(numbers)} of {n_read + len(numbers)} lines "
        "cannot be read"
    )
    if not (drop_invalid and n_read):
        raise ValueError(f"{said}. Correct them, or leave them out with drop_invalid.")
    said = f"{source.label}: {said} and are left out."
    warn(DataWarning(said, code="lines-left-out"), stacklevel=6)


# -------------------------------------------------------------------------------- JSON
def _read_json(source: Source, encoding: str, drop_invalid: bool) -> pd.DataFrame:
    """Read records: an array, one on each line, or the only list of an object."""
    with source.open() as file:
        data = file.read()
    text = data.decode(encoding).lstrip("\ufeff")
    del data
    try:
        records = _records(source, text, drop_invalid)
    except RecursionError:
        raise ValueError("it is nested too deeply.") from None
    has_surrogates = "\\ud" in text or "\\uD" in text
    for row, record in enumerate(records):
        if not isinstance(record, dict):
            raise ValueError(
                f"record {row} is {json.dumps(record)[:40]}, not an object; write one "
                "object for each comparison."
            )
        try:
            if has_surrogates:
                json.dumps(record, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            # No file can be written with it.
            raise ValueError(
                f"row {row} holds half a character (a lone surrogate)."
            ) from None
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


def _records(source: Source, text: str, drop_invalid: bool) -> list[Any]:
    """Records of a text; lines that are no JSON are refused or left out."""
    try:
        whole = json.loads(text)
    except ValueError as error:
        if text.lstrip()[:1] == "[":
            raise
        first = str(error)
    else:
        if isinstance(whole, dict):
            return _of_object(whole)
        return whole if isinstance(whole, list) else [whole]
    records: list[Any] = []
    bad: list[int] = []
    # ``splitlines`` would also split at U+2028 and similar characters in a string.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                records.append(json.loads(line))
            except ValueError as error:
                first = first if bad else f"is no JSON ({error})"
                bad.append(number)
    _refuse_lines(source, bad, first, len(records), drop_invalid)
    return records


def _of_object(record: dict[str, Any]) -> list[Any]:
    """Records of an object: its only list of records, or the object itself."""
    lists = [record[name] for name in _ENVELOPES if isinstance(record.get(name), list)]
    if len(lists) == 1:
        # Texts beside the list, such as a judge, are those of every record.
        texts = {name: text for name, text in record.items() if isinstance(text, str)}
        return [{**texts, **r} if isinstance(r, dict) else r for r in lists[0]]
    if all(isinstance(value, (dict, list)) for value in record.values()):
        listed = ", ".join(f"{name!r}" for name in record)
        raise ValueError(
            f"it is one object that holds {listed[:80]}; write its comparisons as one "
            "list (the page 'Reshape your file' shows how)."
        )
    return [record]


# ------------------------------------------------------------------------------- Arrow
def _read_parquet(source: Source, coded: bool) -> pd.DataFrame:
    """Read Parquet; names of folders do not become columns.

    Columns of text that the file holds mostly as codes of a dictionary are read as
    codes, in a fifth of the time; those of texts that all differ would take longer.
    """
    from pyarrow import parquet

    with source.open() as opened, parquet.ParquetFile(opened) as file:
        size = {
            field.name: 0
            for field in file.schema_arrow
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        }
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            for column in map(group.column, range(group.num_columns)):
                if column.path_in_schema in size:
                    size[column.path_in_schema] += column.total_uncompressed_size
        # Each text in full takes four bytes for its length alone.
        n_rows = file.metadata.num_rows
        names = [name for name, taken in size.items() if taken < 4 * n_rows]
        reader = parquet.ParquetFile(
            opened, metadata=file.metadata, read_dictionary=names
        )
        return _to_pandas(reader.read(), coded)


def _to_pandas(table: pa.Table, coded: bool = False) -> pd.DataFrame:
    """Table of pandas; each column of Arrow is freed once it is turned."""
    names, rest = table.column_names, table.columns[::-1]
    del table
    columns = []
    for _ in names:
        column = rest.pop()
        if not pa.types.is_dictionary(column.type):
            # Whole numbers in a column with nulls would become floats.
            large = pa.types.is_integer(column.type) and bool(column.null_count)
            columns.append(column.to_pandas(integer_object_nulls=large))
        elif coded:
            columns.append(column.unify_dictionaries().to_pandas())
        else:
            columns.append(column.cast(column.type.value_type).to_pandas())
    pa.default_memory_pool().release_unused()
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    return frame.set_axis(names, axis=1)


def numbers_of(column: pd.Series) -> pd.Series | None:
    """Numbers of a column of text; None if it holds others. Decimal commas count."""
    texts = pa.array(column, type=pa.string(), from_pandas=True)
    missing = pc.is_in(texts, value_set=pa.array(_MISSING))
    texts = pc.if_else(missing, pa.scalar(None, pa.string()), texts)
    # Arrow would also parse hexadecimal numbers, which are text here.
    if pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py():
        return None
    if pc.any(pc.match_substring(texts.slice(0, 100), ",")).as_py():
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
