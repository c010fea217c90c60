"""Bradley-Terry-Luce scores from counts by pair of models (eq:human-estimation-v2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from skanchor._numerics.linalg import SymmetricSolver, solve_zero_sum
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.newton import Curvature, Tolerance, minimise
from skanchor._typing import Array

__all__ = [
    "PairCounts",
    "fit_scores",
    "laplacian",
    "laplacian_inverse",
    "pair_sums",
]

# Length of a Newton step, in logits, beyond which it says separation, not distance.
_LONGEST_STEP = 20.0

# Worth of a win where wins and rows share one sum, and rows of such a sum: below 2**53
# in all, so that it is exact.
_PACKED, _MOST = 2.0**26, 1 << 25


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
    result.flat[:: len(result) + 1] -= result.sum(axis=1)
    return result


def laplacian_inverse(
    information: Array, parts: Sequence[NDArray[np.intp]], ridge: float = 0.0
) -> Array:
    """Inverse of a Laplacian on the vectors that sum to zero in each part.

    Models that hang on the others by little weight keep their accuracy: a Laplacian
    without the row of its heaviest model has small entries only where it has a small
    diagonal.

    Parameters
    ----------
    information : ndarray of shape (n_models, n_models)
        The Laplacian.
    parts : sequence of ndarrays
        Models of each connected part.
    ridge : float
        Added to the diagonal.

    Returns
    -------
    ndarray of shape (n_models, n_models)
    """
    result = np.zeros_like(information)
    for part in parts:
        inner = information[np.ix_(part, part)]
        inner = inner + ridge * np.eye(len(part))
        kept = np.arange(len(part))
        if not ridge:
            kept = np.delete(kept, np.argmax(inner.diagonal()))
        inverse = np.zeros_like(inner)
        box = np.ix_(kept, kept)
        inverse[box] = SymmetricSolver.factorise(inner[box]).inverse()
        centre = np.eye(len(part)) - 1.0 / len(part)
        result[np.ix_(part, part)] = centre @ inverse @ centre
    return result


@dataclass(frozen=True, slots=True)
class PairCounts:
    """All that BTL and its covariance need of the rows, by ordered pair of models.

    Attributes
    ----------
    weight, first : ndarray of shape (n_models, n_models)
        Sum of weights, and of weights times outcomes, of rows (a, b).
    squared : ndarray of shape (n_models, n_models)
        Sum of squared weights w.
    mean : ndarray of shape (n_models, n_models)
        Mean outcome m of each pair, by squared weight.
    spread : ndarray of shape (n_models, n_models)
        Sum of ``w^2 (y - m)^2``. About its own mean, so that a sandwich of outcomes
        that lie close to their probabilities is not lost in rounding.
    """

    weight: Array
    first: Array
    squared: Array
    mean: Array
    spread: Array

    @classmethod
    def from_rows(
        cls,
        left: NDArray[np.intp],
        right: NDArray[np.intp],
        y: Array,
        weight: Array,
        size: int,
    ) -> PairCounts:
        """Aggregate rows; those of a model against itself count for nothing.

        A weight of size one holds for every row.
        """
        equal = weight.size == 1
        totals, exact = np.zeros((3 if equal else 5, size * size)), True
        for start in range(0, len(left), _MOST):
            part = slice(start, start + _MOST)
            if equal:
                sums, halves = _count(left[part], right[part], y[part], size)
            else:
                sums, halves = _weigh(
                    left[part], right[part], y[part], weight[part], size
                )
            totals += sums
            exact = exact and halves
        if equal:
            unit = float(weight[0])
            totals = np.vstack([unit * totals[:2], unit**2 * totals])
        total, first, squared, won, won_squared = totals
        mean = np.divide(won, squared, out=np.zeros_like(won), where=squared > 0)
        if exact:
            spread = np.maximum(won_squared - mean * won, 0.0)
        else:
            spread = np.zeros(size * size)
            for rows in _steps(len(left), size):
                pair = left[rows] * size + right[rows]
                w = weight if equal else weight[rows]
                rest = w * (y[rows] - mean.take(pair))
                spread += np.bincount(pair, rest * rest, size * size)
        tables = [
            table.reshape(size, size) for table in (total, first, squared, mean, spread)
        ]
        diagonal = np.arange(size)
        for table in tables:
            table[diagonal, diagonal] = 0.0
        return cls(*tables)

    @property
    def wins(self) -> Array:
        """(Half) wins of the row model over the column model."""
        return self.first + (self.weight - self.first).T

    def among(self, models: NDArray[np.intp]) -> PairCounts:
        """Counts between some of the models."""
        box = np.ix_(models, models)
        return PairCounts(*(getattr(self, field.name)[box] for field in fields(self)))

    def probabilities(self, scores: Array) -> Array:
        """P(row model beats column model)."""
        return sigmoid(scores[:, None] - scores[None, :])

    def information(self, scores: Array) -> Array:
        """Fisher information of the scores, a Laplacian of shape (K, K)."""
        p = self.probabilities(scores)
        return laplacian(self.weight * p * (1.0 - p))

    def meat(self, scores: Array) -> Array:
        """Sum of outer products of the weighted score vectors of the rows."""
        gap = self.mean - self.probabilities(scores)
        return laplacian(self.spread + self.squared * gap**2)

    def expected_meat(self, scores: Array) -> Array:
        """The same sum as independent votes would have it."""
        p = self.probabilities(scores)
        return laplacian(self.squared * p * (1.0 - p))


def _steps(n_rows: int, size: int) -> Iterator[slice]:
    """Rows that stay in the cache, yet outweigh a table of pairs."""
    step = max(1 << 16, size * size)
    return (slice(start, start + step) for start in range(0, n_rows, step))


def _count(
    left: NDArray[np.intp], right: NDArray[np.intp], y: Array, size: int
) -> tuple[Array, bool]:
    """Sums of 1, y and y squared by pair, and whether they are exact."""
    tied, both, exact = np.zeros((3, size * size)), np.zeros(size * size), True
    for rows in _steps(len(left), size):
        pair, won = left[rows] * size, y[rows]
        pair += right[rows]
        between = (won > 0.0) & (won < 1.0)
        if between.any():
            exact = exact and bool((won[between] == 0.5).all())
            for total, term in zip(tied, (None, won, won * won), strict=True):
                total += np.bincount(pair, term, size * size)
        else:
            # Wins in the high bits, rows in the low ones.
            packed = won * _PACKED
            packed += 1.0
            both += np.bincount(pair, packed, size * size)
    wins = np.floor(both / _PACKED)
    return tied + np.array([both - _PACKED * wins, wins, wins]), exact


def _weigh(
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    y: Array,
    weight: Array,
    size: int,
) -> tuple[Array, bool]:
    """Sums by pair of w, w y, and of squared w times 1, y and y squared.

    And whether outcomes are wins, losses and ties alone, of which no sum is the worse.
    """
    totals, exact = np.zeros((5, size * size)), True
    for rows in _steps(len(left), size):
        pair, won, w = left[rows] * size + right[rows], y[rows], weight[rows]
        square = w * w
        exact = exact and bool((2.0 * won % 1.0 == 0.0).all())
        terms = (w, w * won, square, square * won, square * won * won)
        for total, term in zip(totals, terms, strict=True):
            total += np.bincount(pair, term, size * size)
    return totals, exact


def fit_scores(
    wins: Array,
    *,
    alpha: float = 0.0,
    bound: float = np.inf,
    start: Array | None = None,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> tuple[Array, bool, int]:
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
    coef: Array
    change: float
    is_cut: ClassVar[bool] = False
    _loss: float | None = None
    _means: tuple[Array, Array] | None = None

    def loss(self) -> float:
        """Loss."""
        if self._loss is None:
            scores, problem = self.coef, self.problem
            # Each unordered pair appears twice in the matrix of log(1 + e^-d).
            losses = np.logaddexp(0.0, scores[None, :] - scores[:, None])
            ridge = 0.5 * problem.alpha * scores @ scores
            self._loss = float((problem.wins * losses).sum() + ridge)
        return self._loss

    def gradient(self) -> Array:
        """Gradient."""
        scores, problem = self.coef, self.problem
        p = sigmoid(scores[:, None] - scores[None, :])
        expected = problem.games * p
        self._means = p, expected
        slope: Array = expected.sum(axis=1) - problem.won
        slope += problem.alpha * scores
        return slope

    def hessian(self) -> Array:
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

    wins: Array
    games: Array
    won: Array
    alpha: float
    bound: float

    @classmethod
    def of(cls, wins: Array, alpha: float, bound: float) -> _BTLLoss:
        wins = wins / wins.sum()
        return cls(wins, wins + wins.T, wins.sum(axis=1), alpha, bound)

    def at(self, coef: Array, since: _ScorePoint | None = None) -> _ScorePoint:
        """Point at these scores."""
        change = 0.0 if since is None else float(np.ptp(coef - since.coef))
        return _ScorePoint(self, coef, change)

    def step(self, point: _ScorePoint, gradient: Array, curvature: Curvature) -> Array:
        """Zero-sum step."""
        step = -solve_zero_sum(curvature.hessian, gradient)
        longest = np.abs(step).max()
        return step if longest <= _LONGEST_STEP else step * (_LONGEST_STEP / longest)

    def diverges(self, point: _ScorePoint, decrement: float) -> bool:
        """Whether the scores are so far beyond the bound that they stay there."""
        return bool(np.abs(point.coef).max() > 2.0 * self.bound)


def _fit_within(problem: _BTLLoss) -> tuple[Array, bool]:
    """Scores of least loss within the bound, by a general solver."""
    size, bound = len(problem.won), problem.bound

    def loss(scores: Array) -> float:
        return problem.at(scores).loss()

    def gradient(scores: Array) -> Array:
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
