"""A data set: parts that any worker reads, its rows counted, and passes over all."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray

from skanchor._battles import (
    Comparisons,
    Outcomes,
    as_frame,
    split_battles,
    usable_features,
)
from skanchor._battles.features import DECLARED, feature_stems, sides_of
from skanchor._battles.grouping import label_codes
from skanchor._crossfit.parallel import stream_plan
from skanchor._machine import release_memory
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, located
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
        files = [(file, stamp_of(file)) for file in data.get_fragments()]
        sizes = Counter(size for _, (_, size) in files)
        for file, stamp in files:
            other = file.path
            with reading(file.path):
                schemas.append((file.path, file.physical_schema))
                groups, n_rows = file.split_by_row_group(), file.count_rows()
                # Copies have equal sizes, which few other files have.
                if sizes[stamp[1]] > 1:
                    with file.open() as content:
                        digest = hashlib.file_digest(content, "blake2b").digest()
                    other = first.setdefault(digest, file.path)
            if n_rows and other != file.path:
                raise BattlesError(
                    f"{file.path} holds the same rows as {other}: counted twice, they "
                    "would make errors too short. Give them once."
                )
            for group in groups:
                parts.append(Part(file.path, group, start, stamp))
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
    ends = [*(part.start for part in parts[1:]), start]
    parts = [one for one, end in zip(parts, ends, strict=True) if end > one.start]
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


# ----------------------------------------------------------------------------- passes
class Batch(NamedTuple):
    """Some rows of a data set.

    Attributes
    ----------
    table : pyarrow.Table
        As they are read.
    sample : Sample
        The same in their roles, without groups.
    unit : ndarray of shape (n_rows,)
        Number of each row, or code of its group: what goes into a fold as a whole.
    """

    table: pa.Table
    sample: Sample
    unit: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Reader:
    """How batches become rows in their roles, and what folds these are in.

    Attributes
    ----------
    columns : dict of str to str
        Columns of the data set, by the names that they are given.
    people : tuple of pyarrow.Array
        Labels of judges in the data set, and those that replace them.
    models, judges : ndarray
        Labels; rows of others are not used.
    drops_ties : bool
        Whether ties weigh nothing.
    n_splits, n_repeats, seed : int
        Folds of each repeat, number of repeats, and seed.
    size : int
        Rows of a batch.
    """

    columns: dict[str, str]
    people: tuple[Any, ...]
    models: NDArray[Any]
    judges: NDArray[Any]
    drops_ties: bool
    n_splits: int
    n_repeats: int
    seed: int
    size: int

    @property
    def is_grouped(self) -> bool:
        """Whether rows may depend on each other by group."""
        return GROUP in self.columns

    def draw(self, units: NDArray[np.integer], number: int) -> Array:
        """Uniform number of each unit, a hash of it, the seed and a number."""
        salt = np.uint64(self.seed * 1_000_003 + number + 1)
        mixed = pd.util.hash_array(units.astype(np.uint64)) ^ salt
        # 53 bits are those of a float below one.
        return (pd.util.hash_array(mixed) >> np.uint64(11)) / float(1 << 53)

    def folds(self, units: NDArray[np.integer]) -> NDArray[np.intp]:
        """Fold of each unit in each repeat, (n_repeats, n_units)."""
        draws = [self.draw(units, 1 + repeat) for repeat in range(self.n_repeats)]
        return (np.array(draws) * self.n_splits).astype(np.intp)

    def batches(self, part: Part) -> Iterator[Batch]:
        """Read a part; refuse rows of judges that lack a feature."""
        start = part.start
        for table in part.batches(self.columns, self.size):
            unit = start + np.arange(len(table))
            start += len(table)
            if self.is_grouped:
                unit = label_codes(table[GROUP], self.columns[GROUP], unit)
            named = table
            if self.people:
                at = pc.index_in(table["judge"], self.people[0])
                place = table.column_names.index("judge")
                named = table.set_column(place, "judge", self.people[1].take(at))
            # What is odd about names has been said of the whole.
            with located(part.name), WarningLog():
                X = Comparisons.from_battles(named).relabel(self.models, self.judges)
                outcomes = Outcomes.encode(table[OUTCOME], named=True)
                is_lost = self.drops_ties & (outcomes.values == 0.5)
                sample = Sample(X, outcomes, np.where(is_lost, 0.0, 1.0))
                X = usable_features(X, sample.counts & ~X.is_human)
            yield Batch(table, sample.with_battles(X), unit)


@dataclass(frozen=True, eq=False)
class Passes:
    """Runs tasks over all parts by joblib.

    Attributes
    ----------
    parts : list of Part
        The data set.
    n_jobs, verbose
        As in :class:`skanchor.AnchorPipeline`.
    """

    parts: list[Part]
    n_jobs: int | None
    verbose: int

    def run(
        self, task: Callable[..., dict[Any, Any]], reader: Reader, *args: Any
    ) -> dict[Any, Any]:
        """Add up, in their order, what a task finds in the batches of all parts.

        The task takes the reader, a batch and the arguments, and returns values that
        have ``+``, by name.
        """
        jobs = [(task, reader, args, part) for part in self.parts]
        how: dict[str, Any] = {"verbose": self.verbose, "description": task.__name__}
        totals: dict[Any, Any] = {}
        for result in stream_plan(_of_part, jobs, n_jobs=self.n_jobs, **how):
            _gain(totals, result)
        return totals


def _of_part(
    task: Callable[..., dict[Any, Any]], reader: Reader, args: Any, part: Part
) -> dict[Any, Any]:
    """What a task finds in a part."""
    totals: dict[Any, Any] = {}
    for batch in reader.batches(part):
        _gain(totals, task(reader, batch, *args))
    release_memory()
    return totals


def _gain(totals: dict[Any, Any], more: dict[Any, Any]) -> None:
    for name, value in more.items():
        totals[name] = totals[name] + value if name in totals else value
