"""The chain: identities, the slow reference, folds, groups, repeats, roles."""

import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pytest
from learners import Wrapped
from numpy.testing import assert_allclose, assert_array_equal
from reference import Dense
from scipy.special import expit
from sklearn.pipeline import Pipeline
from tables import small

from skanchor import (
    AnchorPipeline,
    ArrivalScorer,
    BTLRegressor,
    Comparisons,
    JudgeCalibrator,
    RieszDebiaser,
    SourceKFold,
)
from skanchor.bias import BoostedBias
from skanchor.exceptions import DataWarning
from skanchor.simulation import simulate_battles


def plugged(data, position=False, bias="linear", new_models=None):
    """Rows with the plug-in of all stages, fitted on all rows."""
    X = Comparisons.from_battles(data.X, new_models=new_models)
    chain = (
        BTLRegressor(),
        JudgeCalibrator(bias=bias, position_effect=position),
        ArrivalScorer(),
    )
    for stage in chain:
        X = stage.fit(X, data.y).transform(X)
    return X


# ------------------------------------------------------------------------- identities
@pytest.mark.parametrize("position", [False, True])
@pytest.mark.parametrize("n_new_models", [1, 3])
def test_riesz_identities(position, n_new_models):
    data = small(
        n_new_models=n_new_models, new_score=list(np.linspace(-0.5, 0.5, n_new_models))
    )
    X = plugged(data, position)
    debiaser = RieszDebiaser().fit(X, data.y)
    a = debiaser.weights(X)
    dense = Dense(data.X, data.y, X.models, X.judges, X.new_models, position)
    s = np.linalg.lstsq(dense.S, X.scores, rcond=None)[0]
    v = np.zeros(sum(dense.sizes))
    edges = np.cumsum(dense.sizes)
    v[: edges[0]] = s
    v[edges[0] : edges[1]] = X.sensitivities
    p = expit(X.logits())
    gradient = dense.gradient(v)
    # The gradient columns of psi are the feature contrasts themselves.
    sums = gradient.T @ (a * (p * (1 - p))[:, None])
    assert_allclose(sums, dense.targets(), atol=1e-10)
    assert debiaser.identity_error_ < 1e-10


@pytest.mark.parametrize("position", [False, True])
@pytest.mark.parametrize("n_new_models", [1, 2])
def test_cross_fit_equals_the_dense_reference(position, n_new_models, exact_folds):
    data = small(n_new_models=n_new_models, new_score=[0.5, -0.3][:n_new_models])
    anchor = AnchorPipeline(
        calibrator=JudgeCalibrator(position_effect=position),
        historical_fit="two-step",
        item_effects=None,
        cv=4,
        random_state=0,
    ).fit(data.X, data.y)
    dense = Dense(
        data.X, data.y, anchor.models_, anchor.judges_, anchor.new_models_, position
    )
    estimate, covariance, influence = dense.anchor(anchor.fold_plan_[0])
    result = anchor.result_
    assert_allclose(result.all_scores, estimate, atol=2e-6)
    assert_allclose(result.covariances[0], covariance, atol=1e-7)
    assert_allclose(anchor.influence_, influence, atol=1e-6)
    assert_allclose(
        anchor.variance_[["human", "judge", "cross"]].sum(axis=1),
        anchor.standard_errors_**2,
        rtol=1e-12,
    )


def test_lower_bound_is_the_formula():
    data = small()
    calibrator = JudgeCalibrator(position_effect=False)
    anchor = AnchorPipeline(
        calibrator=calibrator,
        cv=3,
        historical_fit="two-step",
        item_effects=None,
        random_state=0,
    )
    anchor.fit(data.X, data.y)
    X = plugged(data)
    dense = Dense(data.X, data.y, X.models, X.judges, X.new_models)
    v = dense.two_step(np.ones(len(data.y)))
    human = dense.m < 0
    information = dense.information(v, human.astype(float))
    sizes = np.cumsum(dense.sizes)
    s0 = np.zeros(len(v))
    s0[: sizes[0]] = v[: sizes[0]]
    s0[sizes[0] : sizes[1]] = -v[sizes[0] : sizes[1]]
    v0 = s0 / np.linalg.norm(s0)
    L = dense.targets()
    bound = (L.T @ v0) ** 2 / (v0 @ information @ v0)
    assert_allclose(anchor.result_.lower_bound, bound, rtol=1e-4)


