"""Feature columns of one table of a stream, read one by one when they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from skanchor._comparisons import FeaturePairs
from skanchor._comparisons.features import (
    LARGEST,
    as_float,
    declared_label,
    feature_stems,
)
from skanchor._comparisons.labels import to_numpy
from skanchor._typing import Array
from skanchor.exceptions import BattlesError


@dataclass(frozen=True, eq=False)
class FeatureColumns:
    """Pairs of feature columns of a table.

    Attributes
    ----------
    table : pyarrow.Table
        Battles under their standard names.
    stems : dict of str to str
        For each feature, the name of its two columns without ``_a`` and ``_b``.
    rows : ndarray of shape (n_rows,) or None
        For each row of the stream, its row of the table (a row of the table may be
        repeated, where weights are counts). None where the two are the same.
    """

    table: pa.Table
    stems: dict[str, str]
    rows: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, table: pa.Table, like: FeatureColumns | None = None) -> FeatureColumns:
        """Find the pairs of columns of a table."""
        # A table with the same columns has the same pairs: they need no new search.
        if like is not None and like.table.schema.equals(table.schema):
            return cls(table, like.stems)
        stems = feature_stems(nw.from_native(table, eager_only=True))
        return cls(table, {declared_label(stem): stem for stem in stems})

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(self.stems)

    def columns(self) -> list[str]:
        """Names of the columns."""
        return [stem + side for stem in self.stems.values() for side in ("_a", "_b")]

    def contrasts(
        self, names: tuple[str, ...], chosen: NDArray[np.intp], out: Array
    ) -> None:
        """Write the features of the first responses minus those of the second.

        Parameters
        ----------
        names : tuple of str
            Names of the features.
        chosen : ndarray of shape (n_chosen,)
            Rows of the stream.
        out : ndarray of shape (n_features, n_chosen)
            Receives the differences.
        """
        at = self._at(chosen)
        for name, own in zip(names, out, strict=True):
            left, right = (self._column(name, side) for side in ("_a", "_b"))
            difference = np.subtract(left, right, dtype=np.float64)
            # With ``out``, numpy's default mode "raise" would write to a buffer first.
            # All indices are valid, so that "clip" never changes one.
            np.take(difference, at, out=own, mode="clip")
            if len(own) and not _is_sound(own):
                self._refuse(names, at)

    def pairs(self, names: tuple[str, ...], chosen: NDArray[np.intp]) -> FeaturePairs:
        """Features of both responses."""
        at = self._at(chosen)
        left, right = (
            np.column_stack(
                [self._column(name, side).take(at) for name in names]
                or [np.empty((len(at), 0))]
            ).astype(np.float64)
            for side in ("_a", "_b")
        )
        if left.size and not (_is_sound(left) and _is_sound(right)):
            self._refuse(names, at)
        return FeaturePairs(left, right, names)

    def some(self, step: int) -> Iterator[NDArray[Any]]:
        """Yield every ``step``-th value of each column."""
        for name in self.stems:
            for side in ("_a", "_b"):
                yield self._column(name, side)[::step]

    def check(self) -> None:
        """Refuse infinite and too large values, of whatever row."""
        low, high = self._limits
        if not len(low) or ((low >= -LARGEST) & (high <= LARGEST)).all():
            return
        for stem in self.stems.values():
            for side in ("_a", "_b"):
                as_float(self._column(declared_label(stem), side), stem + side)

    def ranges(
        self, chosen: NDArray[np.intp], known: tuple[Array, Array] | None = None
    ) -> tuple[Array, Array]:
        """Smallest and largest value of each feature over the responses of rows.

        Parameters
        ----------
        chosen : ndarray of shape (n_chosen,)
            Rows of the stream.
        known : (low, high), optional
            Range of earlier rows, which is widened where these rows leave it.

        Returns
        -------
        low, high : ndarray of shape (n_features,)
        """
        n = len(self.stems)
        low, high = np.full(n, np.inf), np.full(n, -np.inf)
        if known is not None:
            low, high = (limit.copy() for limit in known)
        # Where even the whole table lies within the known range, these rows do, too.
        whole_low, whole_high = self._limits
        # Negated so that a feature with NaN, which compares as false, is looked at.
        leaves = ~((whole_low >= low) & (whole_high <= high))
        at = self._at(chosen)
        for k in np.flatnonzero(leaves).tolist():
            for values in self._responses(k):
                own = values.take(at)
                if len(own) and not _is_sound(own):
                    self._refuse(self.names, at)
                low[k] = min(low[k], own.min())
                high[k] = max(high[k], own.max())
        return low, high

    @cached_property
    def _limits(self) -> tuple[Array, Array]:
        """Range of each feature over all responses of the table."""
        low, high = np.empty((2, len(self.stems)))
        for k in range(len(self.stems)):
            left, right = self._responses(k)
            low[k] = np.minimum(left.min(), right.min())
            high[k] = np.maximum(left.max(), right.max())
        return low, high

    def _responses(self, k: int) -> list[NDArray[Any]]:
        """Values of a feature of the first and of the second responses."""
        name = list(self.stems)[k]
        return [self._column(name, side) for side in ("_a", "_b")]

    def _at(self, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
        """Rows of the table for rows of the stream."""
        return chosen if self.rows is None else self.rows.take(chosen)

    def _column(self, name: str, side: str) -> NDArray[Any]:
        """Values of a column; floats are returned unchecked, callers check them."""
        if name not in self.stems:
            raise BattlesError(
                f"Tables of the stream have different features: {name!r} is missing "
                f"from one that has {list(self.names)[:20]}."
            )
        whole = self.stems[name] + side
        column = self.table[whole]
        if pa.types.is_float32(column.type) or pa.types.is_float64(column.type):
            return np.asarray(column.to_numpy())
        return as_float(to_numpy(nw.from_native(column, series_only=True)), whole)

    def _refuse(self, names: tuple[str, ...], at: NDArray[np.intp]) -> None:
        """Raise the error that names a missing, infinite or too large value."""
        for name in names:
            for side in ("_a", "_b"):
                # This raises where a value is infinite or too large.
                values = as_float(self._column(name, side), self.stems[name] + side)
                lost = np.isnan(values.take(at))
                if lost.any():
                    row = int(at[np.argmax(lost)])
                    raise BattlesError(
                        f"Feature {name!r} contains NaN in {lost.sum()} judge rows, "
                        f"the first in row {row}. Fill the values or drop the rows."
                    )


def _is_sound(values: Array) -> bool:
    """Whether no value is missing, infinite or too large.

    A comparison with NaN is false, and the minimum of values with a NaN is NaN.
    """
    return bool(values.min() >= -LARGEST and values.max() <= LARGEST)
