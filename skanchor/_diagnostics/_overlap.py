"""Are the features of the arrivals like those of a judge's historical rows?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from skanchor._battles import constant
from skanchor._numerics.linalg import SymmetricSolver
from skanchor._typing import Array
from skanchor.sample import Sample

_ABREAST = 32
"""Rows that are compared side by side."""

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
    times : ndarray of shape (n_rows,) or None
        How many equal rows each of them stands for; None is one for each.
    """

    low: Array
    high: Array
    contrasts: Array
    times: Array | None = None

    @classmethod
    def of(
        cls, sample: Sample, m: int, used: NDArray[np.bool_]
    ) -> HistoricalFeatures | None:
        """Features of judge m's rows between historical models, of those that count.

        None where there are no features, or no such row.
        """
        X = sample.X
        cut = X.by_judge(m)
        new = np.append(X.is_new, False)
        old = np.flatnonzero(used & ~new[cut.left] & ~new[cut.right])
        if not X.features_left.shape[1] or not len(old):
            return None
        # From the comparisons, so that no copy of the features outlives this; in the
        # order of the table, which is read faster.
        sides, rows = (X.features_left, X.features_right), np.sort(cut.rows[old])
        limits = [_range_of(side.take(rows, axis=0)) for side in sides]
        (low, high), (other_low, other_high) = limits
        return cls(
            np.minimum(low, other_low),
            np.maximum(high, other_high),
            cut.pairs[old].contrast,
            sample.multiplicity_of(cut.rows[old]),
        )

    def __add__(self, other: HistoricalFeatures) -> HistoricalFeatures:
        contrasts = np.concatenate([self.contrasts, other.contrasts])
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return HistoricalFeatures(low, high, contrasts).thinned()

    def thinned(self) -> HistoricalFeatures:
        """The same with so few rows, evenly chosen, that they may be kept."""
        n = len(self.contrasts)
        if n <= MAX_ROWS:
            return self
        chosen = np.linspace(0, n - 1, MAX_ROWS).astype(np.intp)
        times = None if self.times is None else self.times[chosen]
        return replace(self, contrasts=self.contrasts[chosen], times=times)

    @cached_property
    def _solver(self) -> SymmetricSolver:
        """Inverse of the covariance of the contrasts."""
        known = self.contrasts
        each = known if self.times is None else known * self.times[:, None]
        return SymmetricSolver.factorise(each.T @ known / self._times.sum())

    @property
    def _times(self) -> Array:
        return constant(1.0, len(self.contrasts)) if self.times is None else self.times

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
        tilt = self.contrasts @ self._solver.solve(shift)
        tilt = np.concatenate([tilt, -tilt])
        ratio = np.exp(tilt - tilt.max())
        # Effective share of the historical rows once they are weighted by the ratio:
        # (sum r)^2 / (n sum r^2). The largest ratio is one, as it was divided out.
        each = np.tile(self._times, 2)
        mean = float(each @ ratio / each.sum())
        effective = mean**2 * each.sum() / float(each @ ratio**2)
        return float(outside), effective, 1.0 / mean


def feature_overlap(
    sample: Sample,
    used: NDArray[np.bool_],
    features: Iterable[HistoricalFeatures | None],
) -> Array:
    """Overlap of the arrival rows of each judge with its historical ones.

    Parameters
    ----------
    sample : Sample
        Rows, those of arrivals among them.
    used : ndarray of shape (n_rows,)
        Which of them count.
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
    rows = np.flatnonzero(used & (new[X.left] != new[X.right]) & (X.judge >= 0))
    # Arrival rows sorted by judge, so that those of each are one slice.
    rows = rows[np.argsort(X.judge[rows], kind="stable")]
    first = new[X.left[rows], None]
    left, right = (side.take(rows, axis=0) for side in (X.features_left,
                                                        X.features_right))  # fmt: skip
    fresh, others = np.where(first, left, right), np.where(first, right, left)
    times = sample.multiplicity_of(rows)
    times = constant(1.0, len(rows)) if times is None else times
    stops = np.searchsorted(X.judge[rows], np.arange(len(found) + 1)).tolist()
    for own, known, ends in zip(found, features, pairwise(stops), strict=True):
        part = slice(*ends)
        if known is not None and part.stop > part.start:
            own[:] = known.overlap(fresh[part], others[part], times[part])
    return found


def _range_of(features: Array) -> tuple[Array, Array]:
    """Smallest and largest value of each column."""
    # Side by side they make long rows, which are compared several times faster.
    n_rows, n_columns = features.shape
    whole = n_rows - n_rows % _ABREAST
    found = []
    for extreme in (np.minimum, np.maximum):
        few = features
        if whole:
            abreast = features[:whole].reshape(-1, _ABREAST * n_columns)
            best = extreme.reduce(abreast).reshape(_ABREAST, n_columns)
            few = np.concatenate([best, features[whole:]])
        found.append(extreme.reduce(few))
    low, high = found
    return low, high
