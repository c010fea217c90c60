"""Small symmetric systems and the zero-sum basis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs, dpstrf, dtrtri, dtrtrs

from skanchor._numerics.types import Array

RANK_TOLERANCE = 1e-11
"""Share of the largest eigenvalue below which an eigenvalue counts as zero."""

MANY_JUDGES = 10
"""Number of judges from which on a common correlation saves time."""

_LARGE = 100
"""Size of a matrix from which on its eigenvalues take too long to compute."""


class Columns:
    """Blocks of columns side by side, without copying them into one array.

    Parameters
    ----------
    *blocks : ndarray of shape (n_rows, n_block_columns)
        The blocks, from left to right.
    """

    def __init__(self, *blocks: Array):
        stops = list(accumulate(block.shape[1] for block in blocks))
        starts = [0, *stops[:-1]]
        self._blocks = [
            (block, slice(start, stop))
            for block, start, stop in zip(blocks, starts, stops, strict=True)
            if stop > start
        ]
        self.shape = len(blocks[0]), stops[-1]

    @classmethod
    def of(cls, design: Array | Columns) -> Columns:
        """Return ``design`` as Columns; an array becomes a single block."""
        return design if isinstance(design, Columns) else cls(design)

    def part(self, rows: slice) -> Columns:
        """Some of the rows."""
        return Columns(*(block[rows] for block, _ in self._blocks))

    def dot(self, coef: Array) -> Array:
        """Linear combination of the columns, of shape (n_rows,)."""
        # For a block of one column, ``@`` is much slower than ``dot``.
        parts = [block.dot(coef[at]) for block, at in self._blocks]
        if not parts:
            return np.zeros(self.shape[0])
        total: Array = parts[0]
        for part in parts[1:]:
            total += part
        return total

    def sums(self, weight: Array) -> Array:
        """Weighted sum of each column, of shape (n_columns,)."""
        result = np.empty(self.shape[1])
        for block, at in self._blocks:
            result[at] = weight @ block
        return result

    def scaled(self, factor: Array) -> Array:
        """Columns in one array, with each row multiplied by its factor."""
        # Column-major, so that each block is contiguous.
        result = np.empty(self.shape, order="F")
        for block, at in self._blocks:
            np.multiply(block, factor[:, None], out=result[:, at])
        return result


@dataclass(frozen=True, eq=False)
class SymmetricSolver:
    """Pseudo-inverse of a positive semi-definite matrix, factorised once.

    The matrix is first scaled to unit diagonal, so that the rank decision does not
    depend on the units of the columns. If the rank is deficient, the solution has
    minimum norm in the scaled units.

    Attributes
    ----------
    scale : ndarray of shape (n,)
        Factors that scale the matrix to unit diagonal, zero where its diagonal is zero.
    factor : ndarray of shape (n, n) or (n, rank)
        Of the scaled matrix. With a finite ``condition`` its lower Cholesky factor (the
        entries above the diagonal are arbitrary), else a root of its pseudo-inverse.
    rank : int
        Numerical rank.
    condition : float
        Estimate of the condition number of the scaled matrix, seldom too small by more
        than a factor of three. Infinite if the rank is deficient or in doubt.
    """

    scale: Array
    factor: Array
    rank: int
    condition: float = np.inf

    @classmethod
    def factorise(cls, matrix: Array) -> SymmetricSolver:
        """Factorise ``matrix`` of shape (n, n)."""
        # A zero on the diagonal may be slightly negative by rounding.
        diagonal = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
        scale = np.zeros_like(diagonal)
        np.divide(1.0, diagonal, out=scale, where=diagonal > 0)
        # From the fastest method to the slowest: Cholesky where the rank is certain, a
        # root by Cholesky, a pivoted Cholesky for a deficient rank, eigenvalues.
        sure = _sure_factor(_at_unit_diagonal(matrix, scale))
        if sure is not None:
            return cls(scale, sure[0], len(scale), sure[1])
        # Scaled anew, as the first attempt has overwritten its argument.
        unit = _at_unit_diagonal(matrix, scale)
        root = _full_rank_root(unit)
        if root is not None:
            return cls(scale, root, len(root))
        found = _short_rank_root(unit, scale > 0)
        if found is not None:
            return cls(scale, *found)
        values, vectors = np.linalg.eigh(unit)
        keep = values > RANK_TOLERANCE * max(values[-1], 0.0)
        root = vectors[:, keep] / np.sqrt(values[keep])
        return cls(scale, root, root.shape[1])

    @cached_property
    def root(self) -> Array:
        """Root of the pseudo-inverse, ``root @ root.T``, of shape (n, rank)."""
        factor = self.factor
        if np.isfinite(self.condition):
            # The inverse of C C' is C^-T C^-1, with the root C^-T.
            factor = np.tril(dtrtri(factor, lower=1)[0]).T
        return np.asarray(self.scale[:, None] * factor)

    def solve(self, right: Array) -> Array:
        """Solve for right-hand sides of shape (n,) or (n, k)."""
        if not np.isfinite(self.condition):
            return self.root @ (self.root.T @ right)
        scale = self.scale if right.ndim == 1 else self.scale[:, None]
        found: Array = dpotrs(self.factor, scale * right, lower=1)[0]
        found *= scale
        return found

    def inverse(self) -> Array:
        """Pseudo-inverse, of shape (n, n)."""
        return self.root @ self.root.T


def solve_symmetric(matrices: Array, right: Array) -> Array:
    """Solve positive semi-definite systems, one or several with axes in front.

    Parameters
    ----------
    matrices : ndarray of shape (..., n, n)
        Symmetric matrices, which may be short of rank.
    right : ndarray of shape (..., n, k)
        Right-hand sides.

    Returns
    -------
    ndarray of shape (..., n, k)
        Of shortest length, in units of the diagonal, where the rank is short.
    """
    if matrices.ndim > 2:
        return solve_with_rank(matrices, right)[0]
    return SymmetricSolver.factorise(matrices).solve(right)


def solve_with_rank(matrices: Array, right: Array) -> tuple[Array, NDArray[np.intp]]:
    """Solve several systems as :func:`solve_symmetric` does, and return their ranks.

    Parameters
    ----------
    matrices : ndarray of shape (..., n, n)
        Symmetric matrices, which may be short of rank.
    right : ndarray of shape (..., n, k)
        Right-hand sides.

    Returns
    -------
    tuple of (found, ranks)
        Solutions, of the shape of ``right``, and ranks, of shape (...,).
    """
    axes, size = matrices.shape[:-2], matrices.shape[-1]
    ranks = np.full(axes, size, dtype=np.intp)
    found = _solve_sure(matrices, right)
    if found is not None:
        return found, ranks
    found = np.empty_like(right)
    for at in np.ndindex(axes):
        solver = SymmetricSolver.factorise(matrices[at])
        found[at], ranks[at] = solver.solve(right[at]), solver.rank
    return found, ranks


def _solve_sure(matrices: Array, right: Array) -> Array | None:
    """Solve systems side by side; None where a rank is short or in doubt."""
    scale = np.sqrt(np.maximum(np.einsum("...ii->...i", matrices), 0.0))
    if not scale.all():
        return None
    try:
        inverse = np.linalg.inv(matrices / (scale[..., :, None] * scale[..., None, :]))
    except np.linalg.LinAlgError:
        return None
    own = np.einsum("...ii->...i", inverse)
    # As in `_full_rank_root`: the trace of the inverse bounds the condition number.
    bound = own.shape[-1] * own.sum(axis=-1)
    if own.size and not (own.min() > 0.0 and 10.0 * RANK_TOLERANCE * bound.max() < 1.0):
        return None
    inverse /= scale[..., :, None] * scale[..., None, :]
    return np.asarray(inverse @ right)


def _at_unit_diagonal(matrix: Array, scale: Array) -> Array:
    unit = matrix * scale
    unit *= scale[:, None]
    return unit


def _sure_factor(unit: Array) -> tuple[Array, float] | None:
    """Cholesky factor and condition number of a matrix of unit diagonal.

    None where the rank may be deficient. The matrix is overwritten.
    """
    size = float(len(unit))
    if not size:
        return None
    # LAPACK needs column-major order, which the transpose has without a copy; the
    # matrix is symmetric.
    lower, failed = dpotrf(unit.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        return None
    # The one-norm of a matrix of unit diagonal is at most its size.
    inverse_condition, _ = dpocon(lower, size, uplo="L")
    if not inverse_condition > 100.0 * RANK_TOLERANCE:
        return None
    return lower, 1.0 / inverse_condition


def _full_rank_root(unit: Array) -> Array | None:
    """Root of the inverse of a matrix of unit diagonal, None if rank is in doubt."""
    if not len(unit):
        return unit
    lower, failed = dpotrf(unit, lower=1)
    if failed:
        return None
    root: Array = dtrtri(lower, lower=1)[0].T
    # A bound on the condition number: the largest eigenvalue is at most the trace, n,
    # the smallest at least one over the trace of the inverse, which is |root|^2.
    bound = len(root) * float(np.vdot(root, root))
    return root if 1.0 > 10.0 * RANK_TOLERANCE * bound else None


def _short_rank_root(unit: Array, some: NDArray[np.bool_]) -> tuple[Array, int] | None:
    """Root of the pseudo-inverse, and the rank; None if the rank is in doubt.

    Many times as fast as eigenvalues. It succeeds only if the remainder of the pivoted
    factorisation is rounding, and the eigenvalues found are far above rounding.

    Parameters
    ----------
    unit : ndarray of shape (n, n)
        Matrix of unit diagonal, except for rows and columns that are zero.
    some : ndarray of shape (n,)
        Mask of the rows that are not zero.
    """
    inner = unit if some.all() else unit[np.ix_(some, some)]
    left_over = len(inner) * np.finfo(float).eps
    if len(inner) < _LARGE:
        return None
    # Pivots at most ``left_over`` end the factorisation; ``order`` counts from 1.
    factor, order, rank, _ = dpstrf(inner, tol=left_over, lower=1)
    if (len(inner) - rank) * left_over > 0.1 * RANK_TOLERANCE:
        return None
    # Orthonormal basis of the null space of L' (rank x n), hence of the matrix. With
    # L' = [A' B'] in pivoted order, its columns are (-A'^-1 B', I).
    null = np.zeros((len(inner), len(inner) - rank))
    null[order[:rank] - 1] = -dtrtrs(
        factor[:rank, :rank], factor[rank:, :rank].T, lower=1, trans=1
    )[0]
    null[order[rank:] - 1] = np.eye(len(inner) - rank)
    null = np.linalg.qr(null)[0]
    # With its zero eigenvalues replaced by ones, the matrix has an inverse.
    inverse = _full_rank_root(inner + null @ null.T)
    if inverse is None:
        return None
    # The null space is projected out of the root again.
    root = np.zeros((len(unit), len(inner)))
    root[some] = inverse - null @ (null.T @ inverse)
    return root, rank


def semidefinite_root(matrix: Array) -> Array:
    """L of full column rank with L L' equal to a positive semi-definite matrix.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Positive semi-definite matrix.

    Returns
    -------
    ndarray of shape (n, rank)
    """
    # Pivoted Cholesky; ``order`` counts from 1 and undoes the pivoting of the rows.
    factor, order, rank, _ = dpstrf(matrix, lower=1)
    root = np.zeros((len(matrix), rank))
    root[order - 1] = np.tril(factor)[:, :rank]
    return root


def covariance_factor(covariance: Array) -> Array:
    """Square root L with L L' equal to a covariance, with orthogonal columns."""
    return _known_factor(covariance.tobytes(), len(covariance))


