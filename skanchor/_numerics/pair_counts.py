"""Sums over rows by pair of models, which are all that BTL scores and errors need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.graph import components
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.types import Array

# A sum of ``_PACKED * y + 1`` over rows counts wins and rows in one pass. With at most
# ``_MOST`` rows the count of rows stays below 2**26, and the whole below 2**53, so that
# floats hold it exactly.
_PACKED, _MOST = 2.0**26, 1 << 25

LEAST_NOISE = 1e-26
"""Variance of outcomes, relative to that of votes, below which it is rounding."""


@dataclass(frozen=True, slots=True)
class PairCounts:
    """All that BTL and its covariance need of the rows, by ordered pair of models.

    Wins and losses are summed separately: a difference of two large sums would lose the
    digits of a small one.

    Attributes
    ----------
    first, second : ndarray of shape (n_models, n_models)
        Sums of weights times outcomes of rows (a, b): w y, and w (1 - y).
    first_squared, second_squared : ndarray of shape (n_models, n_models)
        Sums of w^2 y, and of w^2 (1 - y).
    spread : ndarray of shape (n_models, n_models)
        Sum of ``w^2 (y - m)^2``, m the mean outcome of the pair weighted by ``w^2``.
        It is taken about the pair's own mean, so that the sandwich keeps its digits
        where outcomes lie close to their probabilities.
    """

    first: Array
    second: Array
    first_squared: Array
    second_squared: Array
    spread: Array

    @classmethod
    def from_rows(
        cls,
        left: NDArray[np.intp],
        right: NDArray[np.intp],
        y: Array,
        weight: Array,
        size: int,
        multiplicity: Array | None = None,
    ) -> PairCounts:
        """Aggregate rows; those of a model against itself are ignored.

        A weight of size one holds for every row. With ``multiplicity`` each row stands
        for so many equal ones, whose weights ``weight`` sums up.
        """
        equal = weight.size == 1
        times = np.ones(1) if multiplicity is None else multiplicity
        if equal:
            totals, exact = _count(left, right, y, size, float(weight[0]))
        else:
            totals, exact = _weigh(left, right, y, weight, size, times)
        if not exact:
            # With graded outcomes the sum about the mean needs a second pass over the
            # rows. The mean m and 1 - m of each pair are weighted by w^2.
            totals[4] = 0.0
            won, lost = totals[2:4]
            both = won + lost
            share, rest = (
                np.divide(part, both, out=np.zeros_like(part), where=both > 0)
                for part in (won, lost)
            )
            for rows in _steps(len(left), size):
                pair, outcome = left[rows] * size + right[rows], y[rows]
                # y - m as y (1 - m) - (1 - y) m, which is exact where m is 0 or 1.
                gap = outcome * rest.take(pair) - (1.0 - outcome) * share.take(pair)
                gap *= weight if equal else weight[rows]
                squares = gap * gap / (times if times.size == 1 else times[rows])
                totals[4] += np.bincount(pair, squares, size * size)
        tables = totals.reshape(5, size, size)
        diagonal = np.arange(size)
        tables[:, diagonal, diagonal] = 0.0
        return cls(*tables)

    @property
    def weight(self) -> Array:
        """Sum of weights by pair."""
        return self.first + self.second

    @property
    def squared(self) -> Array:
        """Sum of squared weights by pair."""
        return self.first_squared + self.second_squared

    @property
    def wins(self) -> Array:
        """(Half) wins of the row model over the column model, from both orders."""
        return self.first + self.second.T

    def among(self, models: NDArray[np.intp]) -> PairCounts:
        """Counts between some of the models."""
        box = np.ix_(models, models)
        return PairCounts(*(getattr(self, field.name)[box] for field in fields(self)))

    def information(self, scores: Array) -> Array:
        """Fisher information by ordered pair."""
        p, q = _probabilities(scores)
        return self.weight * (p * q)

    def meat(self, scores: Array) -> Array:
        """Sums of ``w^2 (y - p)^2`` by ordered pair, the meat of a sandwich."""
        p, q = _probabilities(scores)
        # With W the sum of w^2 this is W (m - p), and the result is the sum about the
        # mean plus W (m - p)^2.
        gap = self.first_squared * q - self.second_squared * p
        squared = self.squared
        # gap^2 has fourth powers of weights, which may leave the range of floats, so
        # that the division comes first.
        share = np.divide(gap, squared, out=np.zeros_like(gap), where=squared > 0)
        return self.spread + gap * share

    def expected_meat(self, scores: Array) -> Array:
        """Expectation of :meth:`meat` for independent votes, ``sum w^2 p (1 - p)``."""
        p, q = _probabilities(scores)
        return self.squared * (p * q)


def silent_pairs(noise: Array, expected: Array) -> NDArray[np.bool_]:
    """Pairs without noise that connect models which no noisy pairs connect.

    The outcomes of these pairs equal the predictions of the scores up to rounding. A
    contrast between models that only such pairs connect has no estimate of its error.

    Parameters
    ----------
    noise, expected : ndarray of shape (n_models, n_models)
        Sums of squared residuals by ordered pair, and their expectation for independent
        votes.

    Returns
    -------
    ndarray of shape (n_models, n_models)
        Whether a pair is one of them; symmetric.
    """
    # The order of the two models does not matter here. ``part`` numbers the groups of
    # models that noisy pairs connect.
    noise, due = noise + noise.T, expected + expected.T
    part = components(noise > LEAST_NOISE * due, "weak")
    return (due > 0) & (part[:, None] != part[None, :])


def _probabilities(scores: Array) -> tuple[Array, Array]:
    """Probabilities that the row model wins, and that the column model does."""
    gaps = scores[:, None] - scores[None, :]
    # 1 - sigmoid(gap) would lose all digits for large gaps.
    return sigmoid(gaps), sigmoid(-gaps)


def _steps(n_rows: int, size: int) -> Iterator[slice]:
    """Slices of rows: short enough for the cache, longer than a table of pairs."""
    step = min(max(1 << 16, size * size), _MOST)
    return (slice(start, start + step) for start in range(0, n_rows, step))


def _sums_of_outcomes(
    won: Array, tied: Array, lost: Array
) -> tuple[Array, Array, Array]:
    """Sums of ``y``, ``1 - y`` and ``(y - m)^2``, from counts of wins, ties, losses."""
    total = won + tied + lost
    rare = np.divide(lost, total, out=np.zeros_like(total), where=total > 0)
    half = np.divide(tied, total, out=np.zeros_like(total), where=total > 0)
    # sum (y - m)^2 = {won lost + (won + lost) tied / 4} / total, free of cancellation.
    spread = won * rare + (won + lost) * half / 4.0
    return won + tied / 2.0, lost + tied / 2.0, spread


def _count(
    left: NDArray[np.intp], right: NDArray[np.intp], y: Array, size: int, unit: float
) -> tuple[Array, bool]:
    """Tables of rows that all have the weight ``unit``, by ordered pair.

    Returns the five tables of :class:`PairCounts`, of shape (5, size * size), and
    whether all outcomes are 0, 1/2 or 1. Otherwise the last table is not yet valid.
    """
    games, wins, squares = np.zeros((3, size * size))
    exact = True
    for rows in _steps(len(left), size):
        pair, won = left[rows] * size, y[rows]
        pair += right[rows]
        between = (won > 0.0) & (won < 1.0)
        if between.any():
            exact = exact and bool((won[between] == 0.5).all())
            for total, term in (games, None), (wins, won), (squares, won * won):
                total += np.bincount(pair, term, size * size)
        else:
            # Without ties y^2 = y, and one pass counts both: wins in the high bits of
            # the sum, rows in the low ones.
            packed = won * _PACKED
            packed += 1.0
            both = np.bincount(pair, packed, size * size)
            decided = np.floor(both / _PACKED)
            games += both - _PACKED * decided
            wins += decided
            squares += decided
    # So far ``wins`` is the sum of y and ``squares`` that of y^2. A tie has
    # y - y^2 = 1/4, other exact outcomes have zero: the counts are free of rounding.
    tied = 4.0 * (wins - squares)
    won = wins - tied / 2.0
    first, second, spread = _sums_of_outcomes(won, tied, games - won - tied)
    if not exact:
        first, second = wins, games - wins
    totals = np.empty((5, size * size))
    terms = (first, unit), (second, unit), (first, unit**2), (second, unit**2)
    for total, (term, factor) in zip(totals, (*terms, (spread, unit**2)), strict=True):
        np.multiply(term, factor, out=total)
    return totals, exact


def _weigh(
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    y: Array,
    weight: Array,
    size: int,
    times: Array,
) -> tuple[Array, bool]:
    """The same tables of rows of any weight, each the sum of ``times`` equal ones."""
    exact = all(
        bool((2.0 * y[rows] % 1.0 == 0.0).all()) for rows in _steps(len(left), size)
    )
    cells = size * size
    totals = np.zeros((5, cells))
    sums, squares = np.zeros((2, 3 * cells))
    for rows in _steps(len(left), size):
        pair, won, w = left[rows] * size + right[rows], y[rows], weight[rows]
        square = w * w / (times if times.size == 1 else times[rows])
        if exact:
            # One bin for each outcome and pair: losses, then ties, then wins.
            pair += (2.0 * won).astype(np.intp) * cells
            sums += np.bincount(pair, w, 3 * cells)
            squares += np.bincount(pair, square, 3 * cells)
        else:
            lost = 1.0 - won
            terms = (w * won, w * lost, square * won, square * lost)
            for total, term in zip(totals, terms, strict=False):
                total += np.bincount(pair, term, cells)
    if exact:
        plain, squared = (
            _sums_of_outcomes(won, tied, lost)
            for lost, tied, won in (sums.reshape(3, -1), squares.reshape(3, -1))
        )
        totals = np.array([*plain[:2], *squared])
    return totals, exact
