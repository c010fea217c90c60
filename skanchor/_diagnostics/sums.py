"""What diagnostics are computed from: sums over all rows, features of the history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray

from skanchor._model.fit import PEOPLE, Fit
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.riesz import NO_DISPERSION
from skanchor._model.sources import SourceRows, SourceSums, extra_columns
from skanchor._sample.sample import Sample
from skanchor._typing import Array

N_TESTED = 2
"""Number of local columns that are not fitted: bias and curvature."""

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

    low: Annotated[Array, "features"]
    high: Annotated[Array, "features"]
    contrasts: Annotated[Array, "rows features"]
    times: Annotated[Array, "rows"]

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
        share = self.times / self.times.sum()
        covariance = SymmetricSystem.of((self.contrasts.T * share) @ self.contrasts)
        tilt = self.contrasts @ covariance.solve(shift)
        ratio = np.exp(np.array([tilt, -tilt]) - np.abs(tilt).max())
        # Effective share of the historical rows once they are weighted by the ratio:
        # (sum r)^2 / (n sum r^2). The largest ratio is one, as it was divided out.
        mean, square = ((ratio**power @ share).mean() for power in (1, 2))
        return float(outside), float(mean**2 / square), float(1.0 / mean)


def historical_features(sample: Sample) -> Iterator[HistoricalFeatures | None]:
    """Features of the historical rows of each judge; None where there are none."""
    X = sample.X
    for judge in range(len(X.judges)):
        rows = _rows_of(sample, judge)
        rows = rows[~X.involves_new[rows]]
        if not (len(rows) and X.features_left.shape[1]):
            yield None
            continue
        left, right = X.features_left[rows], X.features_right[rows]
        low = np.minimum(left.min(axis=0), right.min(axis=0))
        high = np.maximum(left.max(axis=0), right.max(axis=0))
        contrasts = left - right
        # No copy of the features is kept while the one who asked computes.
        del left, right
        yield HistoricalFeatures(low, high, contrasts, sample.multiplicity[rows])


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
    new, overlaps = np.append(X.is_new, False), np.full((len(X.judges), 3), np.nan)
    for judge, historical in enumerate(features):
        rows = _rows_of(sample, judge)
        rows = rows[new[X.left[rows]] != new[X.right[rows]]]
        if historical is not None and len(rows):
            sides = X.features_left[rows], X.features_right[rows]
            first = new[X.left[rows], None]
            fresh, others = np.where(first, *sides), np.where(first, *sides[::-1])
            overlaps[judge] = historical.overlap(
                fresh, others, sample.multiplicity[rows]
            )
    return overlaps


def _rows_of(sample: Sample, judge: int) -> NDArray[np.intp]:
    """Rows of a judge that count, in the order of the table, which is read faster."""
    return np.flatnonzero((sample.X.judge == judge) & sample.counts)


@dataclass(frozen=True, eq=False)
class FitSums:
    """Sums over all rows, of historical rows and of those with a new model apart.

    Local columns are those of the fit and, as the last two, the bias of each row and
    the curvature of the scale of a judge. The display order is that of the table,
    whether or not it is fitted.

    Attributes
    ----------
    historical, new : tuple of SourceSums
        Of each source, people first.
    ridges : tuple of ndarray of shape (n_span,)
        Ridge of the span of each source in the fit of all rows.
    rows : ndarray of shape (n_sources, n_items)
        Number of rows of each item.
    verdicts : ndarray of shape (n_items, n_items)
        Products of the columns of the items, summed by weight over the historical rows
        of judges.
    noise : ndarray of shape (n_judges + 1,)
        Variance of the historical residuals of each source in that of independent
        votes, people last.
    features : tuple of HistoricalFeatures or None
        Of each judge, None where it has none; None where the rows are at hand.
    """

    historical: tuple[SourceSums, ...]
    new: tuple[SourceSums, ...]
    ridges: tuple[Annotated[Array, "span"], ...]
    rows: Annotated[Array, "sources models"]
    verdicts: Annotated[Array, "models models"]
    noise: Annotated[Array, "sources"]
    features: tuple[HistoricalFeatures | None, ...] | None = None

    @classmethod
    def of(
        cls, fit: Fit, sources: Sequence[SourceRows], order: Array, noise: Array
    ) -> Self:
        """Sum rows.

        Parameters
        ----------
        fit : Fit
            Fitted to all rows.
        sources : sequence of SourceRows
            Rows that count.
        order : ndarray of shape (n_rows,)
            Display order of the rows of the table.
        noise : ndarray of shape (n_judges + 1,)
            Dispersion of each source, people last, by all historical rows.

        Returns
        -------
        FitSums
        """
        n, layout = fit.layout.n_items, fit.layout
        sizes = [n + 1 + width + N_TESTED for width in layout.widths]
        old, new = ([_nothing(size) for size in sizes] for _ in range(2))
        counts, verdicts = np.zeros((layout.n_sources, n)), np.zeros((n, n))
        for part in sources:
            # Bias and curvature are the last local columns.
            p, m = fit.probabilities(part), part.source
            curve = fit.sensitivity(m) * bend(part.differences(fit.scores))
            span = np.column_stack([part.span, fit.bias(part), curve])
            columns = replace(part, extra=extra_columns(order[part.rows], span))
            gram = columns.information(part.weight, p)
            score = columns.sums(part.weight * (part.y - p))
            number = float(part.count.sum())
            (new if part.is_new else old)[m] = SourceSums(gram, score, _NONE, number)
            for side in (part.left, part.right):
                counts[part.source] += np.bincount(side, part.count, n)
            if part.source != PEOPLE and not part.is_new:
                verdicts += part.gram(part.weight)[:n, :n]
        noise = np.where(noise < NO_DISPERSION, 1.0, noise)
        ridge = fit.precision.diagonal()
        ridges = tuple(ridge[layout.span(m)] for m in range(layout.n_sources))
        return cls(tuple(old), tuple(new), ridges, counts, verdicts, noise)

    def __add__(self, other: FitSums) -> FitSums:
        """Sums of other rows of the same models are added."""
        features = self.features
        if features is not None and other.features is not None:
            pairs = zip(features, other.features, strict=True)
            features = tuple(a + b if a and b else a or b for a, b in pairs)
        return replace(
            self,
            historical=_added(self.historical, other.historical),
            new=_added(self.new, other.new),
            rows=self.rows + other.rows,
            verdicts=self.verdicts + other.verdicts,
            features=features,
        )

    def among(self, places: NDArray[np.intp], n_items: int) -> FitSums:
        """The same sums among more items, of which these have the ``places``."""

        def spread(sums: SourceSums) -> SourceSums:
            others = np.arange(len(sums.score) - len(places)) + n_items
            at, size = np.concatenate([places, others]), n_items + len(others)
            total = _nothing(size)
            total.gram[at[:, None], at], total.score[at] = sums.gram, sums.score
            return total

        rows, verdicts = np.zeros((len(self.rows), n_items)), np.zeros((n_items,) * 2)
        rows[:, places], verdicts[places[:, None], places] = self.rows, self.verdicts
        return replace(
            self,
            historical=tuple(map(spread, self.historical)),
            new=tuple(map(spread, self.new)),
            rows=rows,
            verdicts=verdicts,
        )

    @property
    def all(self) -> tuple[SourceSums, ...]:
        """Of each source, over all its rows."""
        return _added(self.historical, self.new)

    def of_new_models(self, source: int) -> tuple[Array, Array, Array]:
        """Products with the columns of the items, over rows with a new model.

        Returns
        -------
        themselves, bias : ndarray of shape (n_items,)
        span : ndarray of shape (n_items, n_span)
        """
        gram, n = self.new[source].gram, len(self.verdicts)
        span = gram[:n, n + 1 : len(gram) - N_TESTED]
        return gram.diagonal()[:n], gram[:n, -N_TESTED], span

    @property
    def counts(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Number of people's and of judges' rows of each item."""
        by_people, by_judges = self.rows[PEOPLE], self.rows[PEOPLE + 1 :].sum(axis=0)
        return by_people.astype(np.intp), by_judges.astype(np.intp)

    def stored(self, sample: Sample) -> FitSums:
        """The same sums, with what is kept of the features of their rows."""
        features = (one and one.thinned() for one in historical_features(sample))
        return replace(self, features=tuple(features))


def bend(delta: Array) -> Array:
    """How a logit bends with the score difference, in logits.

    On a straight scale the log-odds of a judge are ``c delta``, on a curved one
    ``c sinh(b asinh(delta)) / b``, which is odd and monotone for every b > 0. With b
    below one a judge saturates (or lapses): its log-odds grow more slowly than the
    difference. With b above one they grow faster. The derivative by -log b at b = 1 is
    returned.
    """
    return np.asarray(delta - np.sqrt(1.0 + delta**2) * np.arcsinh(delta))


_NONE = np.zeros((0, 0))
"""Products of scores, which no diagnostic needs."""


def _nothing(size: int) -> SourceSums:
    """Sums over no rows."""
    return SourceSums(np.zeros((size, size)), np.zeros(size), _NONE, 0.0)


def _added(
    one: Sequence[SourceSums], more: Sequence[SourceSums]
) -> tuple[SourceSums, ...]:
    return tuple(a + b for a, b in zip(one, more, strict=True))
