"""The Riesz system of all scores: information, targets, and the solved weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from skanchor._numerics.btl import laplacian, pair_sums
from skanchor._numerics.information import JudgeBlock, selectors
from skanchor._numerics.linalg import (
    SymmetricSolver,
    covariance_factor,
    mix_judges,
    zero_sum_basis,
)
from skanchor._typing import Array
from skanchor.comparisons import Comparisons
from skanchor.exceptions import BattlesError

__all__ = ["RieszProblem", "RieszSystem"]


@dataclass(frozen=True, slots=True)
class RieszSystem:
    """Solved Riesz system of all scores.

    Attributes
    ----------
    information : ndarray of shape (p, p)
        Information J of (new scores, historical coordinates, sensitivities,
        position effects) after the bias functions.
    human_information : ndarray of shape (p, p)
        The human rows' share of it.
    gap : ndarray of shape (p, n_targets)
        ``sum omega a V xi - L``, what the weights leave of the identity.
    weights : ndarray of shape (p, n_targets)
        w = J^-1 L for the targets L, the scores of all items; with J's diagonal raised
        by ``ridge``.
    targets : ndarray of shape (p, n_targets)
        L.
    blocks : tuple of JudgeBlock
        One per judge.
    items : ndarray of shape (n_items, n_scores)
        Selector of each item's score among the first n_scores parameters.
    factor : ndarray of shape (n_judges, n_judges) or None
        Square root L of the covariance of the item effects, whose standardised
        values v, u = L v, are the last parameters.
    solver : SymmetricSolver
        Inverse of ``information``, its diagonal raised by ``ridge``.
    """

    information: Array
    human_information: Array
    gap: Array
    weights: Array
    targets: Array
    blocks: tuple[JudgeBlock | None, ...]
    items: Array
    factor: Array | None
    solver: SymmetricSolver

    def columns(self, m: int, X: Comparisons) -> Array:
        """Map the parameters to judge m's columns (items, delta, order)."""
        return judge_columns(X, m, self.items, self.factor, len(self.targets))

    @property
    def n_deviations(self) -> int:
        """Number of item-effect parameters, at the end of the vector."""
        return 0 if self.factor is None else len(self.factor) * len(self.items)

    def item_covariance(self) -> Array:
        """Variance that the item effects leave in the targets, W_u' R W_u."""
        tail = self.weights[len(self.weights) - self.n_deviations :]
        return np.asarray(tail.T @ tail)

    def expected_covariance(self) -> Array:
        """Sampling variance of the targets if outcomes are independent votes."""
        total = self.weights.T @ self.information @ self.weights
        return np.asarray(total - self.item_covariance())

    def prior_score(self, X: Comparisons) -> Array:
        """Correction by the prior's own score, -(R u)' W_u, for each target."""
        if self.factor is None:
            return np.zeros(len(self.items))
        assert X.deviations is not None
        v = np.linalg.lstsq(self.factor, X.deviations, rcond=None)[0].ravel()
        tail = self.weights[len(self.weights) - self.n_deviations :]
        return np.asarray(-(v @ tail))

    def lower_bound(self, X: Comparisons) -> Array:
        """Part of each score's variance that judge rows cannot lower.

        B_l of thm:human-scale-information-limit-v2, at the scores and sensitivities
        that X carries: judges say nothing about the scale of the scores.
        """
        n_scores, n_judges = self.items.shape[1], len(X.judges)
        assert X.scores is not None
        direction = np.zeros(len(self.weights))
        direction[:n_scores] = np.linalg.lstsq(self.items, X.scores, rcond=None)[0]
        if X.sensitivities is not None:
            direction[n_scores : n_scores + n_judges] = -X.sensitivities
        length = np.linalg.norm(direction)
        if length == 0.0:
            # No score and no sensitivity: there is no scale to be unsure of.
            return np.zeros(self.targets.shape[1])
        direction /= length
        information = direction @ self.human_information @ direction
        return np.asarray((self.targets.T @ direction) ** 2 / information)