def test_close_to_joint_maximum_likelihood():
    data = simulate_battles(random_state=0)
    anchor = AnchorPipeline(item_effects=None, random_state=0).fit(data.X, data.y)
    dense = Dense(data.X, data.y, anchor.models_, anchor.judges_, anchor.new_models_)
    weight = np.ones(len(data.y))
    v = dense.joint(weight)
    error = anchor.standard_errors_.iloc[0]
    assert abs(anchor.scores_.iloc[0] - v[0]) < 0.4 * error
    inverse = np.linalg.inv(dense.information(v, weight))
    assert_allclose(error, np.sqrt(inverse[0, 0]), rtol=0.1)


# --------------------------------------------------------------- groups, weights, folds


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
def test_groups_stay_whole_and_square_their_total(rng):
    data = small()
    groups = rng.integers(0, 200, len(data.y))
    X = data.X.assign(prompt_id=groups)
    anchor = AnchorPipeline(cv=4, item_effects=None, random_state=0)
    anchor.fit(X, data.y, groups="prompt_id")
    for train, test in anchor.fold_plan_[0]:
        assert not set(groups[train]) & set(groups[test])
    totals = np.zeros((200, len(anchor.models_)))
    np.add.at(totals, groups, anchor.influence_)
    assert_allclose(totals.T @ totals, anchor.result_.covariances[0], rtol=1e-10)
    parts = anchor.variance_[["human", "judge", "cross"]].sum(axis=1)
    assert_allclose(parts, anchor.standard_errors_**2)
    assert (anchor.variance_["cross"] != 0).all()


def test_repeats_combine_by_medians():
    data = small()
    anchor = AnchorPipeline(cv=3, n_repeats=3, random_state=0).fit(data.X, data.y)
    result = anchor.result_
    assert result.estimates.shape[0] == len(anchor.fold_plan_) == 3
    new = np.flatnonzero(result.is_new)[0]
    estimate = np.median(result.estimates[:, new])
    variance = np.median(
        result.covariances[:, new, new] + (result.estimates[:, new] - estimate) ** 2
    )
    assert anchor.scores_.iloc[0] == pytest.approx(estimate)
    assert anchor.standard_errors_.iloc[0] == pytest.approx(np.sqrt(variance))
    again = AnchorPipeline(cv=anchor.fold_plan_).fit(data.X, data.y)
    assert_allclose(again.result_.estimates, result.estimates, atol=1e-12)
    # The influence of a row is its mean over the repeats.
    single_fits = [
        AnchorPipeline(cv=plan).fit(data.X, data.y) for plan in anchor.fold_plan_
    ]
    mean = np.mean([one.influence_ for one in single_fits], axis=0)
    assert_allclose(anchor.influence_, mean, atol=1e-12)
    seeded = SourceKFold(3, random_state=0)
    with pytest.raises(ValueError, match="gives the same folds each time"):
        AnchorPipeline(cv=seeded, n_repeats=2).fit(data.X, data.y)
    # One that shuffles anew each time does repeat.
    again = SourceKFold(3, random_state=np.random.RandomState(0))
    anchor = AnchorPipeline(cv=again, n_repeats=2).fit(data.X, data.y)
    assert np.ptp(anchor.result_.estimates[:, new]) > 0.0


# ------------------------------------------------------------------------------- roles


