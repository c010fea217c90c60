"""Item effects: the mixed model against dense algebra, and its boundary."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from reference import Dense
from scipy.optimize import minimize
from scipy.special import expit

from skanchor import AnchorPipeline, JudgeCalibrator
from skanchor._numerics.item_covariance import Structure, structured
from skanchor.exceptions import BattlesError
from skanchor.inference import satterthwaite, t_distribution, t_quantile
from skanchor.simulation import simulate_battles

COVARIANCE = np.array([[0.09, 0.03], [0.03, 0.16]])


def small(seed=0, **kwargs):
    settings = dict(n_models=6, n_judges=2, n_new=150, n_historical=1200, item_sd=0.3)
    return simulate_battles(**{**settings, **kwargs}, random_state=seed)


class DenseItems(Dense):
    """The dense reference with standardised item effects as further parameters."""

    def __init__(self, *args, covariance, **kwargs):
        super().__init__(*args, **kwargs)
        self.root = np.linalg.cholesky(covariance)
        n = len(self.models)
        judge = np.flatnonzero(self.m >= 0)
        self.U = np.zeros((len(self.y), len(self.judges) * n))
        for q in range(len(self.judges)):
            factor = self.root[self.m[judge], q]
            self.U[judge, q * n + self.a[judge]] += factor
            self.U[judge, q * n + self.b[judge]] -= factor

    def solve(self, weight):
        """Two-step fit with the prior; parameters (v of Dense, item effects)."""
        v = self.two_step(weight)
        n_v = len(v)
        full = np.concatenate([v, np.zeros(self.U.shape[1])])
        index = np.arange(len(full))
        G, n_s = int(self.is_new.sum()), self.sizes[0]
        new = np.zeros(len(full), bool)
        new[n_v:] = np.tile(self.is_new, len(self.judges))
        historical = (index >= n_s) & ~new
        arrival = new | (index < G)
        for rows, free in (
            ((self.m >= 0) & ~self.arrival, historical),
            (self.arrival, arrival),
        ):
            full = self._penalised(full, weight * rows, free, n_v)
        return full

    def _penalised(self, full, weight, free, n_v):
        full = full.copy()

        def loss(x):
            full[free] = x
            e = self.eta(full[:n_v]) + self.U @ full[n_v:]
            r = weight * (expit(e) - self.y)
            g = np.concatenate([self.gradient(full[:n_v]).T @ r, self.U.T @ r])
            g[n_v:] += full[n_v:]
            value = np.sum(weight * (np.logaddexp(0, e) - self.y * e))
            return value + 0.5 * full[n_v:] @ full[n_v:], g[free]

        full[free] = minimize(
            loss, full[free], jac=True, method="BFGS",
            options={"gtol": 1e-7, "maxiter": 5000},
        ).x  # fmt: skip
        return full

    def anchor(self, plan):
        source, n = self.sources(), len(self.y)
        influence = np.zeros((n, len(self.models)))
        total, items = 0.0, 0.0
        for train, test in plan:
            weight = np.zeros(n)
            for q in np.unique(source):
                kept = train[source[train] == q]
                weight[kept] = np.sum(source == q) / len(kept)
            full = self.solve(weight)
            n_v = sum(self.sizes)
            eta = self.eta(full[:n_v]) + self.U @ full[n_v:]
            g = np.hstack([self.gradient(full[:n_v]), self.U])
            p = expit(eta)
            Q = g.T @ (g * (weight * p * (1 - p))[:, None])
            R = np.diag(np.r_[np.zeros(n_v), np.ones(self.U.shape[1])])
            L = np.vstack(
                [self.targets(), np.zeros((self.U.shape[1], len(self.models)))]
            )
            W = np.linalg.pinv(Q + R, hermitian=True) @ L
            influence[test] = (g @ W)[test] * (self.y - p)[test, None]
            K = len(plan)
            total = total + self.S @ full[: self.sizes[0]] / K
            total = total - (R @ np.r_[np.zeros(n_v), full[n_v:]]) @ W / K
            items = items + W[n_v:].T @ W[n_v:] / K
        return total + influence.sum(0), influence.T @ influence, items


@pytest.mark.parametrize("position", [False, True])
@pytest.mark.parametrize("n_new_models", [1, 2])
def test_equals_the_dense_mixed_model(position, n_new_models):
    data = small(n_new_models=n_new_models, new_score=[0.5, -0.3][:n_new_models])
    anchor = AnchorPipeline(
        calibrator=JudgeCalibrator(position_effect=position),
        cv=3,
        item_effects=COVARIANCE,
        random_state=0,
    ).fit(data.X, data.y)
    dense = DenseItems(
        data.X, data.y, anchor.models_, anchor.judges_, anchor.new_models_, position,
        covariance=COVARIANCE,
    )  # fmt: skip
    estimate, sampling, items = dense.anchor(anchor.fold_plan_[0])
    result = anchor.result_
    assert_allclose(result.all_scores, estimate, atol=2e-5)
    assert_allclose(result.item_covariances[0], items, atol=1e-5)
    assert_allclose(result.covariances[0], sampling + items, atol=1e-5)
    assert anchor.debiaser_.identity_error_ < 1e-8
    parts = anchor.variance_[["human", "judge", "cross", "items"]].sum(axis=1)
    assert_allclose(parts, anchor.standard_errors_**2)


def test_zero_covariance_is_the_paper_s_interval():
    data = small(item_sd=0.0)
    paper = AnchorPipeline(cv=4, random_state=0).fit(data.X, data.y)
    zero = AnchorPipeline(cv=4, random_state=0, item_effects=np.zeros((2, 2)))
    zero.fit(data.X, data.y)
    assert_allclose(zero.scores_, paper.scores_, atol=1e-6)
    assert_allclose(zero.standard_errors_, paper.standard_errors_, rtol=1e-5)
    assert_allclose(zero.conf_int(), paper.conf_int(), atol=1e-5)


def test_estimated_effects_widen_the_interval_and_enter_the_predictions():
    data = small(seed=3, n_models=12, n_historical=8000, n_new=600, item_sd=0.5)
    paper = AnchorPipeline(random_state=0).fit(data.X, data.y)
    anchor = AnchorPipeline(random_state=0, item_effects="random").fit(data.X, data.y)
    wider = AnchorPipeline(random_state=0, item_effects="conservative")
    wider.fit(data.X, data.y)
    assert anchor.standard_errors_.iloc[0] > 1.5 * paper.standard_errors_.iloc[0]
    assert wider.standard_errors_.iloc[0] > anchor.standard_errors_.iloc[0]
    assert (0.2 < np.sqrt(np.diag(anchor.item_covariance_))).all()
    assert anchor.score(data.X, data.y) > paper.score(data.X, data.y)


def test_the_order_and_shape_of_a_given_covariance():
    data = small()
    table = pd.DataFrame(
        COVARIANCE, index=["judge-1", "judge-2"], columns=["judge-1", "judge-2"]
    )
    plain = AnchorPipeline(cv=3, random_state=0, item_effects=COVARIANCE)
    turned = AnchorPipeline(cv=3, random_state=0, item_effects=table.iloc[::-1, ::-1])
    assert_allclose(
        plain.fit(data.X, data.y).scores_, turned.fit(data.X, data.y).scores_
    )
    for wrong in (np.eye(3), -np.eye(2), np.array([[1.0, 2.0], [0.0, 1.0]]), "many"):
        with pytest.raises(ValueError, match="item_effects"):
            AnchorPipeline(cv=3, item_effects=wrong).fit(data.X, data.y)


def test_too_few_historical_models():
    data = small(n_models=4)
    with pytest.raises(BattlesError, match="at least 5 historical models"):
        AnchorPipeline(cv=3, item_effects="random").fit(data.X, data.y)


def test_degrees_of_freedom():
    df = satterthwaite(np.array([2.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0]), 10)
    assert_allclose(df, [40.0, np.inf, 10.0])
    assert_allclose(t_quantile(0.95, df), [2.0211, 1.96, 2.2281], atol=1e-4)
    assert_allclose(t_distribution(df, np.zeros(3)), 0.5)


def test_shrinkage_keeps_a_common_structure():
    alike = 0.2 * (0.7 * np.eye(3) + 0.3)
    for structure in (Structure(0.0, 0.0), Structure(0.3, 0.8), Structure(1.0, 1.0)):
        assert_allclose(structured(alike, structure), alike)
    assert structured(np.array([[0.4]]), Structure()) == 0.4
    odd = np.diag([1.0, 0.0, 0.0])
    got = np.diag(structured(odd, Structure(0.5, 0.5)))
    assert got[0] < 1.0 and (got[1:] > 0).all()
    assert_allclose(structured(odd + 0.1, Structure(1.0, 1.0)), odd + 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("item_sd", [0.0, 0.3])
def test_coverage_with_item_effects(item_sd):
    from scipy.stats import binom

    n, hits = 200, 0
    for seed in range(n):
        data = simulate_battles(n_models=20, item_sd=item_sd, random_state=seed)
        anchor = AnchorPipeline(random_state=0, item_effects="random")
        low, high = anchor.fit(data.X, data.y).conf_int().iloc[0]
        hits += low <= data.truth.new_scores.iloc[0] <= high
    # A cell fails only when its 99.9 % binomial interval misses the band.
    assert binom.ppf(0.0005, n, 0.93) <= hits <= binom.ppf(0.9995, n, 0.975)
