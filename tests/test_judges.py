"""Calibration against the dense plug-in, its warnings and its refusals."""

import numpy as np
import pandas as pd
import pytest
from learners import Wrapped
from numpy.testing import assert_allclose, assert_array_equal
from reference import Dense
from scipy.special import expit
from scipy.stats import norm
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    PolynomialFeatures,
    StandardScaler,
)
from tables import meets, scored, warnings_of

from skanchor import AnchorPipeline, BTLRegressor, Comparisons, JudgeCalibrator
from skanchor._estimators.judges import favour_of_a_side
from skanchor.bias import BoostedBias, LinearBias
from skanchor.bias.fitting import TrainingRows
from skanchor.exceptions import BattlesError, DataWarning, WeakJudgeWarning
from skanchor.simulation import simulate_battles

FEATURES = [f"x{i}_{side}" for i in (1, 2, 3) for side in "ab"]


def make_data(seed=0, **kwargs):
    settings = dict(n_models=5, n_judges=2, n_new=80, n_historical=1200)
    data = simulate_battles(**{**settings, **kwargs}, random_state=seed)
    return data.X, data.y.astype(float)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("position", [False, True])
@pytest.mark.parametrize("with_features", [False, True])
def test_matches_dense_reference(seed, position, with_features):
    X, y = make_data(seed)
    if not with_features:
        X = X.drop(columns=FEATURES)
    rng = np.random.default_rng(seed)
    weight = rng.exponential(size=len(y))
    y[rng.random(len(y)) < 0.1] = 0.5
    battles = scored(X, y, weight)
    judges = JudgeCalibrator(position_effect=position).fit(battles, y, weight)
    dense = Dense(X, y, battles.models, battles.judges, battles.new_models, position)
    v = dense.two_step(weight)
    _, c, p, psi = dense.split(v)
    assert judges.judges_.tolist() == ["judge-1", "judge-2"]
    assert_allclose(judges.sensitivities_, c, atol=1e-5)
    assert_allclose(judges.position_effects_, p if position else 0.0, atol=1e-5)
    for m, judge in enumerate(judges.judges_):
        assert_allclose(judges.biases_[judge].coef_, psi[m], atol=1e-5)
    reference = judges.transform(battles)
    history = ~dense.arrival
    assert_allclose(reference.logits()[history], dense.eta(v)[history], atol=1e-4)
    rows = history & (dense.m >= 0)
    eta = reference.logits()[rows]
    loss = np.average(np.logaddexp(0, eta) - y[rows] * eta, weights=weight[rows])
    assert_allclose(judges.score(battles, y, weight), -loss)
    assert (reference.biases[dense.m < 0] == 0).all()
    assert_allclose(
        judges.win_probability(battles[history]), expit(reference.logits()[history])
    )


# --------------------------------------------------------------------------- warnings


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
@pytest.mark.parametrize("historical_fit", ["joint", "two-step"])
@pytest.mark.parametrize("item_effects", [None, "random"])
def test_a_judge_of_no_sensitivity_tells_nothing(historical_fit, item_effects):
    # Every pair in both orders, judged alike: sums cancel but for rounding, which
    # once told scores that nothing else told.
    data = simulate_battles(
        n_models=5, n_judges=2, n_new=60, n_historical=600, random_state=0
    )
    X = data.X[["model_a", "model_b", "judge"]]
    y, rng = np.asarray(data.y, dtype=float), np.random.default_rng(0)
    weight = rng.uniform(0.5, 1.5, len(X))
    alike = (X["judge"] == "judge-1").to_numpy()
    turned = X[alike].rename(columns={"model_a": "model_b", "model_b": "model_a"})
    X = pd.concat([X, turned], ignore_index=True)
    y = np.append(np.where(alike, 0.8, y), np.full(len(turned), 0.8))
    weight = np.append(weight, weight[alike])
    pipe = AnchorPipeline(
        historical_fit=historical_fit, item_effects=item_effects, random_state=0
    ).set_params(calibrator__position_effect=False)
    pipe.fit(X, y, sample_weight=weight)
    # Beside item effects of judges that are correlated, zero up to the solver's step.
    most = 0.0 if item_effects is None else 1e-5
    assert abs(pipe.calibrator_.sensitivities_["judge-1"]) <= most
    assert abs(pipe.calibrator_.sensitivities_["judge-2"] - 1.0) < 0.5
    alone = pipe.calibrator_.transform(pipe.btl_.transform(Comparisons.from_battles(X)))
    assert abs(alone.sensitivities[0]) <= most


