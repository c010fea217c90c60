"""BTL scores beside one effect of the display order, from sums over rows by pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.btl import laplacian, shortening
from skanchor._numerics.graph import strong_components
from skanchor._numerics.linalg import SymmetricSolver
from skanchor._numerics.logistic import FLAT_LOGIT, FLAT_LOSS
from skanchor._numerics.newton import Curvature, Tolerance, minimise
from skanchor._numerics.pair_counts import PairCounts
from skanchor._numerics.types import Array

_OWN_SHARE = 1e-9
"""Least share of the order column's information that is left beside the scores."""


@dataclass(frozen=True, slots=True)
class OrderCounts:
    """Sums over rows by ordered pair, separately for known and unknown display order.

    Attributes
    ----------
    unknown : PairCounts
        Rows whose display order is unknown.
    shown : PairCounts
        Rows that showed the row model (the first of the ordered pair) first.
    """

    unknown: PairCounts
    shown: PairCounts

    @classmethod
    def from_rows(
        cls,
        pairs: tuple[NDArray[np.intp], NDArray[np.intp]],
        order: Array,
        y: Array,
        weight: Array,
        size: int,
    ) -> OrderCounts:
        """Aggregate rows; ``weight`` has one value per row, or a single one for all."""
        # Rows that showed the right side first are reversed, outcome included, so that
        # every row of known order has o = 1.
        turned = order < 0
        left, right = pairs
        left, right = np.where(turned, right, left), np.where(turned, left, right)
        y = np.where(turned, 1.0 - y, y)

        def counts(some: NDArray[np.bool_]) -> PairCounts:
            own = weight if weight.size == 1 else weight[some]
            return PairCounts.from_rows(left[some], right[some], y[some], own, size)

        return cls(counts(order == 0), counts(order != 0))

    def among(self, models: NDArray[np.intp]) -> OrderCounts:
        """Counts between some of the models."""
        return OrderCounts(self.unknown.among(models), self.shown.among(models))

    def within(self, inside: NDArray[np.bool_]) -> OrderCounts:
        """Counts of the pairs ``inside``; those of other pairs are zero."""
        return OrderCounts(self.unknown.within(inside), self.shown.within(inside))

    @property
    def wins(self) -> Array:
        """(Half) wins of the row model over the column model."""
        return self.unknown.wins + self.shown.wins

    @property
    def weight(self) -> float:
        """Sum of the weights of all rows."""
        return float(self.unknown.weight.sum() + self.shown.weight.sum())


def bordered(unknown: Array, shown: Array) -> Array:
    """Sum of weight (z, o)(z, o)' over rows, z = e_a - e_b, by ordered pair.

    Parameters
    ----------
    unknown, shown : ndarray of shape (n_models, n_models)
        Weights of rows of unknown display, o = 0, and of those that show the row model
        first, o = 1.

    Returns
    -------
    ndarray of shape (n_models + 1, n_models + 1)
    """
    size = len(shown)
    result = np.empty((size + 1, size + 1))
    result[:size, :size] = laplacian(unknown + shown)
    # Sum of w z o: a shown row adds w at its first model and -w at its second. The last
    # diagonal entry is the sum of w o^2.
    result[:size, size] = result[size, :size] = shown.sum(axis=1) - shown.sum(axis=0)
    result[size, size] = shown.sum()
    return result


@dataclass(frozen=True, slots=True)
class OrderedFit:
    """Result of :meth:`OrderedBTL.fit`.

    Attributes
    ----------
    scores : ndarray of shape (n_models,)
        Scores in logits, of sum zero in each part.
    effect : float
        Position effect: logits by which people favour the side shown first.
    is_identified : bool
        Whether the rows identify the effect beside the scores.
    is_finite : bool
        Whether the likelihood has a maximum.
    converged : bool
        Whether the solver converged.
    n_iter : int
        Newton steps taken.
    """

    scores: Array
    effect: float
    is_identified: bool
    is_finite: bool = True
    converged: bool = True
    n_iter: int = 0


