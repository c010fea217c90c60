"""What rows say once the nuisances are fixed, from the rows or from kept sums.

Either tells the information of the training rows and the influence of the rows held
out, source by source, so that whatever solves the Riesz system reads both alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.linalg import Columns
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.sums import Information, ResidualSums
from skanchor._numerics.system import RieszSystem
from skanchor._typing import Array
from skanchor.comparisons import Comparisons, JudgeRows
from skanchor.riesz._influence import InfluenceSums
from skanchor.riesz._learners import NO_BIAS, WeightLearner, row_pairs
from skanchor.riesz._responses import ResponseMeans
from skanchor.sample import Sample

__all__ = [
    "Evidence",
    "KeptSums",
    "RowEvidence",
    "row_influence",
    "row_weights",
]


SEPARATED = 1e-9
"""Variance of an outcome below which its row carries no information."""

_STEP = 4096
"""Rows of a step in sums over influence values."""

_MODELS, _ROWS_PER_MODEL = 100, 4
"""Models, and rows of a source by model, from which a product of its sums by pair of
models is less work than that of all influence values."""

_CELLS = 1 << 22
"""Influence values that are held at a time."""


_Sums = TypeVar("_Sums", Information, ResidualSums)


class Evidence(Protocol):
    """Training rows and rows held out: of history, of arrivals, or of both."""

    def information(self, m: int, learner: WeightLearner) -> Information | None:
        """Information of a source's training rows; None where there are none."""

    def mean_square(self, system: RieszSystem) -> tuple[Array, int]:
        """Mean square of the weights of training rows by target, and their number."""

    def influence(
        self,
        system: RieszSystem,
        limit: Array | None,
        responses: ResponseMeans | None = None,
    ) -> InfluenceSums:
        """Sums over the influence of the rows held out."""