def test_position_effect_not_identified():
    X, y = make_data(4)
    unknown = X.assign(shown_first=[None] * len(X))
    battles = scored(unknown, y)
    with pytest.raises(BattlesError, match=r"position effect of judge 'judge-1'"):
        JudgeCalibrator(position_effect=True).fit(battles, y)
    # The earlier name always first: a ranking of the models explains the display.
    battles = scored(X.assign(shown_first=by_name(X)), y)
    with pytest.raises(BattlesError, match="do not show models in both orders"):
        JudgeCalibrator(position_effect=True).fit(battles, y)
    JudgeCalibrator(position_effect=False).fit(battles, y)


# --------------------------------------------------------------------------- learners
def test_dict_of_learners_by_judge():
    X, y = make_data(6)
    battles = scored(X, y)
    plain = JudgeCalibrator().fit(battles, y)
    learners = {"judge-1": "linear", "judge-2": LinearBias(alpha=1e9)}
    mixed = JudgeCalibrator(learners).fit(battles, y)
    assert_allclose(
        mixed.biases_["judge-1"].coef_, plain.biases_["judge-1"].coef_, atol=1e-12
    )
    assert_allclose(mixed.biases_["judge-2"].coef_, 0, atol=1e-8)
    assert not hasattr(learners["judge-2"], "coef_")
    with pytest.raises(ValueError, match="no entry for judge 'judge-2'"):
        JudgeCalibrator({"judge-1": "linear"}).fit(battles, y)


# ----------------------------------------------------------------------- coefficients
def test_coefficients_are_the_bias_in_units_of_the_table():
    data = simulate_battles(20_000, 100, n_models=5, n_judges=2, random_state=0)
    X, y = data.X, data.y.astype(float)
    # Another unit, and text that is no feature.
    X = X.assign(x2_a=100 * X["x2_a"], x2_b=100 * X["x2_b"], text_a="yes", text_b="no")
    battles = scored(X, y)
    fit = JudgeCalibrator().fit(battles, y)
    result, true = fit.coefficients_, data.truth.bias_coef
    assert fit.features_.tolist() == result.columns.tolist() == ["x1", "x2", "x3"]
    assert result.index.tolist() == ["judge-1", "judge-2"]
    assert (result.index.name, result.columns.name) == ("judge", None)
    # Over draws the deviations have a standard deviation of 0.04.
    assert_allclose(result * [1, 100, 1], true, atol=0.2)
    assert (np.sign(result) == np.sign(true)).all(axis=None)
    # One unit more on the left moves the logit by the coefficient.
    more = scored(X.assign(x2_a=X["x2_a"] + 1.0), y)
    moved = fit.transform(more).biases - fit.transform(battles).biases
    for m, judge in enumerate(battles.judges):
        assert_allclose(moved[battles.judge == m], result.loc[judge, "x2"], atol=1e-12)


class Spanned(Wrapped):
    """A learner that names its span, but not its coefficients."""

    def span(self, X):
        return X.contrast


def test_coefficients_of_feature_maps_and_of_other_learners():
    X, y = make_data(8)
    battles = scored(X, y)
    poly = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False))
    nameless = FunctionTransformer(lambda x: x[:, :2])
    learners = {"judge-1": LinearBias(poly), "judge-2": "linear"}
    fit = JudgeCalibrator(learners).fit(battles, y)
    result = fit.coefficients_
    assert result.columns.tolist() == [
        "x1", "x2", "x3", "x1^2", "x1 x2", "x1 x3", "x2^2", "x2 x3", "x3^2"
    ]  # fmt: skip
    assert_allclose(result.loc["judge-1"], fit.biases_["judge-1"].coef_)
    assert_allclose(result.loc["judge-2"].iloc[:3], fit.biases_["judge-2"].coef_)
    assert result.loc["judge-2"].iloc[3:].isna().all()
    learners = {"judge-1": LinearBias(nameless), "judge-2": BoostedBias(max_rounds=2)}
    result = JudgeCalibrator(learners).fit(battles, y).coefficients_
    assert result.columns.tolist() == [f"column {i} of the feature map" for i in (0, 1)]
    assert result.loc["judge-1"].notna().all() and result.loc["judge-2"].isna().all()
    only = JudgeCalibrator(BoostedBias(max_rounds=2)).fit(battles, y)
    assert only.coefficients_.shape == (2, 0)
    spanned = JudgeCalibrator(Spanned()).fit(battles, y)
    assert spanned.coefficients_.shape == (2, 0)
    bare = JudgeCalibrator().fit(scored(X.drop(columns=FEATURES), y), y)
    assert bare.coefficients_.shape == (2, 0) and len(bare.features_) == 0
    assert not hasattr(JudgeCalibrator(), "coefficients_")


