"""The numerical core against general-purpose optimisers and dense algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit

from skanchor._numerics.btl import PairCounts, fit_scores, laplacian, pair_sums
from skanchor._numerics.graph import describe_connectivity
from skanchor._numerics.linalg import (
    Columns,
    SymmetricSolver,
    solve_zero_sum,
    zero_sum_basis,
)
from skanchor._numerics.logistic import fit_logistic, log_loss_terms, sigmoid
from skanchor._numerics.ridge import RidgePath


def make_rows(seed, n=250, d=3):
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(n, d)) + 0.5 * rng.normal(size=(n, 1))
    y = (rng.random(n) < expit(design @ rng.normal(size=d))).astype(float)
    y[rng.random(n) < 0.2] = 0.5
    return design, y, rng.exponential(size=n), rng.normal(size=n)


def mean_loss(design, y, weight, offset=0.0, penalty=0.0):
    def value(coef):
        eta = design @ coef + offset
        loss = np.logaddexp(0, eta) - y * eta
        slope = design.T @ (weight * (expit(eta) - y)) / weight.sum() + penalty * coef
        return np.average(loss, weights=weight) + 0.5 * np.sum(penalty * coef**2), slope

    return value


# --------------------------------------------------------------------------- logistic
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_offset", [False, True])
@pytest.mark.parametrize("penalty", [None, [0.0, 0.3, 2.0]])
@pytest.mark.parametrize("bounds", [None, (-0.2, 0.3), (0.0, 20.0)])
def test_fit_logistic_matches_scipy(seed, with_offset, penalty, bounds):
    design, y, weight, offset = make_rows(seed)
    offset = offset if with_offset else None
    penalty = None if penalty is None else np.array(penalty)
    low, high = bounds or (-np.inf, np.inf)
    fit = fit_logistic(
        design,
        y,
        weight,
        offset=offset,
        penalty=penalty,
        lower=np.full(3, low),
        upper=np.full(3, high),
    )
    value = mean_loss(
        design,
        y,
        weight,
        0.0 if offset is None else offset,
        0.0 if penalty is None else penalty,
    )
    slow = minimize(
        value,
        np.clip(np.zeros(3), low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=[(low, high)] * 3,
        options={"gtol": 1e-11, "ftol": 1e-16, "maxiter": 2000},
    )
    assert fit.converged
    assert value(fit.coef)[0] <= slow.fun + 1e-13
    assert_allclose(fit.coef, slow.x, atol=2e-6)
    assert (fit.at_bound == ((fit.coef <= low) | (fit.coef >= high))).all()
    # Stationary in the free coordinates, pushing outwards on the bounds.
    slope = value(fit.coef)[1]
    assert_allclose(slope[~fit.at_bound], 0, atol=1e-8)
    assert (slope[fit.coef <= low] >= 0).all()
    assert (slope[fit.coef >= high] <= 0).all()


@pytest.mark.parametrize("seed", range(30))
def test_fit_logistic_strongly_correlated_columns_in_a_tight_box(seed):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(200, 1))
    design = base + 0.15 * rng.normal(size=(200, 3))
    y = (rng.random(200) < expit(design @ [3.0, -2.0, 0.5])).astype(float)
    box = [(-0.5, 0.5), (-1.0, 2.0), (0.0, 0.4)]
    low, high = np.array(box).T
    weight = np.ones(200)
    fit = fit_logistic(design, y, weight, lower=low, upper=high)
    value = mean_loss(design, y, weight)
    slow = minimize(
        value,
        np.clip(np.zeros(3), low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=box,
        options={"gtol": 1e-11, "ftol": 1e-16, "maxiter": 5000},
    )
    assert value(fit.coef)[0] <= slow.fun + 1e-10
    assert fit.converged


def test_fit_logistic_starts_anywhere():
    design, y, weight, offset = make_rows(0)
    cold = fit_logistic(design, y, weight, offset=offset)
    warm = fit_logistic(design, y, weight, offset=offset, start=cold.coef + 1e-3)
    far = fit_logistic(design, y, weight, offset=offset, start=np.full(3, 15.0))
    assert warm.n_iter <= cold.n_iter
    assert_allclose(warm.coef, cold.coef, atol=1e-9)
    assert_allclose(far.coef, cold.coef, atol=1e-9)


def test_fit_logistic_takes_any_hessian_for_the_first_step():
    design, y, weight, offset = make_rows(0, n=4000)
    cold = fit_logistic(design, y, weight, offset=offset)
    again = fit_logistic(
        design, y, weight, offset=offset, start=cold.coef, hessian=cold.hessian
    )
    assert again.converged
    assert again.n_iter == 1
    # Rows left out and scaled up, as in a fold.
    kept = weight * (np.arange(4000) % 10 > 0) / 0.9
    fold = fit_logistic(design, y, kept, offset=offset)
    for hessian in (cold.hessian, np.eye(3), 1e-6 * np.eye(3), 1e6 * np.eye(3)):
        warm = fit_logistic(
            design, y, kept, offset=offset, start=cold.coef, hessian=hessian
        )
        assert warm.converged
        assert_allclose(warm.coef, fold.coef, atol=1e-11)


def test_sigmoid_over_the_whole_range():
    eta = np.array([-np.inf, -1000.0, -40.0, -1e-20, 0.0, 3.0, 40.0, 1000.0, np.inf])
    assert_allclose(sigmoid(eta), expit(eta), rtol=1e-15)
    assert np.isnan(sigmoid(np.array([np.nan])))[0]


def test_fit_logistic_minimum_norm_for_a_repeated_column():
    design, y, weight, _ = make_rows(1)
    once = fit_logistic(design, y, weight)
    twice = fit_logistic(design[:, [0, 1, 2, 2]], y, weight)
    assert_allclose(twice.coef[:2], once.coef[:2], atol=1e-9)
    assert_allclose(twice.coef[2:], once.coef[2] / 2, atol=1e-9)


def test_fit_logistic_without_columns_and_with_a_zero_column():
    design, y, weight, _ = make_rows(2)
    assert fit_logistic(design[:, :0], y, weight).converged
    once = fit_logistic(design, y, weight)
    padded = fit_logistic(np.hstack([design, np.zeros((len(y), 1))]), y, weight)
    assert_allclose(padded.coef, [*once.coef, 0.0], atol=1e-9)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.floats(-9, 9), st.floats(-8, 8))
def test_fit_logistic_does_not_see_units(seed, weight_power, column_power):
    design, y, weight, offset = make_rows(seed, n=120)
    once = fit_logistic(design, y, weight, offset=offset)
    units = np.array([1.0, 10.0**column_power, 1.0])
    again = fit_logistic(design * units, y, weight * 10.0**weight_power, offset=offset)
    assert_allclose(again.coef * units, once.coef, atol=1e-7)


@pytest.mark.parametrize("hit", [False, True])
def test_separation_is_not_called_convergence(hit):
    x = np.array([-2.0, -1.0, 0.5, 3.0])[:, None]
    y = (x[:, 0] > 0).astype(float)
    upper = np.array([20.0]) if hit else None
    fit = fit_logistic(x, y, np.ones(4), upper=upper)
    assert fit.at_bound[0] if hit else not fit.converged


def test_log_loss_terms():
    y, eta = np.array([0.0, 0.3, 1.0]), np.array([-800.0, 0.2, 800.0])
    p = expit(0.2)
    expected = [0, -0.3 * np.log(p) - 0.7 * np.log1p(-p), 0]
    assert_allclose(log_loss_terms(y, eta), expected, atol=1e-15)


# ----------------------------------------------------------------------------- linalg
@pytest.mark.parametrize("rank", [1, 3, 5])
def test_symmetric_solver_is_the_pseudo_inverse(rank, rng):
    factor = rng.normal(size=(5, rank))
    # Unit diagonal, where its norm is the plain one.
    factor /= np.linalg.norm(factor, axis=1, keepdims=True)
    matrix = factor @ factor.T
    solver = SymmetricSolver.factorise(matrix)
    expected = np.linalg.pinv(matrix, hermitian=True, rcond=1e-10)
    assert solver.rank == rank
    assert_allclose(solver.inverse(), expected, atol=1e-8)
    right = matrix @ rng.normal(size=(5, 2))
    assert_allclose(solver.solve(right), expected @ right, atol=1e-8)
    assert_allclose(matrix @ solver.solve(right), right, atol=1e-8)


def test_symmetric_solver_does_not_see_units(rng):
    factor = rng.normal(size=(6, 4))
    matrix = factor.T @ factor
    units = np.array([1e-8, 1.0, 1e8, 1e3])
    inverse = SymmetricSolver.factorise(matrix * np.outer(units, units)).inverse()
    assert_allclose(
        inverse * np.outer(units, units), np.linalg.inv(matrix), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("size", [0, 1, 3])
def test_symmetric_solver_of_nothing(size):
    solver = SymmetricSolver.factorise(np.zeros((size, size)))
    assert solver.rank == 0
    assert_allclose(solver.solve(np.ones(size)), np.zeros(size))


@pytest.mark.parametrize("n", [1, 2, 3, 20])
def test_zero_sum_basis(n):
    basis = zero_sum_basis(n)
    assert basis.shape == (n, n - 1)
    assert_allclose(basis.sum(axis=0), 0, atol=1e-12)
    assert_allclose(basis.T @ basis, np.eye(n - 1), atol=1e-12)
    assert_allclose(basis @ basis.T, np.eye(n) - 1 / n, atol=1e-12)


# -------------------------------------------------------------------------------- btl
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
    assert_allclose(counts.meat(scores), rows.T @ rows, atol=1e-12)
    assert_allclose(counts.wins.sum(), weight.sum())


def test_fit_scores_degenerate():
    scores, converged, _ = fit_scores(np.zeros((3, 3)))
    assert converged
    assert_allclose(scores, 0)
    scores, converged, _ = fit_scores(np.array([[0.0, 2.0], [1.0, 0.0]]))
    assert_allclose(scores, [np.log(2) / 2, -np.log(2) / 2], atol=1e-12)


def test_connectivity():
    wins = np.zeros((5, 5))
    wins[0, 1] = wins[1, 2] = wins[2, 0] = 1.0
    wins[3, 4] = 0.5
    graph = describe_connectivity(wins, np.array(list("abcde"), dtype=object))
    assert graph.components == (("a", "b", "c"), ("d", "e"))
    assert graph.strong_components[0] == ("a", "b", "c")
    assert len(graph.strong_components) == 3
    assert graph.never_won == ("e",)
    assert graph.never_lost == ("d",)
    assert not graph.is_connected and not graph.is_strongly_connected


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
    found = (counts.weight, counts.first, *counts.squares)
    wanted = (weight, weight * y, square, square * y, square * y**2)
    for table, values in zip(found, wanted, strict=True):
        sums = pair_sums(left, right, np.broadcast_to(values, n), size)
        np.fill_diagonal(sums, 0.0)
        assert_allclose(table, sums, rtol=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_solve_zero_sum(alpha):
    rng = np.random.default_rng(0)
    matrix = laplacian(rng.exponential(size=(6, 6))) + alpha * np.eye(6)
    right = rng.normal(size=6)
    right -= right.mean()
    assert_allclose(
        solve_zero_sum(matrix, right), np.linalg.pinv(matrix) @ right, atol=1e-12
    )
    # Two groups without a game between them have no common scale.
    apart = np.kron(np.eye(2), laplacian(rng.exponential(size=(3, 3))))
    right = apart @ rng.normal(size=6)
    found = solve_zero_sum(apart, right)
    assert_allclose(apart @ found, right, atol=1e-10)
    assert abs(found.sum()) < 1e-12


def test_columns_are_their_blocks_side_by_side():
    rng = np.random.default_rng(0)
    blocks = [rng.normal(size=(7, width)) for width in (1, 0, 3)]
    columns, whole = Columns(*blocks), np.hstack(blocks)
    coef, weight = rng.normal(size=4), rng.normal(size=7)
    assert columns.shape == whole.shape
    assert_allclose(columns.dot(coef), whole @ coef)
    assert_allclose(columns.sums(weight), weight @ whole)
    assert_allclose(columns.scaled(weight), whole * weight[:, None])
    assert Columns(np.empty((7, 0))).dot(np.empty(0)).tolist() == [0.0] * 7


# ------------------------------------------------------------------------------ ridge
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
