"""Tables of a stream as encoded rows with numbers and folds.

The fold that holds a row out is a hash of the row's number, or of the label of its
group. So it can be computed without any other row, and does not depend on how the
stream is cut into parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from skanchor._comparisons import (
    HUMAN,
    Comparisons,
    Outcomes,
    as_frame,
    split_table,
)
from skanchor._comparisons.grouping import other_side, warn_of_groups_of_a_feature
from skanchor._comparisons.people import people_among, people_of
from skanchor._comparisons.suspects import DECLARED
from skanchor._comparisons.table import require_columns
from skanchor._numerics.machine import available_bytes
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, located
from skanchor.io import may_be_swapped, names_loser, who_columns, words_of
from skanchor.sample import FEATURE_BYTES, ROW_BYTES, check_weight
from skanchor.streaming._columns import FeatureColumns
from skanchor.streaming._hashes import group_hashes, row_hash

_FLAG = frozenset(
    "is was were been order position positions side sides display shown answers "
    "responses swap swapped flip flipped reverse reversed switched transposed "
    "inverted".split()
)
"""Words of the names of flags of swapped sides."""

OPTIONAL = ("judge", "shown_first")
"""Columns that mean something where they are missing."""


@dataclass(frozen=True, slots=True)
class Folds:
    """Which fold holds a row out, in every repeat.

    Attributes
    ----------
    n_splits, n_repeats : int
        Number of folds of a repeat, and of repeats.
    seed : int
        Seed of the assignment of rows to folds.

    Examples
    --------
    >>> import numpy as np
    >>> from skanchor.streaming import Folds
    >>> folds = Folds(n_splits=3, seed=0)
    >>> folds.of_rows(np.arange(5)).shape
    (1, 5)
    """

    n_splits: int
    n_repeats: int = 1
    seed: int = 0

    @property
    def size(self) -> int:
        """Number of folds of all repeats."""
        return self.n_splits * self.n_repeats

    def of_rows(
        self, number: NDArray[np.integer], copy: NDArray[np.integer] | None = None
    ) -> NDArray[np.intp]:
        """Fold of each row in each repeat.

        Parameters
        ----------
        number : ndarray of shape (n_rows,)
            Row numbers.
        copy : ndarray of shape (n_rows,), optional
            Number of the copy, from zero, if a row is counted several times.

        Returns
        -------
        ndarray of shape (n_repeats, n_rows)
            Numbers from zero.
        """
        found = np.empty((self.n_repeats, len(number)), dtype=np.intp)
        for repeat in range(self.n_repeats):
            # A factor beyond the number of repeats, so that no two seeds share a hash.
            value = row_hash(number, self.seed * 1_000_003 + repeat)
            # Each further copy of a row has a hash, and so a fold, of its own.
            if copy is not None and copy.any():
                other = row_hash(copy, self.seed * 1_000_003 + repeat)
                value = np.where(copy > 0, value ^ other, value)
            # The upper 32 bits: with few folds, all remainders have the same frequency
            # up to about one part in 10^8.
            found[repeat] = (value >> np.uint64(32)) % np.uint64(self.n_splits)
        return found

    def hashes(self, number: NDArray[np.integer]) -> NDArray[np.uint64]:
        """Hash of each row, by which the sample is drawn: lowest hashes first."""
        # A seed that no repeat uses, so that the sample is independent of the folds.
        return row_hash(number, self.seed * 1_000_003 + self.n_repeats)

    def plans(
        self,
        n_rows: int,
        counts: NDArray[np.integer] | None = None,
        groups: Any = None,
    ) -> list[list[tuple[NDArray[np.intp], NDArray[np.intp]]]]:
        """The same folds as splits of a table in memory.

        Parameters
        ----------
        n_rows : int
            Rows of the table.
        counts : ndarray of shape (n_rows,), optional
            How often each row is counted. The splits are then those of a table that
            repeats each row as often.
        groups : array-like of shape (n_rows,), optional
            Labels of the groups of a stream that had any.

        Returns
        -------
        list of list of (train, test)
            For each repeat and fold, row numbers.
        """
        number, copy = np.arange(n_rows), None
        if counts is not None:
            number, copy = expand(np.asarray(counts), number)
        if groups is not None:
            column = pa.chunked_array([pa.array(groups, from_pandas=True)])
            number, copy = group_hashes(column).take(number), None
        return [
            [
                (np.flatnonzero(fold != k), np.flatnonzero(fold == k))
                for k in range(self.n_splits)
            ]
            for fold in self.of_rows(number, copy)
        ]


def expand(
    counts: NDArray[np.integer], values: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Repeat each value as often as its count, and number its copies from zero."""
    # First position of each value among the repeated ones.
    starts = np.cumsum(counts) - counts
    total = int(counts.sum())
    copy = np.arange(total) - np.repeat(starts, counts)
    return np.repeat(values, counts), copy


