"""Item effects: the mixed model against dense algebra, and its boundary."""

import warnings
from copy import copy

import numpy as np
import pandas as pd
import pytest
from learners import Wrapped
from numpy.testing import assert_allclose
from reference import Dense
from scipy.linalg import block_diag
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import chi2, kstest, norm
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skanchor import AnchorPipeline, JudgeCalibrator, RieszDebiaser
from skanchor.bias import BoostedBias, LinearBias
from skanchor.bias.protocol import LastStage
from skanchor.diagnostics import ModelSums, item_effects_check, score_test
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import (
    BattlesError,
    DataWarning,
    DiagnosticWarning,
    SkanchorWarning,
    WeakJudgeWarning,
)
from skanchor.inference import satterthwaite, t_distribution, t_quantile
from skanchor.items import dispersions
from skanchor.sample import Sample
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
    paper = AnchorPipeline(cv=4, random_state=0, item_effects=None)
    paper.fit(data.X, data.y)
    zero = AnchorPipeline(cv=4, random_state=0, item_effects=np.zeros((2, 2)))
    zero.fit(data.X, data.y)
    assert_allclose(zero.scores_, paper.scores_, atol=1e-5)
    assert_allclose(zero.standard_errors_, paper.standard_errors_, rtol=1e-5)
    assert_allclose(zero.conf_int(), paper.conf_int(), atol=1e-5)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
def test_estimated_effects_widen_the_interval_and_enter_the_predictions():
    data = small(seed=3, n_models=12, n_historical=8000, n_new=600, item_sd=0.5)
    paper = AnchorPipeline(random_state=0, item_effects=None).fit(data.X, data.y)
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