@lru_cache(maxsize=4)
def _known_factor(content: bytes, size: int) -> Array:
    """Factor of a covariance, kept for the folds, which share it; read-only."""
    covariance = np.frombuffer(content).reshape(size, size)
    values, vectors = np.linalg.eigh(covariance)
    found = np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
    found.flags.writeable = False
    return found


def standardised(factor: Array, deviations: Array) -> Array:
    """Standardised deviations v: the least-squares solution of ``factor @ v = u``.

    Where it is not unique, v has minimum norm.

    Parameters
    ----------
    factor : ndarray of shape (n, n)
        Result of :func:`covariance_factor`.
    deviations : ndarray of shape (..., n, n_items)
        Deviations u of n judges.

    Returns
    -------
    ndarray of shape (..., n, n_items)
    """
    # For orthogonal columns the pseudo-inverse is D^-1 L', with D their squared norms.
    squares = np.einsum("ij,ij->j", factor, factor)
    # The singular values are the roots of these, so that their tolerance is squared.
    least = (len(factor) * np.finfo(float).eps) ** 2 * squares.max(initial=0.0)
    inverse = np.divide(1.0, squares, out=np.zeros(len(squares)), where=squares > least)
    return np.asarray((inverse[:, None] * factor.T) @ deviations)


def mix_judges(matrix: Array, factor: Array, n_items: int) -> Array:
    """Change the last parameters of a quadratic form from u to v, where u = L v.

    Parameters
    ----------
    matrix : ndarray of shape (size, size)
        Matrix of the form. Its last parameters are u, all items of the first judge,
        then those of the second and so on.
    factor : ndarray of shape (n_judges, n_effects)
        L, which acts on the judges of each item.
    n_items : int
        Number of items.

    Returns
    -------
    ndarray of shape (new_size, new_size)
        Of the same size where L is square.
    """
    size, (n_judges, n_effects) = len(matrix), factor.shape
    head = size - n_judges * n_items
    # Multiply by L' (x) I from the left, without that Kronecker product: rows of u have
    # the axes (judge, item), and the product sums over the judges.
    tail = matrix[head:].reshape(n_judges, -1)
    rows = np.concatenate([matrix[:head], (factor.T @ tail).reshape(-1, size)])
    # Then by L (x) I from the right, on the columns of u.
    right = rows[:, head:].reshape(len(rows), n_judges, n_items)
    mixed = np.empty((len(rows), head + n_effects * n_items))
    mixed[:, :head] = rows[:, :head]
    mixed[:, head:] = (factor.T @ right).reshape(len(rows), -1)
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
    return np.ascontiguousarray(helmert(n).T)
