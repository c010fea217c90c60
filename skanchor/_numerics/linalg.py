"""Symmetric systems, Laplacians of graphs, and the zero-sum basis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from skanchor._typing import Array

__all__ = [
    "Columns",
    "SymmetricSolver",
    "covariance_factor",
    "exact_row_sums",
    "laplacian_inverse",
    "mix_judges",
    "solve_laplacian",
    "zero_sum_basis",
]

_RANK_TOLERANCE = 1e-11


class Columns:
    """Blocks of columns side by side, without a copy of them.

    Parameters
    ----------
    *blocks : ndarray of shape (n_rows, n_block_columns)
        The blocks, from left to right.
    """

    def __init__(self, *blocks: Array):
        stops = np.cumsum([block.shape[1] for block in blocks]).tolist()
        starts = [0, *stops[:-1]]
        self._blocks = [
            (block, slice(start, stop))
            for block, start, stop in zip(blocks, starts, stops, strict=True)
            if stop > start
        ]
        self.shape = len(blocks[0]), stops[-1]

    @classmethod
    def of(cls, design: Array | Columns) -> Columns:
        """Take columns as they are, and an array as one block."""
        return design if isinstance(design, Columns) else cls(design)

    def dot(self, coef: Array) -> Array:
        """Linear combination of the columns, of shape (n_rows,)."""
        total = np.zeros(self.shape[0])
        for block, at in self._blocks:
            # Of one column, ``@`` takes much longer.
            total += block.dot(coef[at])
        return total

    def sums(self, weight: Array) -> Array:
        """Weighted sum of each column, of shape (n_columns,)."""
        result = np.empty(self.shape[1])
        for block, at in self._blocks:
            result[at] = weight @ block
        return result

    def scaled(self, factor: Array) -> Array:
        """One array of the columns with each row times its factor."""
        result = np.empty(self.shape, order="F")
        for block, at in self._blocks:
            np.multiply(block, factor[:, None], out=result[:, at])
        return result


@dataclass(frozen=True, slots=True)
class SymmetricSolver:
    """Pseudo-inverse of a positive semi-definite matrix, factorised once.

    The matrix is brought to unit diagonal first, so that the rank decision does not
    depend on the units of the columns; where the rank is short, the solution has
    minimum norm in those units.

    Attributes
    ----------
    root : ndarray of shape (n, rank)
        ``root @ root.T`` is the pseudo-inverse.
    """

    root: Array

    @classmethod
    def factorise(cls, matrix: Array) -> SymmetricSolver:
        """Factorise ``matrix`` of shape (n, n)."""
        # Rounding may leave a zero on the diagonal just below it.
        scale = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
        inverse_scale = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        unit = inverse_scale[:, None] * matrix * inverse_scale
        root = _full_rank_root(unit)
        if root is not None:
            return cls(inverse_scale[:, None] * root)
        values, vectors = np.linalg.eigh(unit)
        keep = values > _RANK_TOLERANCE * max(values[-1], 0.0) if len(values) else []
        root = inverse_scale[:, None] * vectors[:, keep] / np.sqrt(values[keep])
        return cls(root)

    @property
    def rank(self) -> int:
        """Rank found."""
        return self.root.shape[1]

    def solve(self, right: Array) -> Array:
        """Solve for one or several right-hand sides."""
        return self.root @ (self.root.T @ right)

    def inverse(self) -> Array:
        """Pseudo-inverse."""
        return self.root @ self.root.T


def _full_rank_root(unit: Array) -> Array | None:
    """Root of the inverse of a matrix of unit diagonal, None where rank is in doubt."""
    if not len(unit):
        return unit
    lower, failed = dpotrf(unit, lower=1)
    if failed:
        return None
    root: Array = dtrtri(lower, lower=1)[0].T
    # The largest eigenvalue is at most the trace, the smallest at least one over that
    # of the inverse.
    certain = 1.0 > 10.0 * _RANK_TOLERANCE * len(unit) * np.sum(root * root)
    return root if certain else None


def solve_laplacian(weight: Array, right: Array, ridge: float = 0.0) -> Array:
    """Zero-sum solution of the Laplacian of a connected graph, beside a ridge.

    As exact for nodes that hang on the others by next to nothing as for the others.

    Parameters
    ----------
    weight : ndarray of shape (n, n)
        Symmetric weights of the edges; the diagonal counts for nothing.
    right : ndarray of shape (n,) or (n, n_right)
        Right-hand sides that sum to zero, or whose sums shall count for nothing.
    ridge : float
        Added to the diagonal of the Laplacian.

    Returns
    -------
    ndarray of the shape of ``right``
    """
    size = len(weight)
    weight = weight.copy()
    weight.flat[:: size + 1] = 0.0
    columns = right.reshape(size, -1)
    if ridge:
        solution = _solve_grounded(weight, np.full(size, ridge), columns)
    else:
        # Grounded at the heaviest node, the others keep small sums of small weights.
        ground = int(np.argmax(weight.sum(axis=1)))
        kept = np.delete(np.arange(size), ground)
        solution = np.zeros_like(columns)
        solution[kept] = _solve_grounded(
            weight[np.ix_(kept, kept)], weight[kept, ground], columns[kept]
        )
    return (solution - solution.mean(axis=0)).reshape(right.shape)


def _solve_grounded(weight: Array, ground: Array, right: Array) -> Array:
    """Solve for the matrix of ``ground`` and the sums of ``weight``, less ``weight``.

    Half of the nodes are eliminated at a time. No two numbers of one sign are ever
    subtracted, so that no digit is lost: what remains of a diagonal is summed anew.
    """
    size = len(weight)
    if size <= 1:
        return right / ground[:, None]
    half = size // 2
    cross = weight[:half, half:]
    solved = _solve_grounded(
        weight[:half, :half],
        ground[:half] + cross.sum(axis=1),
        np.hstack([cross, ground[:half, None], right[:half]]),
    )
    flow, leak, own = np.split(solved, [size - half, size - half + 1], axis=1)
    rest = weight[half:, half:] + cross.T @ flow
    rest.flat[:: len(rest) + 1] = 0.0
    lower = _solve_grounded(
        rest, ground[half:] + cross.T @ leak[:, 0], right[half:] + cross.T @ own
    )
    return np.vstack([own + flow @ lower, lower])


def laplacian_inverse(weight: Array, ridge: float = 0.0) -> Array:
    """Inverse of a Laplacian, beside a ridge, on the vectors that sum to zero.

    Parameters
    ----------
    weight, ridge
        As in :func:`solve_laplacian`.

    Returns
    -------
    ndarray of shape (n, n)
    """
    inverse = solve_laplacian(weight, np.eye(len(weight)), ridge)
    return np.asarray(inverse - inverse.mean(axis=1, keepdims=True))


def exact_row_sums(values: Array) -> Array:
    """Sums of rows, each as if rounded once.

    What an addition rounds away is kept and added at the end.
    """
    lost = np.zeros(len(values))
    while values.shape[1] > 1:
        if values.shape[1] % 2:
            values = np.hstack([values, np.zeros((len(values), 1))])
        a, b = values[:, ::2], values[:, 1::2]
        values = a + b
        part = values - a
        lost += ((a - (values - part)) + (b - part)).sum(axis=1)
    return values.sum(axis=1) + lost


def covariance_factor(covariance: Array) -> Array:
    """Square root L with L L' equal to a positive semi-definite covariance."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def mix_judges(matrix: Array, factor: Array, n_items: int) -> Array:
    """Change the last parameters u of a symmetric matrix to v with u = L v.

    Parameters
    ----------
    matrix : ndarray of shape (size, size)
        Its last parameters are u, the items of each judge in turn.
    factor : ndarray of shape (n_judges, n_judges)
        L, which mixes the judges of each item.
    n_items : int
        Number of items.

    Returns
    -------
    ndarray of shape (size, size)
    """
    size, n_judges = len(matrix), len(factor)
    head = size - n_judges * n_items
    # L' (x) I from the left, by one product over the judges instead of a dense one.
    mixed = matrix.copy()
    tail = matrix[head:].reshape(n_judges, -1)
    mixed[head:] = (factor.T @ tail).reshape(-1, size)
    right = mixed[:, head:].reshape(size, n_judges, n_items)
    mixed[:, head:] = np.einsum("smi,mp->spi", right, factor, optimize=True).reshape(
        size, -1
    )
    return mixed


def zero_sum_basis(n: int) -> Array:
    """Orthonormal basis of the vectors of length ``n`` that sum to zero.

    Parameters
    ----------
    n : int
        Number of models.

    Returns
    -------
    ndarray of shape (n, n - 1)
        Helmert contrasts.
    """
    columns = np.arange(1, n)
    basis = np.where(np.arange(n)[:, None] < columns, 1.0, 0.0)
    basis[columns, columns - 1] = -columns
    return basis / np.sqrt(columns * (columns + 1.0))
