"""People with a bias of their own: scores at equal style."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import SplineTransformer
from tables import FEATURES, contrasts, quiet, styled

from skanchor import (
    AnchorHistory,
    AnchorPipeline,
    BTLRegressor,
    Comparisons,
    RieszDebiaser,
)
from skanchor.bias import BoostedBias, LinearBias, NetworkBias
from skanchor.exceptions import BattlesError


def pipeline(**options):
    options = {"human_bias": "linear", "cv": 3, "random_state": 0} | options
    return AnchorPipeline(**options)


def votes(data, y):
    human = (data.X["judge"] == "human").to_numpy()
    return data.X[human].drop(columns="judge"), y[human]


def design(X):
    """Contrasts of models (the last one left out) and of features, row by row."""
    models = sorted(set(X["model_a"]) | set(X["model_b"]))
    eye = np.eye(len(models))
    position = {model: eye[i] for i, model in enumerate(models)}
    z = np.array(
        [
            position[a] - position[b]
            for a, b in zip(X["model_a"], X["model_b"], strict=True)
        ]
    )
    return models, np.hstack([z[:, :-1], contrasts(X)])


@pytest.fixture(scope="module")
def table():
    return styled()


# ------------------------------------------------------------------ votes by themselves
def test_votes_alone_are_a_logistic_regression(table):
    data, y, _ = table
    X, y = votes(data, y)
    models, D = design(X)
    dense = LogisticRegression(C=1e12, fit_intercept=False, tol=1e-12, max_iter=500)
    coef = dense.fit(D, y).coef_[0]
    scores = np.append(coef[: len(models) - 1], 0.0)
    btl = BTLRegressor(bias="linear").fit(X, y)
    assert_allclose(btl.scores_[models], scores - scores.mean(), atol=1e-5)
    assert_allclose(btl.bias_.coef_, coef[len(models) - 1 :], atol=1e-5)
    p = btl.predict_proba(X)[:, 1]
    assert_allclose(p, expit(D @ coef), atol=1e-6)


@pytest.mark.parametrize("kind", ["sandwich", "fisher", "clustered"])
def test_the_covariance_is_that_of_the_dense_design(table, kind):
    data, y, _ = table
    X, y = votes(data, y)
    groups = np.arange(len(X)) // 3
    models, D = design(X)
    btl = BTLRegressor(bias="linear", covariance=kind)
    btl.fit(X, y, groups=groups if kind == "clustered" else None)
    p = btl.predict_proba(X)[:, 1]
    inverse = np.linalg.inv(D.T @ (D * (p * (1 - p))[:, None]))
    rows = D * (y - p)[:, None]
    if kind == "clustered":
        rows = pd.DataFrame(rows).groupby(groups).sum().to_numpy()
    if kind != "fisher":
        inverse = inverse @ rows.T @ rows @ inverse
    K = len(models)
    centre = (np.eye(K) - 1 / K)[:, : K - 1]
    wanted = centre @ inverse[: K - 1, : K - 1] @ centre.T
    at = [btl.models_.tolist().index(model) for model in models]
    assert_allclose(btl.covariance_[np.ix_(at, at)], wanted, atol=1e-9)


def test_a_ridge_on_scores_is_that_of_the_penalised_regression(table):
    data, y, _ = table
    X, y = votes(data, y)
    models, D = design(X)
    K, alpha = len(models), 0.1
    centre = (np.eye(K) - 1 / K)[:, : K - 1]

    def loss(coef):
        eta, scores = D @ coef, centre @ coef[: K - 1]
        slope = D.T @ (expit(eta) - y) / len(y)
        slope[: K - 1] += alpha * centre.T @ scores
        value = np.mean(np.logaddexp(0.0, eta) - y * eta)
        return value + alpha / 2 * scores @ scores, slope

    start = np.zeros(D.shape[1])
    coef = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9}).x
    btl = BTLRegressor(alpha=alpha, bias="linear").fit(X, y)
    assert_allclose(btl.scores_[models], centre @ coef[: K - 1], atol=1e-6)
    assert_allclose(btl.bias_.coef_, coef[K - 1 :], atol=1e-6)


# ------------------------------------------------------------------------- exact laws


@pytest.mark.parametrize("historical_fit", ["joint", "two-step"])
def test_weights_balance_features_of_votes(table, historical_fit):
    """Sums of a V phi over votes are zero: scores do not depend on coefficients."""
    data, y, _ = table
    X = data.X
    anchor = pipeline(historical_fit=historical_fit).fit(X, y)
    rows = anchor.comparisons_
    human = (X["judge"] == "human").to_numpy()
    p = expit(rows.logits())
    a = anchor.debiaser_.weights(rows)
    result = contrasts(X)[human].T @ (a * (p * (1 - p))[:, None])[human]
    assert_allclose(result, np.zeros_like(result), atol=1e-7)
    assert anchor.debiaser_.identity_error_ < 1e-8
    assert not anchor.debiaser_.undetermined_.any()


def test_influence_is_the_derivative_by_a_weight(table):
    """Of the scores of a table of votes, which are one regression."""
    data, y, _ = table
    X, y = votes(data, y)
    battles = Comparisons.from_battles(X, new_models=[])

    def fitted(weight):
        btl = BTLRegressor(bias="linear").fit(battles, y, sample_weight=weight)
        rows = btl.transform(battles)
        debiaser = RieszDebiaser(human_bias=btl.bias_)
        return debiaser.fit(rows, y, sample_weight=weight), rows

    def scores(weight):
        return fitted(weight)[1].scores

    one = np.ones(len(X))
    debiaser, rows = fitted(one)
    for row in (0, 17):
        step = np.zeros(len(X))
        step[row] = 1e-3
        slope = (scores(one + step) - scores(one - step)) / 2e-3
        result = debiaser.influence(rows, y)[row]
        assert_allclose(slope, result, atol=1e-6)


# --------------------------------------------------------------------------- learners
@pytest.mark.parametrize(
    "learner",
    [
        LinearBias(SplineTransformer(n_knots=3, degree=2), alpha=1e-3),
        BoostedBias(max_rounds=5),
        pytest.param(
            NetworkBias(module__width=4, max_epochs=1, alpha=1.0),
            marks=pytest.mark.torch,
        ),
    ],
    ids=["splines", "boosted", "network"],
)
def test_any_learner_serves(table, learner):
    data, y, _ = table
    linear = pipeline(cv=2).fit(data.X, y)
    fitted = pipeline(cv=2, human_bias=learner)
    quiet(fitted.fit, data.X, y)
    assert type(fitted.human_bias_) is type(learner)
    apart = abs(fitted.scores_ - linear.scores_).iloc[0]
    assert apart < 4 * linear.standard_errors_.iloc[0]


# -------------------------------------------------------------------------- bad input
def test_a_history_is_not_kept_with_style(table):
    data, y, _ = table
    history = AnchorHistory(pipeline(item_effects=None))
    old = (data.X[["model_a", "model_b"]] != "new-model").all(axis=1).to_numpy()
    with pytest.raises(BattlesError, match="a bias of people"):
        history.fit(data.X[old], y[old])


# ------------------------------------------------------------------ what it tells of it
def test_diagnostics_tell_the_coefficients_of_style(table):
    data, y, coef = table
    anchor = pipeline(item_effects=None).fit(data.X, y)
    style = anchor.result_.diagnostics.style
    assert style.index.tolist() == FEATURES
    assert_allclose(style["coefficient"], anchor.human_bias_.coef_)
    assert (abs(style["coefficient"] - coef) < 4 * style["standard_error"]).all()
    # With judges errors are a little smaller than by votes alone.
    X, outcomes = votes(data, y)
    _, D = design(X)
    p = BTLRegressor(bias="linear").fit(X, outcomes).predict_proba(X)[:, 1]
    alone = np.linalg.inv(D.T @ (D * (p * (1 - p))[:, None]))
    ratio = style["standard_error"] / np.sqrt(np.diag(alone))[-3:]
    assert ((ratio > 0.8) & (ratio < 1.05)).all()
    shares = anchor.result_.diagnostics.historical["residual_share"]
    assert ((shares > 0.3) & (shares < 1)).all()


def test_style_that_tells_models_apart_is_warned_of(table):
    data, y, _ = table
    X = data.X.copy()
    names = np.unique(data.truth.historical_models)
    rng = np.random.default_rng(0)
    for side in "ab":
        # One model alone writes in a way of its own.
        is_first_model = (X[f"model_{side}"] == names[0]).to_numpy(float)
        X[f"x1_{side}"] = is_first_model + 0.02 * rng.normal(size=len(X))
    with pytest.warns(Warning, match=r"Historical model .* of the information on it"):
        pipeline(item_effects=None).fit(X, y)


def test_a_table_without_features_is_refused(table):
    data, y, _ = table
    with pytest.raises(BattlesError, match="needs features of the responses"):
        pipeline().fit(data.X[["model_a", "model_b", "judge"]], y)


def test_separated_votes_are_refused():
    data, y, _ = styled(n_historical=100, n_new=30, n_models=3)
    X = data.X.copy()
    human = (X["judge"] == "human").to_numpy()
    X["x1_a"] = np.where(human, y, X["x1_a"])
    X["x1_b"] = np.where(human, 1 - y, X["x1_b"])
    with pytest.raises(BattlesError, match="separate the human votes"):
        pipeline(cv=2).fit(X, y)
