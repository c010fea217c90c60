"""Weights that allow for curved scales of judges: dense algebra, and what it mends."""

import warnings

import numpy as np
import pandas as pd
import pytest
from learners import Wrapped
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from scipy.special import expit

from skanchor import AnchorPipeline, Comparisons, JudgeCalibrator, RieszDebiaser
from skanchor._numerics.blocks import bend
from skanchor.simulation import simulate_battles

PRIOR = 0.8


def test_the_column_is_the_derivative_of_the_scale():
    delta, step = np.linspace(-4, 4, 33), 1e-5

    def scale(k):
        b = np.exp(-k)
        return np.sinh(b * np.arcsinh(delta)) / b

    assert_allclose(scale(0.0), delta, atol=1e-14)
    due = (scale(step) - scale(-step)) / (2 * step)
    assert_allclose(bend(delta), due, atol=1e-8)
    assert_allclose(bend(-delta), -bend(delta))


def plugged(seed=1):
    """Rows that carry true parameters."""
    data = simulate_battles(
        n_models=6, n_judges=2, n_new=150, n_historical=900, rho=0.0,
        random_state=seed,
    )  # fmt: skip
    X = Comparisons.from_battles(
        data.X[["model_a", "model_b", "judge"]], new_models=["new-model"]
    )
    scores = pd.concat([data.truth.scores, data.truth.new_scores])
    X = X.with_columns(
        scores=scores.reindex(X.models).to_numpy(),
        sensitivities=data.truth.sensitivities.reindex(X.judges).to_numpy(),
        biases=np.zeros(len(X)),
    )
    return X, np.asarray(data.y)


def test_weights_equal_dense_algebra():
    X, y = plugged()
    weights = RieszDebiaser(judge_scale="curved").fit(X, y).weights(X)
    n_models, human = len(X.models), X.is_human
    new = X.is_new
    S = np.zeros((n_models, n_models - 1))
    S[new, 0], S[~new, 1:] = 1.0, null_space(np.ones((1, n_models - 1)))
    Z = S[X.left] - S[X.right]
    slope = np.where(human, 1.0, np.append(X.sensitivities, 1.0)[X.judge])
    delta = X.score_differences
    own = (X.judge[:, None] == np.arange(2)).astype(float)
    columns = [Z * slope[:, None], own * delta[:, None], own * bend(delta)[:, None]]
    xi = np.hstack(columns)
    p = expit(X.logits())
    v = p * (1 - p)
    prior = np.zeros(xi.shape[1])
    for m in range(2):
        mine = X.judge == m
        # As strong as PRIOR says on the historical rows, beside the mean curvature.
        share = v[mine].sum() / v[mine & ~X.involves_new].sum()
        prior[-2 + m] = share / PRIOR**2
    J = xi.T @ (xi * v[:, None]) + np.diag(prior)
    targets = np.zeros((xi.shape[1], n_models))
    targets[: n_models - 1] = S.T
    assert_allclose(weights, xi @ np.linalg.solve(J, targets), atol=1e-8)


def test_straight_scales_cost_little():
    X, y = plugged()
    new = X.is_new
    errors = {}
    for scale in ("straight", "curved"):
        debiaser = RieszDebiaser(judge_scale=scale).fit(X, y)
        a = debiaser.weights(X)[:, new]
        p = expit(X.logits())
        errors[scale] = np.sqrt(np.sum(p * (1 - p) * a[:, 0] ** 2))
    assert errors["straight"] < errors["curved"] < 1.05 * errors["straight"]


@pytest.mark.parametrize("item_effects", ["none", "random"])
def test_a_saturating_judge_is_seen_through(item_effects):
    # Expected outcomes: what is left is bias.
    data = simulate_battles(
        n_historical=6000, n_new=600, rho=0.0, tau=0.0, new_score=3.0, random_state=0
    )
    X, truth = data.X[["model_a", "model_b", "judge"]], data.truth
    scores = pd.concat([truth.scores, truth.new_scores])
    delta = (X["model_a"].map(scores) - X["model_b"].map(scores)).to_numpy()
    slope = X["judge"].map(truth.sensitivities).to_numpy(float)
    human = np.isnan(slope)
    eta = np.where(human, delta, slope * 2.0 * np.tanh(delta / 2.0))
    error = {}
    for scale in ("straight", "curved"):
        anchor = AnchorPipeline(
            calibrator=JudgeCalibrator(position_effect=False),
            debiaser=RieszDebiaser("calibrator", judge_scale=scale),
            item_effects=item_effects, cv=3, random_state=0,
        )  # fmt: skip
        with warnings.catch_warnings():
            # Outcomes without noise are warned of, and so is the curvature.
            warnings.simplefilter("ignore")
            anchor.fit(X, expit(eta))
        error[scale] = abs(anchor.scores_["new-model"] - 3.0)
    assert error["straight"] > 0.1
    assert error["curved"] < 0.7 * error["straight"]


def test_learners_without_a_span_are_refused():
    data = simulate_battles(n_models=5, n_new=100, n_historical=800, random_state=0)
    anchor = AnchorPipeline(
        debiaser=RieszDebiaser(Wrapped(), judge_scale="curved"), cv=2, item_effects=None
    )
    with pytest.raises(ValueError, match="judge_scale='curved' needs learners"):
        anchor.fit(data.X, data.y)
    with pytest.raises(ValueError, match="judge_scale"):
        RieszDebiaser(judge_scale="bent").fit(*plugged())
