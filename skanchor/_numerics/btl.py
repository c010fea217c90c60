"""Bradley-Terry-Luce scores from counts by pair of models (eq:human-estimation-v2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from skanchor._numerics.linalg import solve_zero_sum
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.newton import Curvature, Tolerance, minimise

__all__ = ["PairCounts", "fit_scores", "laplacian", "pair_sums"]

# Length of a Newton step, in logits, beyond which it says separation, not distance.
_LONGEST_STEP = 20.0

# Worth of a win where wins and rows share one sum, and rows of such a sum: below 2**53
# in all, so that it is exact.
_PACKED, _MOST = 2.0**26, 1 << 25


def pair_sums(
    left: NDArray[np.intp], right: NDArray[np.intp], values: NDArray, size: int
) -> NDArray[np.float64]:
    """Sum ``values`` by ordered pair into a (size, size) matrix."""
    sums = np.bincount(left * size + right, values, size * size)
    return sums.reshape(size, size).astype(np.float64, copy=False)


def laplacian(pair_weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of weight (e_a - e_b)(e_a - e_b)' over ordered pairs (a, b).

    Parameters
    ----------
    pair_weight : ndarray of shape (n_models, n_models)
        Weight of each ordered pair.

    Returns
    -------
    ndarray of shape (n_models, n_models)
    """
    result: NDArray[np.float64] = -(pair_weight + pair_weight.T)
    result.flat[:: len(result) + 1] -= result.sum(axis=1)
    return result


