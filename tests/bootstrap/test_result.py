"""Intervals and errors of the replicates."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from skanchor.baselines import (
    DirectScore,
    HistoricalPPI,
    HistoricalPPR,
    JointBTL,
    JointMLE,
)
from skanchor.bootstrap import Bootstrapped, bootstrap
from skanchor.exceptions import BattlesError
from skanchor.simulation import simulate_battles


def test_limits_are_the_quantiles_they_say(data):
    refits = bootstrap({"m": DirectScore()}, data.X, data.y, n_resamples=100,
                       n_inner=10, random_state=0)["m"]  # fmt: skip
    new = refits.models.tolist().index("new-model")
    t, values = refits.estimates[new], refits.replicates[:, new]
    low, high = np.quantile(values, [0.05, 0.95])
    assert_allclose(refits.conf_int(0.9, "percentile").loc["new-model"], [low, high])
    assert_allclose(refits.conf_int(0.9).loc["new-model"], [2 * t - high, 2 * t - low])
    inner = np.sqrt(refits.inner_covariances[:, new, new])
    q = np.quantile((values - t) / inner, [0.05, 0.95])
    error = values.std(ddof=1)
    assert_allclose(
        refits.conf_int(0.9, "studentized").loc["new-model"],
        [t - q[1] * error, t - q[0] * error],
    )
    gap = np.eye(7)[:, [new]] - np.eye(7)[:, [0]]
    spread = [c[new, new] + c[0, 0] - 2 * c[0, new] for c in refits.inner_covariances]
    values_gap = (refits.replicates @ gap).ravel()
    t_gap = (refits.estimates @ gap).item()
    q = np.quantile((values_gap - t_gap) / np.sqrt(spread), [0.05, 0.95])
    low, high = refits.limits(gap, 0.9, "studentized")
    error_gap = values_gap.std(ddof=1)
    assert_allclose([low[0], high[0]], [t_gap - q[1] * error_gap,
                                        t_gap - q[0] * error_gap])  # fmt: skip
    # A resample of a resample spreads about as much as a resample.
    assert inner.mean() == pytest.approx(error, rel=0.25)
    with pytest.raises(ValueError, match="kind must be one of"):
        refits.conf_int(kind="bca")
    plain = bootstrap({"m": JointBTL()}, data.X, data.y, n_resamples=5)["m"]
    with pytest.raises(ValueError, match="give n_inner"):
        plain.conf_int(kind="studentized")
    with pytest.raises(ValueError, match="level"):
        plain.conf_int(1.5)
    alike = replace(refits, inner_covariances=-1e-20 * np.abs(refits.inner_covariances))
    with pytest.raises(BattlesError, match="need an error of every refit"):
        alike.conf_int(kind="studentized")


def test_errors_agree_with_the_sandwich_and_methods_share_resamples(data):
    methods = {
        "b": JointBTL(),
        "m": JointMLE(),
        "d": DirectScore(),
        "p": HistoricalPPI(),
    }
    refits = bootstrap(methods, data.X, data.y, n_resamples=400, random_state=0)
    for name in "bm":
        sandwich = refits[name].estimator.result_.all_standard_errors
        ratio = (refits[name].standard_errors / sandwich)["new-model"]
        # The error of an error from 400 resamples is 3.5 %.
        assert 0.85 < ratio < 1.15, name
    new = [r.replicates[:, r.is_new].ravel() for r in (refits["d"], refits["p"])]
    assert np.corrcoef(*new)[0, 1] > 0.8


def test_rank_only_methods_get_rank_intervals(data):
    refits = bootstrap({"r": HistoricalPPR()}, data.X, data.y, n_resamples=50,
                       random_state=0)["r"]  # fmt: skip
    row = refits.rank_intervals(0.9).loc["new-model"]
    assert row["rank"] == refits.estimator.ranks_["new-model"]
    assert 1 <= row["low"] <= row["high"] <= 7
    with pytest.raises(TypeError, match="HistoricalPPR only ranks"):
        Bootstrapped(HistoricalPPR()).fit(data.X, data.y)


@pytest.mark.slow
def test_coverage_on_the_default_simulation():
    methods = {"d": DirectScore(), "p": HistoricalPPI(), "j": JointBTL()}
    n, held = 200, dict.fromkeys(methods, 0)
    for seed in range(n):
        data = simulate_battles(random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refits = bootstrap(methods, data.X, data.y, random_state=seed)
        for name, result in refits.items():
            low, high = result.conf_int().iloc[0]
            held[name] += low <= 0.5 <= high
    # False alarm once in 10 000 runs at the nominal level.
    lower, upper = binom.interval(1 - 1e-4, n, 0.95)
    assert lower <= held["d"] <= upper
    assert lower <= held["p"] <= upper
    assert held["j"] < 0.8 * n
