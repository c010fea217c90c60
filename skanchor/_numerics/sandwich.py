"""Covariance of BTL scores: inverse information, and sandwiches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from skanchor._numerics.btl import laplacian, pair_sums
from skanchor._numerics.groups import are_alone
from skanchor._numerics.spanning import SpanningTree, grounded, solve_gaps
from skanchor._numerics.types import Array

_LOST = 1e-6
"""Ratio of a gap's sum of squares to the largest one by model, up to which the digits
of the former may be lost."""


@dataclass(frozen=True, slots=True)
class Bread:
    """Inverse information of scores (the bread of a sandwich), by gaps of trees.

    A scale is a set of models whose scores are compared; each has a spanning tree. The
    gaps (see :class:`~skanchor._numerics.spanning.SpanningTree`) of all scales lie one
    scale after another.

    Attributes
    ----------
    scales : list of ndarrays
        Models of each scale; their scores are centred on it. Models on no scale have
        zero covariance here.
    trees : list of SpanningTree
        Tree of each scale. With a ridge it has one more node, after the models.
    spread : ndarray of shape (n_models, n_gaps)
        Derivative of the scores by the gaps: 1 where a gap moves a model.
    response : ndarray of shape (n_models, n_gaps)
        Matrix that turns the derivatives of the loss by the gaps into a Newton step of
        the centred scores, up to the sign.
    information : ndarray of shape (n_gaps, n_gaps)
        Information of the gaps; zero between scales.
    """

    scales: list[NDArray[np.intp]]
    trees: list[SpanningTree]
    spread: Array
    response: Array
    information: Array

    @classmethod
    def of(
        cls, information: Array, scales: list[NDArray[np.intp]], ridge: float = 0.0
    ) -> Bread:
        """Invert the information, of shape (n_models, n_models) by pair, plus ridge."""
        weights = [grounded(information[np.ix_(at, at)], ridge) for at in scales]
        trees = [SpanningTree.of(weight) for weight in weights]
        n_gaps = sum(len(weight) - 1 for weight in weights)
        spread, response = np.zeros((2, len(information), n_gaps))
        form = np.zeros((n_gaps, n_gaps))
        stop = 0
        for at, tree, weight in zip(scales, trees, weights, strict=True):
            gaps = slice(stop, stop := stop + len(weight) - 1)
            eye = np.eye(len(weight) - 1)
            matrix = tree.gap_matrix(weight)
            # Potentials of a unit slope or of a unit gap; the ridge's node is dropped.
            step = tree.potentials(solve_gaps(matrix, eye))[: len(at)]
            spread[at, gaps] = tree.potentials(eye)[: len(at)]
            response[at, gaps] = step - step.mean(axis=0)
            form[gaps, gaps] = matrix
        return cls(scales, trees, spread, response, form)

    def of_pairs(self, noise: Array) -> Array:
        """Meat by gaps from noise that is independent between rows.

        ``noise`` is symmetric, of shape (n_models, n_models), with the variance that
        the rows of each pair add.
        """
        result = np.zeros_like(self.information)
        stop = 0
        for at, tree in zip(self.scales, self.trees, strict=True):
            weight = noise[np.ix_(at, at)]
            if len(tree.order) > len(at):
                # The ridge's node has no rows, and so no noise.
                weight = np.pad(weight, (0, 1))
            gaps = slice(stop, stop := stop + len(weight) - 1)
            result[gaps, gaps] = tree.gap_matrix(weight)
        return result

    def of_groups(
        self,
        left: NDArray[np.intp],
        right: NDArray[np.intp],
        residual: Array,
        groups: NDArray[np.intp],
    ) -> Array:
        """Meat by gaps from score vectors that are summed by group before squaring.

        Parameters
        ----------
        left, right, residual : ndarray of shape (n_rows,)
            The score vector of a row has its residual at the left model, and minus the
            residual at the right one.
        groups : ndarray of shape (n_rows,)
            Group of each row.

        Returns
        -------
        ndarray of shape (n_gaps, n_gaps)
        """
        size = len(self.spread)
        # The square of a group of one row is that of the row.
        alone = are_alone(groups)
        squares = np.where(alone, residual**2, 0.0)
        plain = laplacian(pair_sums(left, right, squares, size))
        if not alone.all():
            rest = ~alone
            rows, gather = _score_vectors(
                left[rest], right[rest], residual[rest], groups[rest], size
            )
            plain += _squared(gather @ rows)
        form = self.spread.T @ plain @ self.spread
        if form.size and form.diagonal().min() <= _LOST * plain.diagonal().max():
            # Summed by model, light rows that cross a gap are lost in rounding beside
            # heavy rows on one side of it. By gap the heavy rows are exactly zero.
            rows, gather = _score_vectors(left, right, residual, groups, size)
            form = _squared(gather @ (rows @ csr_array(self.spread)))
        return np.asarray(form)

    def covariance(self, form: Array) -> Array:
        """Covariance of the scores, of shape (n_models, n_models), from the meat."""
        return np.asarray(self.response @ form @ self.response.T)


def _score_vectors(
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    residual: Array,
    groups: NDArray[np.intp],
    size: int,
) -> tuple[csr_array, csr_array]:
    """Score vectors of rows, (n_rows, size), and the matrix that sums them by group."""
    n_rows, n_groups = len(left), int(groups.max(initial=0)) + 1
    entries = np.repeat(residual, 2)
    np.negative(entries[1::2], out=entries[1::2])
    sides = np.column_stack([left, right]).ravel()
    rows = csr_array((entries, sides, np.arange(0, 2 * n_rows + 1, 2)), (n_rows, size))
    content = np.ones(n_rows), groups, np.arange(n_rows + 1)
    return rows, csc_array(content, (n_groups, n_rows)).tocsr()


def _squared(totals: Any) -> Array:
    """Sum of the squares of the rows of a sparse matrix."""
    return np.asarray((totals.T @ totals).toarray())
