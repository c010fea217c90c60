"""Bradley-Terry-Luce scores from counts by pair of models (eq:human-estimation-v2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from skanchor._numerics.linalg import SymmetricSolver, solve_zero_sum
from skanchor._numerics.logistic import sigmoid
from skanchor._typing import Array

__all__ = [
    "PairCounts",
    "fit_scores",
    "laplacian",
    "laplacian_inverse",
    "pair_sums",
]

# Change of the differences of scores up to which a Newton step needs no check.
_SAFE_MOVE = 0.5

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
    symmetric = pair_weight + pair_weight.T
    return np.diag(symmetric.sum(axis=1)) - symmetric


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
    loss = _BTLLoss.of(wins, alpha)
    scores = np.zeros(size) if start is None else start - start.mean()
    value: float | None = None
    converged = False
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        p = loss.probabilities(scores)
        slope = loss.gradient(scores, p)
        if np.abs(slope).max() <= tol:
            converged = True
            break
        step = -solve_zero_sum(loss.curvature(p), slope)
        if np.ptp(step) <= _SAFE_MOVE:
            # The curvature changes by less than a factor of exp(1/2), so that the
            # whole step lowers the loss: no need to look.
            scores, value = scores + step, None
            continue
        if value is None:
            value = loss.value(scores)
        scores, value = _halve_until_lower(loss, scores, value, step, slope)
        if np.abs(scores).max() > 2.0 * bound:
            break
    if np.abs(scores).max() > bound:
        scores, converged = _fit_within(loss, bound)
    return scores, converged, n_iter


@dataclass(frozen=True, slots=True)
class _BTLLoss:
    """Mean loss of eq:human-estimation-v2 from a win matrix, with a ridge.

    ``wins`` and ``games`` are shares of all games by pair, ``won`` of each model.
    """

    wins: Array
    games: Array
    won: Array
    alpha: float

    @classmethod
    def of(cls, wins: Array, alpha: float) -> _BTLLoss:
        wins = wins / wins.sum()
        return cls(wins, wins + wins.T, wins.sum(axis=1), alpha)

    def probabilities(self, scores: Array) -> Array:
        """P(row model beats column model)."""
        return sigmoid(scores[:, None] - scores[None, :])

    def value(self, scores: Array) -> float:
        """Loss."""
        # Each unordered pair appears twice in the matrix of log(1 + e^-d).
        losses = np.logaddexp(0.0, scores[None, :] - scores[:, None])
        return float((self.wins * losses).sum() + 0.5 * self.alpha * scores @ scores)

    def gradient(self, scores: Array, p: Array) -> Array:
        """Gradient at scores of the given probabilities."""
        slope: Array = (self.games * p).sum(axis=1) - self.won + self.alpha * scores
        return slope

    def curvature(self, p: Array) -> Array:
        """Second derivative at the given probabilities."""
        second = laplacian(self.games * p * (1.0 - p) / 2.0)
        second[np.diag_indices(len(second))] += self.alpha
        return second


def _halve_until_lower(
    loss: _BTLLoss,
    scores: Array,
    value: float,
    step: Array,
    slope: Array,
) -> tuple[Array, float]:
    """Scores and loss after the step, halved until the loss falls enough."""
    # Beyond twenty logits a step says separation, not distance.
    length = min(1.0, 20.0 / max(np.abs(step).max(), 1e-300))
    while length > 1e-10:
        trial = scores + length * step
        trial_value = loss.value(trial)
        if trial_value <= value + 1e-4 * length * slope @ step + 1e-15:
            break
        length /= 2.0
    return trial, trial_value


def _fit_within(loss: _BTLLoss, bound: float) -> tuple[Array, bool]:
    """Scores of least loss within bounds, by a general solver."""
    size = len(loss.won)

    def gradient(scores: Array) -> Array:
        return loss.gradient(scores, loss.probabilities(scores))

    result = minimize(
        loss.value,
        np.zeros(size),
        jac=gradient,
        method="SLSQP",
        bounds=[(-bound, bound)] * size,
        constraints={"type": "eq", "fun": np.sum, "jac": np.ones_like},
        options={"maxiter": 500, "ftol": 1e-13},
    )
    return np.clip(result.x, -bound, bound), bool(result.success)