@dataclass(frozen=True, eq=False)
class ReadRows:
    """Rows of one table, encoded by the models and judges of this table.

    Attributes
    ----------
    X : Comparisons
        The rows.
    y, weight : ndarray of shape (n_rows,)
        Outcomes and weights.
    fold : ndarray of shape (n_repeats, n_rows)
        Fold that holds each row out, in each repeat.
    number : ndarray of shape (n_rows,)
        Number of each row in the stream.
    source : ndarray of shape (n_rows,)
        Row of the table that each row was read from.
    features : FeatureColumns
        Feature columns of the table; ``X`` need not carry the features.
    group : ndarray of shape (n_rows,) or None
        Hash of the group of each row, or its number, where an earlier pass has read it;
        None where rows are independent.
    labels : tuple or None
        Hash of the group of each row of the table, their labels, and the number of the
        first row, as :meth:`GroupLabels.of` takes them.
    shape : tuple of str
        Those of the optional columns that the table has.
    judge_labels : tuple of labels
        Labels of its judge column, where the user has named those of people.
    weight_digest : int
        Checksum of the weights as they were read.
    """

    X: Comparisons
    y: Array
    weight: Array
    fold: NDArray[np.intp]
    number: NDArray[np.integer]
    source: NDArray[np.intp]
    features: FeatureColumns
    group: NDArray[Any] | None = None
    labels: tuple[NDArray[np.int64], pa.ChunkedArray, int] | None = None
    shape: tuple[str, ...] = ()
    judge_labels: tuple[Any, ...] = ()
    weight_digest: int = 0

    def __len__(self) -> int:
        return len(self.y)

    def digest(self, before: int = 0) -> int:
        """Checksum of the rows in their order, going on from that of earlier ones.

        Of the features every sixteenth row enters.
        """
        X = self.X
        found = crc32(repr([X.models.tolist(), X.judges.tolist()]).encode(), before)
        for codes in (X.left, X.right, X.judge, X.order):
            found = crc32(codes.astype(np.int32).tobytes(), found)
        found = crc32(repr(self.weight_digest).encode(), found)
        for values in (self.y, *self.features.some(16)):
            found = crc32(values.tobytes(), found)
        return found


