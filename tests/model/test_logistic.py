"""Logistic fits against a general-purpose optimiser."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit

from skanchor._model.logistic import fit_logistic
from skanchor._model.sources import sigmoid


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


@pytest.mark.parametrize(("seed", "with_offset"), [(0, False), (1, True)])
@pytest.mark.parametrize("penalty", [0.0, [0.0, 0.3, 2.0]])
@pytest.mark.parametrize("bounds", [None, (-0.2, 0.3), (0.0, 20.0)])
def test_fit_logistic_matches_scipy(seed, with_offset, penalty, bounds):
    design, y, weight, offset = make_rows(seed)
    offset = offset if with_offset else 0.0
    penalty = np.array(penalty)
    low, high = bounds or (-np.inf, np.inf)
    fit = fit_logistic(
        design,
        y,
        weight,
        offset=offset,
        penalty=penalty,
        bounds=(np.full(3, low), np.full(3, high)),
    )
    value = mean_loss(design, y, weight, offset, penalty)
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


@pytest.mark.parametrize("hit", [False, True])
def test_separation_is_not_called_convergence(hit):
    x = np.array([-2.0, -1.0, 0.5, 3.0])[:, None]
    y = (x[:, 0] > 0).astype(float)
    upper = 20.0 if hit else np.inf
    fit = fit_logistic(x, y, np.ones(4), bounds=(-np.inf, upper))
    assert fit.at_bound[0] if hit else not fit.converged
