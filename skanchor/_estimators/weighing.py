"""Functions of the features in the Riesz weights, and rows with their columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._battles import HUMAN, Comparisons, FeaturePairs, JudgeRows
from skanchor._model.fit import Fit
from skanchor._model.layout import PEOPLE
from skanchor._model.sources import ResidualRows, SourceRows
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import rows_that_count, source_rows
from skanchor._typing import Array
from skanchor.bias.fitting import TrainingRows, fit_learner, same_settings
from skanchor.bias.protocol import LastStage, for_riesz_weights, linearity
from skanchor.bias.registry import learner_for
from skanchor.exceptions import LearnerError


@dataclass(frozen=True, slots=True)
class WeightFunctions:
    """Functions gamma of the features in the weights of one source.

    A learner with a span has their columns. Any other is fitted to the columns of items
    and display order, from which its projections are then subtracted.

    Attributes
    ----------
    learner : learner or None
        With its feature map, where it has a span; unfitted where it has none; None
        where there are no features.
    ridge : ndarray of shape (n_span,) or None
        Ridge penalty of the span, beside the mean curvature.
    places : ndarray of shape (n,) or None
        Where the training rows lie among those of the source.
    fitted : ndarray of shape (n, n_items + 1) or None
        Projections of the columns of the training rows, out of fold, so that a
        learner's fit to the noise of these rows does not count as explained.
    inner : tuple of learners
        Fitted on the inner folds; their mean gives the projections of any other row.
    """

    learner: Any = None
    ridge: Array | None = None
    places: NDArray[np.intp] | None = None
    fitted: Array | None = None
    inner: tuple[Any, ...] = ()

    @property
    def has_span(self) -> bool:
        """Whether the weights are linear in fixed columns, and need no fit."""
        return self.learner is None or linearity(self.learner) == "fixed"

    @property
    def width(self) -> int:
        """Number of columns of the span."""
        return 0 if self.ridge is None else len(self.ridge)

    @classmethod
    def projected(
        cls,
        learner: Any,
        judge: Any,
        cut: JudgeRows,
        sample: Sample,
        curvature: Array,
        inner_folds: int,
        seed_offset: int,
    ) -> WeightFunctions:
        """Fit a learner without a span to the columns of a source, fold by fold."""
        places = np.flatnonzero(curvature[cut.rows] > 0)
        rows = cut.rows[places]
        training = TrainingRows(
            cut.pairs[places],
            _columns(cut)[places],
            curvature[rows],
            np.empty((len(rows), 0)),
        )
        # Rows of one group stay together. There are no more folds than groups; one
        # group leaves none to hold out, and is fitted and predicted in full.
        group = rows if sample.groups is None else sample.groups[rows]
        groups, code = np.unique(group, return_inverse=True)
        n_folds = min(inner_folds, len(groups))
        fold = (np.random.default_rng(0).permutation(len(groups)) % n_folds)[code]
        fitted, inner = np.zeros_like(training.y), []
        for k in range(n_folds):
            train = np.flatnonzero((fold != k) | (n_folds == 1))
            test = np.flatnonzero(fold == k)
            inner.append(
                fit_learner(
                    clone(learner), training[train], judge, seed_offset=seed_offset
                )
            )
            fitted[test] = _contrast(inner[-1], training.pairs[test])
        return cls(learner, None, places, fitted, tuple(inner))

    def residual(
        self, cut: JudgeRows, known: NDArray[np.intp], *, is_training: bool
    ) -> Array:
        """Columns of items and display order less their projections.

        Parameters
        ----------
        cut : JudgeRows
            All rows of the source.
        known : ndarray of shape (n_known,)
            Places of the rows that have features.
        is_training : bool
            Whether they are the rows of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_items + 1)
            Valid for the known rows.
        """
        columns, rest = _columns(cut), known
        if is_training:
            assert self.places is not None and self.fitted is not None
            columns[self.places] -= self.fitted
            rest = np.setdiff1d(known, self.places, assume_unique=True)
        if len(rest):
            pairs = cut.pairs[rest]
            columns[rest] -= np.mean([_contrast(a, pairs) for a in self.inner], axis=0)
        return columns


def _columns(cut: JudgeRows) -> Array:
    """Columns of items and display order, dense, of shape (n, n_items + 1).

    The score difference is a combination of the columns of the items.
    """
    return np.hstack([cut.incidence.toarray(), cut.order[:, None]])


def _contrast(learner: Any, pairs: FeaturePairs) -> Array:
    """Contrasts of a learner; refuse those that are not numbers."""
    values = np.asarray(learner.contrast(pairs))
    if not np.isfinite(values).all():
        raise LearnerError("the learner of the Riesz weights returned NaN.")
    return values


@dataclass(frozen=True, eq=False, slots=True)
class Weighing:
    """Functions of the features in the Riesz weights of all sources, people first."""

    functions: tuple[WeightFunctions, ...]

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
            Fitted bias of people, whose span is taken over.
        inner_folds : int
            As there.
        seed_offset : int
            Number of the training set, from which learners derive their seeds.

        Returns
        -------
        Weighing
        """
        X, functions = sample.X, []
        for source, judge in enumerate([HUMAN, *X.judges.tolist()]):
            cut = X.by_judge(source - 1)
            known = curvature[cut.rows]
            is_used = known.any() and X.features_left.shape[1]
            if not is_used or (source == PEOPLE and human_bias is None):
                functions.append(WeightFunctions())
                continue
            own: Any = human_bias
            if source != PEOPLE:
                own = clone(learner_for(learner, judge))
                # The columns of a span are those of the bias, whatever the arrivals
                # look like: only where a judge has no historical row, they count.
                old = np.where(cut.involves(X.is_new), 0.0, known)
                known = old if old.any() else known
                if linearity(own) == "fixed":
                    own.fit_span(cut.pairs, known)
            elif linearity(own) != "fixed":
                own = for_riesz_weights(own)
            if linearity(own) == "fixed":
                one = WeightFunctions(own, own.ridge(cut.pairs, known))
            else:
                # Weights minimise a squared criterion, whatever the loss of the bias.
                own.set_params(loss="squared")
                one = WeightFunctions.projected(
                    own, judge, cut, sample, curvature, inner_folds, seed_offset
                )
            functions.append(one)
        return cls(tuple(functions))

    @property
    def has_spans(self) -> bool:
        """Whether the weights of all sources are linear in fixed columns."""
        return all(one.has_span for one in self.functions)

    def are_biases(self, learners: Sequence[Any]) -> bool:
        """Whether these are the columns that the fitted biases of sources have."""
        return self.has_spans and all(
            one.width == np.size(getattr(bias, "coef_", ()))
            and (not one.width or same_settings(one.learner, bias))
            for one, bias in zip(self.functions, learners, strict=True)
        )

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
            one = self.functions[part.source]
            if one.inner:
                cut, places = rows_that_count(sample, part.source)
                columns = one.residual(cut, places, is_training=is_training)
                known = {f.name: getattr(part, f.name) for f in fields(part) if f.init}
                place = np.empty(len(X), dtype=np.intp)
                place[cut.rows] = np.arange(len(cut))
                residual = columns[place[part.rows]]
                found[number] = ResidualRows(**known, residual=residual)
        return found

    def _spans(self, sample: Sample, offset: Array) -> Iterator[LastStage]:
        """Columns of each source, one after the other: together they are large."""
        for source, one in enumerate(self.functions):
            cut, places = rows_that_count(sample, source)
            columns, none = np.zeros((len(places), one.width)), np.zeros(one.width)
            if one.width and len(places):
                columns = np.asarray(one.learner.span(cut.pairs[places]))
            yield LastStage(columns, none, none, offset[cut.rows[places]])

    def fit(self, known: Fit) -> Fit:
        """A fit without spans, with those of the weights."""
        return known.with_spans(tuple(one.width for one in self.functions))

    def prior(self, fit: Fit, X: Comparisons, curvature: Array) -> Array:
        """Precision that enters the weights: of item effects, and ridges of spans."""
        totals = {}
        for source in range(len(self.functions)):
            cut = X.by_judge(source - 1)
            totals[source] = curvature[cut.rows[~cut.involves(X.is_new)]].sum()
        return self.prior_of(fit, totals)

    def prior_of(self, fit: Fit, totals: Mapping[int, float]) -> Array:
        """The same from the summed curvature of the historical rows of each source."""
        layout = fit.layout
        ridge, at = np.zeros(layout.size), layout.item_effects
        for source, one in enumerate(self.functions):
            if one.ridge is not None:
                ridge[layout.span(source)] = totals[source] * one.ridge
        prior = np.diag(ridge)
        prior[at, at] = fit.precision[at, at]
        return prior