@dataclass(frozen=True, slots=True)
class OrderedBTL:
    """Loss of rows whose logit is a score difference plus an effect of the order.

    It is a :class:`~skanchor._numerics.newton.Problem` in the coefficients (scores,
    effect), a vector of length ``n_models + 1``.

    Attributes
    ----------
    counts : OrderCounts
        Sums over rows, of pairs within a part.
    member : ndarray of shape (n_parts, n_models)
        One where a model belongs to a part, zero elsewhere. Score differences between
        parts are infinite, so that rows between them carry no information.
    ridge : float
        Ridge penalty on each score, beside the summed loss.
    """

    counts: OrderCounts
    member: Array
    ridge: float = 0.0

    @classmethod
    def of(cls, counts: OrderCounts, alpha: float = 0.0) -> OrderedBTL:
        """Set up the loss; ``alpha`` is the ridge beside the mean loss.

        Parts are the strong components of the wins. With a ridge all scores are finite,
        and there is a single part.
        """
        size = len(counts.wins)
        parts = [np.arange(size)] if alpha else strong_components(counts.wins)
        member = np.zeros((len(parts), size))
        for row, part in zip(member, parts, strict=True):
            row[part] = 1.0
        # member' member is 1 for two models of the same part, and 0 otherwise.
        inside = counts.within(member.T @ member > 0)
        return cls(inside, member, alpha * counts.weight)

    def fit(
        self, start: Array, *, tol: float = 1e-10, max_iter: int = 100
    ) -> OrderedFit:
        """Maximise the likelihood.

        Parameters
        ----------
        start : ndarray of shape (n_models,)
            Scores fitted without the effect, as by
            :func:`skanchor._numerics.btl.fit_scores`.
        tol : float
            Largest change of a pair's logit by the last step.
        max_iter : int
            Largest number of Newton steps.

        Returns
        -------
        OrderedFit
        """
        first = np.append(start, 0.0)
        if not self._identifies_order(first):
            return OrderedFit(start, 0.0, False)
        found = minimise(self, first, Tolerance(change=tol), max_iter=max_iter)
        scores = found.coef[:-1]
        # The mean score of each part is subtracted from the scores of its models.
        means = self.member @ scores / self.member.sum(axis=1)
        return OrderedFit(
            scores - means @ self.member,
            float(found.coef[-1]),
            is_identified=True,
            is_finite=self.longest(found.coef) <= FLAT_LOGIT,
            converged=found.converged,
            n_iter=found.n_iter,
        )

    def information(self, coef: Array) -> Array:
        """Information of scores and effect, made nonsingular along shifts of a part.

        Parameters
        ----------
        coef : ndarray of shape (n_models + 1,)
            Scores, then the effect.

        Returns
        -------
        ndarray of shape (n_models + 1, n_models + 1)
        """
        scores, effect = coef[:-1], float(coef[-1])
        matrix = bordered(
            self.counts.unknown.information(scores),
            self.counts.shown.information(scores, effect),
        )
        # A shift of all scores of a part changes no logit. Any curvature along these
        # shifts will do; the mean diagonal has the right order of magnitude.
        unit = np.trace(matrix[:-1, :-1]) / max(len(scores), 1)
        matrix[:-1, :-1] += (unit or 1.0) * (self.member.T @ self.member)
        matrix[:-1, :-1] += self.ridge * np.eye(len(scores))
        return matrix

    def _identifies_order(self, coef: Array) -> bool:
        """Whether the order column has information beside that of the scores."""
        matrix = self.information(coef)
        border, own = matrix[:-1, -1], matrix[-1, -1]
        # own - taken is the Schur complement: the information on the effect once the
        # scores are profiled out.
        taken = border @ SymmetricSolver.factorise(matrix[:-1, :-1]).solve(border)
        return bool(own - taken > _OWN_SHARE * own)

    # --------------------------------------------------- as a problem of Newton steps
    def at(self, coef: Array, since: _OrderedPoint | None = None) -> _OrderedPoint:
        """Point at these coefficients, which was reached from ``since``."""
        change = 0.0 if since is None else self.longest(coef - since.coef)
        return _OrderedPoint(self, coef, change)

    def step(
        self, point: _OrderedPoint, gradient: Array, curvature: Curvature
    ) -> Array:
        """Newton step, shortened where it would move a logit too far."""
        step = -curvature.solver.solve(gradient)
        return step * shortening(self.longest(step))

    def diverges(self, point: _OrderedPoint, decrement: float) -> bool:
        """Whether the loss is flat while logits still move."""
        return decrement <= FLAT_LOSS and self.longest(point.coef) > FLAT_LOGIT

    def longest(self, coef: Array) -> float:
        """Largest absolute logit among pairs that have rows."""
        gaps = coef[:-1, None] - coef[None, :-1]
        return max(
            float(np.abs(gaps + effect).max(where=part.weight > 0, initial=0.0))
            for part, effect in self.layers(coef)
        )

    def layers(self, coef: Array) -> tuple[tuple[PairCounts, float], ...]:
        """The two tables of counts, each with the position effect on its rows."""
        return (self.counts.unknown, 0.0), (self.counts.shown, float(coef[-1]))


@dataclass(frozen=True, slots=True)
class _OrderedPoint:
    """A point of :class:`OrderedBTL`: coefficients (scores, effect)."""

    problem: OrderedBTL
    coef: Array
    change: float = 0.0
    is_cut: ClassVar[bool] = False

    def loss(self) -> float:
        """Mean logistic loss, half the ridge penalty included."""
        scores, problem = self.coef[:-1], self.problem
        gaps = scores[:, None] - scores[None, :]
        total = 0.5 * problem.ridge * float(scores @ scores)
        for part, effect in problem.layers(self.coef):
            total += float(np.sum(part.first * np.logaddexp(0.0, -gaps - effect)))
            total += float(np.sum(part.second * np.logaddexp(0.0, gaps + effect)))
        return total / problem.counts.weight

    def gradient(self) -> Array:
        """Gradient of the loss, of shape (n_models + 1,)."""
        scores, problem = self.coef[:-1], self.problem
        unknown, shown = (
            part.surplus(scores, effect) for part, effect in problem.layers(self.coef)
        )
        both = unknown + shown
        # A pair's surplus counts positively for its row model and negatively for its
        # column model. The effect is in the logits of the shown rows alone.
        slope = both.sum(axis=1) - both.sum(axis=0) + problem.ridge * scores
        return np.append(slope, shown.sum()) / problem.counts.weight

    def hessian(self) -> Array:
        """Hessian of the loss, with curvature along the shifts of each part."""
        return self.problem.information(self.coef) / self.problem.counts.weight
