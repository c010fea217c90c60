"""Information of all parameters, to which further rows are added."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from skanchor._crossfit.solution import Solution
from skanchor._model.linalg import Array, SymmetricSystem
from skanchor._numerics.linalg import semidefinite_root

NULL_TOLERANCE = 1e-10
"""Share of the largest eigenvalue, at unit diagonal, below which rows of some kinds
say nothing in a direction, however many they are."""

ROOT_TOLERANCE = 1e-12
"""Share of the largest eigenvalue below which an eigenvalue of a row is rounding."""


@dataclass(frozen=True, eq=False)
class WholeInformation:
    """Information Q of all rows on all parameters, and the prior R of the item effects.

    Vectors and matrices are by the p parameters that rows decide. Sources are people,
    with the code -1, and the judges.

    Attributes
    ----------
    solution : Solution
        Of the rows that are there.
    """

    solution: Solution

    @property
    def matrix(self) -> Array:
        """Q + R. A ridge of the biases counts with Q, as in the Riesz weights."""
        return self.solution.information.matrix

    @property
    def has_item_effects(self) -> bool:
        """Whether judges have item effects."""
        return self.solution.layout.has_item_effects

    def sum(self, grams: Mapping[int, Array]) -> Array:
        """Information of rows on all parameters.

        Parameters
        ----------
        grams : mapping of int to ndarray of shape (n_columns, n_columns)
            By source, information of its rows on their local columns (items, order,
            span).

        Returns
        -------
        ndarray of shape (p, p)
        """
        at = self.solution.information.at
        by_source = ((1 + m, gram) for m, gram in grams.items())
        return self.solution.fit.information(by_source)[at[:, None], at]

    def local(self, weights: Array, m: int) -> Array:
        """Coefficients of a source's local columns in the weight of its rows.

        Parameters
        ----------
        weights : ndarray of shape (p, n_targets)
            Solutions w = (Q + R)^-1 L.
        m : int
            Judge, or people.

        Returns
        -------
        ndarray of shape (n_columns, n_targets)
        """
        whole = np.zeros((self.solution.layout.size, weights.shape[1]))
        whole[self.solution.information.at] = weights
        return self.solution.fit.local_weights(1 + m, whole)

    def targets(self, contrasts: Array) -> Array:
        """Targets L of combinations of the items' scores.

        Parameters
        ----------
        contrasts : ndarray of shape (n_items, n_targets)
            Coefficient of each item's score.

        Returns
        -------
        ndarray of shape (p, n_targets)
        """
        targets = self.solution.layout.targets @ contrasts
        return np.asarray(targets[self.solution.information.at])

    def weights(self, targets: Array, more: Array | float = 0.0) -> Array:
        """Solve for the weights w, with further information added to the matrix."""
        return SymmetricSystem.of(self.matrix + more).solve(targets)

    def split(self, targets: Array, weights: Array) -> tuple[Array, Array]:
        """Sampling and item part of the variance of each target.

        Parameters
        ----------
        targets, weights : ndarray of shape (p, n_targets)
            L, and what solves (Q + R) w = L, or its limit.

        Returns
        -------
        sampling, items : ndarray of shape (n_targets,)
            ``w'Qw`` and ``w'Rw``; their sum is ``l'w``.
        """
        layout, at = self.solution.layout, self.solution.information.at
        whole = np.zeros((layout.size, weights.shape[1]))
        whole[at] = weights
        effects = whole[layout.item_effects]
        precision = self.solution.fit.precision[
            layout.item_effects, layout.item_effects
        ]
        items = np.einsum("ij,ij->j", effects, precision @ effects)
        sampling = np.einsum("ij,ij->j", targets, weights) - items
        # Where nothing is left of it, rounding may be below zero.
        return np.maximum(sampling, 0.0), items

    def along(
        self, targets: Array, unit: Array, more: Array | float = 0.0
    ) -> Callable[[float], Array]:
        """Weights by the number of rows of one kind, factorised once.

        Parameters
        ----------
        targets : ndarray of shape (p, n_targets)
            L.
        unit : ndarray of shape (p, p)
            Information of one row.
        more : ndarray of shape (p, p), optional
            Information that is added to the matrix. It may take rows away that leave a
            target undetermined, if rows of this kind determine it again.

        Returns
        -------
        callable
            Of a number of rows above zero; returns weights.
        """
        # With the matrix M at one row and a root F of the unit, the weights at n rows
        # are M^-1 L - (n - 1) M^-1 F (I + (n - 1) G)^-1 F' M^-1 L, with G = F' M^-1 F.
        # In the eigenvectors of G the inverse is a division.
        root = semidefinite_root(unit)
        solver = SymmetricSystem.of(self.matrix + more + unit)
        one, of_root = solver.solve(targets), solver.solve(root)
        values, vectors = np.linalg.eigh(root.T @ of_root)
        # Directions in which a row says nothing, but for rounding.
        some = values > ROOT_TOLERANCE * values.max(initial=0.0)
        values, vectors = values[some], vectors[:, some]
        change, size = of_root @ vectors, vectors.T @ (root.T @ one)

        def weights(n: float) -> Array:
            factor = (n - 1.0) / (1.0 + (n - 1.0) * values)
            return np.asarray(one - change @ (factor[:, None] * size))

        return weights

    def limit(self, targets: Array, kinds: Array, more: Array | float = 0.0) -> Array:
        """Weights once there are rows of some kinds without end.

        Such rows determine what they inform about. The weights then lie in the null
        space of their information: ``w = N (N'(Q + R) N)^-1 N' l`` for a basis N.

        Parameters
        ----------
        targets : ndarray of shape (p, n_targets)
            L.
        kinds : ndarray of shape (p, p)
            Sum of the information of one row of each kind.
        more : ndarray of shape (p, p), optional
            Information that is added to the matrix.

        Returns
        -------
        ndarray of shape (p, n_targets)
        """
        # Multiplying ``kinds`` by a large number instead would lose what is left in
        # rounding. At unit diagonal the rank does not depend on units.
        base = self.matrix + more
        scale = np.sqrt(np.diagonal(base) + np.diagonal(kinds))
        scale = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        values, vectors = np.linalg.eigh(kinds * np.outer(scale, scale))
        none = values <= NULL_TOLERANCE * values[-1]
        basis = scale[:, None] * vectors[:, none]
        solver = SymmetricSystem.of(basis.T @ base @ basis)
        return np.asarray(basis @ solver.solve(basis.T @ targets))
