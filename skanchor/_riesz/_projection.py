"""Weights by learners without a span: regressions of the gradient columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._battles import HUMAN, FeaturePairs, JudgeRows
from skanchor._numerics.parameters import PEOPLE
from skanchor._riesz._learners import WeightLearner
from skanchor._typing import Array
from skanchor.bias.fitting import TrainingRows, fit_learner
from skanchor.exceptions import LearnerError
from skanchor.sample import Sample


@dataclass(frozen=True, slots=True)
class JudgeProjection:
    """A judge whose gradient columns a learner without a span projects.

    Attributes
    ----------
    judge : int
        Code of the judge, or ``PEOPLE``.
    name : label
        Its label, for messages.
    learner : learner
        Unfitted, with the squared loss.
    places : ndarray of shape (n,)
        Where the training rows lie among those of the source.
    pairs : FeaturePairs
        Their features.
    columns : ndarray of shape (n, n_items + n_own)
        Gradient of the logit of each row in the scores and the judge's own parameters.
    weight : ndarray of shape (n,)
        Curvature of each row, ``w V``.
    group : ndarray of shape (n,)
        Group of each row; its number where there are no groups.
    """

    judge: int
    name: Any
    learner: Any
    places: NDArray[np.intp]
    pairs: FeaturePairs
    columns: Array
    weight: Array
    group: NDArray[np.intp]


def judges_to_fit(
    sample: Sample,
    curvature: Array,
    learners: Sequence[WeightLearner],
    human: WeightLearner,
) -> list[JudgeProjection]:
    """Judges whose gradient columns a learner without a span must project.

    Parameters
    ----------
    sample : Sample
        Rows that carry the plug-in, and their groups.
    curvature : ndarray of shape (n_rows,)
        Weighted variance of each outcome.
    learners : sequence of WeightLearner
        By judge.
    human : WeightLearner
        Of people, who are projected like a judge.

    Returns
    -------
    list of JudgeProjection
    """
    X, groups = sample.X, sample.groups
    fits: list[JudgeProjection] = []
    sources = zip([HUMAN, *X.judges.tolist()], [human, *learners], strict=True)
    for m, (judge, own) in enumerate(sources, start=PEOPLE):
        if own.has_span:
            continue
        cut = X.by_judge(m)
        used = np.flatnonzero(curvature[cut.rows] > 0)
        if not len(used):
            continue
        rows = cut.rows[used]
        columns = _columns(cut)[used]
        # Rows of one group stay together in inner folds.
        group = rows if groups is None else groups[rows]
        fits.append(
            JudgeProjection(
                m,
                judge,
                own.learner,
                used,
                cut.pairs[used],
                columns,
                curvature[rows],
                group,
            )
        )
    return fits


def _columns(cut: JudgeRows) -> Array:
    """Columns of items and display order, dense, of shape (n, n_items + 1).

    The score difference is a combination of the columns of the items.
    """
    return np.hstack([cut.incidence.toarray(), cut.order[:, None]])


@dataclass(frozen=True, slots=True)
class _Learned:
    """Mean of the learners of all inner folds."""

    learners: tuple[Any, ...]

    def contrast(self, pairs: FeaturePairs) -> Array:
        """Mean contrast of the learners, of shape (n, n_columns)."""
        return np.mean([_without_nan(a.contrast(pairs)) for a in self.learners], axis=0)


def _without_nan(values: Array) -> Array:
    """Refuse contrasts of a user's learner that are not numbers."""
    if not np.isfinite(values).all():
        raise LearnerError("the learner of the Riesz weights returned NaN.")
    return values


@dataclass(frozen=True, slots=True)
class Projected:
    """A source whose gradient columns are projected.

    Attributes
    ----------
    source : JudgeProjection
        The source and its training rows.
    fitted : ndarray of shape (n, n_items + 1)
        Projections of the columns of the training rows, out of fold, so that a
        learner's fit to the noise of these rows does not count as explained.
    learned : learner
        Gives the projections of any other row.
    """

    source: JudgeProjection
    fitted: Array
    learned: _Learned

    def residual(
        self, cut: JudgeRows, known: NDArray[np.intp], *, is_training: bool = True
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
            columns[self.source.places] -= self.fitted
            rest = np.setdiff1d(known, self.source.places, assume_unique=True)
        if len(rest):
            columns[rest] -= self.learned.contrast(cut.pairs[rest])
        return columns


def fit_projections(
    fits: Sequence[JudgeProjection], inner_folds: int, seed_offset: int
) -> list[Projected]:
    """Fit the projections of all judges and inner folds."""
    learners, places = [], []
    for number, fit in enumerate(fits):
        # Rows of one group stay together.
        groups, code = np.unique(fit.group, return_inverse=True)
        # No more folds than groups; one group leaves none to hold out, and is fitted
        # and predicted in full.
        n_folds = min(inner_folds, len(groups))
        assigned = np.random.default_rng(0).permutation(len(groups)) % n_folds
        fold = assigned[code]
        for k in range(n_folds):
            train = np.flatnonzero(fold != k) if n_folds > 1 else slice(None)
            n_rows = len(fit.weight[train])
            rows = TrainingRows(
                fit.pairs[train], fit.columns[train], fit.weight[train],
                np.empty((n_rows, 0)),
            )  # fmt: skip
            learner = clone(fit.learner)
            fit_learner(learner, rows, fit.name, seed_offset=seed_offset)
            learners.append(learner)
            places.append((number, np.flatnonzero(fold == k)))
    fitted = [np.zeros_like(fit.columns) for fit in fits]
    inner: list[list[Any]] = [[] for _ in fits]
    for learner, (number, test) in zip(learners, places, strict=True):
        fitted[number][test] = _without_nan(learner.contrast(fits[number].pairs[test]))
        inner[number].append(learner)
    return [
        Projected(fit, values, _Learned(tuple(mine)))
        for fit, values, mine in zip(fits, fitted, inner, strict=True)
    ]
