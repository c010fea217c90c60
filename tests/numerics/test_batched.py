"""Batched solvers against the solvers of single fits."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from skanchor._comparisons import Comparisons
from skanchor._numerics.batched import (
    Workspace,
    fit_judge,
    fit_scores_on_cells,
    newton,
)
from skanchor._numerics.btl import fit_scores
from skanchor._numerics.logistic import fit_logistic
from skanchor._refits import CellSums, Layout
from skanchor.sample import Sample
from skanchor.simulation import simulate_battles


def test_newton_squares_the_error_and_leaves_what_does_not_converge():
    target = np.array([[1.0], [np.nan], [0.3]])

    def equations(x, at):
        return np.sinh(x - target[at]), np.cosh(x - target[at])[..., None]

    x, converged = newton(equations, np.zeros((3, 1)), tol=1e-14)
    assert converged.tolist() == [True, False, True]
    assert_allclose(x[[0, 2]], target[[0, 2]], atol=1e-10)
    # A singular replicate does not spoil the others.
    # Nor does one that is not finite, beside it.
    slope = np.array([1.0, 0.0, np.nan, 1.0])

    def singular(x, at):
        return slope[at, None] * (x - 2.0), slope[at, None, None] * np.ones((1, 1, 1))

    for chosen in ([0, 1], [0, 1, 2, 3]):
        x, converged = newton(singular, np.zeros((len(chosen), 1)), tol=1e-14)
        assert converged.tolist() == [k in (0, 3) for k in chosen]
        assert_allclose(x[converged], 2.0)
    assert x[0, 0] == pytest.approx(2.0)


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("n_columns", [0, 1, 3])
def test_fit_judge_is_logistic_regression(rng, n_columns, begun):
    n, replicates = 400, 5
    delta = rng.normal(size=n) + 0.1 * rng.normal(size=(replicates, n))
    columns = rng.normal(size=(n, n_columns))
    y = (rng.random(n) < expit(delta[0] + columns.sum(axis=1))).astype(float)
    weight = rng.integers(0, 3, size=(replicates, n)).astype(float)
    ridge = rng.random((replicates, n_columns))
    coef, converged = fit_judge(
        delta, columns, weight, weight * y, np.ones(1 + n_columns) * 0.9,
        start_delta=delta[0] if begun else None, ridge=ridge, tol=1e-16,
    )  # fmt: skip
    assert converged.all()
    for r in range(replicates):
        single = fit_logistic(
            np.column_stack([delta[r], columns]),
            y,
            weight[r],
            penalty=np.append(0.0, ridge[r]),
        )
        assert_allclose(coef[r], single.coef, atol=1e-7)


def test_separated_replicates_are_reported():
    delta = np.array([[1.0, -1.0, 2.0], [1.0, -1.0, 2.0]])
    first = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    _, converged = fit_judge(
        delta, np.empty((3, 0)), np.ones((2, 3)), first, np.zeros(1), tol=1e-8
    )
    assert converged.tolist() == [False, True]


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_scores_on_cells_are_btl_scores(rng, alpha):
    data = simulate_battles(1500, 10, n_models=5, random_state=0)
    X = Comparisons.from_battles(data.X, new_models=["new-model"])
    weights = rng.integers(0, 3, size=(4, len(X))).astype(float)
    cells = CellSums.of(Layout(Sample.admit(X, data.y)), weights)
    votes = cells.human
    # The sums over alike rows lose nothing.
    human = (data.X.judge == "human").to_numpy()
    assert_allclose(votes.weight.sum(axis=1), weights[:, human].sum(axis=1))
    assert len(votes.left) <= 20
    found, converged = fit_scores_on_cells(
        votes.incidence[:, :5], votes.weight, votes.first, np.zeros(5), alpha=alpha,
        tol=1e-16,
    )  # fmt: skip
    assert converged.all()
    _, wins = votes.tables()
    for r in range(4):
        single, _, _ = fit_scores(wins[r][:5, :5], alpha=alpha, tol=1e-13)
        assert_allclose(found[r], single, atol=1e-8)


def test_workspace_gives_the_same_memory_again_and_travels_empty():
    work = Workspace()
    one = work.take("a", (3, 4))
    assert np.shares_memory(one, work.take("a", (2, 2)))
    assert not np.shares_memory(one, work.take("b", (3, 4)))
    assert pickle.loads(pickle.dumps(work)).take("a", (1,)).shape == (1,)
