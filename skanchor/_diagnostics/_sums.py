"""Sums over all rows at the fit of all rows, from which diagnostics are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skanchor._diagnostics._overlap import HistoricalFeatures, historical_features
from skanchor._model.fit import Fit
from skanchor._model.influence import NO_DISPERSION
from skanchor._model.layout import PEOPLE
from skanchor._model.sources import SourceRows, SourceSums
from skanchor._sample.sample import Sample
from skanchor._typing import Array

N_TESTED = 2
"""Number of local columns that are not fitted: bias and curvature."""


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
    ridges: tuple[Array, ...]
    rows: Array
    verdicts: Array
    noise: Array
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
        n = fit.layout.n_items
        sizes = [n + 1 + width + N_TESTED for width in fit.layout.widths]
        sums = [list(map(_nothing, sizes)) for _ in (False, True)]
        counts, verdicts = np.zeros((fit.layout.n_sources, n)), np.zeros((n, n))
        for part in sources:
            sums[part.is_new][part.source] = _summed(fit, part, order[part.rows])
            for side in (part.left, part.right):
                counts[part.source] += np.bincount(side, part.count, n)
            if part.source != PEOPLE and not part.is_new:
                verdicts += part.gram(part.weight)[:n, :n]
        noise = np.where(noise < NO_DISPERSION, 1.0, noise)
        old, new = (tuple(sums[is_new]) for is_new in (False, True))
        ridge, layout = fit.precision.diagonal(), fit.layout
        ridges = tuple(ridge[layout.span(m)] for m in range(layout.n_sources))
        return cls(old, new, ridges, counts, verdicts, noise)

    def __add__(self, other: FitSums) -> FitSums:
        """Sums of other rows of the same models are added."""
        features = self.features
        if features is not None and other.features is not None:
            pairs = zip(features, other.features, strict=True)
            features = tuple(
                one + more if one and more else one or more for one, more in pairs
            )
        return FitSums(
            _added(self.historical, other.historical),
            _added(self.new, other.new),
            self.ridges,
            self.rows + other.rows,
            self.verdicts + other.verdicts,
            self.noise,
            features,
        )

    def among(self, places: NDArray[np.intp], n_items: int) -> FitSums:
        """The same sums among more items, of which these have the ``places``."""

        def spread(sums: SourceSums) -> SourceSums:
            others = np.arange(len(sums.score) - len(places)) + n_items
            at, size = np.concatenate([places, others]), n_items + len(others)
            found = _nothing(size)
            found.gram[at[:, None], at], found.score[at] = sums.gram, sums.score
            return found

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
        features = (
            None if one is None else one.thinned()
            for one in historical_features(sample)
        )
        return replace(self, features=tuple(features))


def _summed(fit: Fit, part: SourceRows, order: Array) -> SourceSums:
    """Sums over the rows of a source, by columns of the fit, bias and curvature."""
    p = fit.probabilities(part)
    curve = fit.sensitivity(part.source) * bend(part.differences(fit.scores))
    span = np.column_stack([part.span, fit.bias(part), curve])
    columns = replace(part, order=order, span=span)
    sums = _nothing(0)
    information = columns.information(part.weight, p)
    score = columns.sums(part.weight * (part.y - p))
    return replace(sums, gram=information, score=score, n=float(part.count.sum()))


def bend(delta: Array) -> Array:
    """How a logit bends with the score difference, in logits.

    On a straight scale the log-odds of a judge are ``c delta``, on a curved one
    ``c sinh(b asinh(delta)) / b``, which is odd and monotone for every b > 0. With b
    below one a judge saturates (or lapses): its log-odds grow more slowly than the
    difference. With b above one they grow faster. The derivative by -log b at b = 1 is
    returned.
    """
    return np.asarray(delta - np.sqrt(1.0 + delta**2) * np.arcsinh(delta))


def _nothing(size: int) -> SourceSums:
    """Sums over no rows, without products of scores, which no diagnostic needs."""
    return SourceSums(np.zeros((size, size)), np.zeros(size), np.zeros((0, 0)), 0.0)


def _added(
    one: Sequence[SourceSums], more: Sequence[SourceSums]
) -> tuple[SourceSums, ...]:
    return tuple(a + b for a, b in zip(one, more, strict=True))
