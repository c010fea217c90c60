"""The covariance of the deviations where the answer is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from skanchor._numerics.item_covariance import (
    MOST_ROUNDS,
    MOST_STEPS,
    DeviationLikelihood,
    ItemPrior,
    fit_covariance,
    inflation,
)
from skanchor._numerics.item_evidence import ItemEvidence
from skanchor._numerics.shrinkage import Shrinkage, shrink


def noise_free(covariance, n_items, seed):
    """Information and target when the deviations but for line and level are seen."""
    rng = np.random.default_rng(seed)
    n_judges = len(covariance)
    theta = rng.normal(size=n_items)
    fitted = np.linalg.qr(np.column_stack([np.ones(n_items), theta]))[0]
    u = np.linalg.cholesky(covariance) @ rng.normal(size=(n_judges, n_items))
    left = np.eye(n_items) - fitted @ fitted.T
    precise = 1e7
    return (
        np.kron(np.eye(n_judges), precise * left),
        (precise * u @ left).ravel(),
        u @ left,
    )


PRIOR_VARIANCE, PRIOR_ITEMS = 0.09, 0.5


def leaning_to_equal(moments, n_items):
    """Moments of the items and of one more, of equal judges correlated by .3.

    The share of that one fades from four items on.
    """
    size = len(moments)
    equal = np.diag(moments).mean() * (0.7 * np.eye(size) + 0.3)
    share = min(1.0, 16.0 / n_items**2) / (n_items + 1.0)
    return moments + share * (equal - moments)


def test_without_noise_the_covariance_is_that_of_residuals():
    covariance = np.array([[0.09, 0.04], [0.04, 0.25]])
    information, target, residual = noise_free(covariance, 30, 0)
    found, shrinkage, converged = fit_covariance(
        DeviationLikelihood(information, target, np.ones(2)),
        0.05 * np.eye(2),
        Shrinkage(),
        tol=1e-6,
        max_iter=500,
    )
    assert converged
    ratio = np.trace(found) / 2 / PRIOR_VARIANCE
    prior = PRIOR_ITEMS / 2 * (1.0 - ratio) / (1.0 + ratio)
    moments = leaning_to_equal(residual @ residual.T / (28.0 - prior), 28)
    # Two judges share their one correlation: its share changes nothing here.
    assert_allclose(found, shrink(moments, shrinkage), rtol=3e-3)


@pytest.mark.parametrize("error", [0.04, 0.4, 1e9])
def test_a_variance_that_does_not_show_leans_to_its_prior(error):
    """The mode under a log-F prior where the data are exactly without deviations."""
    size = 6
    found, _, converged = fit_covariance(
        DeviationLikelihood(np.eye(size) / error, np.zeros(size), np.ones(1)),
        0.2 * np.eye(1),
        Shrinkage(0.0, 0.0),
        choose=False,
        tol=1e-8,
        max_iter=5000,
    )
    assert converged

    def posterior(log_variance):
        likelihood = -0.5 * size * np.log1p(np.exp(log_variance) / error)
        t = log_variance - np.log(PRIOR_VARIANCE)
        return likelihood + PRIOR_ITEMS * (t / 2.0 - np.log1p(np.exp(t)))

    best = minimize_scalar(
        lambda t: -posterior(t), bounds=(-20.0, 5.0), method="bounded"
    )
    assert_allclose(np.diag(found), np.exp(best.x), rtol=2e-2)


@pytest.mark.parametrize("n_items", [2, 3])
def test_rows_that_show_nothing_leave_the_prior(n_items):
    size = 3 * n_items
    prior = ItemPrior(0.4, 5.0)
    found, _, converged = fit_covariance(
        DeviationLikelihood(np.zeros((size, size)), np.zeros(size), np.ones(3)),
        0.2 * np.eye(3),
        Shrinkage(),
        prior,
        tol=1e-8,
        max_iter=5000,
    )
    assert converged
    assert_allclose(found, 0.16 * (0.7 * np.eye(3) + 0.3), rtol=1e-3)


@pytest.mark.parametrize(("n_judges", "n_items", "seed"), [(12, 5, 2), (12, 5, 5)])
def test_more_judges_than_items_end_at_a_fixed_point(n_judges, n_items, seed):
    """The covariance is that of the posterior moments beside it, joint over items."""
    rng = np.random.default_rng(seed)
    n = n_judges * n_items
    truth = 0.1 * (0.6 + 0.4 * np.eye(n_judges))
    u = np.linalg.cholesky(truth) @ rng.normal(size=(n_judges, n_items))
    rows = np.diag(8.0 * rng.gamma(2.0, 0.5, size=n_judges))
    information = np.kron(rows, np.eye(n_items) - 1.0 / n_items)
    noise = np.linalg.cholesky(information + 1e-9 * np.eye(n)) @ rng.normal(size=n)
    target = information @ u.ravel() + noise
    found, shrinkage, converged = fit_covariance(
        DeviationLikelihood(information, target, np.ones(n_judges)),
        PRIOR_VARIANCE * np.eye(n_judges),
        Shrinkage(),
    )
    assert converged
    # The posterior of all deviations at once, and its moments by pair of judges.
    prior = np.kron(found, np.eye(n_items))
    spread = prior @ np.linalg.inv(np.eye(n) + information @ prior)
    mean = (spread @ target).reshape(n_judges, n_items)
    spread = spread.reshape(n_judges, n_items, n_judges, n_items)
    moments = mean @ mean.T + np.einsum("minj,ij->mn", spread, np.eye(n_items))
    ratio = np.trace(found) / n_judges / PRIOR_VARIANCE
    pull = PRIOR_ITEMS * (1.0 - ratio) / (1.0 + ratio) / n_judges
    shown = 1.0 - np.einsum("mimi->", spread) / (n_items * np.trace(found))
    leaning = Shrinkage(*(
        share / (shown + share * (1.0 - shown)) if share else 0.0
        for share in (shrinkage.own_correlation, shrinkage.own_variance)
    ))  # fmt: skip
    pooled = leaning_to_equal(moments / (n_items - pull), n_items)
    assert_allclose(shrink(pooled, leaning), found, atol=1e-8)


def test_shares_follow_the_data():
    """Judges that are alike are pooled, judges that are not keep their own."""
    shares = {}
    for name, covariance in {
        "alike": 0.09 * (0.4 * np.eye(4) + 0.6),
        "unlike": np.diag([0.01, 0.01, 1.0, 1.0]),
    }.items():
        found = []
        for seed in range(5):
            information, target, _ = noise_free(covariance, 20, seed)
            likelihood = DeviationLikelihood(information, target, np.ones(4))
            _, kept, _ = fit_covariance(likelihood, 0.05 * np.eye(4), Shrinkage())
            found.append(kept.own_variance)
        shares[name] = np.mean(found)
    assert shares["alike"] < 0.65 < 0.9 < shares["unlike"]


def test_inflation_is_that_of_an_estimated_covariance():
    """Weights from a Wishart matrix: mean ratio (n - 1) n / {(n - m)(n - m + 1)}."""
    n, m = 17, 3
    every = np.ones(m, dtype=bool)
    factor, df = inflation(np.eye(m), Shrinkage(1.0, 1.0), np.ones(m), every, n)
    expected = (n - 1) * n / ((n - m) * (n - m + 1))
    assert factor == pytest.approx(expected, rel=0.05)
    assert df == pytest.approx(n - m + 1, rel=0.15)
    # One judge has the weight one, known or not; nothing is chosen.
    assert inflation(np.eye(1), Shrinkage(), np.ones(1), every[:1], n) == (1.0, n)
    alone = np.arange(m) == 1
    factor, df = inflation(np.eye(m), Shrinkage(1.0, 1.0), np.ones(m), alone, n)
    assert factor == pytest.approx(1.0, abs=0.05) and df == pytest.approx(n, rel=0.2)


def test_posterior_is_that_of_each_item_s_evidence():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(12, 9))
    likelihood = DeviationLikelihood(root @ root.T, rng.normal(size=12), np.ones(3))
    covariance = np.array([[0.4, 0.1, 0.0], [0.1, 0.2, -0.1], [0.0, -0.1, 0.3]])
    means, spreads = likelihood.posterior(covariance)
    known = likelihood.evidence(covariance)
    expected = known.posterior(np.linalg.cholesky(covariance))
    assert_allclose(means, expected[0], atol=1e-12)
    assert_allclose(spreads, expected[1], atol=1e-12)
    # Of all deviations together, those of the first item are 0, 4 and 8.
    whole = np.linalg.inv(
        likelihood.information + np.kron(np.linalg.inv(covariance), np.eye(4))
    )
    assert_allclose(spreads[0], whole[np.ix_([0, 4, 8], [0, 4, 8])], atol=1e-12)
    assert_allclose(means[0], (whole @ likelihood.target)[[0, 4, 8]], atol=1e-12)


def test_evidence_that_takes_turns_is_left_in_the_end():
    rng = np.random.default_rng(0)
    turns = []

    class Turning:
        sensitivities = np.ones(3)

        def evidence(self, covariance):
            turns.append(len(turns))
            scale = 40.0 if len(turns) % 2 else 0.4
            precision = np.broadcast_to(scale * np.eye(3), (8, 3, 3))
            return ItemEvidence(precision, scale * rng.normal(size=(8, 3)))

        def posterior(self, covariance):
            return self.evidence(covariance).posterior(np.linalg.cholesky(covariance))

    _, _, converged = fit_covariance(Turning(), 0.1 * np.eye(3), Shrinkage())
    assert not converged
    assert len(turns) <= MOST_ROUNDS + MOST_STEPS
