"""The check for item effects: against dense algebra, its size and its power."""

import numpy as np
import pytest
from item_battles import small
from numpy.testing import assert_allclose
from scipy.linalg import block_diag
from scipy.special import expit
from scipy.stats import chi2, kstest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skanchor import AnchorPipeline, BTLRegressor, JudgeCalibrator
from skanchor._diagnostics import item_effects_check
from skanchor._diagnostics._item_check import after_fit, pearson
from skanchor._diagnostics._item_score_test import ModelSums, score_test
from skanchor.bias import LinearBias
from skanchor.sample import Sample
from skanchor.simulation import simulate_battles


def test_a_ridge_leaves_the_size_of_the_check():
    """Without deviations p is uniform, however much the bias is shrunk."""
    p = []
    for seed in range(24):
        data = small(seed=seed, n_models=10, n_historical=2000, item_sd=0, rho=0.0)
        cubic = make_pipeline(StandardScaler(), PolynomialFeatures(3))
        anchor = AnchorPipeline(
            historical_fit="two-step",
            calibrator=JudgeCalibrator(LinearBias(cubic, alpha=0.3)),
            debiaser="passthrough", item_effects=None,
        ).fit(data.X, data.y)  # fmt: skip
        encoded = anchor.calibrator_.transform(anchor.btl_.transform(data.X))
        p.append(
            item_effects_check(
                Sample.admit(encoded, data.y), anchor.btl_, anchor.calibrator_
            ).p_value
        )
    # 99.9 % of binomial draws of 24 with probability 0.1 are at most 8.
    assert np.sum(np.array(p) < 0.1) <= 8
    assert kstest(p, "uniform").pvalue > 1e-3


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.CountWarning")
def test_ties_and_weights_enter_the_check_of_a_judge(rng):
    """Half-wins vary less than votes, rows with a weight more."""
    data = small(seed=3, n_judges=1)
    X = data.X[["model_a", "model_b", "judge"]]
    y = np.where(rng.random(len(X)) < 0.4, 0.5, data.y)
    weight = rng.integers(1, 4, len(X)).astype(float)
    anchor = AnchorPipeline(
        calibrator=JudgeCalibrator(position_effect=False),
        cv=2, debiaser="passthrough", item_effects=None,
        historical_fit="two-step",
    )  # fmt: skip
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


def test_the_check_equals_dense_algebra(rng):
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
    assert_allclose(score_test(judges, error).p_value, expected, rtol=1e-8)


@pytest.mark.parametrize("n_judges", [1, 3])
def test_what_the_verdicts_rule_out_has_the_level_that_it_names(n_judges, rng):
    """With deviations of a size, so small a statistic has a uniform probability."""
    n, sd, scale = 9, 0.3, 20.0
    information = scale * (np.eye(n) - 1 / n)
    root = np.sqrt(scale) * (np.eye(n) - 1 / n)
    shared = np.linalg.cholesky(sd**2 / 2 * (np.eye(n_judges) + 1.0))
    found = []
    for _ in range(400):
        deviations = shared @ rng.normal(size=(n_judges, n))
        judges = [
            ModelSums(root @ rng.normal(size=n) + information @ one, information, 1, 1)
            for one in deviations
        ]
        found.append(score_test(judges, np.zeros((n, n))))
    assert {one.df for one in found} == {found[0].df}
    sizes = np.array([one.p_of_size(sd) for one in found])
    if n_judges == 1:
        # All eigenvalues agree, and the law is exact.
        assert found[0].df == pytest.approx(n - 1)
        assert kstest(sizes, "uniform").pvalue > 1e-3
    # 99.9 % of binomial draws of 400 with probability 0.1 lie between 22 and 61.
    assert 22 <= np.sum(sizes < 0.1) <= 61
    # Larger deviations make so small a value less likely; none make it a plain p-value.
    one = found[0]
    assert one.p_of_size(0.6) < one.p_of_size(0.3) < one.p_of_size(0.0)
    assert one.p_of_size(0.0) == pytest.approx(1.0 - one.p_value)


def test_size_and_power_of_the_check():
    """Without deviations p is uniform; deviations of 0.2 logits are seen."""
    p = {0.0: [], 0.2: []}
    for item_sd, values in p.items():
        for seed in range(24):
            data = small(seed=seed, n_models=10, n_historical=4000, item_sd=item_sd)
            X = data.X[["model_a", "model_b", "judge"]] if item_sd else data.X
            anchor = AnchorPipeline(
                cv=2,
                debiaser="passthrough",
                item_effects=None,
                historical_fit="two-step",
                random_state=0,
            ).fit(X, data.y)
            encoded = anchor.calibrator_.transform(anchor.btl_.transform(X))
            values.append(
                item_effects_check(
                    Sample.admit(encoded, data.y), anchor.btl_, anchor.calibrator_
                ).p_value
            )
    # 99.9 % of binomial draws of 24 with probability 0.1 are at most 8.
    assert np.sum(np.array(p[0.0]) < 0.1) <= 8
    assert kstest(p[0.0], "uniform").pvalue > 1e-3
    assert np.mean(np.array(p[0.2]) < 0.1) > 0.8


