"""Covariance of scores that share scales: inverse information and sandwiches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._numerics.spanning import SpanningTree, grounded, solve_gaps
from skanchor._numerics.types import Array

__all__ = ["Bread"]

_LOST = 1e-6
"""Share of the largest square, below which sums of squares may have cancelled."""


@dataclass(frozen=True, slots=True)
class Bread:
    """Inverse information of scores, in the gaps of a spanning tree of each scale.

    Attributes
    ----------
    scales : list of ndarrays
        Models that share a scale, and are centred on it; others have no covariance.
    trees : list of SpanningTree
        One for each scale; with a ridge, which is one more node, behind the models.
    spread : ndarray of shape (n_models, n_gaps)
        Scores by gaps.
    response : ndarray of shape (n_models, n_gaps)
        Newton step of the scores by slopes of the gaps.
    information : ndarray of shape (n_gaps, n_gaps)
        Information of the gaps.
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
        """Factorise the information by pair, beside a ridge."""
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
            step = tree.potentials(solve_gaps(matrix, eye))[: len(at)]
            spread[at, gaps] = tree.potentials(eye)[: len(at)]
            response[at, gaps] = step - step.mean(axis=0)
            form[gaps, gaps] = matrix
        return cls(scales, trees, spread, response, form)

    def of_pairs(self, noise: Array) -> Array:
        """Form of the gaps from noise that is independent by pair of models."""
        result = np.zeros_like(self.information)
        stop = 0
        for at, tree in zip(self.scales, self.trees, strict=True):
            weight = noise[np.ix_(at, at)]
            if len(tree.order) > len(at):
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
        """Form of the gaps from score vectors that are summed by group first.

        Parameters
        ----------
        left, right, residual : ndarray of shape (n_rows,)
            Each row adds its residual to the score of its left model, and takes it
            from that of its right one.
        groups : ndarray of shape (n_rows,)
            Group of each row.

        Returns
        -------
        ndarray of shape (n_gaps, n_gaps)
        """
        rows = np.arange(len(left))
        n_groups = int(groups.max(initial=0)) + 1
        gather = csr_array((residual, (groups, rows)), shape=(n_groups, len(rows)))
        shape = len(left), len(self.spread)
        ones = np.ones(len(left))
        totals = gather @ (
            csr_array((ones, (rows, left)), shape=shape)
            - csr_array((ones, (rows, right)), shape=shape)
        )
        plain = (totals.T @ totals).toarray()
        form = self.spread.T @ plain @ self.spread
        if form.size and form.diagonal().min() <= _LOST * plain.diagonal().max():
            # Heavy rows on one side of a gap drown light ones that cross it.
            spread = csr_array(self.spread)
            totals = gather @ (spread[left] - spread[right])
            form = (totals.T @ totals).toarray()
        return np.asarray(form)

    def covariance(self, form: Array) -> Array:
        """Covariance of the scores from that of the slopes of the gaps."""
        return np.asarray(self.response @ form @ self.response.T)