# ------------------------------------------------------------------------------- rows


def test_judge_without_historical_rows():
    X, y = make_data(11)
    battles = scored(X, y)
    weight = np.ones(len(y))
    weight[(battles.judge == 1) & ~battles.involves_new] = 0.0
    fit = JudgeCalibrator().fit(battles, y, weight)
    assert fit.judges_.tolist() == ["judge-1"]
    reference = fit.transform(battles)
    assert np.isnan(reference.sensitivities[1]) and np.isfinite(
        reference.sensitivities[0]
    )
    with pytest.raises(BattlesError, match=r"Judges \['judge-2'\] were not calibrated"):
        fit.predict_proba(battles[battles.judge == 1])
    weight[(battles.judge >= 0) & ~battles.involves_new] = 0.0
    with pytest.raises(BattlesError, match="No judge has a historical row"):
        JudgeCalibrator().fit(battles, y, weight)


def by_name(X):
    return np.where(X["model_a"] < X["model_b"], "model_a", "model_b").astype(object)


@pytest.mark.parametrize("cycle", [False, True])
def test_auto_fits_position_effects_where_no_ranking_explains_the_display(cycle):
    X, y = make_data(4)
    order = by_name(X)
    if cycle:
        # One pair the other way round closes a circle.
        chosen = (X[["model_a", "model_b"]].isin(["model-01", "model-03"])).all(axis=1)
        order[chosen] = np.where(order[chosen] == "model_a", "model_b", "model_a")
    battles = scored(X.assign(shown_first=order), y)
    auto = JudgeCalibrator(position_effect="auto")
    if cycle:
        fit = auto.fit(battles, y)
    else:
        with pytest.warns(DataWarning, match="judge-[12]' .* is left out") as result:
            fit = auto.fit(battles, y)
        assert len(result) == 2
    assert (fit.has_position_effect_ == cycle).all()
    same = JudgeCalibrator(position_effect=cycle).fit(battles, y)
    assert_array_equal(fit.sensitivities_, same.sensitivities_)
    assert_array_equal(fit.position_effects_, same.position_effects_)
    assert (fit.transform(battles).position_effects is None) != cycle


def fits_without_order(battles, y, calibrator):
    """Of each judge, its fit without a position effect."""
    for m in range(len(battles.judges)):
        cut = battles.by_judge(m)
        used = ~battles.involves_new[cut.rows]
        delta = np.where(used, battles.score_differences[cut.rows], 0.0)[:, None]
        rows = TrainingRows(cut.pairs, y[cut.rows], used.astype(float), delta)
        learner = calibrator.biases_[battles.judges[m]]
        yield learner, rows, cut.order, np.ones(len(cut))


def test_the_test_for_a_favour_by_least_squares():
    """The order less what the other columns take of it, beside their ridge."""
    X, y = make_data(4)
    battles = scored(X, y)
    bias = LinearBias(alpha=0.3)
    fit = JudgeCalibrator(bias, position_effect=False).fit(battles, y)
    for result in fits_without_order(battles, y, fit):
        learner, task, order, _ = result
        w = task.weight
        design = np.hstack([task.parametric, learner.span(task.pairs)])
        coef = np.concatenate([learner.parametric_coef_, learner.coef_])
        p = expit(design @ coef)
        curvature, residual = w * p * (1.0 - p), w * (task.y - p)
        # A ridge is as many rows of outcome zero.
        root = np.concatenate([[0.0], np.sqrt(w.sum() * learner.ridge(task.pairs, w))])
        rows = np.vstack([np.sqrt(curvature)[:, None] * design, np.diag(root)])
        right = np.append(np.sqrt(curvature) * order, np.zeros(len(root)))
        others = order - design @ np.linalg.lstsq(rows, right, rcond=None)[0]
        effect, p_value = favour_of_a_side(*result)
        assert_allclose(effect, others @ residual / (curvature @ others**2), rtol=1e-8)
        z = abs(others @ residual) / np.linalg.norm(others * residual)
        assert_allclose(p_value, 2.0 * norm.sf(z), rtol=1e-8)


