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


def check_against_fits(methods, X, y):
    """Of two groups a resample has one twice, the other twice, or each once."""
    half = np.random.default_rng(0).permutation(len(y)) % 2
    refits = bootstrap(methods, X, y, groups=half, n_resamples=8, random_state=0)
    for name, method in methods.items():
        fits = [estimates(method, X, y, weight) for weight in (2 * half, 2 - 2 * half)]
        fits = np.array([estimates(method, X, y), *fits])
        gaps = np.abs(refits[name].replicates[:, None] - fits).max(axis=2)
        assert gaps.min(axis=1).max() < 1e-6, name
        assert set(gaps.argmin(axis=1)) == {0, 1, 2}, name
        assert gaps.max() > 0.01, name


@QUIET
def test_refits_are_fits_with_the_weights_of_the_resample(data):
    check_against_fits(METHODS, data.X, data.y)


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
        {"m": method}, data.X, data.y, groups=whole, n_resamples=2, random_state=1
    )["m"]
    found = estimates(method, data.X, data.y)
    assert_allclose(refits.replicates, np.tile(found, (2, 1)), atol=1e-6)
    # The settings do change the scores.
    plain = estimates(type(method)(), data.X, data.y)
    assert np.abs(found - plain).max() > 1e-5


def test_seeds_do_not_depend_on_n_jobs_methods_or_number(data):
    both = {"a": DirectScore(), "b": HistoricalPPI()}
    options = dict(random_state=5, n_resamples=70)
    one = bootstrap(both, data.X, data.y, **options)
    with joblib.parallel_config("threading"):
        threads = bootstrap(both, data.X, data.y, n_jobs=2, **options)
    assert_allclose(one["b"].replicates, threads["b"].replicates, rtol=0, atol=0)
    alone = bootstrap({"b": HistoricalPPI()}, data.X, data.y, **options)
    fewer = bootstrap(both, data.X, data.y, random_state=5, n_resamples=30)
    other = bootstrap(both, data.X, data.y, random_state=6, n_resamples=30)
    assert_allclose(one["b"].replicates, alone["b"].replicates, atol=1e-12)
    assert_allclose(one["a"].replicates[:30], fewer["a"].replicates, atol=1e-12)
    assert np.abs(other["a"].replicates - fewer["a"].replicates).max() > 0.01


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
        refits = bootstrap({"m": DirectScore()}, X, y, n_resamples=150,
                           random_state=0)["m"]  # fmt: skip
    # All three are missed with probability about exp(-3): 7.5 of 150.
    assert binom.ppf(1e-5, 150, 0.03) <= refits.failed <= binom.ppf(1 - 1e-5, 150, 0.08)
    assert np.isfinite(refits.conf_int()).all(axis=None)


@pytest.mark.parametrize(
    ("methods", "number", "message"),
    [
        *(
            ({"m": JointBTL()}, bad, "'n_resamples' parameter")
            for bad in (1, 2.5, True)
        ),
        ([JointBTL()], 2, "'methods' parameter of bootstrap"),
    ],
)
def test_what_bootstrap_refuses(methods, number, message, data):
    with pytest.raises(ValueError, match=message):
        bootstrap(methods, data.X, data.y, n_resamples=number)


def test_progress_goes_to_the_error_stream(data, capsys):
    bootstrap({"m": JointBTL()}, data.X, data.y, n_resamples=2, verbose=1)
    assert capsys.readouterr().out == ""
    assert bootstrap({}, data.X, data.y) == {}
