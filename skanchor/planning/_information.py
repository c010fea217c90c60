"""Information of all parameters, bias coefficients included, to which rows are added.

The Riesz system has the bias functions profiled out. Further rows change what is
profiled out, so that the coefficients of the biases must be in the system before rows
are added to it. The Schur complement of their block is the matrix of the Riesz system.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from skanchor._numerics.linalg import SymmetricSolver, semidefinite_root
from skanchor._numerics.parameters import PEOPLE, Parameters
from skanchor._numerics.system import RieszSystem
from skanchor._typing import Array

NULL_TOLERANCE = 1e-10
"""Share of the largest eigenvalue, at unit diagonal, below which rows of some kinds
say nothing in a direction, however many they are."""

ROOT_TOLERANCE = 1e-12
"""Share of the largest eigenvalue below which an eigenvalue of a row is rounding."""


@dataclass(frozen=True, eq=False)
class WholeInformation:
    """Information Q of all rows on all parameters, and the prior R of the item effects.

    Attributes
    ----------
    layout : Parameters
        The parameter vector: scores, sensitivities, position effects, coefficients of
        the biases, standardised item effects.
    slopes : ndarray of shape (n_judges,)
        Sensitivities.
    factor : ndarray of shape (n_judges, n_judges) or None
        Square root of the covariance of the item effects.
    matrix : ndarray of shape (p, p)
        Q + R. R is the identity on the item effects; a ridge of the biases counts with
        Q, as in the Riesz system.
    """

    layout: Parameters
    slopes: Array
    factor: Array | None
    matrix: Array

    @classmethod
    def of(
        cls,
        system: RieszSystem,
        grams: Mapping[int, Array],
        penalties: Mapping[int, Array],
    ) -> Self:
        """Add up sources.

        Parameters
        ----------
        system : RieszSystem
            Solved from the same rows, biases profiled out.
        grams : mapping of int to ndarray of shape (n_columns, n_columns)
            Information of each source on its local columns (items, delta, order,
            span); of people without a bias on the items alone.
        penalties : mapping of int to ndarray of shape (n_span,)
            Ridge penalty of the span of each source.

        Returns
        -------
        WholeInformation
        """
        known = system.layout
        widths = {m: len(penalty) for m, penalty in penalties.items()}
        layout = replace(
            known,
            widths=tuple(widths.get(m, 0) for m in range(known.n_judges)),
            human_width=widths.get(PEOPLE, 0),
        )
        found = cls(layout, system.slopes, system.factor, np.zeros((layout.size,) * 2))
        matrix = found.sum(grams)
        diagonal = np.zeros(layout.size)
        for m, penalty in penalties.items():
            diagonal[layout.bias[m]] = penalty
        diagonal[layout.at["deviation"]] += 1.0
        return replace(found, matrix=matrix + np.diag(diagonal))

    def slope(self, m: int) -> float:
        """Sensitivity of a judge; one for people."""
        return 1.0 if m == PEOPLE else float(self.slopes[m])

    def sum(self, grams: Mapping[int, Array]) -> Array:
        """Information of rows on all parameters.

        Parameters
        ----------
        grams : mapping of int to ndarray of shape (n_columns, n_columns)
            By source, information of its rows on their local columns.

        Returns
        -------
        ndarray of shape (p, p)
        """
        total = self.layout.no_information()
        for m, gram in grams.items():
            self.layout.add_information(total, m, gram, self.slope(m))
        return self.layout.reduce_information(total, self.factor)

    def local(self, weights: Array, m: int) -> Array:
        """Coefficients of a source's local columns in the weight of its rows.

        Parameters
        ----------
        weights : ndarray of shape (p, n_targets)
            Solutions w = (Q + R)^-1 L.
        m : int
            Judge, or ``PEOPLE``.

        Returns
        -------
        ndarray of shape (n_columns, n_targets)
        """
        by_item = self.layout.by_item(weights, self.factor)
        return self.layout.local(by_item, m, self.slope(m))

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
        found = np.zeros((self.layout.size, contrasts.shape[1]))
        found[self.layout.at["scores"]] = self.layout.items.T @ contrasts
        return found

    def weights(self, targets: Array, more: Array | float = 0.0) -> Array:
        """Solve for the weights w, with further information added to the matrix."""
        return SymmetricSolver.factorise(self.matrix + more).solve(targets)

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
        tail = weights[self.layout.at["deviation"]]
        items = np.einsum("ij,ij->j", tail, tail)
        return np.einsum("ij,ij->j", targets, weights) - items, items

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
        solver = SymmetricSolver.factorise(self.matrix + more + unit)
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
        solver = SymmetricSolver.factorise(basis.T @ base @ basis)
        return np.asarray(basis @ solver.solve(basis.T @ targets))
