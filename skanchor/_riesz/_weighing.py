"""Columns of the Riesz weights, and rows of the core that have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from skanchor._battles import Comparisons
from skanchor._model.fit import Fit
from skanchor._model.sources import ResidualRows, SourceRows
from skanchor._riesz._learners import WeightLearner, human_learner, weight_learners
from skanchor._riesz._projection import Projected, fit_projections, judges_to_fit
from skanchor._source_rows import rows_that_count, source_rows
from skanchor._typing import Array
from skanchor.bias.protocol import LastStage
from skanchor.sample import Sample


@dataclass(frozen=True, eq=False)
class Weighing:
    """Functions of the features in the Riesz weights of each source.

    Attributes
    ----------
    learners : tuple of WeightLearner
        By source, people first.
    projected : dict of int to Projected
        By source, where these functions are no linear span of fixed columns.
    """

    learners: tuple[WeightLearner, ...]
    projected: dict[int, Projected]

    @classmethod
    def of(
        cls,
        sample: Sample,
        curvature: Array,
        learner: Any,
        human_bias: Any,
        inner_folds: int,
        seed_offset: int = 0,
    ) -> Weighing:
        """Choose columns by historical rows, or project the rows' own columns.

        Parameters
        ----------
        sample : Sample
            Rows that carry scores, with their weights in training.
        curvature : ndarray of shape (n_rows,)
            Weight times variance of the outcome of each row.
        learner : str, learner or dict
            As in :class:`skanchor.RieszDebiaser`.
        human_bias : learner or None
            Fitted bias of people.
        inner_folds : int
            As there.
        seed_offset : int
            Number of the training set, from which learners derive their seeds.

        Returns
        -------
        Weighing
        """
        X = sample.X
        human = human_learner(X, curvature, human_bias)
        judges = weight_learners(X, curvature, learner)
        fits = judges_to_fit(sample, curvature, judges, human)
        found = fit_projections(fits, inner_folds, seed_offset)
        projected = {1 + one.source.judge: one for one in found}
        return cls((human, *judges), projected)

    def rows(
        self, sample: Sample, offset: Array, *, is_training: bool = True
    ) -> list[SourceRows]:
        """Rows by source, with the columns of the weights.

        Parameters
        ----------
        sample : Sample
            The rows.
        offset : ndarray of shape (n_rows,)
            Bias of each row.
        is_training : bool
            Whether they are the rows of the fit, whose projections are out of fold.

        Returns
        -------
        list of SourceRows
        """
        X, found = sample.X, source_rows(sample, self._spans(sample, offset))
        for number, part in enumerate(found):
            if part.source in self.projected:
                cut, places = rows_that_count(sample, part.source)
                columns = self.projected[part.source].residual(
                    cut, places, is_training=is_training
                )
                known = {f.name: getattr(part, f.name) for f in fields(part) if f.init}
                place = np.empty(len(X), dtype=np.intp)
                place[cut.rows] = np.arange(len(cut))
                residual = columns[place[part.rows]]
                found[number] = ResidualRows(**known, residual=residual)
        return found

    def _spans(self, sample: Sample, offset: Array) -> Iterator[LastStage]:
        """Columns of each source, one after the other: together they are large."""
        for source, one in enumerate(self.learners):
            cut, places = rows_that_count(sample, source)
            columns = np.zeros((len(places), 0))
            if one.has_span and one.learner is not None and len(places):
                columns = np.asarray(one.learner.span(cut.pairs[places]))
            none = np.zeros(columns.shape[1])
            yield LastStage(columns, none, none, offset[cut.rows[places]])

    def fit(self, known: Fit) -> Fit:
        """A fit without spans, with those of the weights."""
        widths = (0 if one.ridge is None else len(one.ridge) for one in self.learners)
        return known.with_spans(tuple(widths))

    def prior(self, fit: Fit, X: Comparisons, curvature: Array) -> Array:
        """Precision that enters the weights: of item effects, and ridges of spans."""
        totals = {}
        for source in range(len(self.learners)):
            cut = X.by_judge(source - 1)
            totals[source] = curvature[cut.rows[~cut.involves(X.is_new)]].sum()
        return self.prior_of(fit, totals)

    def prior_of(self, fit: Fit, totals: Mapping[int, float]) -> Array:
        """The same from the summed curvature of the historical rows of each source."""
        layout = fit.layout
        ridge, at = np.zeros(layout.size), layout.item_effects
        for source, one in enumerate(self.learners):
            if one.ridge is not None:
                ridge[layout.span(source)] = totals[source] * one.ridge
        prior = np.diag(ridge)
        prior[at, at] = fit.precision[at, at]
        return prior
