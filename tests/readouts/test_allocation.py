"""The best allocation of a budget, its certificate, and whole numbers of rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from skanchor.readouts._design import allocate, round_to_budget


def problem(seed, n_kinds=8, size=5):
    """A variance l'(M + sum n_q x_q x_q')^-1 l, with costs of its rows."""
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((n_kinds, size))
    matrix = np.diag(rng.uniform(5.0, 20.0, size))
    target = rng.standard_normal((size, 2))
    costs = rng.uniform(0.5, 2.0, n_kinds)

    def solve(rows):
        return np.linalg.solve(matrix + columns.T @ (rows[:, None] * columns), target)

    def value(weights):
        return float(np.einsum("ij,ij->", target, weights))

    def gains(weights):
        return ((columns @ weights) ** 2).sum(axis=1)

    return solve, target, value, gains, costs


def constrained(solve, value, costs, budget, group, floor):
    """Least variance by a general solver, from several starts."""
    judges = np.unique(group[group >= 0])
    rules = [{"type": "eq", "fun": lambda s: s.sum() - budget}]
    for code in judges:
        rules.append(
            {
                "type": "ineq",
                "fun": lambda s, code=code: (
                    s[group == code].sum() - floor * s[group >= 0].sum()
                ),
            }
        )
    best = np.inf
    for start in (
        np.full(len(costs), budget / len(costs)),
        *budget * np.eye(len(costs)),
    ):
        found = minimize(
            lambda s: value(solve(s / costs)), start, bounds=[(0, None)] * len(costs),
            constraints=rules, method="SLSQP", options={"maxiter": 500, "ftol": 1e-12},
        )  # fmt: skip
        if found.success:
            best = min(best, found.fun)
    return best


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("floor", [0.0, 0.2])
def test_the_best_allocation(seed, floor):
    solve, target, value, gains, costs = problem(seed)
    budget, group = 20.0, np.array([-1, -1, 0, 0, 0, 1, 1, 1])
    settings = solve, target, gains, costs, budget, group, floor
    spend, gap = allocate(*settings, 3e-5)
    best = constrained(solve, value, costs, budget, group, floor)
    assert_allclose(value(solve(spend / costs)), best, rtol=3e-5)
    assert gap <= 3e-5
    spend, gap = allocate(*settings)
    # The gap bounds how far the value is above the least one.
    assert gap <= 1e-3
    assert value(solve(spend / costs)) * (1.0 - gap) <= best * (1 + 1e-9)
    assert_allclose(spend.sum(), budget)
    assert (spend >= -1e-12).all()
    on_judges = spend[group >= 0].sum()
    for code in (0, 1):
        assert spend[group == code].sum() >= floor * on_judges * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_whole_rows_within_the_budget(seed):
    rng = np.random.default_rng(seed)
    costs = rng.choice([0.02, 0.1, 1.0], 9)
    spend = rng.exponential(size=9) * rng.integers(0, 2, 9)
    budget = spend.sum()
    rows = round_to_budget(spend, costs, budget)
    assert rows @ costs <= budget * (1 + 1e-9)
    assert (np.abs(rows - spend / costs) < 1.0 + 1e-9).all()
    # Nothing that has a remainder could still be afforded.
    short = (spend / costs - rows) > 1e-6
    assert (costs[short] > budget - rows @ costs - 1e-9).all()
