"""Passes over a data set: its batches as rows in roles and folds, and their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from skanchor._battles import Comparisons, Outcomes, usable_features
from skanchor._battles.grouping import label_codes
from skanchor._crossfit.parallel import stream_plan
from skanchor._machine import release_memory
from skanchor._model.sources import SourceRows, sigmoid
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.exceptions import located
from skanchor.large._dataset import GROUP, OUTCOME, Part
from skanchor.warning_log import WarningLog


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
    at: Array
    gram: Array
    score: Array
    total: Array
    weight: Array

    is_new = False

    @classmethod
    def of(
        cls, rows: SourceRows, at: Array, block: NDArray[np.integer], n_blocks: int
    ) -> Self:
        """Sum historical rows of one source about a point, by the block of each."""
        size, parts = len(at), rows.in_blocks(block, n_blocks)
        gram, score = np.zeros((n_blocks, size, size)), np.zeros((n_blocks, size))
        for number, part in enumerate(parts):
            p = sigmoid(part.logits(at))
            gram[number] = part.information(part.weight, p)
            score[number] = part.sums(part.weight * (part.y - p))
        total = np.array([part.weight.sum() for part in parts])
        return cls(rows.source, at, gram, score, total, np.ones(n_blocks))

    def __add__(self, other: ExpandedRows) -> ExpandedRows:
        sums = {
            name: getattr(self, name) + getattr(other, name)
            for name in ("gram", "score", "total")
        }
        return replace(self, **sums)

    def training(self, number: int) -> Array:
        """Weights of all blocks but one, which then stand for all rows."""
        left = self.total.sum() - self.total[number]
        if not left > 0.0:
            raise ValueError(
                f"Fold {number}: a training set keeps no row of people, or of a judge; "
                "use fewer folds or add rows."
            )
        weight = np.full(len(self.total), self.total.sum() / left)
        weight[number] = 0.0
        return weight

    def distance(self, coefficients: Array) -> float:
        """Squared distance from the point, in squared standard errors of all rows."""
        moved = coefficients - self.at
        return float(moved @ self.gram.sum(axis=0) @ moved)

    # ------------------------------------------------- as :class:`SourceRows` has them
    @property
    def cells(self) -> ExpandedRows:
        """Blocks are never equal."""
        return self

    def by_cell(self, values: Array) -> Array:
        """Values of the blocks."""
        return values

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

    information = curvature
