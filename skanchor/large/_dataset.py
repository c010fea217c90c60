"""A data set as parts that any worker reads, and its rows counted by columns."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from skanchor._battles import as_frame, split_battles
from skanchor._battles.features import DECLARED, feature_stems, sides_of
from skanchor._machine import release_memory
from skanchor.exceptions import BattlesError
from skanchor.io import names_in_role
from skanchor.warning_log import WarningLog

OUTCOME, COUNT, GROUP, NUMBER = "winner", "count", "groups", "number"
"""Names that columns are given: of outcomes, of how often a row counts, and of groups
of dependent rows; and that of the numbers of equal rows."""

KEYS = ("model_a", "model_b", "judge", "shown_first")
"""Columns by which, with outcomes and counts, rows without features differ."""

COUNTED, MOST_KINDS = 1 << 15, 1 << 20
"""Rows that are counted at a time, and kinds of rows that may wait to be added up."""


@dataclass(frozen=True)
class Part:
    """Rows that one worker reads: a row group of a file, or a table.

    Attributes
    ----------
    name : str
        File, or number of the table.
    rows : Fragment of pyarrow or pyarrow.Table
        The rows.
    start : int
        Number of the first of them in the data set.
    stamp : tuple or None
        Time and size of the file, by which a change is noticed; None for a table.
    """

    name: str
    rows: Any
    start: int
    stamp: tuple[Any, int] | None

    def batches(self, columns: Mapping[str, str], size: int) -> Iterator[pa.Table]:
        """Read columns by their new names, about ``size`` rows at a time."""
        with reading(self.name):
            for batch in self._read(list(dict.fromkeys(columns.values())), size):
                values = [batch[name] for name in columns.values()]
                values = [one.cast(plain_type(one.type)) for one in values]
                if len(batch):
                    yield pa.table(values, names=list(columns))
        if self.stamp is not None and self.stamp != stamp_of(self.rows):
            raise BattlesError(
                f"The data set has changed while it was read: {self.name} is another "
                "file than before. Fit it again when nothing writes to it."
            )

    def _read(self, columns: list[str], size: int) -> Iterator[Any]:
        if isinstance(self.rows, pa.Table):
            return iter(self.rows.select(columns).to_batches(size))
        # Beside pyarrow's reader of data sets this takes a third of the time and half
        # of the memory. Parts are read in parallel, so it needs no threads.
        file = pq.ParquetFile(self.rows.open(), pre_buffer=False, buffer_size=1 << 16)
        groups = [group.id for group in self.rows.row_groups]
        return iter(file.iter_batches(size, groups, columns, use_threads=False))


def stamp_of(fragment: Any) -> tuple[Any, int]:
    """Time of the last change of a file, and its size."""
    info = fragment.filesystem.get_file_info(fragment.path)
    return info.mtime_ns, info.size


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Type of the values of a column, of a dictionary or not."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Name a file that is damaged, in place of Arrow's own errors."""
    try:
        yield
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise BattlesError(
            f"{name} cannot be read as Parquet, or has changed while it was read: "
            f"{reason}"
        ) from error


# ------------------------------------------------------------------------------- parts
def open_parts(data: Any) -> tuple[list[Part], pa.Schema]:
    """Parts of a data set that hold rows, in their order, and the schema of all.

    Parameters
    ----------
    data : path, list of paths, pyarrow Dataset or list of tables
        As in :func:`skanchor.large.fit_history`.

    Raises
    ------
    BattlesError
        If parts differ in their columns, as pyarrow reads all of them by those of the
        first; if two files are copies of each other; and if there is no row.
    """
    several = list(data) if isinstance(data, (list, tuple)) else [data]
    if all(isinstance(one, (str, os.PathLike)) for one in several):
        # Absolute, since a worker may run in another folder.
        names = [os.fspath(one) for one in several]
        names = [name if "://" in name else os.path.abspath(name) for name in names]
        with reading(", ".join(names[:3])):
            data = ds.dataset(names if len(names) > 1 else names[0], format="parquet")
    parts: list[Part] = []
    first: dict[bytes, str] = {}
    schemas, tables, start = [], [], 0
    if isinstance(data, ds.FileSystemDataset):
        for file in data.get_fragments():
            with reading(file.path):
                schemas.append((file.path, file.physical_schema))
                groups, n_rows = file.split_by_row_group(), file.count_rows()
                with file.open() as content:
                    digest = hashlib.file_digest(content, "blake2b").digest()
            other = first.setdefault(digest, file.path)
            if n_rows and other != file.path:
                raise BattlesError(
                    f"{file.path} holds the same rows as {other}: counted twice, they "
                    "would make errors too short. Give them once."
                )
            for group in groups:
                parts.append(Part(file.path, group, start, stamp_of(file)))
                start += group.count_rows()
    elif isinstance(data, ds.Dataset):
        tables = [fragment.to_table() for fragment in data.get_fragments()]
    else:
        frames = [frame for frame in map(as_frame, several) if frame is not None]
        if len(frames) < len(several):
            raise TypeError(
                "A large data set is a Parquet file or folder, a list of such files, a "
                "data set of pyarrow, or tables in a list, got "
                f"{type(data).__name__}."
            )
        tables = [frame.to_arrow() for frame in frames]
    schemas += [(f"Table {i}", table.schema) for i, table in enumerate(tables)]
    _refuse_different(schemas)
    for (name, _), table in zip(schemas, tables, strict=False):
        parts.append(Part(name, table.cast(tables[0].schema), start, None))
        start += len(table)
    if not start:
        names = [name for name, _ in schemas[:3]]
        raise BattlesError(f"The data set holds no rows: {names}.")
    return parts, schemas[0][1]


