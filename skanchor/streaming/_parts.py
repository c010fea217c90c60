"""A data set as parts that any process can read: row groups, partitions or tables.

Parts come in the order of the data and store the number of their first row. The fold of
a row depends on its number alone, or on its group, and so not on which process reads
it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from numpy.typing import NDArray

from skanchor._comparisons import as_frame
from skanchor.exceptions import BattlesError

_NO_ROWS = np.empty(0, dtype=np.int32)


class Part(Protocol):
    """Consecutive rows of a data set, which are read together."""

    @property
    def start(self) -> int:
        """Number of the first row."""

    @property
    def length(self) -> int:
        """Number of rows."""

    @property
    def group(self) -> NDArray[np.int32] | None:
        """Number of the group of each row, where an earlier pass has read it."""

    def tables(self, columns: Sequence[str] | None, size: int) -> Iterator[pa.Table]:
        """Read the rows, about ``size`` at a time."""


class Data(Protocol):
    """A data set that can be read several times, always with the same rows."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows, where it is known before reading."""

    def schema(self) -> pa.Schema | None:
        """Columns, where they are known before reading."""

    def parts(self) -> Iterator[Part]:
        """All parts, in order."""


@dataclass(frozen=True)
class FragmentPart:
    """Row groups of a file that pyarrow reads."""

    fragment: Any
    start: int
    length: int
    group: NDArray[np.int32] | None = None

    def tables(self, columns: Sequence[str] | None, size: int) -> Iterator[pa.Table]:
        """Read the rows, about ``size`` at a time."""
        # Reading ahead takes memory; parts are read in parallel instead.
        batches = iter(
            self.fragment.to_batches(
                columns=None if columns is None else list(columns),
                batch_size=size,
                batch_readahead=1,
                fragment_readahead=0,
                use_threads=False,
            )
        )
        while True:
            with _reading(getattr(self.fragment, "path", "")):
                batch = next(batches, None)
            if batch is None:
                return
            if len(batch):
                yield pa.Table.from_batches([batch])


@dataclass(frozen=True)
class TablePart:
    """A table in memory."""

    table: pa.Table
    start: int
    group: NDArray[np.int32] | None = None

    @property
    def length(self) -> int:
        """Number of rows."""
        return len(self.table)

    def tables(self, columns: Sequence[str] | None, size: int) -> Iterator[pa.Table]:
        """Read the rows, ``size`` at a time."""
        table = self.table if columns is None else self.table.select(list(columns))
        for start in range(0, len(table), size):
            yield table.slice(start, size)


@dataclass(frozen=True)
class PartitionPart:
    """A partition of a dask DataFrame, computed in the process that reads it."""

    partition: Any
    start: int
    length: int
    group: NDArray[np.int32] | None = None

    def tables(self, columns: Sequence[str] | None, size: int) -> Iterator[pa.Table]:
        """Read the rows, ``size`` at a time."""
        table = to_arrow(self.partition.compute(scheduler="synchronous"))
        yield from TablePart(table, self.start).tables(columns, size)


@dataclass(frozen=True)
class DatasetData:
    """A pyarrow data set: Parquet by row groups, other formats by files."""

    dataset: ds.Dataset

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.dataset.count_rows())

    def schema(self) -> pa.Schema:
        """Columns."""
        return self.dataset.schema

    def check(self, needed: Callable[[pa.Schema], list[str]]) -> None:
        """Refuse files that differ in the columns that are read of them.

        pyarrow reads all files by the columns of the first: what that one lacks would
        be dropped of all.

        Parameters
        ----------
        needed : callable
            Columns that are read of a table with a schema.

        Raises
        ------
        BattlesError
            If a file cannot be read, or lacks a column that another one has, or has it
            with another type.
        """
        if not isinstance(self.dataset, ds.FileSystemDataset):
            return
        first: tuple[str, pa.Schema] | None = None
        for fragment in self.dataset.get_fragments():
            with _reading(fragment.path):
                schema = fragment.physical_schema
            if first is None:
                first = fragment.path, schema
            _check_same(first, (fragment.path, schema), needed)

    def parts(self) -> Iterator[FragmentPart]:
        """All parts, in order."""
        start = 0
        for fragment in self.dataset.get_fragments():
            for group, length in _row_groups(fragment):
                yield FragmentPart(group, start, length)
                start += length


class _UnknownAhead:
    """Data of which nothing is known before its tables are read or computed."""

    @property
    def n_rows(self) -> None:
        """None: the number of rows is not known."""
        return None

    def schema(self) -> None:
        """None: columns are not known, or, of dask, not their types in pyarrow."""
        return None


@dataclass(frozen=True)
class DaskData(_UnknownAhead):
    """A dask DataFrame."""

    frame: Any

    def parts(self) -> Iterator[PartitionPart]:
        """All parts, in order."""
        lengths = self.frame.map_partitions(len).compute().tolist()
        start = 0
        for number, length in enumerate(lengths):
            yield PartitionPart(self.frame.partitions[number], start, int(length))
            start += int(length)


@dataclass(frozen=True)
class TablesData(_UnknownAhead):
    """Tables that a function or a container returns one after another."""

    begin: Callable[[], Iterator[Any]]

    def parts(self) -> Iterator[TablePart]:
        """All parts, in order."""
        start = 0
        for table in self.begin():
            part = TablePart(to_arrow(table), start)
            start += len(part.table)
            yield part


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Name a file that is damaged or no Parquet, in place of Arrow's own errors."""
    try:
        yield
    except (pa.ArrowInvalid, OSError) as error:
        said = str(error).partition("\n")[0]
        raise BattlesError(f"{path} cannot be read as Parquet: {said}") from error


