"""Small systems against dense algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor._numerics import linalg
from skanchor._numerics.linalg import (
    Columns,
    SymmetricSolver,
    covariance_factor,
    semidefinite_root,
    standardised,
    zero_sum_basis,
)


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


def information(rng, n, rows, taken=1):
    """Of scores from rows, beside columns of their own that are profiled out."""
    left = rng.integers(0, n - 1, rows)
    right = (left + rng.integers(1, n - 1, rows)) % (n - 1)
    design = np.eye(n)[left] - np.eye(n)[right]
    design = design * rng.uniform(0.1, 0.5, rows)[:, None]
    columns = design @ rng.normal(size=(n, taken))
    return design.T @ (design - columns @ np.linalg.lstsq(columns, design)[0])


@pytest.mark.parametrize(("n", "rows", "missing"), [(30, 200, 3), (30, 12, None)])
def test_short_rank_by_the_null_space_equals_that_by_eigenvalues(
    n, rows, missing, rng, monkeypatch
):
    """The last model has no row, one more is the mean, one the column taken out."""
    monkeypatch.setattr(linalg, "_LARGE", 0)
    matrix = information(rng, n, rows)
    units = rng.uniform(0.1, 10.0, n)
    matrix *= np.outer(units, units)
    found = SymmetricSolver.factorise(matrix)
    plain = np.linalg.eigvalsh(matrix)
    assert found.rank == np.sum(plain > 1e-11 * plain[-1])
    assert missing is None or found.rank == n - missing
    asked = []
    eigh = np.linalg.eigh
    monkeypatch.setattr(linalg, "_short_rank_root", lambda *_: None)
    monkeypatch.setattr(np.linalg, "eigh", lambda a: asked.append(a) or eigh(a))
    by_values = SymmetricSolver.factorise(matrix)
    assert len(asked) == 1
    assert by_values.rank == found.rank
    largest = np.abs(by_values.inverse()).max()
    assert_allclose(found.inverse(), by_values.inverse(), atol=1e-11 * largest)


def test_a_rank_in_doubt_is_left_to_eigenvalues(rng, monkeypatch):
    monkeypatch.setattr(linalg, "_LARGE", 0)
    basis = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    doubtful = (basis * [1.0, 1.0, 0.5, 0.2, 1e-10, 1e-14]) @ basis.T
    asked = []
    eigh = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda a: asked.append(a) or eigh(a))
    assert SymmetricSolver.factorise(doubtful).rank == 5
    assert len(asked) == 1


@pytest.mark.parametrize("rank", [0, 1, 4, 6])
def test_semidefinite_root(rank, rng):
    factor = rng.normal(size=(6, rank))
    root = semidefinite_root(factor @ factor.T)
    assert root.shape == (6, rank)
    assert_allclose(root @ root.T, factor @ factor.T, atol=1e-12)


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


@pytest.mark.parametrize("rank", [3, 2])
def test_standardised_deviations_are_those_of_least_squares(rank):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, rank))
    factor = covariance_factor(root @ root.T).copy()
    u = rng.normal(size=(3, 5))
    if rank < 3:
        # What rounding leaves of a factor is none.
        factor[:, np.argmin(np.abs(factor).sum(axis=0))] *= 1e-12
    expected = np.linalg.lstsq(factor, u, rcond=None)[0]
    assert_allclose(standardised(factor, u), expected, atol=1e-10)
