"""Trees against scikit-learn's exhaustive search."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.tree import DecisionTreeRegressor

from skanchor.bias._trees import Bins, grow_tree


@pytest.mark.parametrize(("n_targets", "least"), [(1, 1e-9), (3, 1e-9), (1, 0.0)])
def test_tree_matches_scikit_learn(n_targets, least, rng):
    x = rng.integers(0, 8, size=(400, 3)).astype(float)
    y = rng.normal(size=(400, n_targets)) + np.sin(x[:, :1]) + (x[:, 1:2] > 3)
    weight = rng.exponential(size=400)
    bins = Bins.of(x, 16)
    codes = bins.codes(x)
    tree = grow_tree(
        codes, bins.size, y, weight, guide=y, max_depth=3, min_weight=least
    )
    slow = DecisionTreeRegressor(max_depth=3).fit(x, y, weight)
    assert_allclose(tree.predict(codes), slow.predict(x).reshape(400, -1), atol=1e-9)


def test_bins_hold_equal_counts_and_keep_few_values(rng):
    x = np.column_stack(
        [rng.normal(size=3200), rng.integers(0, 3, 3200), np.ones(3200)]
    )
    bins = Bins.of(x, 32)
    codes = bins.codes(x)
    counts = np.bincount(codes[0])
    assert len(counts) == 32 and counts.min() > 90 and counts.max() < 110
    assert [len(np.unique(c)) for c in codes] == [32, 3, 1]
    assert_array_equal(np.unique(x[codes[1] == 1, 1]), [1.0])
    # Values beyond those seen fall into the outer bins.
    assert bins.codes(np.array([[1e9, 9.0, 2.0]])).ravel().tolist()[:2] == [31, 2]


def test_leaves_keep_their_least_weight(rng):
    x = rng.normal(size=(500, 2))
    bins = Bins.of(x, 32)
    y, weight = rng.normal(size=(500, 1)), np.full(500, 1 / 500)
    codes = bins.codes(x)
    tree = grow_tree(codes, bins.size, y, weight, guide=y, max_depth=4, min_weight=0.1)
    shares = np.bincount(tree.leaves(codes)) / 500
    assert shares[shares > 0].min() >= 0.1 - 1e-12
