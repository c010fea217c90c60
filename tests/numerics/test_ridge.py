"""Ridge paths against one dense solution for each penalty."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor._numerics.ridge import RidgePath


@pytest.mark.parametrize("dead", [False, True])
def test_ridge_path_solves_and_leaves_one_out(dead, rng):
    n, alphas = 30, np.array([100.0, 0.1, 0.001])
    design, y = rng.normal(size=(n, 6)), rng.normal(size=(n, 2))
    weight = rng.exponential(size=n) / n
    fixed, shrunk = np.array([0.0, 0.02]), np.array([1.0, 0.5, 2.0, 1.0])
    if dead:
        # A constant hidden feature has no penalty and no contrast.
        design[:, 3], shrunk[1] = 0.0, 0.0
    path = RidgePath.of(design, fixed, shrunk, weight, y)
    for alpha, found in zip(alphas, path.left_out(alphas), strict=True):
        penalty = np.diag(np.append(fixed, alpha * shrunk))
        whole = design.T @ (design * weight[:, None]) + penalty
        expected = np.linalg.pinv(whole) @ (design.T @ (y * weight[:, None]))
        assert_allclose(path.solution(alpha), expected, atol=1e-8)
        for i in range(n):
            w = np.where(np.arange(n) == i, 0.0, weight)
            gram = design.T @ (design * w[:, None]) + penalty
            coef = np.linalg.pinv(gram) @ (design.T @ (y * w[:, None]))
            assert_allclose(found[i], design[i] @ coef, atol=1e-8)


def test_a_row_that_is_fitted_by_itself_leaves_a_finite_prediction(rng):
    # It alone has the second column, which no penalty holds.
    design = np.column_stack([np.ones(6), np.arange(6) == 3, rng.normal(size=6)])
    path = RidgePath.of(
        design, np.zeros(2), np.ones(1), np.ones(6), rng.normal(size=(6, 1))
    )
    (found,) = path.left_out(np.array([0.5]))
    assert np.isfinite(found).all()
