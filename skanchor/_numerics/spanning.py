"""Laplacians in the gaps along a spanning tree, where no edge is too light to count.

Where groups of nodes hang on each other by next to nothing, sums over a group lose the
light edges among the heavy ones. A gap along the heaviest tree feels only the edges
that cross from one side of it to the other, and all are as light as its own or lighter:
sums over them, beside no other, keep their digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import depth_first_order, minimum_spanning_tree

from skanchor._numerics.types import Array

__all__ = ["SpanningTree", "grounded", "solve_gaps"]


@dataclass(frozen=True, slots=True)
class SpanningTree:
    """Nodes of a connected graph in an order in which each subtree is one stretch.

    The gap of a node is its potential less that of its parent; the first node has none.

    Attributes
    ----------
    order : ndarray of shape (n,)
        Nodes, each after its parent.
    parent : list of int
        Place of the parent in that order, by place.
    stop : ndarray of shape (n,)
        Place behind the last node of the subtree, by place.
    """

    order: NDArray[np.intp]
    parent: list[int]
    stop: NDArray[np.intp]

    @classmethod
    def of(cls, weight: Array) -> SpanningTree:
        """Heaviest tree of a graph with symmetric weights, from its heaviest node."""
        size = len(weight)
        root = int(np.argmax(weight.sum(axis=1)))
        tree = minimum_spanning_tree(csr_array(-weight))
        order, over = depth_first_order(tree, root, directed=False)
        place = np.empty(size, dtype=np.intp)
        place[order] = np.arange(size)
        parent = [-1, *place[over[order[1:]]].tolist()]
        sizes = np.ones(size, dtype=np.intp)
        for node in range(size - 1, 0, -1):
            sizes[parent[node]] += sizes[node]
        return cls(order.astype(np.intp), parent, np.arange(size) + sizes)

    def gap_slopes(self, flow: Array) -> Array:
        """Derivatives by the gaps, where ``flow`` has those of each pair by its first.

        Parameters
        ----------
        flow : ndarray of shape (n, n)
            Antisymmetric.

        Returns
        -------
        ndarray of shape (n - 1,)
        """
        below = self._gathered(flow[np.ix_(self.order, self.order)])
        place = np.arange(len(below))
        within = (place >= place[:, None]) & (place < self.stop[:, None])
        return np.asarray(below.sum(axis=1, where=~within)[1:])

    def gap_matrix(self, weight: Array) -> Array:
        """Laplacian of the weights as a form of the gaps.

        Parameters
        ----------
        weight : ndarray of shape (n, n)
            Symmetric.

        Returns
        -------
        ndarray of shape (n - 1, n - 1)
        """
        below = self._gathered(weight[np.ix_(self.order, self.order)])
        crossing = self._crossing(below)
        between = self._gathered(np.ascontiguousarray(below.T))
        place = np.arange(len(self.order))
        # Of two subtrees one holds the other, or they have no node in common.
        held = (place[:, None] >= place) & (place[:, None] < self.stop)
        result = np.where(held, crossing, np.where(held.T, crossing.T, -between))
        return result[1:, 1:]

    def potentials(self, gaps: Array) -> Array:
        """Potentials, zero at the first node, from gaps in the rows."""
        result = np.concatenate([np.zeros((1, *gaps.shape[1:])), gaps])
        for node in range(1, len(result)):
            result[node] += result[self.parent[node]]
        potentials = np.empty_like(result)
        potentials[self.order] = result
        return potentials

    def _gathered(self, rows: Array) -> Array:
        """Sums of rows over each subtree, in place."""
        for node in range(len(rows) - 1, 0, -1):
            rows[self.parent[node]] += rows[node]
        return rows

    def _crossing(self, below: Array) -> Array:
        """Sums of each row outside of each subtree."""
        size = len(below)
        ahead, behind = np.zeros((2, size, size + 1))
        np.cumsum(below, axis=1, out=ahead[:, 1:])
        np.cumsum(below[:, ::-1], axis=1, out=behind[:, -2::-1])
        return np.asarray(ahead[:, :-1] + behind[:, self.stop])


def grounded(weight: Array, ridge: float) -> Array:
    """The graph with one more node, which the ridge joins to all others, if any."""
    if not ridge:
        return weight
    result = np.pad(weight, (0, 1))
    result[-1, :-1] = result[:-1, -1] = ridge
    return result


def solve_gaps(matrix: Array, right: Array) -> Array:
    """Solve a positive definite system whose rows may differ in scale."""
    scale = np.sqrt(matrix.diagonal())
    factor = cho_factor(matrix / np.outer(scale, scale), lower=True)
    return np.asarray((cho_solve(factor, (right.T / scale).T).T / scale).T)
