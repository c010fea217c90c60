"""Ridge regressions along a path of penalties, with their leave-one-out residuals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skanchor._model.linalg import SymmetricSystem
from skanchor._numerics.types import Array

FULL_LEVERAGE = 1.0 - 1e-6
"""Largest leverage in the leave-one-out formula: at 1 a row determines its own fit."""


@dataclass(frozen=True, slots=True)
class RidgePath:
    """Weighted ridge regressions on fixed and on shrunk columns, for any penalty.

    Minimises ``sum weight (y - design b)^2 + b' P b``, where P is diagonal: ``fixed``
    on the first columns, ``alpha * shrunk`` on the others. One eigendecomposition
    serves every alpha: the fixed columns are projected out of the shrunk ones, whose
    problem is then diagonal in the basis of eigenvectors.

    Attributes
    ----------
    rotated : ndarray of shape (n_rows, n_shrunk)
        Shrunk columns, the fixed ones projected out, in the basis of eigenvectors.
    values : ndarray of shape (n_shrunk,)
        Eigenvalues.
    slope : ndarray of shape (n_shrunk, n_targets)
        Right-hand side of the normal equations in that basis.
    basis : ndarray of shape (n_shrunk, n_shrunk)
        Matrix that turns coefficients in that basis into those of the shrunk columns.
    taken : ndarray of shape (n_fixed, n_shrunk)
        Coefficients of the projection of each shrunk column on the fixed ones.
    base_coef : ndarray of shape (n_fixed, n_targets)
        Coefficients of the regression on the fixed columns alone.
    base : ndarray of shape (n_rows, n_targets)
        Fitted values of that regression.
    leverage : ndarray of shape (n_rows,)
        Leverages of that regression.
    weight : ndarray of shape (n_rows,)
        Row weights.
    y : ndarray of shape (n_rows, n_targets)
        Outcomes of the regressions.
    """

    rotated: Array
    values: Array
    slope: Array
    basis: Array
    taken: Array
    base_coef: Array
    base: Array
    leverage: Array
    weight: Array
    y: Array

    @classmethod
    def of(
        cls, design: Array, fixed: Array, shrunk: Array, weight: Array, y: Array
    ) -> RidgePath:
        """Prepare the path; ``y`` has shape (n_rows, n_targets)."""
        first, others = design[:, : len(fixed)], design[:, len(fixed) :]
        # Regression of the shrunk columns and of y on the fixed columns.
        weighted = first * weight[:, None]
        solver = SymmetricSystem.of(weighted.T @ first + np.diag(fixed))
        taken = solver.solve(weighted.T @ others)
        rest = others - first @ taken
        base_coef = solver.solve(weighted.T @ y)
        base = first @ base_coef
        # In units of the root of its penalty, each shrunk column has the penalty alpha.
        # A column whose penalty is zero is constant, and gets the coefficient zero.
        root = np.sqrt(shrunk)
        scale = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
        weighted = others * (weight[:, None] * scale)
        values, vectors = np.linalg.eigh(weighted.T @ rest * scale)
        basis = scale[:, None] * vectors
        return cls(
            rest @ basis,
            np.maximum(values, 0.0),
            vectors.T @ (weighted.T @ (y - base)),
            basis,
            taken,
            base_coef,
            base,
            weight * np.sum((first @ solver.inverse_root) ** 2, axis=1),
            weight,
            y,
        )

    def solution(self, alpha: float) -> Array:
        """Coefficients of all columns, of shape (n_columns, n_targets)."""
        coef = self.basis @ (self.slope / (self.values + alpha)[:, None])
        # Block elimination: the fixed columns give up what the shrunk ones explain.
        return np.vstack([self.base_coef - self.taken @ coef, coef])

    def left_out(self, alphas: Array) -> Iterator[Array]:
        """Predictions of each row by the fit without it.

        They are exact, from the leverages. There is one array of shape (n_rows,
        n_targets) for each of ``alphas``.
        """
        # Leverages by row and alpha: those of the shrunk columns, then of the fixed.
        shrink = 1.0 / (self.values[:, None] + alphas)
        leverage = self.rotated**2 @ shrink
        leverage *= self.weight[:, None]
        leverage += self.leverage[:, None]
        rest = 1.0 - np.minimum(leverage, FULL_LEVERAGE)
        for k in range(len(alphas)):
            fitted = self.base + self.rotated @ (shrink[:, [k]] * self.slope)
            # The residual without the row is (y - fitted) / (1 - leverage).
            yield self.y - (self.y - fitted) / rest[:, [k]]
