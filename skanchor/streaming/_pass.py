"""One pass over the rows: sums of all judges, added part by part in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons import FeaturePairs
from skanchor._numerics.sums import SourceSums
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.streaming._groups import GroupedHeld
from skanchor.streaming._parts import Part, check_length
from skanchor.streaming._reading import Folds, Reading, ReadRows
from skanchor.streaming._sums import PointSums, StreamedRows, held_out_sums

Sums = list[PointSums] | list[SourceSums] | list[GroupedHeld]
"""Sums by judge."""


@dataclass(frozen=True, eq=False)
class PassSettings:
    """Settings of a pass, apart from the nuisances; the same in all passes.

    Attributes
    ----------
    reading : Reading
        How tables are read; the parts know the groups of their rows.
    folds : Folds
        Which fold holds a row out.
    columns : sequence of str or None
        Columns to read.
    batch_rows : int
        Rows in memory at a time.
    models, judges : ndarray
        Labels.
    features : tuple of str
        Names of the features.
    learners : list
        For each judge its fitted bias learner, or None without features.
    ridged : bool
        Whether any bias learner has a ridge.
    digests : mapping of int to int
        Checksum of the rows of each part in the first pass, by its first row.
    limits : sequence of int
        For each judge the largest number of the groups whose residuals are summed about
        a point; these tell how much the rows of a group depend on each other.
    """

    reading: Reading
    folds: Folds
    columns: Sequence[str] | None
    batch_rows: int
    models: NDArray[Any]
    judges: NDArray[Any]
    features: tuple[str, ...]
    learners: list[Any]
    ridged: bool
    digests: Mapping[int, int] = field(default_factory=dict)
    limits: Sequence[int] = ()

    def by_judge(self, parts: Sequence[Part]) -> Iterator[Iterator[StreamedRows]]:
        """Yield for each batch of the parts an iterator over the rows of each judge."""
        like = None
        for part in parts:
            n_rows = digest = 0
            for table in part.tables(self.columns, self.batch_rows):
                at, n_rows = n_rows, n_rows + len(table)
                group = None
                if part.group is not None:
                    group = part.group[at:n_rows]
                    if len(group) < len(table):
                        break
                rows = self.reading.rows(
                    *(table, part.start + at, self.folds),
                    featured=False,
                    like=like,
                    group=group,
                )
                like = rows.features
                digest = rows.digest(digest)
                yield self._cut(rows)
            check_length(part, n_rows)
            # A part without rows has none, and the start of the next one.
            if n_rows and digest != self.digests.get(part.start, digest):
                raise BattlesError(
                    f"The stream has changed: the {n_rows} rows from number "
                    f"{part.start} on are not those of the first pass, or come in "
                    "another order. Folds go by the numbers of rows, so every pass "
                    "must hand out the same rows in the same order."
                )

    def _cut(self, rows: ReadRows) -> Iterator[StreamedRows]:
        """Rows of each judge, sorted by the first fold."""
        X = rows.X.relabel(self.models, self.judges)
        n_splits, n_judges = self.folds.n_splits, len(self.judges)
        used = X.is_usable & ~X.is_human
        # Sorted by judge, then by fold of the first repeat; the largest key marks
        # votes and unusable rows, which are cut off.
        key = np.where(used, X.judge * n_splits + rows.fold[0], n_judges * n_splits)
        small = n_judges * n_splits <= np.iinfo(np.int16).max
        # numpy's stable sort of 16-bit integers is a radix sort, in linear time.
        order = np.argsort(key.astype(np.int16) if small else key, kind="stable")
        counts = np.bincount(key, minlength=n_judges * n_splits + 1)[:-1]
        stops = np.cumsum(counts.reshape(n_judges, n_splits).sum(axis=1))
        order = order[: stops[-1]]
        # Display order and feature contrasts, of shape (1 + n_features, n): each
        # column of the rows is contiguous, which matrix products are faster with.
        columns = np.empty((1 + len(self.features), len(order)))
        columns[0] = X.order.take(order)
        if not all(map(_is_mapped, self.learners)):
            rows.features.contrasts(self.features, order, out=columns[1:])
        left, right = X.left.take(order), X.right.take(order)
        y, weight = rows.y.take(order), rows.weight.take(order)
        fold = rows.fold.take(order, axis=1)
        starts = [0, *stops[:-1].tolist()]
        for learner, start, stop in zip(
            self.learners, starts, stops.tolist(), strict=True
        ):
            own = slice(start, stop)
            # Both responses are read only where a feature map or a ridge needs them.
            pairs = None
            if _is_mapped(learner) or (learner is not None and self.ridged):
                pairs = rows.features.pairs(self.features, order[own])
            yield StreamedRows(
                left[own],
                right[own],
                self._columns(columns[:, own], learner, pairs),
                y[own],
                weight[own],
                fold[:, own],
                span_squares(learner, pairs) if pairs and self.ridged else None,
                # Not a part of an array that would stay as long as any of its parts.
                None if rows.group is None else rows.group.take(order[own]),
            )

    @staticmethod
    def _columns(
        columns: Array, learner: Any, pairs: FeaturePairs | None
    ) -> NDArray[Any]:
        """Display order and span columns, of shape (n, 1 + n_span)."""
        if learner is None:
            return columns[:1].T
        if pairs is None or not _is_mapped(learner):
            # Without a feature map the span is the feature contrasts themselves.
            return columns.T
        return np.column_stack([columns[0], _span_columns(learner, pairs)])


def _is_mapped(learner: Any) -> bool:
    """Whether the span of a learner is made by a feature map."""
    return learner is not None and learner.feature_map_ is not None


def sum_about_point(
    parts: Sequence[Part],
    settings: PassSettings,
    theta: list[Array],
    bends: Array | None,
) -> list[PointSums]:
    """Sum the rows of some parts about a point, in their order.

    Parameters
    ----------
    parts : sequence of Part
        Parts to read.
    settings : PassSettings
        Settings of the pass.
    theta : list of ndarray of shape (n_local,)
        For each judge, the local coefficients of the point.
    bends : ndarray of shape (n_models, n_models) or None
        Column that tests for a curved scale, by pair of models.

    Returns
    -------
    list of PointSums
        For each judge.
    """
    n_splits, limits = settings.folds.n_splits, settings.limits

    def of(rows: StreamedRows, at: Array, m: int) -> PointSums:
        return PointSums.of(rows, at, n_splits, bends, limits[m] if limits else None)

    return _summed(parts, settings, theta, of)


def sum_held_out(
    parts: Sequence[Part], settings: PassSettings, theta: list[Array]
) -> list[SourceSums] | list[GroupedHeld]:
    """Sum the rows that each fold holds out, at its nuisances, in order.

    Parameters
    ----------
    parts, settings
        As in :func:`sum_about_point`.
    theta : list of ndarray of shape (n_folds, n_local)
        For each judge, the local coefficients in each fold of all repeats.

    Returns
    -------
    list of SourceSums or GroupedHeld
        By judge.
    """
    n_splits = settings.folds.n_splits

    def of(rows: StreamedRows, at: Array, m: int) -> SourceSums | GroupedHeld:
        return held_out_sums(rows, at, n_splits)

    return _summed(parts, settings, theta, of)


def _summed(
    parts: Sequence[Part],
    settings: PassSettings,
    theta: list[Array],
    of: Callable[[StreamedRows, Array, int], Any],
) -> list[Any]:
    """Sums by judge over all batches of the parts.

    ``of`` sums the rows of a batch, at the coefficients of the judge with a number.
    """
    total: list[Any] | None = None
    for cuts in settings.by_judge(parts):
        found = [
            of(rows, at, m)
            for m, (rows, at) in enumerate(zip(cuts, theta, strict=True))
        ]
        if total is None:
            total = found
            continue
        for mine, more in zip(total, found, strict=True):
            mine.gain(more)
    assert total is not None
    return total


def add_sums(one: list[Any], other: list[Any]) -> list[Any]:
    """Add the sums of two sets of parts, judge by judge."""
    return [mine + more for mine, more in zip(one, other, strict=True)]


def _span_columns(learner: Any, pairs: FeaturePairs) -> Array:
    """Columns of the span, of shape (n_rows, n_span)."""
    # scikit-learn's transformers refuse an array without rows.
    if len(pairs) or learner.feature_map_ is None:
        return np.asarray(learner.span(pairs))
    return np.empty((0, len(learner.coef_)))


def span_squares(learner: Any, pairs: FeaturePairs) -> Array:
    """Values of the span's functions, and their squares, summed over the responses.

    Returns
    -------
    ndarray of shape (n_rows, 2 n_span)
        The sums of the values, then those of their squares.
    """
    # The span of a response against zero features gives each function up to a
    # constant, which does not change its variance.
    sides = (pairs.left, pairs.right)
    left, right = (
        _span_columns(learner, FeaturePairs(side, np.zeros_like(side)))
        for side in sides
    )
    return np.hstack([left + right, left**2 + right**2])