def test_separated_verdicts_leave_the_covariance_finite():
    data = small(n_models=6, n_judges=4, n_historical=300, n_new=60, item_sd=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anchor = AnchorPipeline(cv=3, random_state=0, item_effects="random")
        anchor.fit(data.X[["model_a", "model_b", "judge"]], data.y)
    assert np.isfinite(anchor.item_covariance_).all()
    assert (np.diag(anchor.item_covariance_) <= 25.0).all()


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
@pytest.mark.parametrize("unit", [0.1, 2.5])
def test_weights_that_are_no_counts_are_told(unit):
    data = small(item_sd=0.0)
    weight = np.full(len(data.y), unit)
    with pytest.warns(DataWarning, match=f"sample_weight is {unit}"):
        AnchorPipeline(cv=3).fit(data.X, data.y, sample_weight=weight)
    plain, *weighted = (
        AnchorPipeline(cv=3, item_effects=how, random_state=0).fit(
            data.X, data.y, sample_weight=w
        )
        for how, w in ((None, None), (None, weight), ("none", weight))
    )
    for fit in weighted:
        assert_allclose(fit.conf_int(), plain.conf_int(), rtol=1e-9)


def random_effects(X, y, weight=None, groups=None, cv=3):
    anchor = AnchorPipeline(cv=cv, random_state=0, item_effects="random")
    return anchor.fit(X, y, weight, groups)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
def test_a_judge_turned_round_deviates_as_before():
    data = small(seed=2, n_judges=4, n_models=8, n_historical=6000, item_corr=0.6)
    X = data.X[["model_a", "model_b", "judge"]]
    plain = random_effects(X, data.y)
    y = np.where(X.judge == "judge-2", 1 - data.y, data.y)
    with pytest.warns(WeakJudgeWarning, match="'judge-2' is negative"):
        turned = random_effects(X, y, cv=plain.fold_plan_[0])
    assert turned.calibrator_.sensitivities_["judge-2"] < 0
    assert_allclose(turned.conf_int(), plain.conf_int(), rtol=1e-6)
    sign = np.where(plain.judges_ == "judge-2", -1.0, 1.0)
    expected = plain.item_covariance_ * np.outer(sign, sign)
    assert_allclose(turned.item_covariance_, expected, rtol=1e-5)
    p = [a.result_.diagnostics.item_p for a in (plain, turned)]
    assert_allclose(*p, rtol=1e-6)


def test_copies_in_a_group_show_no_more_deviations():
    data = small(seed=4)
    X = data.X[["model_a", "model_b", "judge"]]
    once = random_effects(X, data.y)
    rows = np.repeat(np.arange(len(X)), np.where(X.judge == "human", 1, 3))
    copies = X.iloc[rows].reset_index(drop=True)
    again = random_effects(copies, data.y[rows], groups=rows)
    assert_allclose(again.item_covariance_, once.item_covariance_, rtol=1e-5)
    p = [a.result_.diagnostics.item_p for a in (once, again)]
    assert_allclose(*p, rtol=1e-6)


@pytest.mark.parametrize("deviating", [False, True])
def test_the_noise_of_a_source_is_read_off_its_residuals(deviating):
    data = small(seed=4)
    X = data.X[["model_a", "model_b", "judge"]]
    y = np.asarray(data.y, dtype=float)
    anchor = random_effects(X, y)
    known = anchor.calibrator_.transform(anchor.btl_.transform(X))
    ones = np.ones(len(y))

    def noise(*args):
        return dispersions(Sample.admit(known, *args), deviating=deviating)

    votes = noise(y, ones)
    assert_allclose(votes, 1.0, atol=0.15)
    # Half of each residual, a quarter of the noise.
    halves = np.where(known.involves_new, y, (y + expit(known.logits())) / 2)
    assert_allclose(noise(halves, ones), votes / 4, rtol=1e-9)
    heavy = np.where(known.is_human, 1.0, 4.0)
    assert_allclose(noise(y, heavy), votes * [4.0, 4.0, 1.0], rtol=1e-9)
    # The covariance of the deviations knows the noise, not the weights.
    again = random_effects(X, y, weight=heavy)
    assert_allclose(again.item_covariance_, anchor.item_covariance_, rtol=1e-6)


def test_features_that_tell_models_apart_take_degrees_of_freedom():
    data = small(seed=1, n_models=9, n_judges=1, n_historical=4000, rho=0.0)
    X = data.X[["model_a", "model_b", "judge"]].copy()
    assert random_effects(X, data.y).result_.item_df == 7
    rng = np.random.default_rng(0)
    names = np.unique(X[["model_a", "model_b"]])
    for noise, kept in ((0.0, 3.0), (1.0, 7.0)):
        table = X.copy()
        for k in range(4):
            own = pd.Series(rng.normal(size=len(names)), index=names)
            for side in "ab":
                within = noise * rng.normal(size=len(X))
                table[f"z{k}_{side}"] = table[f"model_{side}"].map(own) + within
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            df = random_effects(table, data.y).result_.item_df
        assert df == pytest.approx(kept, abs=0.7)


class TestAuto:
    @pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
    @pytest.mark.parametrize(("item_sd", "chosen"), [(0.0, "none"), (0.5, "random")])
    def test_the_check_decides_and_both_are_there(self, item_sd, chosen):
        data = small(seed=1, n_models=10, n_historical=5000, item_sd=item_sd)
        anchor = AnchorPipeline(cv=3, random_state=0).fit(data.X, data.y)
        assert anchor.item_effects_ == chosen
        assert set(anchor.results_) == {"none", "random"}
        assert anchor.result_ is anchor.results_[chosen]
        for name, how in (("none", None), ("random", "random")):
            alone = AnchorPipeline(cv=3, random_state=0, item_effects=how)
            alone.fit(data.X, data.y)
            assert_allclose(alone.conf_int(), anchor.results_[name].conf_int())

    def test_none_has_a_name(self):
        data = small()
        named = AnchorPipeline(cv=3, random_state=0, item_effects="none")
        named.fit(data.X, data.y)
        bare = AnchorPipeline(cv=3, random_state=0, item_effects=None)
        bare.fit(data.X, data.y)
        assert named.item_effects_ == bare.item_effects_ == "none"
        assert list(named.results_) == ["none"] and named.item_covariance_ is None
        assert_allclose(named.influence_, bare.influence_, rtol=0)
        with pytest.raises(ValueError, match="'none', 'random', 'conservative' or an"):
            AnchorPipeline(item_effects="no").fit(data.X, data.y)

    def test_few_models_get_the_paper_s_interval_and_a_warning(self):
        data = small(n_models=4)
        X = data.X[["model_a", "model_b", "judge"]]
        with pytest.warns(SkanchorWarning, match="4 historical models are too few"):
            anchor = AnchorPipeline(cv=3, random_state=0).fit(X, data.y)
        assert anchor.item_effects_ == "none" and list(anchor.results_) == ["none"]

    def test_an_estimated_covariance_widens_the_interval(self):
        """Beside the same covariance given: by a factor, and by the t law."""
        data = small(n_models=8, n_historical=2000, item_sd=0.4)
        learned = AnchorPipeline(cv=3, item_effects="random", random_state=0)
        learned.fit(data.X, data.y)
        given = AnchorPipeline(
            cv=3, item_effects=learned.item_covariance_, random_state=0
        )
        given.fit(data.X, data.y)
        assert_allclose(learned.scores_, given.scores_)
        parts = learned.variance_["items"] / given.variance_["items"]
        assert 1.05 < parts.iloc[0] < 3.0
        half = {}
        for name, anchor in (("learned", learned), ("given", given)):
            low, high = anchor.conf_int().iloc[0]
            half[name] = (high - low) / 2.0 / anchor.standard_errors_.iloc[0]
        assert half["given"] == pytest.approx(norm.ppf(0.975))
        # No more degrees of freedom than models: at most six of eight.
        most = satterthwaite(
            learned.standard_errors_.to_numpy() ** 2,
            learned.variance_["items"].to_numpy(),
            6.0,
        )
        assert half["learned"] > t_quantile(0.95, most)[0] - 1e-9 > 2.0

    @pytest.mark.filterwarnings("ignore:.*has a flexible learner")
    @pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
    @pytest.mark.parametrize(
        "learner",
        [BoostedBias(max_rounds=10), pytest.param("network", marks=pytest.mark.torch)],
    )
    def test_flexible_biases_do_not_swallow_the_deviations(self, learner):
        """Features that tell the models apart let psi imitate deviations."""
        data = small(n_models=10, n_historical=3000, n_judges=1, item_sd=0.5)
        rng = np.random.default_rng(0)
        for k in range(8):
            shift = dict(zip(sorted({*data.X.model_a, *data.X.model_b}),
                             rng.normal(size=11), strict=True))  # fmt: skip
            for side in "ab":
                data.X[f"z{k}_{side}"] = data.X[f"model_{side}"].map(shift).astype(
                    float
                ) + rng.normal(0, 0.7, len(data.X))
        found = {
            bias: AnchorPipeline(
                calibrator=JudgeCalibrator(bias), debiaser=RieszDebiaser(),
                cv=2, item_effects="random", random_state=0,
            ).fit(data.X, data.y)
            for bias in ("linear", learner)
        }  # fmt: skip
        deviation = [np.sqrt(a.item_covariance_[0, 0]) for a in found.values()]
        assert 0.3 < deviation[0] < 0.8
        assert 0.6 < deviation[1] / deviation[0] < 1.5
        p = [a.result_.diagnostics.item_p for a in found.values()]
        assert p[0] < 0.05
        assert 0.5 < p[1] / p[0] < 2.0

    @pytest.mark.filterwarnings("ignore:.*has a flexible learner")
    def test_a_last_stage_is_as_good_as_a_span(self):
        class Staged(Wrapped):
            def last_stage(self, pairs, weight):
                inner = self.inner_
                return LastStage(
                    inner.span(pairs), inner.ridge(pairs, weight), inner.coef_
                )

            def rejoined(self, coef):
                other = copy(self)
                other.inner_ = copy(self.inner_)
                other.inner_.coef_ = coef
                return other

        data = small(seed=1)
        span, staged = (
            AnchorPipeline(
                calibrator=JudgeCalibrator(bias), debiaser=RieszDebiaser(),
                cv=2, item_effects="random", random_state=0,
            ).fit(data.X, data.y)
            for bias in (LinearBias(), Staged())
        )  # fmt: skip
        assert_allclose(staged.item_covariance_, span.item_covariance_, rtol=1e-9)
        assert_allclose(staged.conf_int(), span.conf_int(), atol=2e-3)
        p = [a.result_.diagnostics.item_p for a in (span, staged)]
        assert_allclose(*p, rtol=1e-9)

    def test_a_ridge_leaves_the_size_of_the_check(self):
        """Without deviations p is uniform, however much the bias is shrunk."""
        p = []
        for seed in range(40):
            data = small(seed=seed, n_models=10, n_historical=2000, item_sd=0, rho=0.0)
            cubic = make_pipeline(StandardScaler(), PolynomialFeatures(3))
            anchor = AnchorPipeline(
                calibrator=JudgeCalibrator(LinearBias(cubic, alpha=0.3)),
                debiaser="passthrough", item_effects=None,
            ).fit(data.X, data.y)  # fmt: skip
            encoded = anchor.calibrator_.transform(anchor.btl_.transform(data.X))
            p.append(
                item_effects_check(
                    Sample.admit(encoded, data.y), anchor.btl_, anchor.calibrator_
                ).p_value
            )
        # 99.9 % of binomial draws of 40 with probability 0.1 are at most 11.
        assert np.sum(np.array(p) < 0.1) <= 11
        assert kstest(p, "uniform").pvalue > 1e-3

    def test_ties_and_weights_enter_the_check_of_a_judge(self, rng):
        """Half-wins vary less than votes, rows with a weight more."""
        data = small(seed=3, n_judges=1)
        X = data.X[["model_a", "model_b", "judge"]]
        y = np.where(rng.random(len(X)) < 0.4, 0.5, data.y)
        weight = rng.integers(1, 4, len(X)).astype(float)
        anchor = AnchorPipeline(cv=2, debiaser="passthrough", item_effects=None)
        anchor.fit(X, y, sample_weight=weight)
        rows = anchor.calibrator_.transform(anchor.btl_.transform(X))
        found = item_effects_check(
            Sample.admit(rows, y, weight), anchor.btl_, anchor.calibrator_
        )

        names = anchor.btl_.models_
        old = (X.judge != "human") & X.model_a.isin(names) & X.model_b.isin(names)
        old = old.to_numpy()
        sides = [X[f"model_{side}"].to_numpy()[old, None] == names for side in "ab"]
        design = sides[0].astype(float) - sides[1]
        c, w = anchor.calibrator_.sensitivities_.iloc[0], weight[old]
        delta = design @ anchor.btl_.scores_.to_numpy()
        p = expit(c * delta)
        residual, v = y[old] - p, p * (1 - p)
        sums, information = design.T @ (w * residual), design.T * (w * v) @ design
        line = design.T @ (w * v * delta)
        information -= np.outer(line, line) / np.sum(w * v * delta**2)
        size = np.sum((w * residual) ** 2) / np.sum(w * v)
        assert 1.1 < size < 0.9 * np.sum(w**2) / np.sum(w)
        spread = information @ anchor.btl_.covariance_ @ information
        chi = sums @ np.linalg.pinv(size * information + c**2 * spread) @ sums
        assert_allclose(found.judges.item_chi2.iloc[0], chi, rtol=1e-6)

    def test_the_check_equals_dense_algebra(self, rng):
        n, judges = 7, []
        centre = np.eye(n) - 1 / n
        for slope in (0.7, 1.4, -0.2):
            root = centre @ rng.normal(size=(n, n - 2))
            sums = 1.2 * root @ rng.normal(size=n - 2)
            judges.append(ModelSums(sums, root @ root.T, rng.uniform(0.5, 1.0), slope))
        error = centre @ rng.normal(size=(n, n))
        error = 0.1 * error @ error.T
        error[-1] = error[:, -1] = 0.0

        seen = block_diag(*[one.information for one in judges])
        shared = np.vstack([one.slope * one.information for one in judges])
        own = block_diag(*[one.dispersion * one.information for one in judges])
        inverse = np.linalg.pinv(own + shared @ error @ shared.T, rcond=1e-10)
        score = seen @ inverse @ np.concatenate([one.sums for one in judges])
        tested = np.kron(np.eye(3) + 1.0, np.eye(n))
        values = np.linalg.eigvals(seen @ inverse @ seen @ tested).real
        first, second, third = (np.sum(values**k) for k in (1, 2, 3))
        df = second**3 / third**2
        above = (score @ tested @ score - first) / np.sqrt(2 * second)
        expected = chi2.sf(df + above * np.sqrt(2 * df), df)
        assert 1e-6 < expected < 0.5
        assert_allclose(score_test(judges, error), expected, rtol=1e-8)

    def test_size_and_power_of_the_check(self):
        """Without deviations p is uniform; deviations of 0.2 logits are seen."""
        p = {0.0: [], 0.2: []}
        for item_sd, values in p.items():
            for seed in range(40):
                data = small(seed=seed, n_models=10, n_historical=4000, item_sd=item_sd)
                X = data.X[["model_a", "model_b", "judge"]] if item_sd else data.X
                anchor = AnchorPipeline(
                    cv=2, debiaser="passthrough", item_effects=None, random_state=0
                ).fit(X, data.y)
                encoded = anchor.calibrator_.transform(anchor.btl_.transform(X))
                values.append(
                    item_effects_check(
                        Sample.admit(encoded, data.y), anchor.btl_, anchor.calibrator_
                    ).p_value
                )
        # 99.9 % of binomial draws of 40 with probability 0.1 are at most 11.
        assert np.sum(np.array(p[0.0]) < 0.1) <= 11
        assert kstest(p[0.0], "uniform").pvalue > 1e-3
        assert np.mean(np.array(p[0.2]) < 0.1) > 0.8


class TestDiagnostics:
    def test_what_they_say_of_clean_data(self):
        data = small(item_sd=0.0)
        anchor = AnchorPipeline(cv=4, random_state=0).fit(data.X, data.y)
        seen = anchor.result_.diagnostics
        assert seen.messages() == [] and "no threshold is crossed" in repr(seen)
        judges = seen.judges
        assert judges.index.tolist() == anchor.judges_.tolist()
        assert (judges.sensitivity_z > 3).all()
        assert judges.residual_share.between(0.05, 1.0).all()
        assert judges.effective_share.between(0.1, 1.0).all()
        assert (judges.largest_ratio >= 1.0).all()
        assert set(judges) < set(anchor.summary())
        models = seen.models.loc["new-model"]
        assert 0 < models.residual_share <= 1 and models.largest_influence < 0.1
        correction = anchor.scores_ - np.median(anchor.result_.plug_in[:, -1])
        assert models.correction_z == pytest.approx(
            (correction / anchor.standard_errors_).iloc[0]
        )

    def test_shares_without_features_are_exact(self):
        data = small(item_sd=0.0)
        X = data.X[["model_a", "model_b", "judge"]]
        anchor = AnchorPipeline(cv=3, random_state=0).fit(X, data.y)
        seen = anchor.result_.diagnostics
        assert_allclose(seen.judges.residual_share, 1.0)
        assert_allclose(seen.models.residual_share, 1.0)
        assert seen.judges.effective_share.isna().all()

    def test_a_judge_who_overrates_a_model_is_named(self):
        data = small(seed=2, n_models=8, n_historical=6000, item_sd=0.0)
        X = data.X[["model_a", "model_b", "judge"]]
        y = np.asarray(data.y).copy()
        liked = data.truth.historical_models[3]
        fan = (X.judge == "judge-1").to_numpy()
        favour = np.random.default_rng(0).random(len(y)) < 0.4
        y[fan & favour & (X.model_a == liked).to_numpy()] = 1
        y[fan & favour & (X.model_b == liked).to_numpy()] = 0
        anchor = AnchorPipeline(cv=3, random_state=0).fit(X, y)
        assert anchor.item_effects_ == "random"
        found = anchor.result_.diagnostics.deviations
        z = found.deviation / found.standard_error
        assert z.idxmax() == ("judge-1", liked) and z.max() > 3
        assert anchor.result_.diagnostics.judges.item_p.idxmin() == "judge-1"

    @pytest.mark.parametrize("position", [False, True])
    def test_a_judge_that_only_ties_has_nothing_to_test(self, position):
        data = small(item_sd=0.0)
        lazy = (data.X.judge == "judge-1").to_numpy()
        anchor = AnchorPipeline(
            calibrator=JudgeCalibrator(position_effect=position), cv=3, random_state=0
        )
        # A RuntimeWarning would be an error here.
        with (
            pytest.warns(WeakJudgeWarning, match="'judge-1' is close to zero"),
            pytest.warns(DiagnosticWarning, match="'judge-1' tells models apart"),
        ):
            anchor.fit(data.X, np.where(lazy, 0.5, data.y))
        seen = anchor.result_.diagnostics
        tests = seen.judges[["pearson", "pearson_p", "item_chi2", "item_p"]]
        assert tests.loc["judge-1"].isna().all()
        assert tests.drop(index="judge-1").notna().all(axis=None)
        # The other judges are tested as if it were not there.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            others = clone(anchor).fit(data.X[~lazy], data.y[~lazy])
        assert 0 < others.result_.diagnostics.item_p < 1
        assert_allclose(seen.item_p, others.result_.diagnostics.item_p, rtol=1e-6)

    def test_thresholds_are_told(self):
        data = small(item_sd=0.0)
        X = data.X.copy()
        new = (X.model_a == "new-model").to_numpy()
        X["length_a"], X["length_b"] = np.random.default_rng(0).random((2, len(X)))
        X.loc[new, "length_a"] += 2.0
        X.loc[(X.model_b == "new-model").to_numpy(), "length_b"] += 2.0
        with pytest.warns(DiagnosticWarning, match="outside the range"):
            anchor = AnchorPipeline(cv=3, random_state=0).fit(X, data.y)
        judges = anchor.result_.diagnostics.judges
        assert (judges.outside_features == 1.0).all()
        assert (judges.effective_share < 0.1).all()

    def test_coverage_on_request(self):
        data = small(item_sd=0.0)
        anchor = AnchorPipeline(cv=3, random_state=0).fit(data.X, data.y)
        assert anchor.result_.diagnostics.coverage is None
        coverage = anchor.check_coverage(data.X, data.y)
        seen = anchor.result_.diagnostics
        table = leave_one_model_out(anchor, data.X, data.y)
        assert seen.coverage == coverage == table.compatible.mean()
        assert seen.covered == table.covered.mean() <= coverage
        assert 0.5 <= coverage <= 1.0
        said = f"left out: {coverage:.0%} (human scores taken as exact: "
        assert said + f"{seen.covered:.0%})" in repr(seen)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
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