def _check_same(
    one: tuple[str, pa.Schema],
    other: tuple[str, pa.Schema],
    needed: Callable[[pa.Schema], list[str]],
) -> None:
    """Refuse two files whose columns, or the types of these, differ."""
    mine, theirs = (set(needed(schema)) for _, schema in (one, other))
    for path, beside, lacking in (
        (one[0], other[0], sorted(theirs - mine)),
        (other[0], one[0], sorted(mine - theirs)),
    ):
        if lacking:
            raise BattlesError(
                f"{path} lacks the columns {lacking[:5]}, which {beside} has: all "
                "files of a stream need the same columns. Add them, or leave them out "
                "of all."
            )
    for name in sorted(mine):
        kinds = [schema.field(name).type for _, schema in (one, other)]
        if kinds[0] != kinds[1] and not all(map(_is_text_type, kinds)):
            raise BattlesError(
                f"Column {name!r} is {kinds[0]} in {one[0]} and {kinds[1]} in "
                f"{other[0]}: write it with one type."
            )


def _is_text_type(kind: pa.DataType) -> bool:
    """Whether a type holds text, of which pyarrow turns one kind into another."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _row_groups(fragment: Any) -> list[tuple[Any, int]]:
    """A file's row groups with their lengths, or the whole file where it has none."""
    if not hasattr(fragment, "split_by_row_group"):
        return [(fragment, int(fragment.count_rows()))]
    # ``count_rows`` of a row group's fragment would count its whole file.
    return [
        (group, sum(one.num_rows for one in group.row_groups))
        for group in fragment.split_by_row_group()
    ]


def check_length(part: Part, n_rows: int) -> None:
    """Raise if the number of rows read differs from the length of the part."""
    if n_rows != part.length:
        raise BattlesError(
            f"The stream has changed: there were {part.length} rows from number "
            f"{part.start} on, and now there are {n_rows}."
        )


def with_groups(part: Any, known: Mapping[int, NDArray[np.int32]]) -> Part:
    """A part with the numbers of the groups of its rows, by that of the first row."""
    group = known.get(part.start, _NO_ROWS) if part.length else _NO_ROWS
    if len(group) != part.length:
        raise BattlesError(
            f"The stream has changed: there were {len(group)} rows from number "
            f"{part.start} on, and now there are {part.length}."
        )
    return replace(part, group=group)  # type: ignore[no-any-return]


def to_arrow(table: Any) -> pa.Table:
    """Turn a pandas, polars or pyarrow table into a pyarrow one."""
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    frame = as_frame(table)
    if frame is None:
        raise TypeError(
            "A stream must hand out pandas, polars or pyarrow tables, got "
            f"{type(table).__name__}."
        )
    try:
        return frame.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        # A column of objects of several types.
        said = " ".join(map(str, error.args))
        raise TypeError(
            f"A table of the stream mixes types in one column: {said}. Convert it to "
            "one type, such as text."
        ) from None
    except (pa.ArrowNotImplementedError, OverflowError):
        raise BattlesError(
            f"Column {_not_of_arrow(frame)!r} of a table of the stream holds values "
            "that Arrow has no type for. Convert it to text or numbers."
        ) from None


def _not_of_arrow(frame: nw.DataFrame[Any]) -> str:
    """Name of the first column of which Arrow makes none, such as complex numbers."""
    for name in frame.columns:
        try:
            frame.select(name).to_arrow()
        except (pa.ArrowNotImplementedError, OverflowError):
            return name
    return ""


def open_data(data: Any) -> Data:
    """Open a data set, to be read in parts.

    Parameters
    ----------
    data : path, URL, pyarrow Dataset, dask DataFrame, tables or function
        A Parquet file, a folder of such files, a list of files, or a URL that pyarrow
        reads; a data set of pyarrow; a dask DataFrame; a container of tables that can
        be gone through again, or a function that returns an iterator of tables.

    Returns
    -------
    Data

    Raises
    ------
    TypeError
        If it can be read only once, or not at all.
    """
    if isinstance(data, ds.Dataset):
        return DatasetData(data)
    if isinstance(data, (str, os.PathLike)):
        return DatasetData(_dataset(data))
    if hasattr(data, "partitions") and hasattr(data, "map_partitions"):
        return DaskData(data)
    if callable(data):
        return TablesData(data)
    if isinstance(data, Iterator):
        raise TypeError(
            "An iterator can be read only once, and a fit reads its rows several "
            "times; give a function that returns a new one, such as lambda: "
            "read_tables()."
        )
    if isinstance(data, pa.Table) or as_frame_or_none(data):
        return TablesData(lambda: iter([data]))
    if isinstance(data, Iterable):
        # A list of texts is a list of files or URLs; any other holds tables.
        if isinstance(data, Sequence) and data and isinstance(data[0], str):
            names = [each if "://" in each else os.path.abspath(each) for each in data]
            with _reading(", ".join(names[:3])):
                return DatasetData(ds.dataset(names, format="parquet"))
        return TablesData(lambda: iter(data))
    raise TypeError(
        "A stream is a Parquet file or folder, a data set of pyarrow, a dask "
        f"DataFrame, or tables one after another, got {type(data).__name__}."
    )


def as_frame_or_none(data: Any) -> bool:
    """Whether this is one table, and not a container of tables."""
    return not isinstance(data, (list, tuple)) and as_frame(data) is not None


def _dataset(path: str | os.PathLike[str]) -> ds.Dataset:
    name = os.fspath(path)
    if "://" not in name:
        if not os.path.exists(name):
            raise BattlesError(f"There is no file or folder {name}.")
        # An absolute path, since a worker may run in another folder.
        name = os.path.abspath(name)
    with _reading(name):
        return ds.dataset(name, format="parquet")
