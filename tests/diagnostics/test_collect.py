"""Shares and errors of a fitted chain against plain regressions on its rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from skanchor import AnchorPipeline, BTLRegressor
from skanchor._sample.admission import slight_ridge
from skanchor.simulation import simulate_battles

pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")


@pytest.fixture(scope="module")
def fitted():
    data = simulate_battles(
        n_models=5, n_judges=2, n_new=120, n_new_models=2, n_historical=900,
        random_state=3,
    )  # fmt: skip
    anchor = AnchorPipeline(cv=3, item_effects=None, random_state=0)
    return data, anchor.fit(data.X, data.y)


def left_over(target, columns, weight):
    """Weighted squares that a regression on the columns leaves of each target."""
    root = np.sqrt(weight)[:, None]
    coef = np.linalg.lstsq(columns * root, target * root, rcond=None)[0]
    return np.sum(((target - columns @ coef) * root) ** 2, axis=0)


def test_residual_shares_are_those_of_a_regression_on_the_features(fitted):
    _, anchor = fitted
    X, seen = anchor.comparisons_, anchor.result_.diagnostics
    p = expit(X.logits())
    curvature = p * (1 - p)
    n = len(X.models)
    signs = np.eye(n)[X.left] - np.eye(n)[X.right]
    contrast = X.features_left - X.features_right
    human = X.is_human
    remaining = curvature[human] @ signs[human] ** 2
    total = remaining.copy()
    for m, judge in enumerate(X.judges.tolist()):
        rows = X.judge == m
        weight, z = curvature[rows], signs[rows]
        square = X.sensitivities[m] ** 2
        remaining += square * left_over(z, contrast[rows], weight)
        total += square * (weight @ z**2)
        delta = (z @ X.scores)[:, None]
        share = left_over(delta, contrast[rows], weight) / (weight @ delta**2)
        assert_allclose(seen.judges.loc[judge, "residual_share"], share.item())
    expected = (remaining / total)[X.is_new]
    assert_allclose(seen.models["residual_share"], expected, rtol=1e-8)
    assert (expected < 0.99).all()


def test_influence_and_correction_are_in_units_of_the_error(fitted):
    _, anchor = fitted
    seen = anchor.result_.diagnostics
    new = anchor.comparisons_.is_new
    errors = anchor.standard_errors_.to_numpy()
    largest = np.abs(anchor.influence_[:, new]).max(axis=0)
    assert_allclose(seen.models["largest_influence"], (largest / errors) ** 2)
    plug_in = np.median(anchor.result_.plug_in, axis=0)[new]
    correction = (anchor.scores_ - plug_in) / errors
    assert_allclose(seen.models["correction_z"], correction)
    assert np.isinf(seen.models["df"]).all()


def test_the_distance_beyond_the_historical_scores(fitted):
    data, anchor = fitted
    new = data.X.model_a.eq("new-model-1"), data.X.model_b.eq("new-model-1")
    rng = np.random.default_rng(0)
    y = np.where(new[0] & (rng.random(len(data.y)) < 0.7), 1, data.y)
    y = np.where(new[1] & (rng.random(len(data.y)) < 0.7), 0, y)
    far = AnchorPipeline(cv=3, item_effects=None, random_state=0).fit(data.X, y)
    for one in (anchor, far):
        is_new = one.comparisons_.is_new
        scores = one.result_.all_scores.to_numpy()
        old, mine = scores[~is_new], scores[is_new]
        beyond = np.maximum(0.0, np.maximum(mine - old.max(), old.min() - mine))
        result = one.result_.diagnostics.models["outside_scores"]
        assert_allclose(result, beyond / (old.max() - old.min()))
    assert result["new-model-1"] > 0.1


def test_scale_z_is_that_of_votes_where_judges_know_everything_else():
    data = simulate_battles(
        n_models=5, n_judges=2, n_human=200, n_historical=60_200, rho=0.0,
        random_state=3,
    )  # fmt: skip
    anchor = AnchorPipeline(
        historical_fit="joint", cv=2, item_effects=None, random_state=0
    ).fit(data.X[["model_a", "model_b", "judge"]], data.y)
    X = anchor.comparisons_
    p = expit(X.logits()[X.is_human])
    limit = np.sum(p * (1 - p) * X.score_differences[X.is_human] ** 2) ** 0.5
    assert anchor.result_.diagnostics.scale_z == pytest.approx(limit, rel=0.01)


def small_table(n_human=300):
    data = simulate_battles(
        n_models=6, n_human=n_human, n_historical=900 + n_human, n_new=150, rho=0.0,
        random_state=5,
    )  # fmt: skip
    return data.X[["model_a", "model_b", "judge"]], data.y


def small_fit(**settings):
    anchor = AnchorPipeline(cv=3, item_effects=None, random_state=0, **settings)
    return anchor.fit(*small_table())


def test_intervals_of_the_joint_fit_reach_further_away_from_zero():
    joint, steps = small_fit(), small_fit(historical_fit="two-step")
    # But for the noise of the votes, which is that of independent ones here.
    result = joint.result_.diagnostics.scale_z
    assert joint.result_.scale_z == pytest.approx(result, rel=0.1)
    assert steps.result_.scale_z == np.inf
    for anchor, is_even in ((joint, False), (steps, True)):
        leaderboard = anchor.leaderboard()
        up, down = (
            leaderboard["high"] - leaderboard["score"],
            leaderboard["score"] - leaderboard["low"],
        )
        lean = (up - down) * np.sign(leaderboard["score"])
        assert np.allclose(lean, 0.0) if is_even else (lean > 0).all()
        table = anchor.contrasts()
        lean = table["high"] + table["low"] - 2 * table["difference"]
        lean *= np.sign(table["difference"])
        assert np.allclose(lean, 0.0) if is_even else (lean > 0).all()


@pytest.mark.parametrize("how", ["joint", "two-step"])
def test_a_ridge_that_shortens_intervals_is_told(how):
    plain, light, heavy = (
        small_fit(historical_fit=how, btl=BTLRegressor(alpha=alpha))
        for alpha in (0.0, slight_ridge(300), 0.02)
    )
    shares = [a.result_.diagnostics.ridge_share for a in (plain, light, heavy)]
    assert shares[0] == 1.0 and 0.9 < shares[1] < 1.0 and shares[2] < 0.85
    is_warned = ["ridge" in repr(a.result_.diagnostics) for a in (plain, light, heavy)]
    assert is_warned == [False, False, True]
    # As it says: the error is too short by about that share.
    error = [a.standard_errors_["new-model"] for a in (plain, heavy)]
    assert error[1] / error[0] == pytest.approx(shares[2], abs=0.1)