@dataclass(frozen=True, slots=True)
class PairCounts:
    """All that BTL and its covariance need of the rows, by ordered pair of models.

    Rows follow eq:human-model-new.

    Attributes
    ----------
    weight, first : ndarray of shape (n_models, n_models)
        Sum of weights, and of weights times outcomes, of rows (a, b).
    squares : tuple of three ndarrays of shape (n_models, n_models)
        Sums of squared weights times 1, y and y squared, for the sandwich.
    """

    weight: NDArray[np.float64]
    first: NDArray[np.float64]
    squares: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]

    @classmethod
    def from_rows(
        cls,
        left: NDArray[np.intp],
        right: NDArray[np.intp],
        y: NDArray[np.float64],
        weight: NDArray[np.float64],
        size: int,
    ) -> PairCounts:
        """Aggregate rows; those of a model against itself count for nothing.

        A weight of size one holds for every row.
        """
        equal = weight.size == 1
        totals = np.zeros((3 if equal else 5, size * size))
        for start in range(0, len(left), _MOST):
            part = slice(start, start + _MOST)
            if equal:
                totals += _count(left[part], right[part], y[part], size)
            else:
                totals += _weigh(left[part], right[part], y[part], weight[part], size)
        if equal:
            unit = float(weight[0])
            totals = np.vstack([unit * totals[:2], unit**2 * totals])
        tables = totals.reshape(5, size, size)
        diagonal = np.arange(size)
        tables[:, diagonal, diagonal] = 0.0
        return cls(tables[0], tables[1], (tables[2], tables[3], tables[4]))

    @property
    def wins(self) -> NDArray[np.float64]:
        """(Half) wins of the row model over the column model."""
        return self.first + (self.weight - self.first).T

    def among(self, models: NDArray[np.intp]) -> PairCounts:
        """Counts between some of the models."""
        box = np.ix_(models, models)
        one, y, y2 = self.squares
        return PairCounts(
            self.weight[box], self.first[box], (one[box], y[box], y2[box])
        )

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(row model beats column model)."""
        return sigmoid(scores[:, None] - scores[None, :])

    def information(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Fisher information of the scores, a Laplacian of shape (K, K)."""
        p = self.probabilities(scores)
        return laplacian(self.weight * p * (1.0 - p))

    def meat(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of outer products of the weighted score vectors of the rows."""
        p = self.probabilities(scores)
        one, y, y2 = self.squares
        return laplacian(y2 - 2.0 * p * y + p * p * one)


def _steps(n_rows: int, size: int) -> Iterator[slice]:
    """Rows that stay in the cache, yet outweigh a table of pairs."""
    step = max(1 << 16, size * size)
    return (slice(start, start + step) for start in range(0, n_rows, step))


def _count(
    left: NDArray[np.intp], right: NDArray[np.intp], y: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """Sums of 1, y and y squared by pair."""
    tied, both = np.zeros((3, size * size)), np.zeros(size * size)
    for rows in _steps(len(left), size):
        pair, won = left[rows] * size, y[rows]
        pair += right[rows]
        if ((won > 0.0) & (won < 1.0)).any():
            for total, term in zip(tied, (None, won, won * won), strict=True):
                total += np.bincount(pair, term, size * size)
        else:
            # Wins in the high bits, rows in the low ones.
            packed = won * _PACKED
            packed += 1.0
            both += np.bincount(pair, packed, size * size)
    wins = np.floor(both / _PACKED)
    return tied + np.array([both - _PACKED * wins, wins, wins])


def _weigh(
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    size: int,
) -> NDArray[np.float64]:
    """Sums by pair of w, w y, and of squared w times 1, y and y squared."""
    totals = np.zeros((5, size * size))
    for rows in _steps(len(left), size):
        pair, won, w = left[rows] * size + right[rows], y[rows], weight[rows]
        square = w * w
        terms = (w, w * won, square, square * won, square * won * won)
        for total, term in zip(totals, terms, strict=True):
            total += np.bincount(pair, term, size * size)
    return totals


def fit_scores(
    wins: NDArray[np.float64],
    *,
    alpha: float = 0.0,
    bound: float = np.inf,
    start: NDArray[np.float64] | None = None,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> tuple[NDArray[np.float64], bool, int]:
    """Zero-sum scores that maximise the BTL likelihood of a win matrix.

    Solves eq:human-estimation-v2 by Newton's method on the zero-sum vectors, with step
    halving; where the maximum lies beyond the bound, a bounded solver takes over.

    Parameters
    ----------
    wins : ndarray of shape (n_models, n_models)
        (Half) wins of the row model over the column model.
    alpha : float
        Ridge: half the squared norm of the scores beside the mean loss.
    bound : float
        Bound on the absolute scores in logits.
    start : ndarray of shape (n_models,), optional
        First scores.
    tol : float
        Tolerance on the gradient per unit weight.
    max_iter : int
        Most Newton steps.

    Returns
    -------
    scores : ndarray of shape (n_models,)
    converged : bool
    n_iter : int
    """
    size = len(wins)
    if wins.sum() == 0 or size < 2:
        return np.zeros(size), True, 0
    problem = _BTLLoss.of(wins, alpha, bound)
    first = np.zeros(size) if start is None else start - start.mean()
    found = minimise(problem, first, Tolerance(gradient=tol), max_iter=max_iter)
    scores, converged = found.coef, found.converged
    if np.abs(scores).max() > bound:
        scores, converged = _fit_within(problem)
    return scores, converged, found.n_iter


@dataclass(slots=True)
class _ScorePoint:
    """Scores; the rest is computed once it is asked for."""

    problem: _BTLLoss
    coef: NDArray[np.float64]
    change: float
    is_cut: ClassVar[bool] = False
    _loss: float | None = None
    _means: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def loss(self) -> float:
        """Loss."""
        if self._loss is None:
            scores, problem = self.coef, self.problem
            # Each unordered pair appears twice in the matrix of log(1 + e^-d).
            losses = np.logaddexp(0.0, scores[None, :] - scores[:, None])
            ridge = 0.5 * problem.alpha * scores @ scores
            self._loss = float((problem.wins * losses).sum() + ridge)
        return self._loss

    def gradient(self) -> NDArray[np.float64]:
        """Gradient."""
        scores, problem = self.coef, self.problem
        p = sigmoid(scores[:, None] - scores[None, :])
        expected = problem.games * p
        self._means = p, expected
        slope: NDArray[np.float64] = expected.sum(axis=1) - problem.won
        slope += problem.alpha * scores
        return slope

    def hessian(self) -> NDArray[np.float64]:
        """Second derivative; takes the means that the gradient has left."""
        assert self._means is not None
        p, expected = self._means
        self._means = None
        second = laplacian(expected * (1.0 - p) / 2.0)
        second.flat[:: len(second) + 1] += self.problem.alpha
        return second


@dataclass(frozen=True, slots=True)
class _BTLLoss:
    """Mean loss of eq:human-estimation-v2 from a win matrix, with a ridge.

    ``wins`` and ``games`` are shares of all games by pair, ``won`` of each model.
    """

    wins: NDArray[np.float64]
    games: NDArray[np.float64]
    won: NDArray[np.float64]
    alpha: float
    bound: float

    @classmethod
    def of(cls, wins: NDArray[np.float64], alpha: float, bound: float) -> _BTLLoss:
        wins = wins / wins.sum()
        return cls(wins, wins + wins.T, wins.sum(axis=1), alpha, bound)

    def at(
        self, coef: NDArray[np.float64], since: _ScorePoint | None = None
    ) -> _ScorePoint:
        """Point at these scores."""
        change = 0.0 if since is None else float(np.ptp(coef - since.coef))
        return _ScorePoint(self, coef, change)

    def step(
        self, point: _ScorePoint, gradient: NDArray[np.float64], curvature: Curvature
    ) -> NDArray[np.float64]:
        """Zero-sum step."""
        step = -solve_zero_sum(curvature.hessian, gradient)
        longest = np.abs(step).max()
        return step if longest <= _LONGEST_STEP else step * (_LONGEST_STEP / longest)

    def diverges(self, point: _ScorePoint, decrement: float) -> bool:
        """Whether the scores are so far beyond the bound that they stay there."""
        return bool(np.abs(point.coef).max() > 2.0 * self.bound)


def _fit_within(problem: _BTLLoss) -> tuple[NDArray[np.float64], bool]:
    """Scores of least loss within the bound, by a general solver."""
    size, bound = len(problem.won), problem.bound

    def loss(scores: NDArray[np.float64]) -> float:
        return problem.at(scores).loss()

    def gradient(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return problem.at(scores).gradient()

    result = minimize(
        loss,
        np.zeros(size),
        jac=gradient,
        method="SLSQP",
        bounds=[(-bound, bound)] * size,
        constraints={"type": "eq", "fun": np.sum, "jac": np.ones_like},
        options={"maxiter": 500, "ftol": 1e-13},
    )
    return np.clip(result.x, -bound, bound), bool(result.success)
