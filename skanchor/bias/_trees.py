"""Regression trees on binned features, for many targets at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skanchor._typing import Array


@dataclass(frozen=True, slots=True)
class Bins:
    """Quantile bins of each feature.

    Attributes
    ----------
    edges : tuple of ndarray
        Upper edges of the bins of each feature but the last, in increasing order.
    """

    edges: tuple[Array, ...]

    @classmethod
    def of(cls, features: Array, max_bins: int) -> Bins:
        """Bins of equal counts, fewer where values repeat."""
        levels = np.linspace(0.0, 1.0, max_bins + 1)[1:-1]
        edges = []
        for column in features.T:
            values = np.unique(column)
            if len(values) > max_bins:
                values = np.unique(np.quantile(column, levels, method="lower"))
                values = np.append(values, np.inf)
            # At the midpoint rounding cannot decide on which side a value falls.
            edges.append((values[:-1] + np.minimum(values[1:], 1e300)) / 2.0
                         if np.isfinite(values[1:]).all() else values[:-1])  # fmt: skip
        return cls(tuple(edges))

    @property
    def size(self) -> int:
        """Most bins of a feature."""
        return max((len(edge) + 1 for edge in self.edges), default=1)

    def codes(self, features: Array) -> NDArray[np.intp]:
        """Bin numbers of shape (n_features, n_rows)."""
        return np.array(
            [
                np.searchsorted(edge, column, side="left")
                for edge, column in zip(self.edges, features.T, strict=True)
            ],
            dtype=np.intp,
        ).reshape(features.shape[1], len(features))


@dataclass(frozen=True, slots=True)
class Tree:
    """A fitted tree; node i has the children 2 i + 1 (left) and 2 i + 2.

    Attributes
    ----------
    feature : ndarray of shape (n_inner,)
        Feature that an inner node splits.
    threshold : ndarray of shape (n_inner,)
        Greatest bin that goes left; a node that is not split sends all rows left.
    values : ndarray of shape (n_leaves, n_targets)
        Means of the leaves.
    """

    feature: NDArray[np.intp]
    threshold: NDArray[np.intp]
    values: Array

    def leaves(self, codes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Leaf number of each row."""
        n_inner = len(self.feature)
        rows = np.arange(codes.shape[1])
        node = np.zeros(codes.shape[1], dtype=np.intp)
        for _ in range(int(np.log2(n_inner + 1))):
            right = codes[self.feature[node], rows] > self.threshold[node]
            node = 2 * node + 1 + right
        return node - n_inner

    def predict(self, codes: NDArray[np.intp]) -> Array:
        """Values of shape (n_rows, n_targets)."""
        return self.values[self.leaves(codes)]


def grow_tree(
    codes: NDArray[np.intp],
    n_bins: int,
    targets: Array,
    weight: Array,
    *,
    guide: Array,
    max_depth: int,
    min_weight: float,
) -> Tree:
    """Grow a tree level by level on the weighted squared error, summed over targets.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows)
        Bin numbers.
    n_bins : int
        Number of bins.
    targets : ndarray of shape (n_rows, n_targets)
        What the leaves average.
    weight : ndarray of shape (n_rows,)
        Row weights.
    guide : ndarray of shape (n_rows, n_guides)
        What the splits are chosen by: the targets, or fewer mixtures of them.
    max_depth : int
        Levels of splits.
    min_weight : float
        Least weight of a leaf.

    Returns
    -------
    Tree
    """
    n_features, n_rows = codes.shape
    rows = np.arange(n_rows)
    # A leaf without any weight has no mean.
    min_weight = max(min_weight, np.finfo(float).tiny)
    # The first layer of the histogram is the weight itself.
    layers = np.vstack([weight, (guide * weight[:, None]).T])
    n_layers = len(layers)
    # Every layer once for each feature, flat: (n_layers * n_features * n_rows,).
    repeated = np.broadcast_to(layers[:, None], (n_layers, n_features, n_rows)).ravel()
    n_inner = 2**max_depth - 1
    feature = np.zeros(n_inner, dtype=np.intp)
    threshold = np.full(n_inner, n_bins, dtype=np.intp)
    node = np.zeros(n_rows, dtype=np.intp)
    blocks = np.arange(n_layers * n_features).reshape(n_layers, n_features, 1)
    for level in range(max_depth):
        # Histograms of all layers, features and nodes of the level in one count: a row
        # falls into the cell (layer, feature, node, bin). ``node`` numbers the nodes of
        # the level from zero; ``first`` is the number of its first node in the tree.
        n_nodes, first = 2**level, 2**level - 1
        size = n_nodes * n_bins
        key = (blocks * size + (node * n_bins + codes)).ravel()
        sums = np.bincount(key, repeated, n_layers * n_features * size)
        # Sums of all rows up to each bin, and of the others: the two sides of a split.
        left = sums.reshape(n_layers, n_features, n_nodes, n_bins).cumsum(axis=3)
        right = left[..., -1:] - left
        inside = (left[0] >= min_weight) & (right[0] >= min_weight)
        # A split lowers the squared error by S_l^2 / w_l + S_r^2 / w_r - S^2 / w, with
        # the sums S of w times the guides, added over these.
        gain = np.sum(left[1:] ** 2, axis=0) / np.where(inside, left[0], 1.0)
        gain += np.sum(right[1:] ** 2, axis=0) / np.where(inside, right[0], 1.0)
        whole = np.sum(left[1:, ..., -1:] ** 2, axis=0)
        gain -= whole / np.maximum(left[0, ..., -1:], 1e-300)
        gain = np.where(inside, gain, -np.inf)
        # (n_nodes, n_features * n_bins): the best split of each node.
        flat = gain.transpose(1, 0, 2).reshape(n_nodes, -1)
        best = flat.argmax(axis=1)
        split = flat[np.arange(n_nodes), best] > 1e-12
        at = first + np.flatnonzero(split)
        feature[at] = best[split] // n_bins
        threshold[at] = best[split] % n_bins
        where = first + node
        node = 2 * node + (codes[feature[where], rows] > threshold[where])
    n_leaves, n_targets = 2**max_depth, targets.shape[1]
    # Weighted mean of every target in every leaf, again by one count.
    mass = np.bincount(node, weight, n_leaves)[:, None]
    key = (node[:, None] * n_targets + np.arange(n_targets)).ravel()
    totals = np.bincount(key, (targets * weight[:, None]).ravel(), n_leaves * n_targets)
    values = totals.reshape(n_leaves, n_targets) / np.where(mass > 0, mass, 1.0)
    return Tree(feature, threshold, values)