@dataclass(frozen=True)
class Reading:
    """How tables are read: their columns, and the meaning of their labels.

    Attributes
    ----------
    columns, outcome, features, drop_features
        As in :func:`skanchor.split_battles`.
    human : tuple of labels
        Labels that mark human rows in the judge column.
    weight : str or None
        Column of the weights; None gives each row weight one.
    weights : {"importance", "frequency"}
        Meaning of a weight: with ``"frequency"`` it is a number of equal rows.
    drop_ties : bool
        Whether ties are left out, by weight zero.
    groups : str or None
        Column of the groups of dependent rows; None for independent rows.
    unit : float
        Weight of the user that a weight of one stands for.
    """

    columns: Mapping[str, str] | None = None
    human: tuple[Any, ...] = (HUMAN,)
    outcome: str = "winner"
    features: Sequence[str] | None = None
    drop_features: Sequence[str] | None = None
    weight: str | None = None
    weights: str = "importance"
    drop_ties: bool = False
    groups: str | None = None
    unit: float = 1.0

    def split(self, table: pa.Table) -> tuple[pa.Table, pa.ChunkedArray]:
        """Battles and outcomes of a table; weights stay among its columns."""
        _refuse_unnamed_judges(table.column_names, dict(self.columns or {}))
        named = {**dict(self.columns or {}), self.outcome: "winner"}
        _refuse_turned_outcomes(table.column_names, named)
        X, y = split_table(
            table,
            columns=dict(self.columns or {}),
            outcome=self.outcome,
            features=self.features,
            drop_features=self.drop_features,
        )
        if self.human != (HUMAN,):
            # Replace the labels of human rows by the one that the package expects.
            require_columns(X.column_names, ["judge"])
            people = pa.array([str(label) for label in self.people(X["judge"])])
            judge = pc.cast(X["judge"], pa.string())
            is_human = pc.is_in(judge, people.cast(pa.string()))
            at = X.column_names.index("judge")
            X = X.set_column(at, "judge", pc.if_else(is_human, HUMAN, judge))
        return X, y

    def people(self, judge: pa.ChunkedArray) -> list[Any]:
        """Labels of a table's judge column that mark human rows."""
        return people_of(_judge_labels(judge), self.human)

    def labels(self, table: pa.Table) -> tuple[Any, ...]:
        """Labels of the judge column, where the user has named those of people."""
        if self.human == (HUMAN,):
            return ()
        return tuple(_judge_labels(table[self.own_name("judge")]))

    def own_name(self, name: str) -> str:
        """Name that a column has in the tables of the user."""
        own = {new: old for old, new in (self.columns or {}).items()}
        return own.get(name, name)

    def check_people(self, known: Sequence[Any]) -> None:
        """Refuse labels of people that no row of the stream holds, as in memory."""
        if self.human != (HUMAN,):
            people_among(list(known), self.human)

    def needed(self, schema: pa.Schema) -> list[str]:
        """Columns that must be read of a table with this schema."""
        names = set(standard_pairs(self, schema))
        names |= {self.outcome, "judge", "shown_first", "model_a", "model_b"}
        names |= {name for name in (self.weight, self.groups) if name is not None}
        # ``split_table`` marks features that were asked for by a prefix.
        names |= {name.removeprefix(DECLARED) for name in names}
        found = {self.own_name(name) for name in names}
        return [name for name in schema.names if name in found]

    def rows(
        self,
        table: pa.Table,
        start: int,
        folds: Folds,
        *,
        featured: bool = True,
        like: FeatureColumns | None = None,
        group: NDArray[np.int32] | None = None,
    ) -> ReadRows:
        """Read a table whose first row has the number ``start``.

        Parameters
        ----------
        table : pyarrow.Table
            Rows of the stream.
        start : int
            Number of the first of them.
        folds : Folds
            Which fold holds a row out.
        featured : bool
            Whether the rows carry the features; otherwise these are only available
            as columns, which are read when needed.
        like : FeatureColumns, optional
            Those of an earlier table, to save the search for the columns.
        group : ndarray of shape (n_rows,), optional
            Number of the group of each row, where an earlier pass has read it.

        Returns
        -------
        ReadRows
        """
        # Messages number the rows of the table that is read.
        where = located(f"Counted from row {start}") if start else nullcontext()
        with where:
            return self._rows(table, start, folds, featured, like, group)

    def _rows(
        self,
        table: pa.Table,
        start: int,
        folds: Folds,
        featured: bool,
        like: FeatureColumns | None,
        group: NDArray[Any] | None,
    ) -> ReadRows:
        X, y = self.split(table)
        shape = tuple(name for name in OPTIONAL if name in X.column_names)
        weight = np.ones(len(table))
        if self.weight is not None:
            if self.weight not in X.column_names:
                raise BattlesError(f"There is no column {self.weight!r} of weights.")
            column = nw.from_native(X[self.weight], series_only=True)
            given = np.asarray(column.to_numpy())
            X = X.drop_columns([self.weight])
        labels = None
        if self.groups is not None:
            require_columns(X.column_names, [self.groups])
            column = X[self.groups]
            group = group_hashes(column, start, self.groups)
            labels = group, column, start
            if other_side(self.groups) not in X.column_names:
                X = X.drop_columns([self.groups])
        features = FeatureColumns.of(X, like)
        warn_of_groups_of_a_feature(self.groups, features.names)
        if not featured:
            X = X.drop_columns(features.columns())
        encoded = Comparisons.from_battles(X)
        outcomes = Outcomes.encode(y, named=True, models=encoded.models).values
        if self.weight is not None:
            # Weights may all be zero in one table, but not in all of them.
            is_zero = given.dtype.kind in "iufb" and not given.any()
            weight = 0.0 * weight if is_zero else check_weight(given, encoded)
        if self.drop_ties:
            weight = np.where(outcomes == 0.5, 0.0, weight)
        number, copy, at = np.arange(start, start + len(table)), None, None
        if self.weights == "frequency" and (weight != 1.0).any():
            # List every row as often as it is counted: a count must be divided over
            # the folds, and never go to one fold as a whole.
            width = len(features.names)
            counts = _whole_counts(weight, start, width)
            at, copy = expand(counts, np.arange(len(table)))
            encoded, outcomes, number = encoded[at], outcomes[at], number[at]
            weight = np.ones(len(at))
            features = replace(features, rows=at)
            group = None if group is None else group[at]
        if at is None:
            at = np.arange(len(table))
        # Groups go whole into a fold.
        fold = folds.of_rows(number, copy) if group is None else folds.of_rows(group)
        # The unit of weights is known after the first pass; the checksum goes without.
        of_weights = crc32(weight.tobytes())
        return ReadRows(
            encoded, outcomes, weight / self.unit, fold, number, at, features, group,
            labels, shape, self.labels(table), of_weights,
        )  # fmt: skip


