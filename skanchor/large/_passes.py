"""Batches of a data set as encoded rows with folds, passes over them, their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self
from zlib import crc32

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from skanchor._battles.features import LARGEST
from skanchor._battles.grouping import label_codes
from skanchor._crossfit.parallel import stream_plan
from skanchor._machine import release_memory
from skanchor._model.sources import SourceRows, sigmoid
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.large._dataset import Columns, Part


class Batch(NamedTuple):
    """Rows of one batch.

    Attributes
    ----------
    cell : ndarray of shape (n_rows,)
        Cell of each row.
    unit : ndarray of shape (n_rows,)
        Number of the row, or code of its group: what goes into a fold as a whole.
    left, right : ndarray of shape (n_rows, n_features)
        Features of the first and of the second responses.
    """

    cell: NDArray[np.intp]
    unit: NDArray[np.int64]
    left: Array
    right: Array

    def rows(self, places: NDArray[Any]) -> Batch:
        """Some of the rows, by place or mask."""
        return Batch(*(column[places] for column in self))

    @classmethod
    def joined(cls, batches: Sequence[Batch]) -> Batch:
        """Rows of several batches, one after the other."""
        return cls(*map(np.concatenate, zip(*batches, strict=True)))


@dataclass(frozen=True, eq=False)
class Reader:
    """How batches are read: by columns, and by the cells that rows belong to.

    A cell stands for all rows that are equal but for features and groups.

    Attributes
    ----------
    columns : Columns
        Columns of the data set.
    keys : pyarrow.Table
        Values of the columns of each cell.
    sample : Sample
        The cells in their roles, with the numbers of their rows.
    n_splits, n_repeats, seed : int
        Folds of each repeat, number of repeats, and seed.
    size : int
        Rows of a batch.
    """

    columns: Columns
    keys: pa.Table
    sample: Sample
    n_splits: int
    n_repeats: int
    seed: int
    size: int

    @property
    def is_grouped(self) -> bool:
        """Whether rows may depend on each other by group."""
        return self.columns.groups is not None

    def sampled(self, batch: Batch) -> Sample:
        """The rows of a batch as a sample."""
        chosen = self.sample[batch.cell]
        rows = chosen.X.with_columns(
            features_left=batch.left,
            features_right=batch.right,
            feature_names=tuple(self.columns.features),
        )
        # Each row stands for itself. Ties that are left out weigh nothing.
        weight, one = (chosen.weight > 0).astype(np.float64), np.ones(len(rows))
        return replace(chosen, X=rows, weight=weight, multiplicity=one)

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
        columns, start = self.columns, part.start
        values = [pa.array(column.unique()) for column in self.keys.columns]
        cells = pd.Index(_codes(self.keys, values))
        for table in part.batches(columns.all, self.size):
            keys = table.select(list(columns.keys.values()))
            cell = cells.get_indexer(pd.Index(_codes(keys, values)))
            if (cell < 0).any():
                raise changed(part)
            unit = start + np.arange(len(table))
            start += len(table)
            if columns.groups is not None:
                unit = label_codes(table[columns.groups], columns.groups, unit)
            # Each feature lies together in memory, as it does in files and in sums.
            features = np.empty((2, len(columns.features), len(table)))
            for k, pair in enumerate(columns.features.values()):
                for side, name in zip(features, pair, strict=True):
                    side[k] = table[name].to_numpy()
            # What is missing is missing in the extremes, too.
            extremes = features.min(initial=0.0), features.max(initial=0.0)
            if not np.abs(extremes).max() <= LARGEST:
                self._check(features, cell, part)
            yield Batch(cell, unit, *features.transpose(0, 2, 1))

    def _check(self, features: Array, cell: NDArray[np.intp], part: Part) -> None:
        """Refuse odd features of rows of judges; set those of other rows to zero."""
        odd = ~(np.abs(features) <= LARGEST)
        used = self.sample.counts[cell] & (self.sample.X.judge[cell] >= 0)
        bad = odd & (used | ~np.isnan(features))
        rows = np.flatnonzero(bad.any(axis=(0, 1)))
        if len(rows):
            first = bad[..., rows[0]].any(axis=0).argmax()
            name = list(self.columns.features)[first]
            raise BattlesError(
                f"Feature {name!r} is missing, infinite or too large in {len(rows)} "
                f"rows of a batch of {part.name}, the first is row {rows[0]} of the "
                "batch. Fill the values or drop the rows."
            )
        features[odd] = 0.0


def _codes(table: pa.Table, values: Sequence[pa.Array]) -> NDArray[np.int64]:
    """The values of each row as one number, -1 where one is not among them."""
    code, lost = np.zeros((2, len(table)), dtype=np.int64)
    for column, labels in zip(table.columns, values, strict=True):
        at = pc.index_in(column.cast(labels.type), labels).fill_null(-1).to_numpy()
        lost |= at < 0
        code = code * len(labels) + at
    return np.where(lost, -1, code)


@dataclass(frozen=True, eq=False)
class Passes:
    """Runs tasks over all parts by joblib, and sees whether these stay the same.

    Attributes
    ----------
    parts : list of Part
        The data set.
    n_jobs, verbose
        As in :class:`skanchor.AnchorPipeline`.
    digests : dict of int to int
        Checksums of the parts by the first pass.
    """

    parts: list[Part]
    n_jobs: int | None
    verbose: int
    digests: dict[int, int] = field(default_factory=dict)

    def run(self, task: Callable[..., dict[Any, Any]], *args: Any) -> dict[Any, Any]:
        """Add up, in their order, what a task finds in the batches of all parts.

        The first argument is a :class:`Reader`. The task returns values that have
        ``+``, by name.
        """
        jobs = [(task, args, part) for part in self.parts]
        how: dict[str, Any] = {"verbose": self.verbose, "description": task.__name__}
        done = stream_plan(_of_part, jobs, n_jobs=self.n_jobs, **how)
        totals: dict[Any, Any] = {}
        for number, (result, mark) in enumerate(done):
            if self.digests.setdefault(number, mark) != mark:
                raise changed(self.parts[number])
            _gain(totals, result)
        return totals


def _of_part(
    task: Callable[..., dict[Any, Any]], args: Any, part: Part
) -> tuple[dict[Any, Any], int]:
    """What a task finds in a part, and the checksum of its rows."""
    (reader, *others), mark = args, 0
    totals: dict[Any, Any] = {}
    for batch in reader.batches(part):
        # Sums show any changed feature, and some rows whether rows change places.
        sides = batch.left, batch.right
        samples = [side[::16] for side in sides] + [side.sum(axis=0) for side in sides]
        for one in (batch.cell, batch.unit, *samples):
            mark = crc32(np.ascontiguousarray(one).tobytes(), mark)
        _gain(totals, task(reader, batch, *others))
    release_memory()
    return totals, mark


def _gain(totals: dict[Any, Any], more: dict[Any, Any]) -> None:
    for name, value in more.items():
        totals[name] = totals[name] + value if name in totals else value


def changed(part: Part) -> BattlesError:
    """Error of a part that differs between two passes."""
    return BattlesError(
        f"The data set has changed while it was read: {part.name} has other rows than "
        "before. Fit it again when nothing writes to it."
    )


@dataclass(frozen=True, eq=False)
class ExpandedRows:
    """Quadratic expansion of the loss of historical rows about their coefficients.

    The logit of a row is linear in the coefficients of the local columns, so that the
    chain rule from there to the parameters, and with it the product of sensitivity and
    score, stays exact. Rows are summed in blocks, those that one fold holds out. Blocks
    take the place of rows, and are weighed as rows are.

    Attributes
    ----------
    source : int
        ``PEOPLE``, or the code of the judge.
    n_items : int
        Number of items.
    at : ndarray of shape (n_columns,)
        Coefficients of the local columns at the point.
    gram : ndarray of shape (n_blocks, n_columns, n_columns)
        Information of the rows of each block there.
    score : ndarray of shape (n_blocks, n_columns)
        Their scores.
    total : ndarray of shape (n_blocks,)
        Their summed weights.
    weight : ndarray of shape (n_blocks,)
        Weights of the blocks.
    """

    source: int
    n_items: int
    at: Array
    gram: Array
    score: Array
    total: Array
    weight: Array

    is_new = False

    @property
    def cells(self) -> ExpandedRows:
        """Blocks are never equal."""
        return self

    def by_cell(self, values: Array) -> Array:
        """Values of the blocks."""
        return values

    @classmethod
    def of(
        cls, rows: SourceRows, at: Array, block: NDArray[np.integer], n_blocks: int
    ) -> Self:
        """Sum rows about a point.

        Parameters
        ----------
        rows : SourceRows
            Historical rows of one source.
        at : ndarray of shape (n_columns,)
            As the attribute.
        block : ndarray of shape (n,)
            Block of each row.
        n_blocks : int
            Number of blocks.

        Returns
        -------
        ExpandedRows
        """
        size, parts = len(at), rows.in_blocks(block, n_blocks)
        gram, score = np.zeros((n_blocks, size, size)), np.zeros((n_blocks, size))
        for number, part in enumerate(parts):
            p = sigmoid(part.logits(at))
            gram[number] = part.information(part.weight, p)
            score[number] = part.sums(part.weight * (part.y - p))
        total = np.array([part.weight.sum() for part in parts])
        return cls(rows.source, rows.n_items, at, gram, score, total, np.ones(n_blocks))

    def __add__(self, other: ExpandedRows) -> ExpandedRows:
        return replace(
            self,
            gram=self.gram + other.gram,
            score=self.score + other.score,
            total=self.total + other.total,
        )

    def training(self, number: int) -> Array:
        """Weights of the blocks but one, which then stand for all rows.

        Parameters
        ----------
        number : int
            Block of the rows that are held out.

        Returns
        -------
        ndarray of shape (n_blocks,)
        """
        left = self.total.sum() - self.total[number]
        if not left > 0.0:
            who = f"judge number {self.source}" if self.source else "people"
            raise ValueError(
                f"Fold {number}: a training set keeps no row of {who}; use fewer folds "
                "or add rows."
            )
        weight = np.full(len(self.total), self.total.sum() / left)
        weight[number] = 0.0
        return weight

    def distance(self, coefficients: Array) -> float:
        """Squared distance from the point, in squared standard errors of all rows."""
        moved = coefficients - self.at
        return float(moved @ self.gram.sum(axis=0) @ moved)

    @property
    def curvature_of_rows(self) -> float:
        """Summed weight times variance of the outcomes of all rows."""
        # The trace of a Laplacian is twice the sum of its weights.
        n = self.n_items
        return float(np.trace(self.gram.sum(axis=0)[:n, :n])) / 2.0

    def logits(self, coefficients: Array) -> Array:
        """Distance from the point, on which all that follows depends."""
        return np.asarray(coefficients - self.at)

    def loss(self, weight: Array, logits: Array) -> float:
        """Loss less that at the point."""
        by_block = self.gram @ logits @ logits / 2.0 - self.score @ logits
        return float(weight @ by_block)

    def slope(self, weight: Array, logits: Array) -> Array:
        """Derivative of the loss by the coefficients, (n_columns,)."""
        return np.asarray(weight @ (self.gram @ logits - self.score))

    def curvature(self, weight: Array, logits: Array) -> Array:
        """Second derivative of the loss, (n_columns, n_columns)."""
        return np.tensordot(weight, self.gram, axes=1)

    def information(self, weight: Array, probability: Array) -> Array:
        """Information of the rows, which is taken at the point."""
        return self.curvature(weight, probability)
