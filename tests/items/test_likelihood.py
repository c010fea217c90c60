"""The mixed model against dense algebra, at its boundary and beside the paper's."""

import numpy as np
import pytest
from item_battles import COVARIANCE, set_covariance
from numpy.testing import assert_allclose
from reference import DenseItems
from tables import liked

from skanchor import AnchorPipeline, ArrivalScorer, JudgeCalibrator
from skanchor.exceptions import BoundWarning
from skanchor.simulation import simulate_battles


@pytest.mark.parametrize("position", [False, True])
@pytest.mark.parametrize("n_new_models", [1, 2])
def test_equals_the_dense_mixed_model(position, n_new_models, monkeypatch, exact_folds):
    set_covariance(monkeypatch, COVARIANCE)
    data = liked(n_new_models=n_new_models, new_score=[0.5, -0.3][:n_new_models])
    anchor = AnchorPipeline(
        calibrator=JudgeCalibrator(position_effect=position),
        cv=3,
        item_effects="random",
        random_state=0,
        historical_fit="two-step",
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


def test_zero_covariance_is_the_paper_s_interval(monkeypatch, exact_folds):
    set_covariance(monkeypatch, 0.0)
    data = liked(item_sd=0.0)
    paper = AnchorPipeline(
        cv=4, historical_fit="two-step", random_state=0, item_effects=None
    )
    paper.fit(data.X, data.y)
    zero = AnchorPipeline(
        cv=4, historical_fit="two-step", random_state=0, item_effects="random"
    )
    zero.fit(data.X, data.y)
    assert_allclose(zero.scores_, paper.scores_, atol=1e-5)
    assert_allclose(zero.standard_errors_, paper.standard_errors_, rtol=1e-5)
    assert_allclose(zero.conf_int(), paper.conf_int(), atol=1e-5)


def test_new_scores_stay_within_their_bounds_beside_item_effects():
    data = liked()
    anchor = AnchorPipeline(
        arrival=ArrivalScorer(score_bounds=(-0.1, 0.1)), cv=3, random_state=0,
        item_effects="random", debiaser="passthrough",
    )  # fmt: skip
    with pytest.warns(BoundWarning):
        anchor.fit(data.X, data.y)
    assert anchor.comparisons_.scores[anchor.comparisons_.is_new] == [0.1]


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
def test_estimated_effects_widen_the_interval_and_enter_the_predictions():
    data = liked(seed=3, n_models=12, n_historical=8000, n_new=600, item_sd=0.5)
    paper = AnchorPipeline(random_state=0, item_effects=None).fit(data.X, data.y)
    anchor = AnchorPipeline(random_state=0, item_effects="random").fit(data.X, data.y)
    # Judges disagree where item effects are left out, which widens that interval.
    scale = paper.result_.diagnostics.arrivals.models["scale"].loc["new-model"]
    assert (
        anchor.standard_errors_.iloc[0] > 1.5 * paper.standard_errors_.iloc[0] / scale
    )
    assert (0.2 < np.sqrt(np.diag(anchor.item_covariance_))).all()
    assert anchor.score(data.X, data.y) > paper.score(data.X, data.y)


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
