"""Are the features of the arrivals like those of a judge's historical rows?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skanchor._model.linalg import SymmetricSystem
from skanchor._sample.sample import Sample
from skanchor._typing import Array

MAX_ROWS = 500
"""Historical rows of a judge that are stored as a sample where rows are not."""


@dataclass(frozen=True, eq=False)
class HistoricalFeatures:
    """Features of a judge's historical rows.

    Attributes
    ----------
    low, high : ndarray of shape (n_features,)
        Their range over the responses.
    contrasts : ndarray of shape (n_rows, n_features)
        First response minus second, of all rows or of a sample of them.
    times : ndarray of shape (n_rows,)
        How many equal rows each of them stands for.
    """

    low: Array
    high: Array
    contrasts: Array
    times: Array

    @classmethod
    def of(cls, left: Array, right: Array, times: Array) -> HistoricalFeatures:
        """Features of the first and second responses of rows."""
        low = np.minimum(left.min(axis=0), right.min(axis=0))
        high = np.maximum(left.max(axis=0), right.max(axis=0))
        return cls(low, high, left - right, times)

    def __add__(self, other: HistoricalFeatures) -> HistoricalFeatures:
        return HistoricalFeatures(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            np.concatenate([self.contrasts, other.contrasts]),
            np.concatenate([self.times, other.times]),
        ).thinned()

    def thinned(self) -> HistoricalFeatures:
        """The same with so few rows, evenly chosen, that they may be kept."""
        n = len(self.contrasts)
        if n <= MAX_ROWS:
            return self
        chosen = np.linspace(0, n - 1, MAX_ROWS).astype(np.intp)
        return replace(self, contrasts=self.contrasts[chosen], times=self.times[chosen])

    @cached_property
    def _system(self) -> SymmetricSystem:
        """Covariance of the contrasts."""
        weighted = self.contrasts.T * self.times
        return SymmetricSystem.of(weighted @ self.contrasts / self.times.sum())

    def overlap(
        self, fresh: Array, others: Array, times: Array
    ) -> tuple[float, float, float]:
        """Share of arrival rows out of range, effective share, largest ratio.

        Parameters
        ----------
        fresh, others : ndarray of shape (n_rows, n_features)
            Features of the new model's responses on arrival rows, and of those that
            they met.
        times : ndarray of shape (n_rows,)
            How many rows each of these stands for.

        Returns
        -------
        tuple of float
        """
        n = times.sum()
        outside = (times @ ((fresh < self.low) | (fresh > self.high))).max() / n
        # The ratio of two normal densities with one covariance: a linear discriminant.
        # Historical pairs have no direction, so that they enter in both orders.
        shift = times @ (fresh - others) / n
        tilt = self.contrasts @ self._system.solve(shift)
        tilt = np.concatenate([tilt, -tilt])
        ratio = np.exp(tilt - tilt.max())
        # Effective share of the historical rows once they are weighted by the ratio:
        # (sum r)^2 / (n sum r^2). The largest ratio is one, as it was divided out.
        each = np.tile(self.times, 2)
        mean = float(each @ ratio / each.sum())
        effective = mean**2 * each.sum() / float(each @ ratio**2)
        return float(outside), effective, 1.0 / mean


def historical_features(sample: Sample) -> Iterator[HistoricalFeatures | None]:
    """Features of the historical rows of each judge; None where there are none."""
    X = sample.X
    for judge in range(len(X.judges)):
        rows = _rows_of(sample, judge)
        rows = rows[~X.involves_new[rows]]
        known = None
        if X.features_left.shape[1] and len(rows):
            sides = X.features_left[rows], X.features_right[rows]
            known = HistoricalFeatures.of(*sides, _times(sample, rows))
        yield known


def feature_overlap(
    sample: Sample, features: Iterable[HistoricalFeatures | None]
) -> Array:
    """Overlap of the arrival rows of each judge with its historical ones.

    Parameters
    ----------
    sample : Sample
        Rows, those of arrivals among them.
    features : iterable of HistoricalFeatures or None
        Of each judge, read once.

    Returns
    -------
    ndarray of shape (n_judges, 3)
        What :meth:`HistoricalFeatures.overlap` returns; NaN where no arrival row
        counts, or no historical one.
    """
    X = sample.X
    new, found = np.append(X.is_new, False), np.full((len(X.judges), 3), np.nan)
    for judge, known in enumerate(features):
        rows = _rows_of(sample, judge)
        rows = rows[new[X.left[rows]] != new[X.right[rows]]]
        if known is not None and len(rows):
            sides = X.features_left[rows], X.features_right[rows]
            first = new[X.left[rows], None]
            fresh, others = np.where(first, *sides), np.where(first, *sides[::-1])
            found[judge] = known.overlap(fresh, others, _times(sample, rows))
    return found


def _rows_of(sample: Sample, judge: int) -> NDArray[np.intp]:
    """Rows of a judge that count, in the order of the table, which is read faster."""
    rows = sample.X.by_judge(judge).rows
    return np.sort(rows[sample.counts[rows]])


def _times(sample: Sample, rows: NDArray[np.intp]) -> Array:
    times = sample.multiplicity_of(rows)
    return np.ones(len(rows)) if times is None else times