def _judge_labels(judge: pa.ChunkedArray) -> list[Any]:
    """Distinct labels of a column; without nulls, which are refused elsewhere."""
    return [label for label in judge.unique().to_pylist() if label is not None]


def _refuse_unnamed_judges(names: Sequence[str], columns: dict[str, str]) -> None:
    """Refuse a table whose judges memory would ask about, or find.

    A stream reads columns by their exact names: without a column ``judge`` all rows
    would be people's, in silence.
    """
    known = [columns.get(name, name) for name in names]
    like = who_columns(known)
    if "judge" not in known and like:
        raise BattlesError(
            f"There is no column 'judge', and a stream reads columns by their exact "
            f"names: {like} may name judges or people. Rename the first to 'judge', or "
            "to 'rater' if it names people, whose votes all rows then are."
        )


def _refuse_turned_outcomes(names: Sequence[str], columns: dict[str, str]) -> None:
    """Refuse columns that in memory would turn outcomes round, or be asked about."""
    lost = [o for o, new in columns.items() if new == "winner" and names_loser(o)]
    if lost:
        raise BattlesError(
            f"Column {lost[0]!r} is given as the winner, but by its name it holds the "
            "loser, which would reverse the ranking. Reverse its outcomes."
        )
    known = [columns.get(name, name) for name in names]
    swapped = [
        name
        for name in may_be_swapped(known)
        if {*words_of(name)} <= _FLAG and name not in ("order", "position")
    ]
    if swapped and "shown_first" not in known:
        raise BattlesError(
            f"Column {swapped[0]!r} may say which rows were shown swapped, and nothing "
            "tells a stream whether outcomes there are about the columns. Give the "
            "order in a column 'shown_first', with outcomes about the columns, or "
            f"rename it, as in columns={{{swapped[0]!r}: 'note'}}."
        )


def standard_pairs(reading: Reading, schema: pa.Schema) -> list[str]:
    """Standard names of the columns in pairs (``_a``, ``_b``) that battles have."""
    # A table without rows has the columns that a full one would have.
    X, _ = reading.split(schema.empty_table())
    frame = as_frame(X)
    assert frame is not None
    names = set(frame.columns)
    pairs = {
        name
        for name in names
        if name[-2:] in ("_a", "_b") and {f"{name[:-2]}_a", f"{name[:-2]}_b"} <= names
    }
    return sorted(pairs)


def _whole_counts(weight: Array, start: int, width: int) -> NDArray[np.intp]:
    """Weights as integers; refuse fractions, and sums too large to list all rows.

    ``width`` is the number of features, for the memory that a row takes.
    """
    odd = weight != np.round(weight)
    if odd.any():
        row = int(np.argmax(odd))
        raise BattlesError(
            "Weights that count equal rows must be whole numbers: "
            f"{odd.sum()} are not, the first is {weight[row]:g} in row {row}."
        )
    needed = float(weight.sum()) * (ROW_BYTES + FEATURE_BYTES * width)
    if needed > available_bytes():
        raise BattlesError(
            f"The counts of {len(weight)} rows from number {start} on stand for "
            f"{weight.sum():.3g} rows, more than memory has room for. Set "
            "batch_rows to a smaller number."
        )
    return weight.astype(np.intp)