def test_warm_arrival_uses_its_human_rows():
    data = small(n_extra_human=150)
    X = pd.concat([data.X, data.extra_X], ignore_index=True)
    y = np.concatenate([data.y, data.extra_y])
    cold = AnchorPipeline(historical_fit="two-step", random_state=0)
    cold.fit(data.X, data.y)
    warm = AnchorPipeline(
        new_models=["new-model"], historical_fit="two-step", random_state=0
    ).fit(X, y)
    assert warm.standard_errors_.iloc[0] < cold.standard_errors_.iloc[0]
    shares = [
        parts["human"] / (parts["human"] + parts["judge"])
        for parts in (anchor.variance_.iloc[0] for anchor in (warm, cold))
    ]
    # A third of the variance comes from people without such rows, half with them.
    assert shares[0] > shares[1] + 0.1


# ----------------------------------------------------------------- learners and sklearn
def test_projection_route_agrees_with_the_linear_span(exact_folds):
    class Plain:
        """Meets the protocol by delegation, without a span."""

        def __init__(self, loss="logistic"):
            self.loss = loss

        def get_params(self, deep=True):
            return {"loss": self.loss}

        def set_params(self, **params):
            self.__dict__.update(params)
            return self

        fit, contrast = Wrapped.fit, Wrapped.contrast

    data = small()
    linear = AnchorPipeline(
        historical_fit="two-step", item_effects=None, cv=3, random_state=0
    )
    linear.fit(data.X, data.y)
    plain = AnchorPipeline(
        historical_fit="two-step",
        item_effects=None,
        calibrator=JudgeCalibrator(bias=Plain()),
        debiaser=RieszDebiaser(Plain(), inner_folds=1),
        cv=linear.fold_plan_,
    ).fit(data.X, data.y)
    # Folds are fitted to a thousandth of a standard error.
    assert_allclose(plain.result_.estimates, linear.result_.estimates, atol=1e-5)
    assert_allclose(plain.result_.covariances, linear.result_.covariances, atol=1e-7)
    assert plain.debiaser_.identity_error_ < 1e-9


def test_plain_pipeline_is_the_plug_in():
    data = small()
    chain = Pipeline(
        [
            ("btl", BTLRegressor()),
            ("calibrator", JudgeCalibrator()),
            ("arrival", ArrivalScorer()),
        ]
    ).fit(data.X, data.y)
    anchor = AnchorPipeline(
        debiaser="passthrough", historical_fit="two-step", item_effects=None, cv=3
    ).fit(data.X, data.y)
    assert_allclose(chain[-1].scores_, anchor.scores_)
    assert anchor.standard_errors_.isna().all()
    result, n_models = anchor.result_, len(anchor.result_.models)
    assert result.parts.shape == (1, 4, n_models) and np.isnan(result.parts).all()
    assert np.isnan(result.part_covariances).all()
    assert result.covariances.shape == (1, n_models, n_models)
    assert_allclose(chain.predict_proba(data.X), anchor.predict_proba(data.X))


def test_a_part_may_be_named_beside_its_parameters():
    named = {"calibrator__bias": "boosted", "calibrator__bias__max_rounds": 7}
    learner = AnchorPipeline().set_params(**named).calibrator.bias
    assert isinstance(learner, BoostedBias) and learner.max_rounds == 7
    anchor = AnchorPipeline()
    anchor.set_params(calibrator=None, calibrator__position_effect=True)
    assert anchor.calibrator.position_effect
    styled = BTLRegressor(bias="linear").set_params(bias__alpha=2.0)
    assert styled.bias.alpha == 2.0
    styled = BTLRegressor().set_params(bias="boosted", bias__max_rounds=7)
    assert isinstance(styled.bias, BoostedBias) and styled.bias.max_rounds == 7
    # People have no bias of their own unless one is asked for.
    with pytest.raises(AttributeError, match="set_params"):
        BTLRegressor().set_params(bias__alpha=2.0)


# --------------------------------------------------------------------------- statistics
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
def test_coverage_on_the_default_simulation():
    from scipy.stats import binom

    n, hits, squares = 300, 0, []
    for seed in range(n):
        data = simulate_battles(random_state=seed)
        anchor = AnchorPipeline(random_state=0).fit(data.X, data.y)
        true = data.truth.new_scores.iloc[0]
        low, high = anchor.conf_int().iloc[0]
        hits += low <= true <= high
        squares.append((anchor.scores_.iloc[0] - true) ** 2)
    low, high = binom.interval(1 - 1e-4, n, 0.95)  # false alarm once in 10 000 runs
    assert low <= hits <= high
    error = np.std(squares) / (2 * np.sqrt(np.mean(squares) * n))
    assert abs(np.sqrt(np.mean(squares)) - 0.095) < 4 * error


