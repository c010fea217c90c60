"""Functions of the features in the Riesz weights, and rows with their columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
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


@dataclass(frozen=True, eq=False, slots=True)
class WeightFunctions:
    """Functions gamma of the features in the weights of one source.

    A learner with a span has their columns. Any other is fitted to the columns of items
    and display order, from which its projections are then subtracted.

    Attributes
    ----------
    learner : learner or None
        With its feature map, where it has a span; unfitted where it has none; None
        where there are no features.
    ridge : ndarray of shape (n_span,)
        Ridge penalty of the span, beside the mean curvature.
    total : float
        Summed curvature of the historical rows.
    rows : ndarray of shape (n,)
        Numbers of the training rows of a learner without a span.
    fitted : ndarray of shape (n, n_items + 1)
        Projections of the columns of these rows, out of fold, so that a learner's fit
        to the noise of these rows does not count as explained.
    inner : tuple of learners
        Fitted on the inner folds; their mean gives the projections of any other row.
    """

    learner: Any = None
    ridge: Array = field(default_factory=lambda: np.zeros(0))
    total: float = 0.0
    rows: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    fitted: Array = field(default_factory=lambda: np.zeros((0, 0)))
    inner: tuple[Any, ...] = ()

    def without_projections(
        self, part: SourceRows, X: Comparisons, *, is_training: bool
    ) -> SourceRows:
        """Rows with the columns of items and display order less their projections."""
        if not self.inner:
            return part
        columns = _columns(part)
        place = np.full(len(X), -1)
        if is_training:
            place[self.rows] = np.arange(len(self.rows))
        at = place[part.rows]
        columns[at >= 0] -= self.fitted[at[at >= 0]]
        rest = np.flatnonzero(at < 0)
        if len(rest):
            sides = X.features_left, X.features_right
            pairs = FeaturePairs(*sides, X.feature_names, part.rows[rest])
            columns[rest] -= np.mean([_contrast(a, pairs) for a in self.inner], axis=0)
        known = {f.name: getattr(part, f.name) for f in fields(part)}
        return ResidualRows(**known, residual=columns)


def _columns(rows: SourceRows | JudgeRows) -> Array:
    """Columns of items and display order, dense, of shape (n, n_items + 1).

    The score difference is a combination of the columns of the items.
    """
    n_items = rows.n_models if isinstance(rows, JudgeRows) else rows.n_items
    items = np.eye(n_items)
    return np.column_stack([items[rows.left] - items[rows.right], rows.order])


def _contrast(learner: Any, pairs: FeaturePairs) -> Array:
    """Contrasts of a learner; refuse those that are not numbers."""
    values = np.asarray(learner.contrast(pairs))
    if not np.isfinite(values).all():
        raise LearnerError("the learner of the Riesz weights returned NaN.")
    return values


def _projected(
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
    nothing = np.empty((len(rows), 0))
    training = TrainingRows(
        cut.pairs[places], _columns(cut)[places], curvature[rows], nothing
    )
    # Rows of one group stay together. There are no more folds than groups; one group
    # leaves none to hold out, and is fitted and predicted in full.
    group = rows if sample.groups is None else sample.groups[rows]
    groups, code = np.unique(group, return_inverse=True)
    n_folds = min(inner_folds, len(groups))
    fold = (np.random.default_rng(0).permutation(len(groups)) % n_folds)[code]
    fitted, inner = np.zeros_like(training.y), []
    for k in range(n_folds):
        some = training[np.flatnonzero((fold != k) | (n_folds == 1))]
        one = fit_learner(clone(learner), some, judge, seed_offset=seed_offset)
        test = np.flatnonzero(fold == k)
        fitted[test] = _contrast(one, training.pairs[test])
        inner.append(one)
    return WeightFunctions(learner, rows=rows, fitted=fitted, inner=tuple(inner))


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
            cut, is_people = X.by_judge(source - 1), source == PEOPLE
            known = curvature[cut.rows]
            is_used = known.any() and X.features_left.shape[1]
            if not is_used or (is_people and human_bias is None):
                functions.append(WeightFunctions())
                continue
            own: Any = human_bias if is_people else clone(learner_for(learner, judge))
            # The columns of a span are those of the bias, whatever the arrivals look
            # like: only where a judge has no historical row, they count.
            old = np.where(cut.involves(X.is_new), 0.0, known)
            weight = old if old.any() else known
            if linearity(own) == "fixed":
                if not is_people:
                    if not hasattr(own, "fit_span"):
                        raise LearnerError(
                            f"The learner of judge {judge!r}, {type(own).__name__}, "
                            "has span() and lacks fit_span(pairs, sample_weight): "
                            "span, ridge and fit_span belong together, with coef_."
                        )
                    own.fit_span(cut.pairs, weight)
                ridge = own.ridge(cut.pairs, weight)
                functions.append(WeightFunctions(own, ridge, float(old.sum())))
                continue
            own = for_riesz_weights(own) if is_people else own
            # Weights minimise a squared criterion, whatever the loss of the bias.
            own.set_params(loss="squared")
            rows = cut, sample, curvature
            functions.append(_projected(own, judge, *rows, inner_folds, seed_offset))
        return cls(tuple(functions))

    @property
    def has_spans(self) -> bool:
        """Whether the weights of all sources are linear in fixed columns."""
        return not any(one.inner for one in self.functions)

    def are_biases(self, learners: Sequence[Any]) -> bool:
        """Whether these are the columns that the fitted biases of sources have."""
        return self.has_spans and all(
            len(one.ridge) == np.size(getattr(bias, "coef_", ()))
            and (not len(one.ridge) or same_settings(one.learner, bias))
            for one, bias in zip(self.functions, learners, strict=True)
        )

    def rows(self, sample: Sample, *, is_training: bool = True) -> list[SourceRows]:
        """Rows by source, with the columns of the weights; their bias is fixed.

        Parameters
        ----------
        sample : Sample
            Rows that carry the plug-in; those without a logit are left out.
        is_training : bool
            Whether they are the rows of the fit, whose projections are out of fold.

        Returns
        -------
        list of SourceRows
        """
        usable = np.isfinite(sample.X.logits())
        sample = sample.weighted(np.where(usable, sample.weight, 0.0))
        return [
            self.functions[part.source].without_projections(
                part, sample.X, is_training=is_training
            )
            for part in source_rows(sample, self._spans(sample))
        ]

    def _spans(self, sample: Sample) -> Iterator[LastStage]:
        """Columns of each source, one after the other: together they are large."""
        biases = np.zeros(len(sample)) if sample.X.biases is None else sample.X.biases
        sources = zip(rows_that_count(sample), self.functions, strict=True)
        for (cut, places), one in sources:
            columns, none = np.zeros((len(places), len(one.ridge))), 0.0 * one.ridge
            if columns.size:
                columns = np.asarray(one.learner.span(cut.pairs[places]))
            yield LastStage(columns, none, none, biases[cut.rows[places]])

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of columns of each source."""
        return tuple(len(one.ridge) for one in self.functions)

    def prior(self, fit: Fit, totals: Mapping[int, float] | None = None) -> Array:
        """Precision that enters the weights: of item effects, and ridges of spans.

        ``totals`` is the summed curvature of the historical rows of each source, if
        they are other ones than those that the columns were chosen by.
        """
        layout = fit.layout
        ridge, at = np.zeros(layout.size), layout.item_effects
        for source, one in enumerate(self.functions):
            total = one.total if totals is None else totals.get(source, 0.0)
            ridge[layout.span(source)] = total * one.ridge
        prior = np.diag(ridge)
        prior[at, at] = fit.precision[at, at]
        return prior
