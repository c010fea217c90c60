"""Pair counts against rows, and scores where the answer is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from skanchor._numerics.btl import fit_scores, laplacian, pair_sums
from skanchor._numerics.pair_counts import PairCounts


def test_pair_sums_and_laplacian(rng):
    left, right = rng.integers(4, size=(2, 60))
    weight = rng.exponential(size=60)
    signs = np.eye(4)[left] - np.eye(4)[right]
    sums = pair_sums(left, right, weight, 4)
    assert_allclose(sums.sum(), weight.sum())
    expected = signs.T @ (signs * weight[:, None])
    # Rows of a model against itself have no contrast.
    np.fill_diagonal(sums, 0)
    assert_allclose(laplacian(sums), expected, atol=1e-12)


def test_pair_counts_meat_against_rows(rng):
    left = rng.integers(4, size=80)
    right = (left + rng.integers(1, 4, size=80)) % 4
    y, weight = rng.choice([0, 0.5, 1], size=80), rng.exponential(size=80)
    scores = rng.normal(size=4)
    counts = PairCounts.from_rows(left, right, y, weight, 4)
    residual = weight * (y - expit(scores[left] - scores[right]))
    rows = (np.eye(4)[left] - np.eye(4)[right]) * residual[:, None]
    assert_allclose(laplacian(counts.meat(scores)), rows.T @ rows, atol=1e-12)
    assert_allclose(counts.wins.sum(), weight.sum())


def test_fit_scores_degenerate():
    scores, converged, _ = fit_scores(np.zeros((3, 3)))
    assert converged
    assert_allclose(scores, 0)
    scores, converged, _ = fit_scores(np.array([[0.0, 2.0], [1.0, 0.0]]))
    assert_allclose(scores, [np.log(2) / 2, -np.log(2) / 2], atol=1e-12)


@pytest.mark.parametrize("outcomes", [[0.0, 1.0], [0.0, 0.5, 1.0], [0.2, 1.0]])
@pytest.mark.parametrize("weighted", [False, True])
def test_pair_counts_in_steps(outcomes, weighted, seed=0):
    rng = np.random.default_rng(seed)
    n, size = 150_000, 3
    left, right = rng.integers(0, size, (2, n))
    y = rng.choice(outcomes, n)
    # Ties in the second step alone.
    y[: 1 << 16] = np.round(y[: 1 << 16])
    weight = rng.exponential(size=n) if weighted else np.array([0.5])
    counts = PairCounts.from_rows(left, right, y, weight, size)
    square = weight**2
    won, lost = counts.first_squared, counts.second_squared
    found = (
        counts.weight,
        counts.first,
        counts.squared,
        won,
        counts.spread + won * won / np.maximum(won + lost, 1e-9),
    )
    wanted = (weight, weight * y, square, square * y, square * y**2)
    for table, values in zip(found, wanted, strict=True):
        sums = pair_sums(left, right, np.broadcast_to(values, n), size)
        np.fill_diagonal(sums, 0.0)
        assert_allclose(table, sums, rtol=1e-10)