@pytest.mark.parametrize(("item_effects", "limit"), [(None, 3.0), ("auto", 3.25)])
def test_peak_memory_is_a_small_multiple_of_the_table(item_effects, limit):
    rng = np.random.default_rng(0)
    n, n_models, n_features = 12_000, 15, 12
    judge = rng.choice(["human", "judge-1", "judge-2", "judge-3"], n)
    a = rng.integers(0, n_models, n)
    b = (a + rng.integers(1, n_models, n)) % n_models
    judge[((a == 0) | (b == 0)) & (judge == "human")] = "judge-1"
    names = np.array([f"model-{i}" for i in range(n_models)])
    table = {"model_a": names[a], "model_b": names[b], "judge": judge}
    for side in ("a", "b"):
        table |= {f"x{j}_{side}": rng.normal(size=n) for j in range(n_features)}
    X, y = pd.DataFrame(table), (rng.random(n) < 0.5 + 0.01 * (a - b)).astype(int)
    encoded = Comparisons.from_battles(X)
    anchor = AnchorPipeline(item_effects=item_effects, random_state=0)
    tracemalloc.start()
    try:
        anchor.fit(encoded, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < limit * X.memory_usage(deep=True).sum()


def test_what_only_judges_join_is_on_the_board_beside_what_is_left_out():
    """The fit of all votes, which places what was left out, joins no groups either."""
    data = simulate_battles(
        n_models=6, n_judges=2, n_new=300, n_historical=2400, random_state=0
    )
    X, y = data.X[["model_a", "model_b", "judge"]], np.asarray(data.y)
    first = ["model-01", "model-02", "model-03"]
    joins = X["model_a"].isin(first) != X["model_b"].isin(first)
    remaining = ~(joins & (X["judge"] == "human")).to_numpy()
    top = pd.DataFrame(
        {"model_a": "top", "model_b": first * 2,
         "judge": ["human"] * 3 + ["judge-1"] * 3}
    )  # fmt: skip
    X, y = (
        pd.concat([X[remaining], top], ignore_index=True),
        np.r_[y[remaining], np.ones(6)],
    )
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None)
    with pytest.warns(DataWarning, match=r"\['top'\].* are left out") as records:
        leaderboard = anchor.fit(X, y).leaderboard()
    assert len(records) == 1
    assert np.isinf(leaderboard.loc["top", "standard_error"])
    assert leaderboard.loc["top", ["n_human", "n_judge"]].tolist() == [3, 3]
    assert np.isfinite(leaderboard["standard_error"].drop("top")).all()


@pytest.mark.parametrize("item_effects", ["none", "random"])
def test_a_position_effect_that_is_left_out_is_no_parameter(item_effects):
    data = simulate_battles(n_models=6, n_judges=2, n_historical=900, random_state=2)
    X, hit = data.X, data.X["judge"] == "judge-1"
    named = np.where(X["model_a"] < X["model_b"], "model_a", "model_b")
    with_order = X.assign(shown_first=np.where(hit, named, "model_a"))
    unknown = X.assign(shown_first=np.where(hit, None, "model_a"))
    make = partial(
        AnchorPipeline,
        calibrator=JudgeCalibrator(position_effect="auto"),
        item_effects=item_effects,
        random_state=0,
        cv=3,
    )
    with pytest.warns(DataWarning, match="'judge-1' cannot be learned"):
        one = make().fit(with_order, data.y)
    other = make().fit(unknown, data.y)
    assert_array_equal(one.result_.estimates, other.result_.estimates)
    assert_array_equal(one.result_.covariances, other.result_.covariances)
    assert np.isfinite(one.standard_errors_).all()
