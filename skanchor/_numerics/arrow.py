"""Symmetric matrices whose blocks meet each other only through a few shared rows.

The information of many judges is of this kind: a judge's own parameters appear with
those of no other judge, but with the scores. Each block is eliminated by itself (a
Schur complement), so that time and memory grow with the number of blocks, where those
of a dense matrix grow with its cube and square. The results are those of the dense
matrix, up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.linalg import RANK_TOLERANCE, SymmetricSolver, solve_symmetric
from skanchor._numerics.types import Array


@dataclass(frozen=True, eq=False)
class ArrowMatrix:
    """Matrix of shared parameters and of blocks of parameters of their own.

    Indices that equal ``size`` stand for nothing: blocks of different widths are filled
    up with them. Arrays whose shape begins with ``...`` may have an axis of folds.

    Attributes
    ----------
    size : int
        Number of rows of the whole matrix.
    shared_at : ndarray of shape (n_shared,)
        Places of the shared parameters.
    own_at : ndarray of shape (n_blocks, width)
        Places of the parameters of each block.
    shared : ndarray of shape (..., n_shared, n_shared)
        By shared parameters.
    own : ndarray of shape (..., n_blocks, width, width)
        By the parameters of each block.
    below : ndarray of shape (..., n_blocks, width, n_shared)
        Rows of each block, columns of the shared parameters.
    right : ndarray of shape (..., n_blocks, n_shared, width)
        Rows of the shared parameters; the transpose of ``below`` where the matrix is
        symmetric.
    """

    size: int
    shared_at: NDArray[np.intp]
    own_at: NDArray[np.intp]
    shared: Array
    own: Array
    below: Array
    right: Array

    # Numpy leaves products with an array to this class.
    __array_ufunc__ = None

    def __len__(self) -> int:
        """Number of folds, or of rows where there is no axis of folds."""
        return len(self.shared) if self.shared.ndim > 2 else self.size

    def __getitem__(self, fold: int) -> ArrowMatrix:
        """The matrix of one fold."""
        return replace(
            self,
            shared=self.shared[fold],
            own=self.own[fold],
            below=self.below[fold],
            right=self.right[fold],
        )

    def __matmul__(self, vectors: Array) -> Array:
        """Product with vectors of shape (size,) or (..., size, k)."""
        if vectors.ndim == 1:
            return np.asarray((self @ vectors[:, None])[:, 0])
        of_shared, of_own = self.split(vectors)
        return self.join(
            self.shared @ of_shared + (self.right @ of_own).sum(axis=-3),
            self.below @ of_shared[..., None, :, :] + self.own @ of_own,
        )

    @property
    def T(self) -> ArrowMatrix:  # noqa: N802
        """The transpose."""
        return replace(
            self,
            shared=np.swapaxes(self.shared, -1, -2),
            own=np.swapaxes(self.own, -1, -2),
            below=np.swapaxes(self.right, -1, -2),
            right=np.swapaxes(self.below, -1, -2),
        )

    @property
    def is_present(self) -> NDArray[np.bool_]:
        """Which places of the blocks stand for a parameter, (n_blocks, width)."""
        return self.own_at < self.size

    def split(self, vectors: Array) -> tuple[Array, Array]:
        """Entries of vectors of shape (..., size, k) by shared parameters and blocks.

        Returns
        -------
        shared : ndarray of shape (..., n_shared, k)
        own : ndarray of shape (..., n_blocks, width, k)
        """
        nothing = np.zeros((*vectors.shape[:-2], 1, vectors.shape[-1]))
        padded = np.concatenate([vectors, nothing], axis=-2)
        return padded[..., self.shared_at, :], padded[..., self.own_at, :]

    def join(self, shared: Array, own: Array) -> Array:
        """The inverse of :meth:`split`."""
        found = np.zeros((*shared.shape[:-2], self.size + 1, shared.shape[-1]))
        found[..., self.shared_at, :] = shared
        found[..., self.own_at, :] = own
        return found[..., : self.size, :]

    def plus_diagonal(self, diagonal: Array) -> ArrowMatrix:
        """The matrix with numbers of shape (size,) added to its diagonal."""
        shared, own = self.split(diagonal[:, None])
        return replace(
            self,
            shared=self.shared + np.diag(shared[:, 0]),
            own=self.own + own * np.eye(self.own.shape[-1]),
        )

    def restricted(self, chosen: NDArray[np.bool_]) -> ArrowMatrix:
        """Rows and columns of a mask of shape (size,)."""
        size = int(np.count_nonzero(chosen))
        places = np.full(self.size + 1, size)
        places[:-1][chosen] = np.arange(size)
        return replace(
            self,
            size=size,
            shared_at=places[self.shared_at],
            own_at=places[self.own_at],
        )

    def placed(self, chosen: NDArray[np.bool_]) -> ArrowMatrix:
        """The matrix among more parameters, those of a mask; it is zero by the others.

        Parameters
        ----------
        chosen : ndarray of shape (new_size,)
            Mask of the parameters that the matrix has now.

        Returns
        -------
        ArrowMatrix
        """
        places = np.append(np.flatnonzero(chosen), len(chosen))
        return replace(
            self,
            size=len(chosen),
            shared_at=places[self.shared_at],
            own_at=places[self.own_at],
        )

    def dense(self) -> Array:
        """The matrix as an array of shape (size, size)."""
        return self @ np.eye(self.size)

    def factorise(self) -> ArrowSolver:
        """Factorise a positive semi-definite matrix without an axis of folds."""
        # What is absent has no part in it.
        here = self.is_present
        whole = (self.shared_at < self.size).astype(np.float64)
        shared = self.shared * whole[:, None] * whole
        own = self.own * (here[:, :, None] & here[:, None, :])
        below = self.below * here[:, :, None] * whole
        # A parameter without information gets the unit matrix, and is held at zero.
        some = np.einsum("bii->bi", own) > 0.0
        own += ~some[:, :, None] * np.eye(own.shape[-1])
        unit = np.broadcast_to(np.eye(own.shape[-1]), own.shape)
        inverse = solve_symmetric(own, unit) * some[:, :, None]
        inverse = (inverse + inverse.transpose(0, 2, 1)) / 2.0
        taken = inverse @ below
        schur = shared - np.einsum("bwi,bwj->ij", below, taken, optimize=True)
        # What the blocks explain all of is zero up to rounding.
        left = schur.diagonal() > RANK_TOLERANCE * shared.diagonal()
        schur *= left[:, None] * left
        solver = SymmetricSolver.factorise((schur + schur.T) / 2.0)
        # The rank is full beyond doubt where the inverse of every block is one.
        rest = own @ inverse - unit * some[:, :, None]
        is_regular = bool(np.abs(rest).max(initial=0.0) < 1e-6)
        n_present = np.count_nonzero(here) + np.count_nonzero(whole)
        is_full = is_regular and n_present == self.size and bool((some | ~here).all())
        return ArrowSolver(self, inverse, taken, solver, is_full)


@dataclass(frozen=True, eq=False)
class ArrowSolver:
    """Inverse of an :class:`ArrowMatrix`, its blocks eliminated.

    Where the rank is deficient it is a generalised inverse: solutions of systems that
    have one are solutions.

    Attributes
    ----------
    matrix : ArrowMatrix
        The matrix.
    inverse : ndarray of shape (n_blocks, width, width)
        Inverses of the blocks by themselves.
    taken : ndarray of shape (n_blocks, width, n_shared)
        ``inverse @ below``.
    schur : SymmetricSolver
        Of the matrix by the shared parameters, the others profiled out.
    is_full : bool
        Whether it is full.
    """

    matrix: ArrowMatrix
    inverse: Array
    taken: Array
    schur: SymmetricSolver
    is_full: bool

    @property
    def condition(self) -> float:
        """Finite only if the rank is full beyond doubt."""
        return self.schur.condition if self.is_full else np.inf

    def solve(self, right: Array) -> Array:
        """Solve for right-hand sides of shape (size,) or (size, k)."""
        if right.ndim == 1:
            return np.asarray(self.solve(right[:, None])[:, 0])
        of_shared, of_own = self.matrix.split(right)
        first = self.inverse @ of_own
        of_shared -= np.einsum("bwi,bwk->ik", self.taken, of_own, optimize=True)
        shared = self.schur.solve(of_shared)
        return self.matrix.join(shared, first - self.taken @ shared)


Matrix = Array | ArrowMatrix
"""A symmetric matrix, as an array or by its blocks."""


def factorised(matrix: Matrix) -> SymmetricSolver | ArrowSolver:
    """Factorise a positive semi-definite matrix, by its blocks where it has any."""
    if isinstance(matrix, ArrowMatrix):
        return matrix.factorise()
    return SymmetricSolver.factorise(matrix)


def restricted(matrix: Matrix, chosen: NDArray[np.bool_]) -> Matrix:
    """Rows and columns of a mask of shape (size,)."""
    if isinstance(matrix, ArrowMatrix):
        return matrix.restricted(chosen)
    return np.asarray(matrix[np.ix_(chosen, chosen)])


def among(matrix: Matrix, chosen: NDArray[np.bool_]) -> Matrix:
    """A matrix among more parameters, those of a mask; it is zero by the others."""
    if isinstance(matrix, ArrowMatrix):
        return matrix.placed(chosen)
    found = np.zeros((len(chosen),) * 2)
    found[np.ix_(chosen, chosen)] = matrix
    return found