@dataclass(frozen=True, eq=False)
class RowEvidence:
    """Evidence of rows that are at hand.

    Attributes
    ----------
    sample : Sample
        Rows that carry the plug-in, with the weights of all.
    training : ndarray of shape (n_rows,)
        Which rows are in training: usable, of positive weight.
    curvature : ndarray of shape (n_rows,)
        Training weight times the variance of the outcome.
    held_out : ndarray of shape (n_held_out,)
        Row numbers.
    """

    sample: Sample
    training: NDArray[np.bool_]
    curvature: Array
    held_out: NDArray[np.intp]

    @classmethod
    def of(
        cls, sample: Sample, training: Array, held_out: NDArray[np.intp] | None = None
    ) -> Self:
        """Evidence of rows with these ``training`` weights."""
        eta = sample.X.logits()
        used = sample.X.is_usable & (training > 0) & np.isfinite(eta)
        p = sigmoid(np.where(used, eta, 0.0))
        variance = p * (1.0 - p)
        # Separated verdicts say nothing: their inverse would be rounding noise.
        informs = used & (variance > SEPARATED)
        curvature = np.where(informs, training * variance, 0.0)
        if held_out is None:
            held_out = np.arange(0)
        return cls(sample, used, curvature, held_out)

    @classmethod
    def held(cls, sample: Sample, rows: NDArray[np.intp]) -> Self:
        """Evidence of rows held out alone."""
        nothing = np.zeros(len(sample))
        return cls(sample, nothing.astype(bool), nothing, rows)

    def information(self, m: int, learner: WeightLearner) -> Information | None:
        """Information of a source's training rows; None where there are none."""
        cut = self.sample.X.by_judge(m)
        curvature = self.curvature.take(cut.rows)
        if m != PEOPLE and not curvature.any():
            return None
        return Information.of(cut, self._columns(m, cut, learner), curvature)

    def mean_square(self, system: RieszSystem) -> tuple[Array, int]:
        """Mean square of the weights of training rows by target, and their number."""
        rows = np.flatnonzero(self.training)
        weights = row_weights(system, self.sample.X, rows)
        return np.asarray(np.mean(weights**2, axis=0)), len(rows)

    def influence(
        self,
        system: RieszSystem,
        limit: Array | None,
        responses: ResponseMeans | None = None,
    ) -> InfluenceSums:
        """Sums over the influence of the rows held out, few rows at a time."""
        X = self.sample.X
        rest = np.zeros(len(X), dtype=bool)
        rest[self.held_out] = True
        found = []
        many = len(X.models) >= _MODELS
        plain = limit is None and responses is None
        if many and plain and self.sample.groups is None:
            residual = self._residuals()
            for m in range(PEOPLE, len(X.judges)):
                rows = X.by_judge(m).rows
                rows = rows[rest[rows]]
                learner = _weight_learner(system, m)
                if learner is not None and len(rows) > _ROWS_PER_MODEL * len(X.models):
                    sums = self._residual_sums(m, learner, residual)
                    largest = self._largest(system, rows)
                    found.append(
                        InfluenceSums.of_source(
                            sums, system.all_columns(m), largest, human=m == PEOPLE
                        )
                    )
                    rest[rows] = False
        parts = self._steps(np.flatnonzero(rest))
        found += [self._influence(system, limit, part, responses) for part in parts]
        return reduce(add, found)

    def _steps(self, rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Parts of which all influence values may be held; at least one."""
        step = max(_STEP, _CELLS // len(self.sample.X.models))
        starts = range(0, max(len(rows), 1), step)
        return [rows[start : start + step] for start in starts]

    def _largest(self, system: RieszSystem, rows: NDArray[np.intp]) -> Array:
        """Largest influence of some rows, in size, by target."""
        largest = np.zeros(len(self.sample.X.models))
        for part in self._steps(rows):
            values = self.influence_values(system, part, None)
            np.maximum(largest, np.abs(values, out=values).max(axis=0), out=largest)
        return largest

    def _residuals(self) -> Array:
        """Weight times outcome minus probability of the rows held out, else zero."""
        X = self.sample.X
        eta = X.logits()
        valid = X.is_usable & np.isfinite(eta)
        error = np.where(valid, self.sample.y - sigmoid(np.where(valid, eta, 0.0)), 0.0)
        result = np.zeros(len(X))
        result[self.held_out] = (self.sample.weight * error)[self.held_out]
        return result

    def _influence(
        self,
        system: RieszSystem,
        limit: Array | None,
        rows: NDArray[np.intp],
        responses: ResponseMeans | None,
    ) -> InfluenceSums:
        values = self.influence_values(system, rows, limit, responses)
        groups = self.sample.groups
        return InfluenceSums.of(
            values,
            self.sample.X.is_human[rows],
            None if groups is None else groups[rows],
        )

    def influence_values(
        self,
        system: RieszSystem,
        rows: NDArray[np.intp],
        limit: Array | None,
        responses: ResponseMeans | None = None,
    ) -> Array:
        """Weight, Riesz weight and residual of some rows, multiplied.

        Parameters
        ----------
        system : RieszSystem
            Solved.
        rows : ndarray of shape (n_chosen,)
            Row numbers.
        limit : ndarray of shape (n_models,) or None
            Largest Riesz weight by target, in size.
        responses : ResponseMeans, optional
            Means that are part of the targets, to which the rows' responses add.

        Returns
        -------
        ndarray of shape (n_chosen, n_models)
        """
        sample = self.sample
        values = row_influence(system, sample.X, sample.y, rows, limit)
        if not np.isfinite(values).all():
            row = int(rows[np.argmin(np.isfinite(values).all(axis=1))])
            raise ValueError(
                f"The influence of row {row} is not finite: check what the learners "
                "return."
            )
        values *= sample.weight[rows, None]
        if responses is not None:
            values += responses.influence(sample.X, sample.weight, rows)
        return values

    def kept(self, learners: Sequence[WeightLearner]) -> KeptSums:
        """Sums that stand for these rows, under nuisances that no longer change.

        Parameters
        ----------
        learners : sequence of WeightLearner
            By judge; all with a span.

        Returns
        -------
        KeptSums
        """
        information, residuals = {}, {}
        X = self.sample.X
        residual = self._residuals()
        for m in range(PEOPLE, len(X.judges)):
            learner = NO_BIAS if m == PEOPLE else learners[m]
            found = self.information(m, learner)
            if found is not None:
                information[m] = found
            residuals[m] = self._residual_sums(m, learner, residual)
        return KeptSums(information, residuals)

    def _residual_sums(
        self, m: int, learner: WeightLearner, residual: Array
    ) -> ResidualSums:
        """Sums over the residuals of a source by its local columns."""
        cut, groups = self.sample.X.by_judge(m), self.sample.groups
        columns = self._columns(m, cut, learner)
        # Rows that were not held out have none, and belong to no group here.
        code = None if groups is None else groups[cut.rows]
        return ResidualSums.of(cut, columns, residual.take(cut.rows), code)

    def _columns(self, m: int, cut: JudgeRows, learner: WeightLearner) -> Columns:
        """Columns of a source's rows beside those of the items."""
        if m == PEOPLE and learner.learner is None:
            return Columns(np.empty((len(cut), 0)))
        assert self.sample.X.scores is not None
        delta = cut.differences(self.sample.X.scores)
        delta = np.where(np.isfinite(delta), delta, 0.0)
        blocks = [delta[:, None], cut.order[:, None]]
        if learner.learner is not None:
            pairs = row_pairs(learner.learner, self.sample.X, cut)
            blocks.append(learner.learner.span(pairs))
        return Columns(*blocks)


@dataclass(frozen=True, eq=False)
class KeptSums:
    """Evidence of rows that are gone, by the sums that were kept of them.

    Attributes
    ----------
    information_of : dict of int to Information
        By source: judge, or ``PEOPLE``.
    residuals : dict of int to ResidualSums
        By source.
    """

    information_of: dict[int, Information]
    residuals: dict[int, ResidualSums]

    def information(self, m: int, learner: WeightLearner) -> Information | None:
        """Information of a source's training rows; None where there are none."""
        return self.information_of.get(m)

    def mean_square(self, system: RieszSystem) -> tuple[Array, int]:
        """Refuse: sums do not tell the weights of rows."""
        raise ValueError("weight_bound needs the rows, of which only sums were kept.")

    def influence(
        self,
        system: RieszSystem,
        limit: Array | None,
        responses: ResponseMeans | None = None,
    ) -> InfluenceSums:
        """Sums over the influence of the rows held out."""
        if responses is not None:
            raise ValueError("Means over responses need the rows.")
        return reduce(
            add,
            (
                InfluenceSums.of_source(known, system.all_columns(m), human=m == PEOPLE)
                for m, known in self.residuals.items()
            ),
        )

    def __add__(self, other: KeptSums) -> KeptSums:
        return KeptSums(
            _added(self.information_of, other.information_of),
            _added(self.residuals, other.residuals),
        )

    def spread(self, places: NDArray[np.intp], n_items: int) -> KeptSums:
        """The same sums among more items, of which these have the ``places``."""
        return KeptSums(
            {m: s.spread(places, n_items) for m, s in self.information_of.items()},
            {m: s.spread(places, n_items) for m, s in self.residuals.items()},
        )


def _weight_learner(system: RieszSystem, m: int) -> WeightLearner | None:
    """Learner of a source's weights; None where they are not linear in columns."""
    projection = system.projection(m)
    if projection is None:
        return None
    learner = WeightLearner(projection.learner)
    is_linear = projection.learner is None or projection.coef is not None
    return learner if is_linear else None


def _added(one: dict[int, _Sums], other: dict[int, _Sums]) -> dict[int, _Sums]:
    total = dict(one)
    for m, sums in other.items():
        total[m] = total[m] + sums if m in total else sums
    return total


def row_weights(
    system: RieszSystem,
    X: Comparisons,
    rows: NDArray[np.intp],
    limit: Array | None = None,
) -> Array:
    """Riesz weights of some rows.

    Parameters
    ----------
    system : RieszSystem
        Solved.
    X : Comparisons
        Rows that carry the plug-in, in the vocabulary of the system.
    rows : ndarray of shape (n_chosen,)
        Row numbers.
    limit : ndarray of shape (n_models,), optional
        Largest weight by target, in size.

    Returns
    -------
    ndarray of shape (n_chosen, n_models)
        Zero for rows that cannot be used.
    """
    n_items, scores = len(X.models), X.scores
    weights = np.zeros((len(rows), n_items))
    judge = np.where(X.is_usable.take(rows), X.judge.take(rows), PEOPLE - 1)
    assert scores is not None
    for m in range(PEOPLE, len(X.judges)):
        projection = system.projection(m)
        at = np.flatnonzero(judge == m)
        if not len(at) or projection is None:
            continue
        cut, chosen = X.by_judge(m), X.rows.places.take(rows[at])
        columns = system.columns(m)
        # What a row says of its two models and of the sensitivity, by model.
        by_item = columns[:n_items] + np.outer(scores, columns[n_items])
        values = by_item.take(cut.left[chosen], axis=0)
        values -= by_item.take(cut.right[chosen], axis=0)
        if m != PEOPLE and X.position_effects is not None:
            values += np.outer(cut.order[chosen], columns[n_items + 1])
        pairs = row_pairs(projection.learner, X, cut, chosen)
        values -= projection.correction(pairs, columns)
        weights[at] = values
    return weights if limit is None else np.clip(weights, -limit, limit)


def row_influence(
    system: RieszSystem,
    X: Comparisons,
    y: Array,
    rows: NDArray[np.intp],
    limit: Array | None = None,
) -> Array:
    """Riesz weight times residual of some rows.

    Parameters
    ----------
    system : RieszSystem
        Solved.
    X : Comparisons
        Rows that carry the plug-in, in the vocabulary of the system.
    y : ndarray of shape (n_rows,)
        Preferences for the first side, in [0, 1].
    rows : ndarray of shape (n_chosen,)
        Row numbers.
    limit : ndarray of shape (n_models,), optional
        As in :func:`row_weights`.

    Returns
    -------
    ndarray of shape (n_chosen, n_models)
        In logits of each score; zero for rows that cannot be used.
    """
    part = X.without_features()[rows]
    eta = part.logits()
    valid = part.is_usable & np.isfinite(eta)
    influence = row_weights(system, X, rows, limit)
    influence *= np.where(valid, y[rows] - sigmoid(eta), 0.0)[:, None]
    influence[~valid] = 0.0
    return influence
