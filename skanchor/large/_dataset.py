"""A data set as parts that any worker reads, and its rows counted by columns."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from skanchor._battles import as_frame
from skanchor._battles.features import (
    DECLARED,
    feature_stems,
    other_side,
    without_declaration,
)
from skanchor._machine import release_memory
from skanchor.exceptions import BattlesError
from skanchor.io import names_in_role, split_battles
from skanchor.warning_log import WarningLog

KEYS = ("model_a", "model_b", "judge", "shown_first")
"""Standard names of the columns that, with the outcome, tell rows apart."""

COUNT, NUMBER = "count", "number"
"""Names that a column of counts is given, and the numbers of equal rows."""

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
    """

    name: str
    rows: Any
    start: int

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.Table]:
        """Read some columns, about ``size`` rows at a time."""
        if isinstance(self.rows, pa.Table):
            rows = self.rows.select(columns)
            yield from (rows[k : k + size] for k in range(0, len(rows), size))
            return
        with reading(self.name):
            # Beside pyarrow's reader of data sets this takes a third of the time and
            # half of the memory. Parts are read in parallel, so it needs no threads.
            file = pq.ParquetFile(
                self.rows.open(), pre_buffer=False, buffer_size=1 << 16
            )
            groups = [one.id for one in self.rows.row_groups]
            how: dict[str, Any] = {"columns": columns, "use_threads": False}
            batches = file.iter_batches(size, groups, **how)
            yield from (pa.table(batch) for batch in batches if len(batch))


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


def open_dataset(data: Any) -> ds.Dataset:
    """Open a file or folder of Parquet, a list of files or tables, or a data set."""
    if isinstance(data, ds.Dataset):
        return data
    several = list(data) if isinstance(data, (list, tuple)) else [data]
    if all(isinstance(one, (str, os.PathLike)) for one in several):
        # Absolute, since a worker may run in another folder.
        names = [os.fspath(one) for one in several]
        names = [name if "://" in name else os.path.abspath(name) for name in names]
        with reading(", ".join(names[:3])):
            return ds.dataset(names if len(names) > 1 else names[0], format="parquet")
    frames = [frame for frame in map(as_frame, several) if frame is not None]
    if len(frames) < len(several):
        raise TypeError(
            "A large data set is a Parquet file or folder, a list of such files, a "
            "data set of pyarrow, or tables in a list, got "
            f"{type(data).__name__}."
        )
    tables = [frame.to_arrow() for frame in frames]
    _check_alike([(f"Table {i}", one.schema) for i, one in enumerate(tables)])
    return ds.dataset([one.cast(tables[0].schema) for one in tables])


def parts_of(dataset: ds.Dataset) -> list[Part]:
    """Parts of a data set that hold rows, in their order.

    Files that differ in their columns are refused, as pyarrow reads all of them by the
    columns of the first: what that one lacks would be dropped of all. So are copies.
    """
    parts, start, schemas = [], 0, []
    sizes: dict[int, list[Any]] = {}
    for number, one in enumerate(dataset.get_fragments()):
        if not isinstance(dataset, ds.FileSystemDataset):
            rows = one.to_table()
            pieces = [(f"Table {number}", rows, len(rows))]
        else:
            with reading(one.path):
                schemas.append((one.path, one.physical_schema))
                sizes.setdefault(one.open().size(), []).append(one)
                groups = one.split_by_row_group()
            pieces = [(one.path, group, group.count_rows()) for group in groups]
        for name, rows, n_rows in pieces:
            if n_rows:
                parts.append(Part(name, rows, start))
            start += n_rows
    _check_alike(schemas)
    # Copies have equal sizes, which few others have.
    for alike in sizes.values():
        first: dict[bytes, str] = {}
        for file in alike if len(alike) > 1 else ():
            with file.open() as content:
                digest = hashlib.file_digest(content, "sha256").digest()
            other = first.setdefault(digest, file.path)
            if other != file.path:
                raise BattlesError(
                    f"{file.path} holds the same rows as {other}: counted twice, they "
                    "would make errors too short. Give them once."
                )
    if not parts:
        files = getattr(dataset, "files", [])[:3]
        raise BattlesError(f"The data set holds no rows {files or ''}".rstrip())
    return parts


