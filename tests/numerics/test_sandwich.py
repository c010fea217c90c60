"""Sandwiches of scores against dense algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor._numerics import sandwich
from skanchor._numerics.btl import laplacian
from skanchor._numerics.sandwich import Bread


def graph(seed, size, share=0.5):
    """Symmetric weights of a connected graph."""
    rng = np.random.default_rng(seed)
    weight = np.triu(rng.exponential(size=(size, size)), 1)
    weight[rng.random((size, size)) > share] = 0.0
    ring = np.arange(size - 1)
    weight[ring, ring + 1] += 0.1
    return weight + weight.T


@pytest.mark.parametrize("ridge", [0.0, 0.7])
@pytest.mark.parametrize("one_by_one", [False, True])
def test_bread_of_two_scales(ridge, one_by_one, monkeypatch):
    """Covariances against the pseudo-inverse, models without a scale left out."""
    if one_by_one:
        monkeypatch.setattr(sandwich, "_LOST", -1.0)
        monkeypatch.setattr(sandwich, "_STEP", 3)
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
    assert not bread.uncertain.any()
    assert_allclose(bread.centred(bread.inverse.copy()), dense, atol=1e-12)
    expected = dense @ laplacian(pairs / 2.0) @ dense
    assert_allclose(bread.of_pairs(pairs), expected, atol=1e-12)
    rng = np.random.default_rng(1)
    at = [scales[which] for which in rng.integers(2, size=30)]
    left, right = np.array([rng.choice(models, 2, replace=False) for models in at]).T
    residual, groups = rng.normal(size=30), rng.integers(7, size=30)
    sums = np.zeros((7, size))
    np.add.at(sums, (groups, left), residual)
    np.add.at(sums, (groups, right), -residual)
    found = bread.of_groups(left, right, residual, groups)
    assert_allclose(found, dense @ sums.T @ sums @ dense, atol=1e-12)


@pytest.mark.parametrize("light", [1e-4, 1e-8, 1e-12])
def test_light_edges_between_groups(light):
    """The variance between two groups of models is that of the edges between them."""
    weight = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3))
    weight[0, 3] = weight[3, 0] = light
    bread = Bread.of(weight, [np.arange(6)])
    if light < 1e-10:
        assert bread.uncertain.all()
        return
    assert not bread.uncertain.any()
    covariance = bread.of_pairs(weight**2)
    # One edge alone joins the groups. Its weight w and noise w^2 give a variance of 1.
    gap = np.eye(6)[0] - np.eye(6)[3]
    assert gap @ covariance @ gap == pytest.approx(1.0, rel=1e-6)
