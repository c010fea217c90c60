"""The noise of a source: read off its residuals, whatever the unit of weights."""

import numpy as np
import pytest
from item_battles import random_effects
from numpy.testing import assert_allclose
from scipy.special import expit
from tables import liked

from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._sample.sample import Sample


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.CountWarning")
@pytest.mark.parametrize("without_items", [False, True])
def test_the_noise_of_a_source_is_read_off_its_residuals(without_items):
    data = liked(seed=4)
    X = data.X[["model_a", "model_b", "judge"]]
    y = np.asarray(data.y, dtype=float)
    # Jointly fitted, heavy verdicts have more say in the scores beside votes.
    anchor = random_effects(X, y, historical_fit="two-step")
    known = anchor.calibrator_.transform(anchor.btl_.transform(X))
    ones = np.ones(len(y))

    def noise(*args):
        fit = PipelineFit.of(Sample.admit(known, *args), anchor.calibrator_)
        return fit.dispersions(without_items=without_items)

    votes = noise(y, ones)
    assert_allclose(votes, 1.0, atol=0.15)
    # Half of each residual, a quarter of the noise.
    halves = np.where(known.involves_new, y, (y + expit(known.logits())) / 2)
    assert_allclose(noise(halves, ones), votes / 4, rtol=1e-9)
    heavy = np.where(known.is_human, 1.0, 4.0)
    assert_allclose(noise(y, heavy), votes * [4.0, 4.0, 1.0], rtol=1e-9)
    # The covariance of the deviations knows the noise, not the weights.
    again = random_effects(X, y, weight=heavy, historical_fit="two-step")
    assert_allclose(again.item_covariance_, anchor.item_covariance_, rtol=1e-6)
