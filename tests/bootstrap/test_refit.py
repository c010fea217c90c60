"""Refits against ordinary fits with the weights of a resample."""

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom
from sklearn.base import clone
from sklearn.preprocessing import PolynomialFeatures

from skanchor import BTLRegressor, JudgeCalibrator
from skanchor.baselines import (
    BASELINES,
    DirectScore,
    HistoricalPPI,
    IPWOnly,
    JointBTL,
    JointMLE,
    MeanShift,
    PerJudgeBTL,
    SoftElo,
)
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


@pytest.mark.parametrize(
    "method",
    [
        MeanShift(calibrator=JudgeCalibrator(position_effect=False)),
        DirectScore(btl=BTLRegressor(alpha=0.01)),
        IPWOnly(clip=2.0),
        # A penalty for each of the three features.
        DirectScore(calibrator=JudgeCalibrator(LinearBias(alpha=(0.05, 0.0, 0.2)))),
        JointMLE(calibrator=JudgeCalibrator(LinearBias(alpha=(0.05, 0.0, 0.2)))),
    ],
    ids=["position", "btl-ridge", "clip", "ridges", "joint-ridges"],
)
@QUIET
def test_settings_reach_the_refits(method, data):
    # Of a single group each resample is the table, and its weights are one.
    whole = np.zeros(len(data.y))
    refits = bootstrap(
        method, data.X, data.y, groups=whole, n_resamples=2, random_state=1
    )
    found = estimates(method, data.X, data.y)
    assert_allclose(refits.replicates, np.tile(found, (2, 1)), atol=1e-6)
    # The settings do change the scores.
    plain = estimates(type(method)(), data.X, data.y)
    assert np.abs(found - plain).max() > 1e-5


def test_seeds_do_not_depend_on_n_jobs_or_number(data):
    def refitted(seed, number, **options):
        options |= dict(random_state=seed, n_resamples=number)
        return bootstrap(HistoricalPPI(), data.X, data.y, **options).replicates

    one = refitted(5, 70)
    with joblib.parallel_config("threading"):
        assert_allclose(refitted(5, 70, n_jobs=2), one, rtol=0, atol=0)
    assert_allclose(refitted(5, 30), one[:30], atol=1e-12)
    assert np.abs(refitted(6, 30) - one[:30]).max() > 0.01


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


@pytest.mark.parametrize(
    "bad", [{"n_resamples": bad} for bad in (1, 2.5, True)] + [{"weights": "count"}]
)
def test_what_bootstrap_refuses(bad, data):
    with pytest.raises(ValueError, match=f"'{next(iter(bad))}' parameter of bootstrap"):
        bootstrap(JointBTL(), data.X, data.y, **bad)


def test_progress_goes_to_the_error_stream(data, capsys):
    bootstrap(JointBTL(), data.X, data.y, n_resamples=2, verbose=1)
    assert capsys.readouterr().out == ""
