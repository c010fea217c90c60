"""The Newton loop on problems whose minimum is known or found by another solver."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit

from skanchor._numerics.logistic import fit_logistic
from skanchor._numerics.newton import Tolerance, minimise


class Smooth:
    """A problem from three functions, whose coefficients are its logits.

    It counts the Hessians and the losses that the loop asks for.
    """

    def __init__(self, loss, gradient, hessian):
        self.functions = loss, gradient, hessian
        self.n_hessians = self.n_losses = 0

    def at(self, coef, since=None):
        change = 0.0 if since is None else np.abs(coef - since.coef).max(initial=0.0)
        return SmoothPoint(self, coef, change)

    def step(self, point, gradient, curvature):
        return -curvature.solver.solve(gradient)

    def diverges(self, point, decrement):
        return np.abs(point.coef).max() > 1e3


@dataclass
class SmoothPoint:
    problem: Smooth
    coef: np.ndarray
    change: float
    is_cut = False

    def loss(self):
        self.problem.n_losses += 1
        return self.problem.functions[0](self.coef)

    def gradient(self):
        return self.problem.functions[1](self.coef)

    def hessian(self):
        self.problem.n_hessians += 1
        return self.problem.functions[2](self.coef)


def quadratic(matrix, target):
    return Smooth(
        lambda x: 0.5 * x @ matrix @ x - target @ x,
        lambda x: matrix @ x - target,
        lambda x: matrix,
    )


def log_cosh(shift):
    """Nearly linear far from its minimum, where whole Newton steps fly off."""
    return Smooth(
        lambda x: np.logaddexp(x - shift, shift - x).sum(),
        lambda x: np.tanh(x - shift),
        lambda x: np.diag(1.0 / np.cosh(x - shift) ** 2),
    )


def logistic_rows(seed, n=120, d=3):
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(n, d))
    y = rng.choice([0.0, 0.5, 1.0], n)
    return design, y, rng.exponential(size=n) + 0.01


def logistic(seed):
    design, y, weight = logistic_rows(seed)
    weight = weight / weight.sum()

    def loss(x):
        eta = design @ x
        return weight @ (np.logaddexp(0, eta) - y * eta)

    def gradient(x):
        return design.T @ (weight * (expit(design @ x) - y))

    def hessian(x):
        p = expit(design @ x)
        return design.T @ (design * (weight * p * (1 - p))[:, None])

    return Smooth(loss, gradient, hessian)


@pytest.mark.parametrize(
    "tolerance",
    [Tolerance(change=1e-10), Tolerance(decrement=1e9), Tolerance(error=1e-10)],
)
def test_quadratic_in_one_step(rng, tolerance):
    root = rng.normal(size=(4, 6))
    matrix, target = root @ root.T, rng.normal(size=4)
    problem = quadratic(matrix, target)
    found = minimise(problem, np.zeros(4), tolerance)
    assert found.converged
    assert_allclose(found.coef, np.linalg.solve(matrix, target), atol=1e-10)
    # Short steps show only at a second one.
    assert found.n_iter == (1 if tolerance.decrement else 2)
    assert_allclose(found.hessian, matrix)


def test_a_last_step_is_not_looked_at():
    problem = quadratic(np.eye(2), np.array([3.0, 0.0]))
    found = minimise(problem, np.zeros(2), Tolerance(decrement=9.0))
    assert_allclose(found.coef, [3.0, 0.0])
    assert found.decrement == 9.0
    assert problem.n_losses == 0


def test_start_at_the_minimum_and_no_coefficients():
    problem = quadratic(np.eye(2), np.zeros(2))
    found = minimise(problem, np.zeros(2), Tolerance(change=1e-12))
    assert found.converged
    assert (found.n_iter, problem.n_losses) == (1, 0)
    empty = minimise(quadratic(np.eye(0), np.zeros(0)), np.zeros(0), Tolerance())
    assert empty.converged
    assert empty.coef.size == 0


def test_halving_where_whole_steps_fly_off():
    shift = np.array([2.5, -3.0])
    problem = log_cosh(shift)
    whole = -np.sinh(-shift) * np.cosh(-shift)
    assert np.abs(whole).min() > 30.0
    found = minimise(problem, np.zeros(2), Tolerance(change=1e-10))
    assert found.converged
    assert_allclose(found.coef, shift, atol=1e-9)
    assert problem.n_losses > 0


def test_a_saddle_is_left_along_a_semi_definite_curvature():
    # Two wells beside a saddle; the curvature is only what is certain to be positive.
    def loss(x):
        return 0.25 * (x[0] ** 2 - 1.0) ** 2 + 0.5 * x[1] ** 2

    problem = Smooth(
        loss,
        lambda x: np.array([x[0] * (x[0] ** 2 - 1.0), x[1]]),
        lambda x: np.diag([max(3.0 * x[0] ** 2 - 1.0, 0.02), 1.0]),
    )
    # A whole first step goes from 0.2 to 9.8, where the loss is far higher.
    start = np.array([0.2, 1.5])
    found = minimise(problem, start, Tolerance(change=1e-10))
    assert found.converged
    assert_allclose(found.coef, [1.0, 0.0], atol=1e-9)
    assert problem.n_losses > 1


def test_no_way_down_ends_the_fit():
    """A loss that its gradient does not belong to: halved steps never lower it."""
    problem = Smooth(
        lambda x: float(x[0]), lambda x: -np.full(1, 1e10), lambda x: np.eye(1)
    )
    found = minimise(problem, np.zeros(1), Tolerance(decrement=1e-12))
    assert not found.converged and found.n_iter == 1
    assert found.coef == [0.0]


def test_a_loss_without_minimum_is_given_up():
    problem = Smooth(
        lambda x: np.exp(-x).sum(), lambda x: -np.exp(-x), lambda x: np.diag(np.exp(-x))
    )
    problem.diverges = lambda point, decrement: point.coef.max() > 20.0
    found = minimise(problem, np.zeros(1), Tolerance(error=1e-12))
    assert not found.converged
    assert 20.0 < found.coef[0] < 22.0


@pytest.mark.parametrize("hit", [False, True])
def test_separated_data_stop_at_the_bound(hit):
    x = np.array([-2.0, -1.0, 0.5, 3.0])[:, None]
    y = (x[:, 0] > 0).astype(float)
    upper = np.array([5.0]) if hit else None
    fit = fit_logistic(x, y, np.ones(4), upper=upper)
    assert fit.converged == hit
    assert fit.at_bound[0] == hit
    if hit:
        assert fit.coef[0] == 5.0


@pytest.mark.parametrize("seed", range(3))
def test_a_stale_hessian_reaches_the_same_optimum(seed):
    fresh, stale = logistic(seed), logistic(seed)
    wanted = minimise(fresh, np.zeros(3), Tolerance(change=1e-13))
    found = minimise(stale, np.zeros(3), Tolerance(change=1e-13, drift=0.5))
    assert wanted.converged
    assert found.converged
    assert_allclose(found.coef, wanted.coef, atol=1e-11)
    assert stale.n_hessians < fresh.n_hessians


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_lent_hessian_serves_one_step(scale):
    problem = logistic(0)
    wanted = minimise(problem, np.zeros(3), Tolerance(error=1e-12))
    problem.n_hessians = 0
    found = minimise(
        problem,
        wanted.coef + 0.01,
        Tolerance(error=1e-12, drift=np.finfo(float).max),
        hessian=scale * wanted.hessian,
    )
    assert found.converged
    assert problem.n_hessians == 1
    assert_allclose(found.coef, wanted.coef, atol=1e-10)


def test_most_steps():
    found = minimise(logistic(0), np.zeros(3), Tolerance(change=1e-12), max_iter=1)
    assert (found.converged, found.n_iter) == (False, 1)
    none = minimise(logistic(0), np.ones(3), Tolerance(), max_iter=0)
    assert_allclose(none.coef, 1.0)
    assert none.decrement == np.inf


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.floats(0.0, 2.0), st.floats(0.0, 1.0))
def test_agrees_with_scipy_on_logistic_problems(seed, far, drift):
    problem = logistic(seed)
    loss, gradient, hessian = problem.functions
    start = far * np.random.default_rng(seed).normal(size=3)
    slow = minimize(
        loss,
        np.zeros(3),
        jac=gradient,
        hess=hessian,
        method="trust-exact",
        options={"gtol": 1e-11},
    )
    found = minimise(problem, start, Tolerance(change=1e-12, drift=drift))
    assert found.converged
    assert_allclose(found.coef, slow.x, atol=1e-8)
    fit = fit_logistic(*logistic_rows(seed), start=start)
    assert_allclose(fit.coef, slow.x, atol=1e-8)


def test_a_way_of_short_steps_is_given_up_where_that_is_asked_for():
    """A Hessian a thousand times too small, as of rows that are sure of themselves."""

    def problem():
        bowl = quadratic(np.eye(2), np.zeros(2))
        loss, gradient, _ = bowl.functions
        return Smooth(loss, gradient, lambda x: 1e-3 * np.eye(2))

    start = np.array([900.0, -400.0])
    patient = minimise(problem(), start, Tolerance(decrement=1e-8), max_iter=20)
    assert patient.n_iter == 20
    found = minimise(problem(), start, Tolerance(decrement=1e-8, short_steps=2))
    assert not found.converged and found.n_iter == 2
    # It stands where the last step led, below where it began.
    assert np.abs(found.coef).max() < np.abs(start).max()
    # Whole steps are never counted.
    plain = quadratic(np.diag([1.0, 4.0]), np.ones(2))
    whole = minimise(plain, start, Tolerance(decrement=1e-8, short_steps=1))
    assert whole.converged


def test_the_search_begins_at_the_last_short_length():
    """Hessians are a million times too small, so that all steps are short."""
    bowl = quadratic(np.diag([1.0, 0.01]), np.zeros(2))
    loss, gradient, _ = bowl.functions
    steep = Smooth(loss, gradient, lambda x: 2.0**-20 * np.eye(2))
    found = minimise(steep, np.array([900.0, -400.0]), Tolerance(), max_iter=8)
    assert found.n_iter == 8
    # Each trial asks for two losses: some twenty halvings of the first step, and three
    # trials of each of the others.
    assert steep.n_losses <= 2 * (21 + 7 * 3)


def test_short_steps_count_in_succession_alone():
    """Every other Hessian is a thousand times too small, the others twice too large."""
    bowl = quadratic(np.eye(2), np.zeros(2))
    loss, gradient, _ = bowl.functions
    sizes = iter([1e-3, 2.0] * 50)
    mixed = Smooth(loss, gradient, lambda x: next(sizes) * np.eye(2))
    found = minimise(
        mixed, np.array([900.0, -400.0]), Tolerance(decrement=200.0, short_steps=2)
    )
    assert found.converged and found.n_iter > 4
