"""Laplacians in gaps against dense algebra, and sandwiches against rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor._numerics.btl import laplacian
from skanchor._numerics.sandwich import Bread
from skanchor._numerics.spanning import SpanningTree, grounded, solve_gaps


def graph(seed, size, share=0.5):
    """Symmetric weights of a connected graph."""
    rng = np.random.default_rng(seed)
    weight = np.triu(rng.exponential(size=(size, size)), 1)
    weight[rng.random((size, size)) > share] = 0.0
    ring = np.arange(size - 1)
    weight[ring, ring + 1] += 0.1
    return weight + weight.T


@pytest.mark.parametrize("size", [2, 3, 8, 20])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_gaps_are_coordinates(size, share):
    weight = graph(size, size, share)
    tree = SpanningTree.of(weight)
    spread = tree.potentials(np.eye(size - 1))
    # Any potentials but for their level: 0 at the first node.
    assert_allclose(spread[tree.order[0]], 0.0)
    assert abs(np.linalg.det(np.delete(spread, tree.order[0], axis=0))) == 1.0
    dense = laplacian(weight / 2.0)
    assert_allclose(tree.gap_matrix(weight), spread.T @ dense @ spread, atol=1e-12)
    rng = np.random.default_rng(0)
    flow = rng.normal(size=(size, size))
    flow -= flow.T
    assert_allclose(tree.gap_slopes(flow), spread.T @ flow.sum(axis=1), atol=1e-12)
    values = rng.normal(size=size - 1)
    assert_allclose(tree.potentials(values), spread @ values)


def test_the_tree_is_the_heaviest():
    weight = graph(1, 9, 1.0)
    tree = SpanningTree.of(weight)
    at = tree.order
    inner = [weight[at[i], at[tree.parent[i]]] for i in range(1, 9)]
    # The lightest edge on the way between two nodes is as heavy as their own.
    reach = np.zeros((9, 9))
    for i in range(1, 9):
        to = tree.parent[i]
        reach[i, :i] = reach[:i, i] = np.minimum(
            inner[i - 1], np.where(np.arange(i) == to, np.inf, reach[to, :i])
        )
    assert (reach >= weight[np.ix_(at, at)] - 1e-15).all()


def test_light_edges_keep_their_digits():
    """Two groups of three that hang on each other by 1e-15."""
    light = 1e-15
    weight = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3))
    weight[0, 3] = weight[3, 0] = light
    weight[1, 4] = weight[4, 1] = 2 * light
    tree = SpanningTree.of(weight)
    matrix = tree.gap_matrix(weight)
    # The gap between the groups is crossed by both light edges and by no other.
    bridge = np.argmin(matrix.diagonal())
    assert matrix[bridge, bridge] == pytest.approx(3 * light, rel=1e-15)
    flow = np.triu(np.random.default_rng(0).normal(size=(6, 6)), 1) * (weight > 0.5)
    flow[0, 3] = light
    flow -= flow.T
    slope = tree.gap_slopes(flow)
    assert abs(slope[bridge]) == pytest.approx(light, rel=1e-15)
    moved = tree.potentials(solve_gaps(matrix, slope))
    assert abs(moved[:3].mean() - moved[3:].mean()) < 10


@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_bread_of_two_scales(ridge):
    """Covariances against the pseudo-inverse, models without a scale left out."""
    scales = [np.array([4, 0, 2]), np.array([1, 5, 6, 3])]
    size = 8
    information, dense, pairs = np.zeros((3, size, size))
    for seed, at in enumerate(scales):
        box = np.ix_(at, at)
        weight, noise = graph(seed, len(at)), graph(seed + 9, len(at))
        matrix = laplacian(weight / 2.0) + ridge * np.eye(len(at))
        centre = np.eye(len(at)) - 1.0 / len(at)
        information[box], pairs[box] = weight, noise
        dense[box] = centre @ np.linalg.pinv(matrix) @ centre
    bread = Bread.of(information, scales, ridge)
    assert_allclose(bread.covariance(bread.information), dense, atol=1e-12)
    form = bread.of_pairs(pairs)
    expected = dense @ laplacian(pairs / 2.0) @ dense
    assert_allclose(bread.covariance(form), expected, atol=1e-12)
    rng = np.random.default_rng(1)
    at = [scales[which] for which in rng.integers(2, size=30)]
    left, right = np.array([rng.choice(models, 2, replace=False) for models in at]).T
    residual, groups = rng.normal(size=30), rng.integers(7, size=30)
    sums = np.zeros((7, size))
    np.add.at(sums, (groups, left), residual)
    np.add.at(sums, (groups, right), -residual)
    found = bread.covariance(bread.of_groups(left, right, residual, groups))
    assert_allclose(found, dense @ sums.T @ sums @ dense, atol=1e-12)


def test_ground_is_a_node_more():
    weight = graph(0, 4)
    assert grounded(weight, 0.0) is weight
    more = grounded(weight, 0.5)
    assert more.shape == (5, 5)
    assert_allclose(more[-1], [0.5, 0.5, 0.5, 0.5, 0.0])
    assert_allclose(more, more.T)
