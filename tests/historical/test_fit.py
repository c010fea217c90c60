"""The joint historical fit: exact properties of its minimum."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit

from skanchor import (
    AnchorPipeline,
    ArrivalScorer,
    BTLRegressor,
    JudgeCalibrator,
    RieszDebiaser,
)
from skanchor._crossfit.stages import Stages, fit_history, fit_stages
from skanchor._sample.admission import admit_to_ranking
from skanchor._sample.sample import Sample
from skanchor.bias import LinearBias
from skanchor.simulation import simulate_battles

# Small tables cross thresholds that are not at issue here.
pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")

STAGES = Stages(
    BTLRegressor(),
    JudgeCalibrator(position_effect=False),
    ArrivalScorer(),
    RieszDebiaser(),
    "joint",
)


def admitted(weight=None, **settings):
    sizes = dict(n_models=6, n_judges=2, n_new=150, n_historical=900, n_extra_human=0)
    data = simulate_battles(**{**sizes, **settings}, random_state=3)
    return admit_to_ranking(Sample.from_battles(data.X, data.y, weight), None)


def stages(**parts):
    return replace(STAGES, **parts)


def historical_gradients(chain, sample):
    """Score of the historical rows by model, sensitivity and feature, by hand."""
    X, n = chain.X, len(sample.X.models)
    old = X.is_usable & ~X.involves_new
    residual = np.where(old, sample.weight * (sample.y - expit(X.logits())), 0.0)
    factor = np.where(X.judge < 0, 1.0, X.sensitivities[X.judge])
    by_model = np.zeros(n)
    np.add.at(by_model, X.left, factor * residual)
    np.add.at(by_model, X.right, -factor * residual)
    result = [by_model]
    for m in range(len(X.judges)):
        residual_of_judge = np.where(X.judge == m, residual, 0.0)
        result.append([residual_of_judge @ X.score_differences])
        result.append(residual_of_judge @ (X.features_left - X.features_right))
        if X.position_effects is not None:
            result.append([residual_of_judge @ X.order])
    return np.concatenate(result)


def test_it_is_the_minimum_of_the_loss_of_all_rows():
    sample = admitted()
    X, y = sample.X, sample.y
    old = ~X.involves_new & X.is_usable
    contrast = np.where(X.is_human[:, None], 0.0, X.features_left - X.features_right)
    n, M, d = len(X.models), len(X.judges), contrast.shape[1]

    def loss(v):
        theta, c = v[:n], np.append(v[n : n + M], 1.0)
        b = np.vstack([v[n + M :].reshape(M, d), np.zeros(d)])
        eta = c[X.judge] * (theta[X.left] - theta[X.right])
        eta += np.sum(b[X.judge] * contrast, axis=1)
        return np.sum(np.logaddexp(0, eta)[old] - (y * eta)[old]) + theta.sum() ** 2

    start = np.append(np.append(np.linspace(-1, 1, n), np.ones(M)), np.zeros(M * d))
    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-5})
    chain = fit_stages(STAGES, sample)
    reference = ~X.is_new
    theta = best.x[:n][reference]
    assert_allclose(chain.scores[reference], theta - theta.mean(), atol=1e-4)
    assert_allclose(chain.X.sensitivities, best.x[n : n + M], atol=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_arrivals_move_nothing_of_the_history(alpha):
    sample = admitted()
    unfitted = stages(calibrator=JudgeCalibrator(bias=LinearBias(alpha=alpha)))
    whole = fit_history(unfitted, sample)
    alone = fit_history(unfitted, sample[~sample.X.involves_new])
    old = ~sample.X.is_new
    assert_allclose(whole.X.scores[old], alone.X.scores[old], atol=1e-8)
    assert_allclose(whole.X.sensitivities, alone.X.sensitivities, atol=1e-8)
    for one, other in zip(
        whole.calibrator.biases_.values(),
        alone.calibrator.biases_.values(),
        strict=True,
    ):
        assert_allclose(one.coef_, other.coef_, atol=1e-8)


def test_the_pipeline_needs_fewer_votes():
    data = simulate_battles(n_historical=5700, n_human=100, random_state=3)
    joint, apart = (
        AnchorPipeline(historical_fit=how, cv=5, item_effects=None, random_state=0).fit(
            data.X, data.y
        )
        for how in ("joint", "two-step")
    )
    assert joint.standard_errors_.iloc[0] < 0.8 * apart.standard_errors_.iloc[0]
    assert abs(joint.scores_.iloc[0] - 0.5) < 3 * joint.standard_errors_.iloc[0]


def test_a_learner_without_a_span_alternates_with_the_scores():
    data = simulate_battles(n_historical=2200, n_human=200, random_state=3)
    sample = admit_to_ranking(Sample.from_battles(data.X, data.y), None)
    unfitted = stages(calibrator=JudgeCalibrator(bias="boosted"))
    chain = fit_stages(unfitted, sample)
    result = historical_gradients(chain, sample)
    assert_allclose(result[: len(sample.X.models)][~sample.X.is_new], 0.0, atol=1e-4)
