"""The joint historical fit: exact properties of its minimum."""

from dataclasses import replace

import numpy as np
import pandas as pd
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
from skanchor._battles import decide_roles
from skanchor._crossfit.historical import fit_history, fit_stages
from skanchor._crossfit.one_fold import FoldStart, fit_training_set
from skanchor._crossfit.stages import FullFit, Stages
from skanchor._sample.admission import admit_to_ranking
from skanchor._sample.sample import Sample
from skanchor.baselines import JointMLE
from skanchor.bias import LinearBias
from skanchor.exceptions import BattlesError
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
    return admit_to_ranking(Sample.admit(data.X, data.y, weight), None)


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
    found = [by_model]
    for m in range(len(X.judges)):
        own = np.where(X.judge == m, residual, 0.0)
        found.append([own @ X.score_differences])
        found.append(own @ (X.features_left - X.features_right))
        if X.position_effects is not None:
            found.append([own @ X.order])
    return np.concatenate(found)


@pytest.mark.parametrize("position", [False, True])
def test_the_score_of_the_historical_rows_vanishes(position):
    given = stages(calibrator=JudgeCalibrator(position_effect=position))
    sample = admitted(weight=np.random.default_rng(0).integers(1, 4, 1050))
    chain = fit_stages(given, sample)
    assert chain.is_joint
    assert_allclose(historical_gradients(chain, sample), 0.0, atol=1e-4)
    assert_allclose(chain.scores[~sample.X.is_new].sum(), 0.0, atol=1e-10)
    # The stages carry what was fitted jointly.
    known = chain.calibrator.transform(chain.btl.transform(sample.X))
    old = ~sample.X.involves_new
    assert_allclose(known.logits()[old], chain.X.logits()[old], atol=1e-10)
    # Scores by votes alone do not have that property.
    apart = fit_stages(replace(given, historical_fit="two-step"), sample)
    assert np.abs(historical_gradients(apart, sample)).max() > 1.0


def test_without_judge_rows_it_is_the_fit_of_votes():
    data = simulate_battles(n_models=5, n_historical=500, n_new=60, random_state=0)
    votes = (data.X.judge == "human").to_numpy()
    sample = Sample.admit(data.X[votes], np.asarray(data.y)[votes])
    sample = admit_to_ranking(sample, ["model-01"])
    chain = fit_stages(STAGES, sample)
    assert not chain.is_joint
    btl = BTLRegressor().fit_sample(sample)
    assert_allclose(chain.scores[~sample.X.is_new], btl.scores_, atol=1e-12)


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
    known = ~X.is_new
    theta = best.x[:n][known]
    assert_allclose(chain.scores[known], theta - theta.mean(), atol=1e-4)
    assert_allclose(chain.X.sensitivities, best.x[n : n + M], atol=1e-4)


def test_one_step_from_it_is_near_the_joint_maximum():
    data = simulate_battles(n_historical=2000, n_extra_human=0, random_state=5)
    sample = admit_to_ranking(Sample.admit(data.X, data.y), None)
    chain = FullFit.of(STAGES, sample, fit_stages(STAGES, sample), None).chain
    influence = chain.debiaser.influence(chain.X, sample.y)
    influence *= sample.weight[:, None]
    step = chain.scores + influence.sum(axis=0)
    mle = JointMLE().fit(data.X, data.y)
    new = sample.X.is_new
    error = mle.standard_errors_.iloc[0]
    assert abs(step[new].item() - mle.scores_.iloc[0]) < 0.2 * error


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_arrivals_move_nothing_of_the_history(alpha):
    sample = admitted()
    given = stages(calibrator=JudgeCalibrator(bias=LinearBias(alpha=alpha)))
    whole = fit_history(given, sample)
    alone = fit_history(given, sample[~sample.X.involves_new])
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
    sample = admit_to_ranking(Sample.admit(data.X, data.y), None)
    given = stages(calibrator=JudgeCalibrator(bias="boosted"))
    chain = fit_stages(given, sample)
    found = historical_gradients(chain, sample)
    assert_allclose(found[: len(sample.X.models)][~sample.X.is_new], 0.0, atol=1e-4)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
def test_a_fold_may_lose_the_limit_of_no_model_that_had_one():
    data = simulate_battles(300, 90, n_models=4, n_judges=2, random_state=3)
    X = pd.concat(
        [
            data.X[["model_a", "model_b", "judge"]],
            pd.DataFrame(
                {"model_a": "top", "model_b": ["model-01", "model-02"] * 2,
                 "judge": "human"}
            ),
        ]
    )  # fmt: skip
    sample = Sample.admit(X, np.r_[data.y, np.ones(4)])
    sample = sample.with_battles(decide_roles(sample.X, sample.weight, None))
    two_steps = stages(historical_fit="two-step")
    full = fit_stages(two_steps, sample)
    assert full.btl.models_[full.btl.unbounded_].tolist() == ["top"]
    # It has none on all rows, either.
    start = FoldStart.of(FullFit.of(two_steps, sample, full, None))
    fit_training_set(start, start.fit, sample)
    lost = (sample.X.is_human & (sample.X.left == 0) & (sample.y == 1)) | (
        sample.X.is_human & (sample.X.right == 0) & (sample.y == 0)
    )
    with pytest.raises(BattlesError, match=r"models \['model-01'\] have no limit"):
        training = sample.weighted(np.where(lost, 0.0, 1.0))
        fit_training_set(start, start.fit, training)