@dataclass(frozen=True, slots=True)
class RieszProblem:
    """The system before the judges' blocks are known.

    Attributes
    ----------
    X : Comparisons
        Rows that carry the plug-in.
    items : ndarray of shape (n_items, n_scores)
        Selector of each item's score.
    factor : ndarray of shape (n_judges, n_judges) or None
        Square root of the covariance of the item effects.
    human_information : ndarray of shape (p, p)
        Information of the human rows.
    targets : ndarray of shape (p, n_items)
        L, the scores of all items.
    ridge : float
        Ridge penalty, in shares of the diagonal of the information.
    """

    X: Comparisons
    items: Array
    factor: Array | None
    human_information: Array
    targets: Array
    ridge: float

    @classmethod
    def of(cls, X: Comparisons, curvature: Array, ridge: float) -> RieszProblem:
        """Set up the system of rows with ``curvature``, the weighted variances."""
        if X.scores is None or np.isnan(X.scores).all():
            raise BattlesError(
                "These comparisons carry no scores; transform them with fitted "
                "BTLRegressor, JudgeCalibrator and ArrivalScorer first."
            )
        n_items, n_judges = len(X.models), len(X.judges)
        items = selectors(X.is_new, zero_sum_basis(n_items - int(X.is_new.sum())))
        n_scores = items.shape[1]
        size = n_scores + n_judges * (1 + (X.position_effects is not None))
        factor = None
        if X.item_covariance is not None:
            factor = covariance_factor(X.item_covariance)
            size += n_judges * n_items
        human = X.by_judge(-1)
        pairs = pair_sums(human.left, human.right, curvature[human.rows], n_items)
        information = np.zeros((size, size))
        information[:n_scores, :n_scores] = items.T @ laplacian(pairs) @ items
        targets = np.zeros((size, n_items))
        targets[:n_scores] = items.T
        return cls(X, items, factor, information, targets, ridge)

    def solve(self, blocks: Sequence[JudgeBlock | None]) -> RieszSystem:
        """Add the blocks of the judges, and solve eq:direct-riesz-objective-v2."""
        joint, identity = self._sum(blocks)
        ridged = joint + np.diag(self.ridge * np.diag(joint))
        solver = SymmetricSolver.factorise(ridged)
        weights = solver.solve(self.targets)
        return RieszSystem(
            joint,
            self.human_information,
            identity.T @ weights - self.targets,
            weights,
            self.targets,
            tuple(blocks),
            self.items,
            self.factor,
            solver,
        )

    def _sum(self, blocks: Sequence[JudgeBlock | None]) -> tuple[Array, Array]:
        """Information of all rows, after the bias functions and as it identifies."""
        found = [(m, block) for m, block in enumerate(blocks) if block is not None]
        joint = self._total((m, block.gram) for m, block in found)
        if all(block.identity is block.gram for _, block in found):
            return joint, joint
        return joint, self._total((m, block.identity) for m, block in found)

    def _total(self, parts: Iterable[tuple[int, Array]]) -> Array:
        """Sum of the human information and the parts of judges, each by its columns."""
        n_items, n_judges = len(self.X.models), len(self.X.judges)
        size = len(self.targets)
        total = self.human_information.copy()
        # u = L v mixes the judges, so that their blocks are summed by u first.
        own = None if self.factor is None else np.eye(n_judges)
        for m, part in parts:
            # By u, of which a judge sees its own; the parameters are v.
            columns = judge_columns(self.X, m, self.items, own, size)
            at = np.flatnonzero(columns.any(axis=0))
            columns = columns[:, at]
            total[np.ix_(at, at)] += columns.T @ part @ columns
        if self.factor is not None:
            total = mix_judges(total, self.factor, n_items)
            # The prior of the item effects is one more observation each.
            at = np.arange(size - n_judges * n_items, size)
            total[at, at] += 1.0
        return total


def judge_columns(
    X: Comparisons, m: int, items: Array, factor: Array | None, size: int
) -> Array:
    """Map the ``size`` parameters to judge m's columns (items, delta, order)."""
    n_items, n_scores = items.shape
    columns = np.zeros((n_items + 2, size))
    assert X.sensitivities is not None
    columns[:n_items, :n_scores] = X.sensitivities[m] * items
    columns[n_items, n_scores + m] = 1.0
    if X.position_effects is not None:
        columns[n_items + 1, n_scores + len(X.judges) + m] = 1.0
    if factor is not None:
        start = size - len(factor) * n_items
        columns[:n_items, start:] = np.kron(factor[m], np.eye(n_items))
    return columns
