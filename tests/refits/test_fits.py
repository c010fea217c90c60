"""Batched fits equal the fits of the stages, replicate by replicate."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.preprocessing import PolynomialFeatures

from skanchor import BTLRegressor, JudgeCalibrator
from skanchor._admission import admit_to_ranking
from skanchor._refits import BatchedFits, Layout, StageFits
from skanchor.bias import LinearBias
from skanchor.sample import Sample
from skanchor.simulation import simulate_battles

N_REPLICATES = 4


@pytest.fixture(scope="module")
def sample():
    data = simulate_battles(1500, 200, n_models=5, n_judges=2, n_new_models=2,
                            random_state=3)  # fmt: skip
    rng = np.random.default_rng(0)
    y = np.where(rng.random(len(data.y)) < 0.1, 0.5, data.y)
    X = data.X.assign(shown_first=rng.choice(["model_a", "model_b"], len(y)))
    return admit_to_ranking(Sample.admit(X, y), None)


@pytest.fixture(scope="module")
def weights(sample):
    # All positive, so that every replicate has the same rows.
    return np.random.default_rng(1).exponential(size=(N_REPLICATES, len(sample)))


def fitted_method(sample, btl, calibrator, **how):
    """What batched fits read of a method that was fitted on all rows."""
    full = StageFits(sample, btl, calibrator)
    full.judges(**how)
    return SimpleNamespace(
        btl_=full.btl_,
        calibrator_=full.calibrator_,
        result_=SimpleNamespace(estimates=full.human_scores()),
    )


def both(sample, weights, btl=None, calibrator=None, **how):
    """Batched fits of all replicates, and one fit by the stages for each."""
    btl, calibrator = btl or BTLRegressor(), calibrator or JudgeCalibrator()
    fitted = fitted_method(sample, btl, calibrator, **how)
    batched = BatchedFits(Layout(sample), weights, 1e-14, {}, fitted)
    stages = [StageFits(sample.weighted(w), btl, calibrator) for w in weights]
    return batched, stages


def stacked(parts):
    return np.concatenate(list(parts))


@pytest.mark.parametrize("alpha", [0.0, 0.02])
def test_human_scores(sample, weights, alpha):
    batched, stages = both(sample, weights, BTLRegressor(alpha=alpha))
    expected = stacked(stage.human_scores() for stage in stages)
    assert_allclose(batched.human_scores(), expected, atol=1e-7)
    assert (batched.human_scores()[:, sample.X.is_new] == 0).all()
    assert not batched.unsolved.any()
    # Replicates differ by far more.
    assert expected.std(axis=0)[~sample.X.is_new].min() > 1e-2


@pytest.mark.parametrize(
    ("bias", "features"),
    [("linear", True), (LinearBias(alpha=0.1), True), ("linear", False)],
    ids=["features", "ridge", "no-features"],
)
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("position", [False, True])
def test_judges(sample, weights, bias, features, pooled, position):
    calibrator = JudgeCalibrator(bias, position_effect=position)
    how = {"features": features, "pooled": pooled}
    batched, stages = both(sample, weights, calibrator=calibrator, **how)
    found, expected = batched.judges(**how), [stage.judges(**how) for stage in stages]
    n_rows = len(batched.layout.arrival_rows)
    assert found.sensitivities.shape == (N_REPLICATES, 1 if pooled else 2)
    for name in ("sensitivities", "biases", "positions"):
        slow = stacked(getattr(one, name) for one in expected)
        assert_allclose(getattr(found, name), slow, atol=2e-6, err_msg=name)
    assert found.biases.shape == found.positions.shape == (N_REPLICATES, n_rows)
    assert (found.biases != 0).any() == features
    assert (found.positions != 0).any() == position
    assert not batched.unsolved.any()


@pytest.mark.parametrize("pooled", [False, True])
def test_arrivals_and_their_roots(sample, weights, pooled):
    how = {"pooled": pooled}
    batched, stages = both(sample, weights, **how)
    found = batched.arrivals(batched.judges(**how), **how)
    expected = [stage.arrivals(stage.judges(**how), **how) for stage in stages]
    for name in ("weight", "first", "opponent", "sensitivities", "biases"):
        slow = stacked(getattr(one, name) for one in expected)
        assert_allclose(getattr(found, name), slow, atol=2e-6, err_msg=name)
    for weighting in ("sensitivity", "equal"):
        slow = stacked(one.root(weighting) for one in expected)
        assert_allclose(found.root(weighting), slow, atol=2e-6)


@pytest.mark.parametrize("slopes", [False, True])
def test_scores_of_cells(sample, weights, slopes):
    batched, stages = both(sample, weights)

    def scores(fits):
        slope = None
        if slopes:
            judge = fits.cells.judge
            slope = np.where(judge < 0, 1.0, 0.6 + 0.3 * judge)
            slope = np.tile(slope, (len(fits.weights), 1))
        return fits.btl_scores(fits.cells, slope)

    expected = stacked(scores(stage) for stage in stages)
    assert_allclose(scores(batched), expected, atol=1e-6)
    old = ~sample.X.is_new
    assert_allclose(expected[:, old].mean(axis=1), 0.0, atol=1e-12)


def test_emphasis_multiplies_the_weights_of_verdicts(sample, weights):
    emphasis = np.random.default_rng(2).exponential(size=weights.shape)
    batched, stages = both(sample, weights)
    plain = batched.judges().sensitivities
    batched.emphasis = emphasis
    for stage, factor in zip(stages, emphasis, strict=True):
        stage.emphasis = factor[None]
    found = batched.judges().sensitivities
    slow = stacked(stage.judges().sensitivities for stage in stages)
    assert_allclose(found, slow, atol=2e-6)
    assert np.abs(found - plain).max() > 1e-2
    # Scores are those of the votes still.
    assert_allclose(batched.human_scores(), both(sample, weights)[0].human_scores())


def test_fits_are_shared_between_methods(sample, weights):
    fitted = fitted_method(sample, BTLRegressor(), JudgeCalibrator())
    layout, memo = Layout(sample), {}
    first, second = (
        BatchedFits(layout, weights, 1e-14, memo, fitted) for _ in range(2)
    )
    assert first.human_scores() is second.human_scores()
    assert first.judges() is second.judges()
    assert first.cells is second.cells


def test_which_methods_can_be_batched(sample):
    def fitted(bias):
        return fitted_method(sample, BTLRegressor(), JudgeCalibrator(bias))

    curved = LinearBias(PolynomialFeatures(2, include_bias=False), alpha=0.01)
    assert BatchedFits.can_batch(fitted("linear"))
    assert not BatchedFits.can_batch(fitted({"judge-1": "linear", "judge-2": curved}))
    # A method without judges.
    assert BatchedFits.can_batch(SimpleNamespace())
