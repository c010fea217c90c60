"""Refits against ordinary fits with the weights of a resample."""

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom
from sklearn.base import clone
from sklearn.preprocessing import PolynomialFeatures

from skanchor import JudgeCalibrator
from skanchor.baselines import BASELINES, DirectScore, JointBTL, PerJudgeBTL, SoftElo
from skanchor.bias import LinearBias
from skanchor.bootstrap import bootstrap
from skanchor.exceptions import DataWarning
from skanchor.simulation import simulate_battles

METHODS = {
    name: method()
    for name, method in BASELINES.items()
    if name not in ("HumanOnly", "Oracle")
} | {
    "twin": PerJudgeBTL(plug_in_average=True),
    "margins": SoftElo("features"),
    "curved": DirectScore(
        calibrator=JudgeCalibrator(
            LinearBias(PolynomialFeatures(2, include_bias=False))
        )
    ),
}

QUIET = pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")


def estimates(method, X, y, weight=None):
    return clone(method).fit(X, y, weight, groups=None).result_.estimates.ravel()


@QUIET
@pytest.mark.parametrize("name", METHODS)
def test_refits_are_fits_with_the_weights_of_the_resample(name, data):
    """Of two groups a resample has one twice, the other twice, or each once."""
    method, X, y = METHODS[name], data.X, data.y
    half = np.random.default_rng(0).permutation(len(y)) % 2
    refits = bootstrap(method, X, y, groups=half, n_resamples=8, random_state=0)
    fits = [estimates(method, X, y, weight) for weight in (2 * half, 2 - 2 * half)]
    fits = np.array([estimates(method, X, y), *fits])
    gaps = np.abs(refits.replicates[:, None] - fits).max(axis=2)
    assert gaps.min(axis=1).max() < 1e-6
    assert set(gaps.argmin(axis=1)) == {0, 1, 2}
    assert gaps.max() > 0.01


def test_seeds_do_not_depend_on_n_jobs_or_number(data):
    def refitted(seed, number, **options):
        options |= dict(random_state=seed, n_resamples=number)
        return bootstrap(JointBTL(), data.X, data.y, **options).replicates

    # A block of this table has 64 resamples.
    one = refitted(5, 70)
    with joblib.parallel_config("threading"):
        assert_allclose(refitted(5, 70, n_jobs=2), one, rtol=0, atol=0)
    assert_allclose(refitted(5, 30), one[:30], atol=1e-12)
    assert np.abs(refitted(6, 2) - one[:2]).max() > 0.01


def test_resamples_that_cannot_be_fitted_are_left_out_and_told():
    data = simulate_battles(600, 60, n_models=5, random_state=0)
    # One model has three human rows: now and then a resample has none of them.
    rare = ((data.X.model_a == "model-01") | (data.X.model_b == "model-01")) & (
        data.X.judge == "human"
    )
    keep = ~rare.to_numpy()
    keep[np.flatnonzero(rare)[:3]] = True
    X, y = data.X[keep], data.y[keep]
    y = np.where(rare[keep], 0.5, y)
    with pytest.warns(DataWarning, match=r"could not be fitted on \d+ of 150"):
        refits = bootstrap(DirectScore(), X, y, n_resamples=150, random_state=0)
    # All three are missed with probability about exp(-3): 7.5 of 150.
    assert binom.ppf(1e-5, 150, 0.03) <= refits.failed <= binom.ppf(1 - 1e-5, 150, 0.08)
    assert np.isfinite(refits.conf_int()).all(axis=None)


def test_progress_goes_to_the_error_stream(data, capsys):
    bootstrap(JointBTL(), data.X, data.y, n_resamples=2, verbose=1)
    assert capsys.readouterr().out == ""
