"""A data set as parts that any worker reads, and a GROUP BY of its rows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.acero as acero
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray

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

KEYS = ("model_a", "model_b", "judge", "shown_first", "winner")
"""Standard names of the columns that tell rows without features apart."""


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
            found = file.iter_batches(size, groups, **how)
            yield from (pa.table(batch) for batch in found if len(batch))


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Name a file that is damaged, in place of Arrow's own errors."""
    try:
        yield
    except (pa.ArrowInvalid, OSError) as error:
        said = str(error).partition("\n")[0]
        raise BattlesError(
            f"{name} cannot be read as Parquet, or has changed while it was read: "
            f"{said}"
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
    """Parts of a data set in their order; refuse files that differ, and copies.

    pyarrow reads all files by the columns of the first: what that one lacks would be
    dropped of all.
    """
    parts, start, schemas = [], 0, []
    files: dict[int, list[Any]] = {}
    for number, one in enumerate(dataset.get_fragments()):
        if not isinstance(dataset, ds.FileSystemDataset):
            parts.append(Part(f"Table {number}", one.to_table(), start))
            start += len(parts[-1].rows)
            continue
        with reading(one.path):
            schemas.append((one.path, one.physical_schema))
            groups = one.split_by_row_group()
            files.setdefault(one.open().size(), []).append(one)
        for group in groups:
            parts.append(Part(one.path, group, start))
            start += sum(rows.num_rows for rows in group.row_groups)
    _check_alike(schemas)
    # Copies have equal sizes, which few others have.
    for alike in files.values():
        first: dict[bytes, str] = {}
        for file in alike if len(alike) > 1 else ():
            with file.open() as content:
                digest = hashlib.file_digest(content, "sha256").digest()
            if digest in first:
                raise BattlesError(
                    f"{file.path} holds the same rows as {first[digest]}: counted "
                    "twice, they would make errors too short. Give them once."
                )
            first[digest] = file.path
    return parts


def _check_alike(schemas: Sequence[tuple[str, pa.Schema]]) -> None:
    """Refuse two parts whose columns, or the types of these, differ."""
    first: dict[str, str] = {}
    for name, schema in schemas:
        own = {}
        for field in schema:
            kind = field.type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            # pyarrow turns one kind of text into another.
            own[field.name] = str(kind).removeprefix("large_")
        first = first or own
        for column in sorted(first.keys() | own.keys()):
            one, other = first.get(column, "missing"), own.get(column, "missing")
            if one != other:
                raise BattlesError(
                    f"Column {column!r} is {one} in {schemas[0][0]} and {other} in "
                    f"{name}: all parts of a data set need the same columns of the "
                    "same types. Write it with one type, or leave it out of all."
                )


@dataclass(frozen=True)
class Columns:
    """Columns of a data set that are read, under the names that they have there.

    Attributes
    ----------
    keys : dict of str to str
        By standard name, of those of :data:`KEYS` that there are.
    features : dict of str to list of str
        By name of the feature, the columns of the two responses.
    weight, groups : str or None
        Columns of the weights, and of the groups of dependent rows.
    """

    keys: dict[str, str]
    features: dict[str, list[str]]
    weight: str | None
    groups: str | None

    @classmethod
    def of(
        cls, schema: pa.Schema, weight: str | None, groups: str | None, **how: Any
    ) -> Columns:
        """Find the columns; ``how`` has arguments of :func:`skanchor.split_battles`."""
        renames, outcome = dict(how["columns"] or {}), how["outcome"]
        names = {renames.get(name, name): name for name in schema.names}
        swapped = [name for name in names_in_role(names, "swapped") if name not in KEYS]
        if swapped and "shown_first" not in names:
            raise BattlesError(
                f"Column {swapped[0]!r} may say which rows were shown swapped. Give "
                "the order in a column 'shown_first', with outcomes about the columns, "
                f"or rename it, as in columns={{{swapped[0]!r}: 'note'}}."
            )
        others = [one for one in (weight, groups) if one]
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
            own = [names.get(s) or names[s.removeprefix(DECLARED)] for s in sides]
            features[without_declaration(stem)] = own
        keys = {name: names[name] for name in KEYS[:-1] if name in names}
        return cls({**keys, "winner": names[outcome]}, features, weight, groups)

    @property
    def all(self) -> list[str]:
        """All columns that are read of every row."""
        sides = [side for pair in self.features.values() for side in pair]
        others = filter(None, [self.weight, self.groups])
        return list(dict.fromkeys([*self.keys.values(), *sides, *others]))


def group_by(
    dataset: ds.Dataset,
    keys: Mapping[str, str],
    totals: Mapping[str, tuple[str, str]] = MappingProxyType({}),
) -> pa.Table:
    """Count the rows of a data set by columns, batch by batch, and total others.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        The rows.
    keys : mapping of str to str
        Columns to group by, by the name that they are given.
    totals : mapping of str to (column, function)
        Further columns, by the name of the total.

    Returns
    -------
    pyarrow.Table
        With the column ``number``, in any order.
    """
    fields, how = {}, list[Any]([([], "hash_count_all", None, "number")])
    for name, column in keys.items():
        kind, fields[name] = dataset.schema.field(column).type, pc.field(column)
        if pa.types.is_dictionary(kind):
            fields[name] = fields[name].cast(kind.value_type)
    for name, (column, function) in totals.items():
        # What is missing must not be left out of a total.
        number = pc.field(column).cast(pa.float64())
        fields[name] = pc.coalesce(number, pc.scalar(np.nan))
        how.append((name, f"hash_{function}", None, name))
    read = list(dict.fromkeys([*keys.values(), *(one for one, _ in totals.values())]))
    scan: dict[str, Any] = {"columns": read, "batch_readahead": 1}
    scan["batch_size"] = 1 << 15
    if isinstance(dataset, ds.FileSystemDataset):
        scan["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
            pre_buffer=False, use_buffered_stream=True
        )
    nodes = [
        ("scan", acero.ScanNodeOptions(dataset, **scan)),
        ("project", acero.ProjectNodeOptions(list(fields.values()), list(fields))),
        ("aggregate", acero.AggregateNodeOptions(how, keys=list(keys))),
    ]
    plan = acero.Declaration.from_sequence([acero.Declaration(*one) for one in nodes])
    try:
        found = plan.to_table()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise BattlesError(
            f"One of the columns {read} has values that cannot be counted or added up "
            f"({str(error)[:200]}). Convert it to text or numbers."
        ) from None
    release_memory()
    return found


@dataclass(frozen=True, eq=False)
class Cells:
    """Different rows without features, and the numbers of the rows of each.

    Attributes
    ----------
    table : pyarrow.Table
        The different rows under standard names, ``number``, and maybe totals.
    values : list of pyarrow.Array
        Different values of each column of the rows.
    codes : Index
        Codes of the values of each cell as one number.
    """

    table: pa.Table
    values: list[pa.Array]
    codes: pd.Index

    @classmethod
    def count(cls, dataset: ds.Dataset, columns: Columns) -> Cells:
        """Count the rows of a data set; refuse one without rows."""
        weight = columns.weight
        totals = {"sum": (weight, "sum"), "min": (weight, "min")} if weight else {}
        table = group_by(dataset, columns.keys, totals)
        table = table.sort_by([(key, "ascending") for key in columns.keys])
        if not len(table):
            names = getattr(dataset, "files", [])[:3]
            raise BattlesError(f"The data set holds no rows {names or ''}".rstrip())
        rows = table.select(list(columns.keys))
        values = [pa.array(column.unique()) for column in rows.columns]
        return cls(table, values, pd.Index(_codes(rows, values)))

    def of_rows(self, table: pa.Table) -> NDArray[np.intp]:
        """Cell of each row of a table with these columns; -1 where it has none."""
        return self.codes.get_indexer(pd.Index(_codes(table, self.values)))


def _codes(table: pa.Table, values: Sequence[pa.Array]) -> NDArray[np.int64]:
    """The values of each row as one number, -1 where one is not among them."""
    code, lost = np.zeros(len(table), dtype=np.int64), np.zeros(len(table), dtype=bool)
    for column, known in zip(table.columns, values, strict=True):
        at = pc.index_in(column.cast(known.type), known).fill_null(-1).to_numpy()
        lost |= at < 0
        code = code * len(known) + at
    return np.where(lost, -1, code)