def _refuse_different(schemas: Sequence[tuple[str, pa.Schema]]) -> None:
    """Refuse two parts whose columns, or the types of these, differ."""
    # pyarrow turns one kind of text into another, and dictionaries into values.
    kinds = [
        {one.name: str(plain_type(one.type)).removeprefix("large_") for one in schema}
        for _, schema in schemas
    ]
    for (name, _), kind in zip(schemas, kinds, strict=True):
        for column, _ in sorted(kind.items() ^ kinds[0].items()):
            one, other = (types.get(column, "missing") for types in (kinds[0], kind))
            raise BattlesError(
                f"Column {column!r} is {one} in {schemas[0][0]} and {other} in {name}: "
                "all parts of a data set need the same columns of the same types. "
                "Write it with one type, or leave it out of all."
            )


# ----------------------------------------------------------------------------- columns
def columns_of(
    schema: pa.Schema, counts: str | None, groups: str | None, **how: Any
) -> dict[str, str]:
    """Columns of a data set that are read, by the names that they are given.

    Parameters
    ----------
    schema : pyarrow.Schema
        Of the data set.
    counts, groups : str or None
        Columns of numbers of equal rows, and of groups.
    **how
        Arguments of :func:`skanchor.split_battles`.
    """
    renames = dict(how["columns"] or {})
    names = {name: name for name in schema.names if name not in renames}
    names |= {new: old for old, new in renames.items()}
    swapped = [name for name in names_in_role(names, "swapped") if name not in KEYS]
    if swapped and "shown_first" not in names:
        raise BattlesError(
            f"Column {swapped[0]!r} may say which rows were shown swapped. Give "
            "the order in a column 'shown_first', with outcomes about the columns, "
            f"or give it another name in columns, as in {swapped[0]}=note."
        )
    # A table without rows has the columns that a full one would have.
    with WarningLog():
        X, _ = split_battles(schema.empty_table(), **how)
    columns = {name: names[name] for name in KEYS if name in X.column_names}
    columns[OUTCOME] = names[how["outcome"]]
    for side in sides_of(feature_stems(nw.from_native(X, eager_only=True))):
        columns[side] = names.get(side) or names[side.removeprefix(DECLARED)]
    for name, column in ((COUNT, counts), (GROUP, groups)):
        if column is not None:
            columns[name] = column
            if column not in schema.names:
                there = schema.names[:20]
                raise BattlesError(f"There is no column {column!r} in {there}.")
    return columns


# -------------------------------------------------------------------------- GROUP BY
def group_by(parts: Sequence[Part], columns: Mapping[str, str]) -> pa.Table:
    """Count the rows of a data set by columns, batch by batch.

    Parameters
    ----------
    parts : sequence of Part
        The rows.
    columns : mapping of str to str
        Columns to group by, by the name that they are given.

    Returns
    -------
    pyarrow.Table
        With the column ``number``, in any order.
    """
    tables: list[pa.Table] = []
    for part in parts:
        for rows in part.batches(columns, COUNTED):
            tables.append(_summed(rows.append_column(NUMBER, pa.repeat(1, len(rows)))))
            # Kinds of rows that recur are put together before they take much memory.
            if sum(map(len, tables)) > 2 * len(tables[0]) + MOST_KINDS:
                tables = [_summed(pa.concat_tables(tables))]
    release_memory()
    return _summed(pa.concat_tables(tables))


def _summed(rows: pa.Table) -> pa.Table:
    """Rows that are equal but for their number, put together."""
    names = [name for name in rows.column_names if name != NUMBER]
    try:
        table = rows.group_by(names, use_threads=False).aggregate([(NUMBER, "sum")])
    except pa.ArrowNotImplementedError as error:
        raise BattlesError(
            f"One of the columns {names} has values that cannot be counted "
            f"({str(error)[:200]}). Convert it to text or numbers."
        ) from None
    return table.rename_columns([*names, NUMBER])
