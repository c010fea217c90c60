"""Matrices of judges' blocks against the same matrices in one piece."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor._numerics.arrow import among, factorised, restricted
from skanchor._numerics.arrow_information import ArrowSums, DenseSums, effect_spread
from skanchor._numerics.linalg import (
    SymmetricSolver,
    common_factor,
    standardised,
    zero_sum_basis,
)
from skanchor._numerics.parameters import PEOPLE, Parameters, selectors

WIDTHS = (2, 0, 3, 1, 1)
N_ITEMS, N_JUDGES = 4, len(WIDTHS)


def covariance(rng):
    """One correlation of all pairs, but for the sign of the third judge."""
    scale = rng.uniform(0.2, 1.0, N_JUDGES)
    signed = scale * np.where(np.arange(N_JUDGES) == 2, -1.0, 1.0)
    found = 0.4 * np.outer(signed, signed)
    np.fill_diagonal(found, scale**2)
    return found


def both(seed=0, *, deviations=True, symmetric=True, prior=0.0, n_rows=30):
    """The same information by blocks and dense, and the layout and factor."""
    rng = np.random.default_rng(seed)
    items = selectors(np.arange(N_ITEMS) == 3, zero_sum_basis(N_ITEMS - 1))
    factor = common_factor(covariance(rng)) if deviations else None
    layout = Parameters(
        items,
        N_JUDGES,
        (True,) * N_JUDGES,
        WIDTHS,
        deviations,
        human_width=2,
        n_effects=N_JUDGES + 1,
    )
    slopes = rng.uniform(-1.0, 2.0, N_JUDGES)
    sums = [kind(layout, slopes, factor) for kind in (ArrowSums, DenseSums)]
    for m in (PEOPLE, *range(N_JUDGES)):
        width = N_ITEMS + 2 + (2 if m == PEOPLE else WIDTHS[m])
        columns = rng.normal(size=(n_rows, width))
        if m == PEOPLE:
            columns[:, N_ITEMS : N_ITEMS + 2] = 0.0
        gram = columns.T @ columns
        if not symmetric and m != PEOPLE:
            gram += rng.normal(size=gram.shape)
        for one in sums:
            one.add(m, gram)
    arrow, dense = (one.matrix() for one in sums)
    diagonal = np.zeros(layout.size)
    diagonal[layout.at["deviation"]] = prior
    return arrow.plus_diagonal(diagonal), dense + np.diag(diagonal), layout, factor


@pytest.mark.parametrize("deviations", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
def test_products_are_those_of_the_dense_matrix(deviations, symmetric):
    arrow, dense, _, _ = both(deviations=deviations, symmetric=symmetric)
    x = np.random.default_rng(1).normal(size=(arrow.size, 3))
    assert_allclose(arrow @ x, dense @ x, atol=1e-11)
    assert_allclose(arrow.T @ x[:, 0], dense.T @ x[:, 0], atol=1e-11)
    assert_allclose(arrow.dense(), dense, atol=1e-11)


@pytest.mark.parametrize("deviations", [False, True])
def test_solutions_are_those_of_the_dense_matrix(deviations):
    arrow, dense, _, _ = both(deviations=deviations, prior=1.0)
    rng = np.random.default_rng(1)
    x, chosen = rng.normal(size=(arrow.size, 3)), rng.random(arrow.size) < 0.7
    assert_allclose(factorised(arrow).solve(x), np.linalg.solve(dense, x), atol=1e-11)
    assert np.isfinite(factorised(arrow).condition)
    part, own = restricted(arrow, chosen), dense[np.ix_(chosen, chosen)]
    expected = np.linalg.solve(own, x[chosen])
    assert_allclose(part.factorise().solve(x[chosen]), expected, atol=1e-11)
    assert_allclose(among(part, chosen).dense(), among(own, chosen), atol=1e-11)
    taken = dense[np.ix_(chosen, ~chosen)]
    # Shared parameters that are profiled out appear with no block: people's bias.
    chosen = np.ones(arrow.size, dtype=bool)
    chosen[both()[2].at["bias"]] = False
    own, taken = dense[np.ix_(chosen, chosen)], dense[np.ix_(chosen, ~chosen)]
    rest = dense[np.ix_(~chosen, ~chosen)]
    expected = own - taken @ np.linalg.solve(rest, taken.T)
    assert_allclose(arrow.profiled(~chosen).dense(), expected, atol=1e-10)


def test_the_rank_is_that_of_the_dense_matrix():
    """With two rows of each judge and no prior, few directions are seen."""
    arrow, dense, layout, _ = both(n_rows=2)
    solver = arrow.factorise()
    assert not np.isfinite(solver.condition) and solver.least_eigenvalue == 0.0
    # What is determined is solved for, and what is not stays off.
    rng = np.random.default_rng(1)
    inside = dense @ rng.normal(size=(arrow.size, 3))
    assert_allclose(dense @ solver.solve(inside), inside, atol=1e-8)
    targets = np.zeros((layout.size, N_ITEMS))
    targets[layout.at["scores"]] = layout.items.T
    known = SymmetricSolver.factorise(dense)
    missed, expected = (
        np.abs(dense @ one.solve(targets) - targets).max(axis=0) > 1e-5
        for one in (solver, known)
    )
    assert (missed == expected).all() and missed.any()


def test_a_parameter_that_no_row_sees_stays_at_zero():
    arrow, _, layout, _ = both(prior=1.0)
    at = layout.at["position"].start + 1
    keep = np.arange(arrow.size) != at
    blind = among(restricted(arrow, keep), keep)
    x = np.random.default_rng(1).normal(size=arrow.size)
    found = blind.factorise().solve(x)
    assert found[at] == 0.0
    expected = restricted(arrow, keep).factorise().solve(x[keep])
    assert_allclose(found[keep], expected, atol=1e-11)
    assert not np.isfinite(blind.factorise().condition)
    assert blind.factorise().least_eigenvalue > 0.0


def test_the_least_eigenvalue_is_a_lower_bound():
    arrow, dense, _, _ = both(prior=1.0)
    unit = arrow.at_unit_diagonal()
    scale = np.sqrt(dense.diagonal())
    assert_allclose(unit.dense(), dense / np.outer(scale, scale), atol=1e-12)
    values = np.linalg.eigvalsh(unit.dense())
    bound = unit.factorise().least_eigenvalue
    assert_allclose(bound, 1.0 / np.sum(1.0 / values), rtol=1e-10)
    assert 0.0 < bound <= values[0]


def test_covariances_of_the_item_effects():
    arrow, dense, layout, factor = both(prior=1.0)
    own, root = effect_spread(arrow.factorise(), layout, factor)
    inverse = np.linalg.inv(dense)
    for i in range(N_ITEMS):
        at = [layout.effects(k)[i] for k in range(N_JUDGES + 1)]
        expected = factor @ inverse[np.ix_(at, at)] @ factor.T
        found = root[:, i] @ root[:, i].T + np.diag(own[:, i])
        assert_allclose(found, expected, atol=1e-12)


def test_a_common_correlation_is_seen():
    rng = np.random.default_rng(0)
    known = covariance(rng)
    factor = common_factor(known)
    assert factor.shape == (N_JUDGES, N_JUDGES + 1)
    assert_allclose(factor @ factor.T, known, atol=1e-15)
    u = rng.normal(size=(N_JUDGES, 3))
    assert_allclose(standardised(factor, u), np.linalg.pinv(factor) @ u, atol=1e-12)
    other = known.copy()
    other[0, 1] = other[1, 0] = other[0, 1] + 1e-6
    assert common_factor(other) is None
    # Judges without a variance have no part in it.
    known[1] = known[:, 1] = 0.0
    factor = common_factor(known)
    assert_allclose(factor @ factor.T, known, atol=1e-15)
    found = standardised(factor, u)
    assert_allclose(found, np.linalg.pinv(factor) @ u, atol=1e-12)
    assert common_factor(np.full((3, 3), -0.4) + 1.4 * np.eye(3)) is None
