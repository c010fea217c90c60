"""Maximum-likelihood Bradley-Terry-Luce scores from wins (eq:human-estimation-v2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.graph import strong_components
from skanchor._numerics.linalg import SymmetricSolver
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.newton import Curvature, Tolerance, minimise
from skanchor._numerics.types import Array

_LONGEST_LOGIT_STEP = 20.0
"""Largest change of the logit of a pair by one Newton step."""


def pair_sums(
    left: NDArray[np.intp], right: NDArray[np.intp], values: NDArray, size: int
) -> Array:
    """Sum ``values`` by ordered pair into a (size, size) matrix."""
    sums = np.bincount(left * size + right, values, size * size)
    return sums.reshape(size, size).astype(np.float64, copy=False)


def laplacian(pair_weight: Array) -> Array:
    """Sum of weight (e_a - e_b)(e_a - e_b)' over ordered pairs (a, b).

    Parameters
    ----------
    pair_weight : ndarray of shape (n_models, n_models)
        Weight of each ordered pair.

    Returns
    -------
    ndarray of shape (n_models, n_models)
    """
    result: Array = -(pair_weight + pair_weight.T)
    # Each diagonal entry is such that its row sums to zero.
    result.flat[:: len(result) + 1] -= result.sum(axis=1)
    return result


@dataclass(frozen=True, slots=True)
class ScoreSolver:
    """A system of scores, whose matrix is a Laplacian, maybe plus a ridge.

    Attributes
    ----------
    free : ndarray of shape (n_free,)
        Models whose scores are solved for. Without a ridge only differences of scores
        are determined, and the score of the model with most information is held at
        zero. The matrix of the others is scaled to unit diagonal, so that no digits of
        a model are lost whose games are light.
    solver : SymmetricSolver
        Factorised matrix of these models.
    """

    free: NDArray[np.intp]
    solver: SymmetricSolver

    @classmethod
    def of(cls, matrix: Array, has_ridge: bool) -> ScoreSolver:
        """Factorise the matrix, of shape (n_models, n_models)."""
        size = len(matrix)
        free = np.arange(size)
        if has_ridge:
            # A small ridge hardly curves the direction in which all scores move, in
            # which nothing is solved for: it gets the mean curvature.
            matrix = matrix + np.trace(matrix) / size**2
        else:
            free = np.delete(free, np.argmax(matrix.diagonal()))
        return cls(free, SymmetricSolver.factorise(matrix[np.ix_(free, free)]))

    @property
    def is_certain(self) -> bool:
        """Whether the games determine all differences of scores in floating point."""
        return self.solver.rank == len(self.free)

    def solve(self, right: Array) -> Array:
        """Solve for right-hand sides of sum zero, of shape (n_models, ...).

        The level of the solutions is arbitrary.
        """
        result = np.zeros(right.shape)
        result[self.free] = self.solver.solve(right[self.free])
        return result


def fit_scores(
    wins: Array,
    *,
    alpha: float = 0.0,
    start: Array | None = None,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> tuple[Array, bool, int]:
    """Zero-sum scores that maximise the BTL likelihood of a win matrix.

    Solves eq:human-estimation-v2 by Newton's method on the zero-sum vectors, with step
    halving. Without a ridge the maximum is finite only within a strong component of the
    wins (Ford's condition). Differences between components are infinite, and games
    between them carry no further information, so that each component is fitted by
    itself.

    Parameters
    ----------
    wins : ndarray of shape (n_models, n_models)
        (Half) wins of the row model over the column model.
    alpha : float
        Ridge: adds ``alpha / 2`` times the squared norm of the scores to the mean loss.
    start : ndarray of shape (n_models,), optional
        Start of the scores, zero by default.
    tol : float
        Largest change of a pair's logit by the last step.
    max_iter : int
        Largest number of Newton steps.

    Returns
    -------
    scores : ndarray of shape (n_models,)
        Scores in logits, of sum zero in each strong component; with a ridge, of sum
        zero over all models.
    converged : bool
        Whether the fits of all components met the tolerance.
    n_iter : int
        Most Newton steps that a component took.
    """
    size = len(wins)
    scores, converged, n_iter = np.zeros(size), True, 1
    parts = [np.arange(size)] if alpha else strong_components(wins)
    for part in parts:
        inner = wins[np.ix_(part, part)]
        # A model by itself has no games: its score is zero.
        if not inner.any():
            continue
        first = np.zeros(len(part)) if start is None else start[part]
        found = minimise(
            _BTLLoss.of(inner, alpha),
            first - first.mean(),
            Tolerance(change=tol),
            max_iter=max_iter,
        )
        scores[part] = found.coef - found.coef.mean()
        converged = converged and found.converged
        n_iter = max(n_iter, found.n_iter)
    return scores, converged, n_iter


@dataclass(slots=True)
class _ScorePoint:
    """Scores; the other values are computed when first used.

    ``_means``, of shape (n_models, n_models), are the probabilities that the row model
    wins.
    """

    problem: _BTLLoss
    coef: Array
    change: float
    is_cut: ClassVar[bool] = False
    _loss: float | None = None
    _means: Array | None = None

    def loss(self) -> float:
        """Mean loss plus the ridge penalty."""
        if self._loss is None:
            scores, problem = self.coef, self.problem
            # losses[i, j] = log(1 + exp(s_j - s_i)), the loss of a win of i over j.
            losses = np.logaddexp(0.0, scores[None, :] - scores[:, None])
            ridge = 0.5 * problem.alpha * scores @ scores
            self._loss = float((problem.wins * losses).sum() + ridge)
        return self._loss

    def gradient(self) -> Array:
        """Gradient of the loss, of shape (n_models,)."""
        scores, wins = self.coef, self.problem.wins
        p = sigmoid(scores[:, None] - scores[None, :])
        self._means = p
        # Expected less observed wins of the row model over the column model: (wins +
        # wins') p - wins, without its cancellation; p' is 1 - p.
        surplus = wins.T * p - wins * p.T
        return np.asarray(surplus.sum(axis=1) + self.problem.alpha * scores)

    def hessian(self) -> Array:
        """Hessian; discards the probabilities that the gradient stored."""
        p, problem = self._means, self.problem
        assert p is not None
        self._means = None
        # Laplacian of the information w p (1 - p) of each pair.
        second = laplacian(problem.wins * (p * p.T))
        second.flat[:: len(second) + 1] += problem.alpha
        return second


@dataclass(frozen=True, slots=True)
class _BTLLoss:
    """Mean loss of eq:human-estimation-v2 plus a ridge, by the scores of all models.

    ``wins``, of shape (n_models, n_models), is divided by its sum.
    """

    wins: Array
    alpha: float

    @classmethod
    def of(cls, wins: Array, alpha: float) -> _BTLLoss:
        return cls(wins / wins.sum(), alpha)

    def at(self, coef: Array, since: _ScorePoint | None = None) -> _ScorePoint:
        """Point at these scores, which was reached from ``since``."""
        change = 0.0 if since is None else self._longest(coef - since.coef)
        return _ScorePoint(self, coef, change)

    def step(self, point: _ScorePoint, gradient: Array, curvature: Curvature) -> Array:
        """Newton step of sum zero, shortened where it would move a logit too far."""
        solver = ScoreSolver.of(curvature.hessian, self.alpha > 0)
        step = -solver.solve(gradient)
        step -= step.mean()
        longest = max(self._longest(step), _LONGEST_LOGIT_STEP)
        return step * (_LONGEST_LOGIT_STEP / longest)

    def diverges(self, point: _ScorePoint, decrement: float) -> bool:
        """Whether the minimum lies at infinity: never, within a strong component."""
        return False

    def _longest(self, step: Array) -> float:
        """Largest absolute change of a logit among pairs that have met."""
        changes = np.abs(step[:, None] - step[None, :])
        return float(changes.max(where=self.wins > 0, initial=0.0))
