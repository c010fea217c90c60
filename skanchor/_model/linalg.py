"""Positive semi-definite systems: scaled, factorised once, with their rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs, dtrtri

from skanchor._typing import Array

RANK_TOLERANCE = 1e-11
"""Share of the largest eigenvalue below which an eigenvalue counts as zero."""

_WELL_CONDITIONED = 1e9
"""Condition number up to which Cholesky's factor settles that the rank is full."""


@dataclass(frozen=True, eq=False)
class SymmetricSystem:
    """A positive semi-definite matrix, scaled to unit diagonal and factorised.

    Scaling makes the rank independent of the units of the parameters. Where the rank
    falls short, solutions have minimum norm in the scaled units.

    Attributes
    ----------
    scale : ndarray of shape (n,)
        Factors that scale the diagonal to one; zero where the diagonal is zero.
    root : ndarray of shape (n, rank)
        R with R R' the pseudo-inverse of the scaled matrix; its lower Cholesky factor
        instead where ``is_cholesky``.
    rank : int
        Rank of the matrix.
    is_cholesky : bool
        Whether ``root`` is the Cholesky factor of the scaled matrix.
    """

    scale: Array
    root: Array
    rank: int
    is_cholesky: bool

    @classmethod
    def of(cls, matrix: Array) -> SymmetricSystem:
        """Factorise a matrix of shape (n, n)."""
        # Rounding can leave a zero on the diagonal slightly negative.
        diagonal = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
        scale = np.zeros_like(diagonal)
        np.divide(1.0, diagonal, out=scale, where=diagonal > 0)
        unit = scale[:, None] * matrix * scale
        lower, failed = dpotrf(unit, lower=1, clean=1)
        if not failed and len(unit):
            reciprocal, _ = dpocon(lower, np.abs(unit).sum(axis=0).max(), uplo="L")
            if reciprocal * _WELL_CONDITIONED >= 1.0:
                return cls(scale, lower, len(unit), True)
        values, vectors = np.linalg.eigh(unit)
        is_seen = values > RANK_TOLERANCE * max(values.max(initial=0.0), 0.0)
        root = vectors[:, is_seen] / np.sqrt(values[is_seen])
        return cls(scale, root, int(is_seen.sum()), False)

    def solve(self, right: Array) -> Array:
        """Solve for one right-hand side of shape (n,), or for (n, k) of them."""
        scale = self.scale if right.ndim == 1 else self.scale[:, None]
        if self.is_cholesky:
            return np.asarray(scale * dpotrs(self.root, scale * right, lower=1)[0])
        return np.asarray(scale * (self.root @ (self.root.T @ (scale * right))))

    @property
    def inverse_root(self) -> Array:
        """R with R R' the pseudo-inverse of the matrix, of shape (n, rank)."""
        root = dtrtri(self.root, lower=1)[0].T if self.is_cholesky else self.root
        return np.asarray(self.scale[:, None] * root)


def with_eigenvalues(matrix: Array, function: Callable[[Array], Array]) -> Array:
    """A symmetric matrix whose eigenvalues are replaced by a function of them."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * function(values)) @ vectors.T)


def positive_part(matrix: Array) -> Array:
    """The nearest positive semidefinite matrix to a symmetric one."""
    if not np.isfinite(matrix).all():
        return np.zeros_like(matrix)
    return with_eigenvalues(matrix, lambda values: np.maximum(values, 0.0))