def dense_score_test(judges, error):
    """The score test with the whole variance of all judges."""
    n = len(error)
    own = block_diag(*[one.information / one.dispersion for one in judges])
    from_score_error = np.vstack(
        [one.slope / one.dispersion * one.information for one in judges]
    )
    slopes = np.kron([one.slope for one in judges], np.eye(n))
    values, vectors = np.linalg.eigh(error)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    inner = np.linalg.solve(
        np.eye(n) + root.T @ slopes @ from_score_error @ root, root.T
    )
    score = np.concatenate([one.sums / one.dispersion for one in judges])
    score = score - from_score_error @ (root @ (inner @ (slopes @ score)))
    variance = own - from_score_error @ root @ inner @ from_score_error.T
    tested = np.kron(np.eye(len(judges)) + 1.0, np.eye(n))
    weighted = variance @ tested
    second = np.trace(weighted @ weighted)
    df = second**3 / np.trace(weighted @ weighted @ weighted) ** 2
    above = (score @ tested @ score - np.trace(weighted)) / np.sqrt(2 * second)
    return chi2.sf(df + above * np.sqrt(2 * df), df)


@pytest.mark.parametrize(
    ("n_judges", "votes"), [(1, 1.0), (1, 1e-3), (4, 1.0), (12, 1e-3)]
)
def test_the_check_equals_its_whole_matrix(n_judges, votes, rng):
    """Block by block is as exact as (judges x models)-squared matrices."""
    n, judges = 9, []
    centre = np.eye(n) - 1 / n
    error = centre @ rng.normal(size=(n, n)) / np.sqrt(votes)
    off = error @ rng.normal(size=n)
    error = error @ error.T
    for slope in rng.uniform(0.2, 2.0, n_judges):
        # Few judges with many verdicts each leave nearly nothing of the whole.
        root = np.sqrt(10.0) * centre @ rng.normal(size=(n, n - 1))
        sums = root @ (rng.normal(size=n - 1) + slope * root.T @ off)
        judges.append(ModelSums(sums, root @ root.T, rng.uniform(0.5, 1.0), slope))
    expected = dense_score_test(judges, error)
    assert 1e-6 < expected < 1.0 - 1e-6
    assert_allclose(score_test(judges, error).p_value, expected, rtol=1e-9)


def test_pearson_over_unordered_pairs(rng):
    n, dispersion = 4, 0.8
    residual, information = rng.normal(size=(n, n)), rng.exponential(size=(n, n))
    # As many rows in one order as in the other, more, none, and none at all.
    n_rows = np.array([[0, 3, 2, 0], [3, 0, 0, 1], [5, 0, 0, 2], [0, 0, 2, 0]])
    residual, information = residual * (n_rows > 0), information * (n_rows > 0)
    root = rng.normal(size=(n, n))
    error = root @ root.T
    expected, n_pairs = 0.0, 0
    for i in range(n):
        for j in range(i):
            if n_rows[i, j] + n_rows[j, i]:
                seen = information[i, j] + information[j, i]
                contrast = np.eye(n)[i] - np.eye(n)[j]
                variance = dispersion * seen + seen**2 * contrast @ error @ contrast
                expected += (residual[i, j] - residual[j, i]) ** 2 / variance
                n_pairs += 1
    found = pearson(residual, information, n_rows, dispersion, error, 1.4)
    assert_allclose(found["pearson"], expected)
    assert found["pearson_df"] == n_pairs - 1 == 3
    assert_allclose(found["pearson_p"], chi2(3).sf(expected))


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
@pytest.mark.parametrize("seed", [0, 1])
def test_a_judge_on_its_bound_shows_no_item_effects(seed):
    """Verdicts that always follow the scores leave residuals that say nothing."""
    data = simulate_battles(
        n_historical=200, n_new=60, n_models=3, n_judges=4, n_features=1,
        random_state=seed,
    )  # fmt: skip
    X, y = data.X[["model_a", "model_b", "judge"]], np.asarray(data.y, dtype=float)
    human = BTLRegressor().fit(X[X["judge"] == "human"], y[X["judge"] == "human"])
    score = human.scores_.reindex(sorted({*X["model_a"], *X["model_b"]})).fillna(0.0)
    follows = score[X["model_a"]].to_numpy() > score[X["model_b"]].to_numpy()
    y = np.where(X["judge"] == "judge-2", follows, y)
    anchor = AnchorPipeline(random_state=0, cv=3, historical_fit="joint").fit(X, y)
    table = anchor.summary()
    assert table["sensitivity"]["judge-2"] > 15.0
    # Rounding was divided by rounding: the p-value was zero.
    assert not table["item_p"]["judge-2"] < 0.01
    assert anchor._inference.check.p_value > 0.2


@pytest.mark.parametrize("delta", [0.7, 1.3, -0.1, 2.9])
def test_information_that_a_fit_takes_whole_leaves_no_rounding(delta):
    """One row: its sensitivity is fitted, and says all that the row says of models."""
    row = np.array([1.0, -1.0, delta])
    gram = 0.2371 * np.outer(row, row)
    sums, seen, taken = after_fit(gram, 0.3 * row, np.zeros(1))
    assert not seen.any() and not sums.any()
    assert_allclose(taken, 1.0)