def _check_alike(schemas: Sequence[tuple[str, pa.Schema]]) -> None:
    """Refuse two parts whose columns, or the types of these, differ."""
    # pyarrow turns one kind of text into another.
    kinds = [
        {field.name: str(_plain(field.type)).removeprefix("large_") for field in schema}
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


def _plain(kind: pa.DataType) -> pa.DataType:
    """Type of the values of a column, of a dictionary or not."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


@dataclass(frozen=True)
class Columns:
    """Columns of a data set that are read, under the names that they have there.

    Attributes
    ----------
    keys : dict of str to str
        By standard name, those that tell rows without features apart.
    features : dict of str to list of str
        By name of the feature, the columns of the two responses.
    groups : str or None
        Column of the groups of dependent rows.
    """

    keys: dict[str, str]
    features: dict[str, list[str]]
    groups: str | None

    @classmethod
    def of(
        cls, schema: pa.Schema, counts: str | None, groups: str | None, **how: Any
    ) -> Columns:
        """Find the columns; ``how`` has arguments of :func:`skanchor.split_battles`.

        A column of ``counts`` is a key, too: a cell is then of rows that count alike.
        """
        renames, outcome = dict(how["columns"] or {}), how["outcome"]
        names = {renames.get(name, name): name for name in schema.names}
        swapped = [name for name in names_in_role(names, "swapped") if name not in KEYS]
        if swapped and "shown_first" not in names:
            raise BattlesError(
                f"Column {swapped[0]!r} may say which rows were shown swapped. Give "
                "the order in a column 'shown_first', with outcomes about the columns, "
                f"or give it another name in columns, as in {swapped[0]}=note."
            )
        others = [one for one in (counts, groups) if one]
        lost = [one for one in others if one not in schema.names]
        if lost:
            raise BattlesError(f"There is no column {lost[0]!r} in {schema.names[:20]}")
        # A table without rows has the columns that a full one would have.
        with WarningLog():
            X, _ = split_battles(schema.empty_table(), **how)
        apart = [one for one in others if other_side(one) not in schema.names]
        X = X.drop_columns([name for name in apart if name in X.column_names])
        features = {}
        for stem in feature_stems(nw.from_native(X, eager_only=True)):
            sides = [stem + side for side in ("_a", "_b")]
            side_names = [
                names.get(s) or names[s.removeprefix(DECLARED)] for s in sides
            ]
            features[without_declaration(stem)] = side_names
        keys = {name: names[name] for name in KEYS if name in names}
        keys |= {"winner": names[outcome]} | ({COUNT: counts} if counts else {})
        return cls(keys, features, groups)

    @property
    def all(self) -> list[str]:
        """All columns that are read of every row."""
        sides = [side for pair in self.features.values() for side in pair]
        group_column = [self.groups] if self.groups else []
        return list(dict.fromkeys([*self.keys.values(), *sides, *group_column]))


def group_by(parts: Sequence[Part], keys: Mapping[str, str]) -> pa.Table:
    """Count the rows of a data set by columns, batch by batch.

    Parameters
    ----------
    parts : sequence of Part
        The rows.
    keys : mapping of str to str
        Columns to group by, by the name that they are given.

    Returns
    -------
    pyarrow.Table
        With the column ``number``, in any order.
    """
    read, tables = list(dict.fromkeys(keys.values())), []
    for part in parts:
        for rows in part.batches(read, COUNTED):
            columns = {
                name: rows[column].cast(_plain(rows[column].type))
                for name, column in keys.items()
            }
            columns[NUMBER] = np.ones(len(rows), dtype=np.int64)
            tables.append(_summed(pa.table(columns)))
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
    return table.rename_columns({f"{NUMBER}_sum": NUMBER})