@pytest.mark.filterwarnings("ignore")
def test_a_judge_that_the_joint_fit_would_make_infinitely_sensitive_has_no_say():
    """Only two verdicts speak against it, on models that the fit could make equal."""
    data = simulate_battles(
        n_models=4, n_judges=2, n_new=60, n_historical=500, n_human=120,
        tau=0.0, rho=0.0, random_state=6,
    )  # fmt: skip
    X, y = data.X[["model_a", "model_b", "judge"]], np.asarray(data.y, dtype=float)
    scores = BTLRegressor().fit(X, y).scores_.sort_values()
    near = int(np.argmin(np.diff(scores)))
    pair = set(scores.index[near : near + 2])
    sides = X[["model_a", "model_b"]]
    old = (X["judge"] != "human") & (sides != "new-model").all(axis=1)
    few = X[old][:60].assign(judge="sure")
    better = (few["model_a"].map(scores) > few["model_b"].map(scores)).to_numpy()
    of_pair = [{a, b} == pair for a, b in few[["model_a", "model_b"]].to_numpy()]
    won = np.where(np.cumsum(of_pair) * of_pair <= 2, better ^ of_pair, better)
    more = pd.concat([X, few], ignore_index=True)
    settings = {"debiaser": "passthrough", "item_effects": None, "cv": 3}
    without = AnchorPipeline(**settings).fit(X, y)
    with pytest.warns(WeakJudgeWarning, match="'sure'.* help to place"):
        anchor = AnchorPipeline(**settings).fit(more, np.append(y, won))
    assert_allclose(anchor.btl_.scores_, without.btl_.scores_, atol=1e-6)
    assert 2.0 < anchor.calibrator_.sensitivities_["sure"] < 20.0


def runs_of_one_judge(n_runs=3, share=0.07, seed=0):
    """Verdicts of one judge on prompts, with this share of them drawn by a coin."""
    rng = np.random.default_rng(seed)
    data = simulate_battles(700, 150, n_models=5, n_judges=2, random_state=seed)
    X = data.X[["model_a", "model_b", "judge"]].assign(prompt_id=range(len(data.X)))
    y = np.asarray(data.y, dtype=float)
    first = np.flatnonzero(X["judge"] == "judge-1")
    tables, outcomes = [X], [y]
    for run in range(1, n_runs):
        part = X.iloc[first].assign(judge=f"judge-1 again {run}")
        # Whichever of the two models is displayed first.
        names = {"model_a": "model_b", "model_b": "model_a"}
        tables.append(part.rename(columns=names))
        coin = rng.random(len(first)) < share
        drawn = (rng.random(len(first)) < 0.5).astype(float)
        outcomes.append(1.0 - np.where(coin, drawn, y[first]))
    return pd.concat(tables, ignore_index=True), np.concatenate(outcomes)


def named_runs(X, y):
    anchor = AnchorPipeline(cv=2, random_state=0, item_effects="none")
    result = [
        one for one in warnings_of(lambda: anchor.fit(X, y)) if hasattr(one, "code")
    ]
    return [one.subject for one in result if one.code == "runs-of-one-judge"]


def test_runs_of_one_judge_are_named():
    X, y = runs_of_one_judge()
    runs = ("judge-1", "judge-1 again 1", "judge-1 again 2")
    assert named_runs(X, y) == [runs]
    # Features keep equal rows apart, whose groups are then those of rows.
    noise = np.random.default_rng(0).normal(size=(len(X), 2))
    assert named_runs(X.assign(z_a=noise[:, 0], z_b=noise[:, 1]), y) == [runs]
    # Half of the verdicts of a coin, other prompts, or none: nothing says so.
    assert named_runs(*runs_of_one_judge(share=0.5)) == []
    assert named_runs(X.assign(prompt_id=range(len(X))), y) == []
    assert named_runs(X.drop(columns="prompt_id"), y) == []


def test_rows_that_are_not_used_may_lack_features():
    X, y = make_data(9)
    unused = (X["judge"] == "human").to_numpy() | meets(X)
    holes = X.copy()
    holes.loc[unused, FEATURES] = np.nan
    one, other = (JudgeCalibrator().fit(scored(table, y), y) for table in (X, holes))
    assert_allclose(other.sensitivities_, one.sensitivities_, atol=1e-12)
