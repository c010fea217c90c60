"""Laplacians in the gaps along a spanning tree, which keep the digits of light edges.

Where groups of nodes are joined by very light edges only, sums over the edges of a node
lose the light ones in rounding. The gap along an edge of the heaviest spanning tree
depends only on the edges that cross from one side of it to the other. None of these is
heavier than the tree's own edge, so that sums over them alone keep their digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import depth_first_order, minimum_spanning_tree

from skanchor._numerics.types import Array


@dataclass(frozen=True, slots=True)
class SpanningTree:
    """Spanning tree of a connected graph, its nodes in depth-first order.

    In this order every subtree is a contiguous range. The gap of a node is its
    potential (score) less that of its parent; the root, which comes first, has no gap.

    Attributes
    ----------
    order : ndarray of shape (n,)
        Nodes, each after its parent. A position is an index into this array.
    parent : list of int
        Position of the parent of the node at each position; -1 for the root.
    stop : ndarray of shape (n,)
        End of the subtree of the node at each position: it holds the positions from
        the node's own up to ``stop - 1``.
    """

    order: NDArray[np.intp]
    parent: list[int]
    stop: NDArray[np.intp]

    @classmethod
    def of(cls, weight: Array) -> SpanningTree:
        """Heaviest tree of a graph with symmetric weights, rooted at its heaviest node.

        ``weight`` has the shape (n, n) and is zero where there is no edge.
        """
        size = len(weight)
        root = int(np.argmax(weight.sum(axis=1)))
        # The minimum spanning tree of the negative weights is the heaviest tree.
        tree = minimum_spanning_tree(csr_array(-weight))
        order, predecessor = depth_first_order(tree, root, directed=False)
        # position[i] is where node i lies in the order.
        position = np.empty(size, dtype=np.intp)
        position[order] = np.arange(size)
        parent = [-1, *position[predecessor[order[1:]]].tolist()]
        # Children come after their parents, so that a pass from the end completes the
        # size of each subtree before it is added to the parent's.
        sizes = np.ones(size, dtype=np.intp)
        for node in range(size - 1, 0, -1):
            sizes[parent[node]] += sizes[node]
        return cls(order.astype(np.intp), parent, np.arange(size) + sizes)

    def gap_slopes(self, flow: Array) -> Array:
        """Derivatives of a loss by the gaps.

        Parameters
        ----------
        flow : ndarray of shape (n, n)
            Derivative of each pair's loss by the potential of the row's node;
            antisymmetric.

        Returns
        -------
        ndarray of shape (n - 1,)
        """
        # A gap moves all nodes of its subtree together. Row i of ``below`` sums the
        # flows out of subtree i, by the node at the other end.
        below = self._subtree_sums(flow[np.ix_(self.order, self.order)])
        position = np.arange(len(below))
        # Flows within the subtree cancel. They are left out, as rounding would remain.
        within = (position >= position[:, None]) & (position < self.stop[:, None])
        return np.asarray(below.sum(axis=1, where=~within)[1:])

    def gap_matrix(self, weight: Array) -> Array:
        """Quadratic form of the Laplacian of the weights, in terms of the gaps.

        Parameters
        ----------
        weight : ndarray of shape (n, n)
            Weights of the edges; symmetric.

        Returns
        -------
        ndarray of shape (n - 1, n - 1)
        """
        # The entry of two gaps sums edges. For nested subtrees these are the edges from
        # inside the smaller to outside the larger one, for disjoint subtrees the edges
        # between the two, with a minus sign.
        below = self._subtree_sums(weight[np.ix_(self.order, self.order)])
        crossing = self._crossing(below)
        between = self._subtree_sums(np.ascontiguousarray(below.T))
        position = np.arange(len(self.order))
        # Two subtrees are nested or disjoint: held[i, j] where subtree j contains i.
        held = (position[:, None] >= position) & (position[:, None] < self.stop)
        result = np.where(held, crossing, np.where(held.T, crossing.T, -between))
        return result[1:, 1:]

    def potentials(self, gaps: Array) -> Array:
        """Potentials (n, ...), zero at the root, from gaps of shape (n - 1, ...)."""
        # Parents come first, so that each node adds its gap to a finished potential.
        result = np.concatenate([np.zeros((1, *gaps.shape[1:])), gaps])
        for node in range(1, len(result)):
            result[node] += result[self.parent[node]]
        potentials = np.empty_like(result)
        potentials[self.order] = result
        return potentials

    def _subtree_sums(self, rows: Array) -> Array:
        """Replace each row, in place, by the sum of the rows of its subtree."""
        for node in range(len(rows) - 1, 0, -1):
            rows[self.parent[node]] += rows[node]
        return rows

    def _crossing(self, below: Array) -> Array:
        """Sum of the entries of each row (axis 0) outside each subtree (axis 1)."""
        size = len(below)
        # ahead[:, j] sums the columns before j, behind[:, j] those from j on. Sums from
        # either end avoid the difference of two cumulative sums.
        ahead, behind = np.zeros((2, size, size + 1))
        np.cumsum(below, axis=1, out=ahead[:, 1:])
        np.cumsum(below[:, ::-1], axis=1, out=behind[:, -2::-1])
        return np.asarray(ahead[:, :-1] + behind[:, self.stop])


def grounded(weight: Array, ridge: float) -> Array:
    """The graph with one more node, joined to all others by edges of weight ``ridge``.

    A ridge on scores is such a graph's Laplacian, the potential of the last node being
    zero. Without a ridge the graph is returned as it is.
    """
    if not ridge:
        return weight
    result = np.pad(weight, (0, 1))
    result[-1, :-1] = result[:-1, -1] = ridge
    return result


def solve_gaps(matrix: Array, right: Array) -> Array:
    """Solve a positive definite system whose rows may differ much in scale."""
    # Brought to unit diagonal, the system does not depend on the units of the gaps.
    scale = np.sqrt(matrix.diagonal())
    factor = cho_factor(matrix / np.outer(scale, scale), lower=True)
    return np.asarray((cho_solve(factor, (right.T / scale).T).T / scale).T)
