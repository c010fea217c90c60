"""Covariance of BTL scores: information, sandwiches, and outcomes without noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._model.btl import BTLFit, VoteCells, solve_for_scores
from skanchor._model.graph import components
from skanchor._model.sources import sigmoid
from skanchor._typing import Array

LEAST_NOISE = 1e-26
"""Variance of outcomes, relative to that of votes, below which it is rounding."""

_CANCELLED = 1e-12
"""Variance of a contrast, in that of independent votes, below which it is rounding."""

_LOST = 1e-9
"""Share of a variance that rounding may reach."""

_STEP = 1 << 12
"""Score vectors that are solved for at a time."""


@dataclass(frozen=True, eq=False, slots=True)
class ScoreErrors:
    """Covariances of the scores of a fit.

    Between models on different scales there is no information, and games against a
    model that is on none say nothing of the others.

    Attributes
    ----------
    fit : BTLFit
        Scores.
    inverse : ndarray of shape (n_models, n_models)
        Inverse information; zero between scales. It is not that of centred scores: a
        light model would move their mean, and add its large variance to all others.
    is_uncertain : ndarray of shape (n_models,)
        Models on scales whose differences floating point does not determine.
    noise, expected : ndarray of shape (n_models, n_models)
        Squared residuals of the votes of each pair, and their expectation for
        independent votes.
    is_silent : ndarray of shape (n_models, n_models)
        Pairs without noise that connect models which no noisy pairs connect. Their
        outcomes equal the predictions up to rounding, so that contrasts between such
        models have no estimate of their error but that of independent votes.
    """

    fit: BTLFit
    inverse: Array
    is_uncertain: NDArray[np.bool_]
    noise: Array
    expected: Array
    is_silent: NDArray[np.bool_]

    @classmethod
    def of(cls, cells: VoteCells, fit: BTLFit, alpha: float) -> ScoreErrors:
        """Factorise the information of the votes, with the ridge of :func:`fit_btl`."""
        scale = fit.scale
        counts = (scale[:, None] == scale) & (scale >= 0)
        residual, variance = _moments(fit.scores, cells.left, cells.right, cells.y)
        noise = counts * cells.table(cells.square * residual**2)
        expected = counts * variance * cells.table(cells.square)
        noise, expected = noise + noise.T, expected + expected.T
        weight = cells.table(cells.weight)
        information, ridge = weight * variance, alpha * weight.sum()
        inverse, is_uncertain = np.zeros_like(weight), np.zeros(len(weight), dtype=bool)
        for at in fit.scales:
            box = np.ix_(at, at)
            inverse[box], is_certain = solve_for_scores(
                information[box], ridge, np.eye(len(at))
            )
            is_uncertain[at] = not is_certain
        part = components(noise > LEAST_NOISE * expected, "weak")
        is_silent = (expected > 0) & (part[:, None] != part)
        return cls(fit, inverse, is_uncertain, noise, expected, is_silent)

    def fisher(self) -> Array:
        """Inverse information."""
        return self._centred(self.inverse)

    def of_votes(self) -> Array:
        """Sandwich of independent votes."""
        return self._of_pairs(np.where(self.is_silent, self.expected, self.noise))

    def of_groups(self, totals: csr_array) -> tuple[Array, bool]:
        """Sandwich of votes that depend on each other within groups.

        Parameters
        ----------
        totals : csr_array of shape (n_groups, n_models)
            Rows of :meth:`score_vectors`, summed by group.

        Returns
        -------
        covariance : ndarray of shape (n_models, n_models)
        is_lost : bool
            Whether residuals cancel within groups and leave a score, or the difference
            of two models that met, without an error. The covariance is then that of
            independent votes.
        """
        result = self.of_totals(totals)
        if self.is_silent.any():
            result += self._of_pairs(np.where(self.is_silent, self.expected, 0.0))
        independent = self._of_pairs(self.expected)

        def contrasts(matrix: Array) -> Array:
            # Var(s_i - s_j) = C_ii + C_jj - 2 C_ij.
            variance = matrix.diagonal()
            return np.asarray(variance[:, None] + variance - 2.0 * matrix)

        gaps = contrasts(result) <= _CANCELLED * contrasts(independent)
        variance, wanted = result.diagonal(), independent.diagonal()
        is_zero = (variance <= _CANCELLED * wanted) & (wanted > 0)
        is_lost = bool(gaps[self.expected > 0].any() or is_zero.any())
        return (independent if is_lost else result), is_lost

    def of_totals(self, totals: csr_array) -> Array:
        """Sandwich of sums of score vectors, of shape (n_sums, n_models)."""
        meat, size = (totals.T @ totals).toarray(), np.abs(self.inverse)
        result = self._centred(self.inverse @ meat @ self.inverse)
        # The rounding error of the product A M A is at most that of |A| |M| |A|.
        error = np.finfo(float).eps * ((size @ np.abs(meat)) * size).sum(axis=1)
        if (error <= _LOST * result.diagonal()).all():
            return result
        # Where light votes alone join groups of models, their digits are lost in the
        # sums by model beside heavy votes within the groups.
        result = np.zeros_like(self.inverse)
        for start in range(0, totals.shape[0], _STEP):
            moved = totals[start : start + _STEP] @ self.inverse
            result += moved.T @ moved
        return self._centred(result)

    def _of_pairs(self, noise: Array) -> Array:
        """Sandwich of the noise that the independent votes of each pair add."""
        left, right = np.nonzero(np.triu(noise, 1))
        root = np.sqrt(noise[left, right])
        return self.of_totals(_contrast_rows(left, right, root, len(noise)))

    def score_vectors(
        self,
        left: NDArray[np.intp],
        right: NDArray[np.intp],
        y: Array,
        weight: Array,
    ) -> csr_array:
        """Derivatives of the log likelihood of single votes, (n_votes, n_models).

        Models without a score have the code -1.
        """
        scale = np.append(self.fit.scale, -1)
        counts = (scale[left] >= 0) & (scale[left] == scale[right])
        residual, _ = _moments(self.fit.scores, left, right, y)
        residual = np.where(counts, weight * residual, 0.0)
        # Entries of votes that do not count are zero, at any model.
        left, right = np.maximum(left, 0), np.maximum(right, 0)
        return _contrast_rows(left, right, residual, len(self.inverse))

    def _centred(self, covariance: Array) -> Array:
        """Covariance of scores that are centred on their scales."""
        covariance = covariance.copy()
        for at in self.fit.scales:
            covariance[at] -= covariance[at].mean(axis=0)
            covariance[:, at] -= covariance[:, at].mean(axis=1, keepdims=True)
        return covariance


def _moments(
    scores: Array, left: NDArray[np.intp], right: NDArray[np.intp], y: Array
) -> tuple[Array, Array]:
    """Residual of each vote, and variance of a vote by pair of models."""
    # By pair first, whose number is mostly below that of votes. For rare events both
    # p and 1 - p must have their digits.
    p = sigmoid(scores[:, None] - scores)
    return y * p[right, left] - (1.0 - y) * p[left, right], p * p.T


def _contrast_rows(
    left: NDArray[np.intp], right: NDArray[np.intp], values: Array, n_models: int
) -> csr_array:
    """Rows with a value at the left model, and minus it at the right one."""
    sides = np.column_stack([left, right]).ravel()
    entries = np.column_stack([values, -values]).ravel()
    starts = np.arange(0, len(sides) + 1, 2)
    return csr_array((entries, sides, starts), (len(left), n_models))
