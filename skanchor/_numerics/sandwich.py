"""Covariance of BTL scores: inverse information, and sandwiches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from skanchor._numerics.btl import ScoreSolver, laplacian, pair_sums
from skanchor._numerics.groups import are_alone
from skanchor._numerics.types import Array

_LOST = 1e-9
"""Share of a variance that rounding may reach."""

_STEP = 1 << 12
"""Score vectors that are solved for at a time."""


@dataclass(frozen=True, slots=True)
class Bread:
    """Inverse information of scores (the bread of a sandwich).

    A scale is a set of models whose scores are compared.

    Attributes
    ----------
    scales : list of ndarrays
        Models of each scale; their scores are centred on it. Models on no scale have
        zero covariance here.
    solvers : list of ScoreSolver
        The information of each scale.
    inverse : ndarray of shape (n_models, n_models)
        Inverse information; zero between scales. It is not that of centred scores: a
        light model would move their mean, and add its large variance to all others.
    """

    scales: list[NDArray[np.intp]]
    solvers: list[ScoreSolver]
    inverse: Array

    @classmethod
    def of(
        cls, information: Array, scales: list[NDArray[np.intp]], ridge: float = 0.0
    ) -> Bread:
        """Invert the information, of shape (n_models, n_models) by pair, plus ridge."""
        inverse, solvers = np.zeros_like(information), []
        for at in scales:
            box = np.ix_(at, at)
            matrix = laplacian(information[box] / 2.0) + ridge * np.eye(len(at))
            solvers.append(ScoreSolver.of(matrix, ridge > 0))
            inverse[box] = solvers[-1].solve(np.eye(len(at)))
        return cls(scales, solvers, inverse)

    @property
    def uncertain(self) -> NDArray[np.bool_]:
        """Models of scales whose differences floating point does not determine."""
        result = np.zeros(len(self.inverse), dtype=bool)
        for at, solver in zip(self.scales, self.solvers, strict=True):
            result[at] = not solver.is_certain
        return result

    def centred(self, covariance: Array) -> Array:
        """Covariance of scores that are centred on their scales."""
        for at in self.scales:
            covariance[at] -= covariance[at].mean(axis=0)
            covariance[:, at] -= covariance[:, at].mean(axis=1, keepdims=True)
        return covariance

    def of_pairs(self, noise: Array) -> Array:
        """Sandwich of noise that is independent between rows.

        ``noise`` is symmetric, of shape (n_models, n_models), with the variance that
        the rows of each pair add.
        """
        found = self._of_meat(laplacian(noise / 2.0))
        if found is not None:
            return found
        left, right = np.nonzero(np.triu(noise, 1))
        roots, pairs = np.sqrt(noise[left, right]), np.arange(len(left))
        return self._of_vectors(_score_vectors(left, right, roots, pairs, len(noise)))

    def of_groups(
        self,
        left: NDArray[np.intp],
        right: NDArray[np.intp],
        residual: Array,
        groups: NDArray[np.intp],
    ) -> Array:
        """Sandwich of score vectors that are summed by group before squaring.

        Parameters
        ----------
        left, right, residual : ndarray of shape (n_rows,)
            The score vector of a row has its residual at the left model, and minus the
            residual at the right one.
        groups : ndarray of shape (n_rows,)
            Group of each row.

        Returns
        -------
        ndarray of shape (n_models, n_models)
        """
        size = len(self.inverse)
        # The square of a group of one row is that of the row.
        alone = are_alone(groups)
        squares = np.where(alone, residual**2, 0.0)
        meat = laplacian(pair_sums(left, right, squares, size))
        if not alone.all():
            at = ~alone
            totals = _score_vectors(left[at], right[at], residual[at], groups[at], size)
            meat += (totals.T @ totals).toarray()
        found = self._of_meat(meat)
        if found is not None:
            return found
        return self._of_vectors(_score_vectors(left, right, residual, groups, size))

    def _of_meat(self, meat: Array) -> Array | None:
        """Sandwich of squares that are summed by model; None where digits are lost.

        Where groups of models are joined by light votes alone, these are lost in the
        sums beside heavy votes within the groups.
        """
        found = self.centred(self.inverse @ meat @ self.inverse)
        # The rounding error of the product A M A is at most that of |A| |M| |A|.
        size = np.abs(self.inverse)
        error = np.finfo(float).eps * ((size @ np.abs(meat)) * size).sum(axis=1)
        return found if (error <= _LOST * found.diagonal()).all() else None

    def _of_vectors(self, totals: csr_array) -> Array:
        """Sandwich of score vectors, of shape (n_vectors, n_models), one by one."""
        result = np.zeros_like(self.inverse)
        for start in range(0, totals.shape[0], _STEP):
            vectors = totals[start : start + _STEP].toarray().T
            moved = np.zeros_like(vectors)
            for at, solver in zip(self.scales, self.solvers, strict=True):
                moved[at] = solver.solve(vectors[at])
            result += moved @ moved.T
        return self.centred(result)


def _score_vectors(
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    residual: Array,
    groups: NDArray[np.intp],
    size: int,
) -> csr_array:
    """Score vectors of rows summed by group, of shape (n_groups, size)."""
    n_rows, n_groups = len(left), int(groups.max(initial=-1)) + 1
    entries = np.repeat(residual, 2)
    np.negative(entries[1::2], out=entries[1::2])
    sides = np.column_stack([left, right]).ravel()
    rows = csr_array((entries, sides, np.arange(0, 2 * n_rows + 1, 2)), (n_rows, size))
    content = np.ones(n_rows), groups, np.arange(n_rows + 1)
    return csr_array(csc_array(content, (n_groups, n_rows)).tocsr() @ rows)
