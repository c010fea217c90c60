"""A data set as parts that any worker reads, and a GROUP BY of its rows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.acero as acero
import pyarrow.compute as pc
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

COUNT = "count"
"""Name that a column of counts is given."""


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
            own = [names.get(s) or names[s.removeprefix(DECLARED)] for s in sides]
            features[without_declaration(stem)] = own
        keys = {name: names[name] for name in KEYS if name in names}
        keys |= {"winner": names[outcome]} | ({COUNT: counts} if counts else {})
        return cls(keys, features, groups)

    @property
    def all(self) -> list[str]:
        """All columns that are read of every row."""
        sides = [side for pair in self.features.values() for side in pair]
        own = [self.groups] if self.groups else []
        return list(dict.fromkeys([*self.keys.values(), *sides, *own]))


def group_by(dataset: ds.Dataset, keys: Mapping[str, str]) -> pa.Table:
    """Count the rows of a data set by columns, batch by batch.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        The rows.
    keys : mapping of str to str
        Columns to group by, by the name that they are given.

    Returns
    -------
    pyarrow.Table
        With the column ``number``, in any order.
    """
    fields = {}
    for name, column in keys.items():
        kind, fields[name] = dataset.schema.field(column).type, pc.field(column)
        if pa.types.is_dictionary(kind):
            fields[name] = fields[name].cast(kind.value_type)
    read = list(dict.fromkeys(keys.values()))
    scan: dict[str, Any] = {"columns": read, "batch_readahead": 1}
    scan["batch_size"] = 1 << 15
    if isinstance(dataset, ds.FileSystemDataset):
        scan["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
            pre_buffer=False, use_buffered_stream=True
        )
    number: list[Any] = [([], "hash_count_all", None, "number")]
    nodes = [
        ("scan", acero.ScanNodeOptions(dataset, **scan)),
        ("project", acero.ProjectNodeOptions(list(fields.values()), list(fields))),
        ("aggregate", acero.AggregateNodeOptions(number, keys=list(keys))),
    ]
    plan = acero.Declaration.from_sequence([acero.Declaration(*one) for one in nodes])
    try:
        found = plan.to_table()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise BattlesError(
            f"One of the columns {read} has values that cannot be counted "
            f"({str(error)[:200]}). Convert it to text or numbers."
        ) from None
    release_memory()
    return found
