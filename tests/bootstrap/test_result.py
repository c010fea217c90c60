"""Intervals and errors of the replicates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor.baselines import (
    DirectScore,
    HistoricalPPI,
    HistoricalPPR,
    JointBTL,
    JointMLE,
)
from skanchor.bootstrap import Bootstrapped, bootstrap


def test_limits_are_the_quantiles_they_say(data):
    refits = bootstrap(DirectScore(), data.X, data.y, n_resamples=40, random_state=0)
    new = refits.models.tolist().index("new-model")
    t, values = refits.estimates[new], refits.replicates[:, new]
    low, high = np.quantile(values, [0.05, 0.95])
    assert_allclose(refits.conf_int(0.9, "percentile").loc["new-model"], [low, high])
    assert_allclose(refits.conf_int(0.9).loc["new-model"], [2 * t - high, 2 * t - low])
    gap = np.eye(7)[:, [new]] - np.eye(7)[:, [0]]
    low, high = np.quantile(refits.replicates @ gap, [0.05, 0.95])
    assert_allclose(refits.limits(gap, 0.9, "percentile"), [[low], [high]])
    t_gap = (refits.estimates @ gap).item()
    assert_allclose(refits.limits(gap, 0.9), [[2 * t_gap - high], [2 * t_gap - low]])
    with pytest.raises(ValueError, match="kind must be one of"):
        refits.conf_int(kind="bca")
    with pytest.raises(ValueError, match="level"):
        refits.conf_int(1.5)


def test_errors_agree_with_the_sandwich_and_methods_share_resamples(data):
    for method in (JointBTL(), JointMLE()):
        refits = bootstrap(method, data.X, data.y, n_resamples=100, random_state=0)
        sandwich = refits.estimator.result_.all_standard_errors
        ratio = (refits.standard_errors / sandwich)["new-model"]
        # The error of an error from 100 resamples is 7 %.
        assert 0.75 < ratio < 1.25, method
    new = []
    for method in (DirectScore(), HistoricalPPI()):
        refits = bootstrap(method, data.X, data.y, n_resamples=40, random_state=0)
        new.append(refits.replicates[:, refits.is_new].ravel())
    assert np.corrcoef(*new)[0, 1] > 0.8


def test_rank_only_methods_get_rank_intervals(data):
    refits = bootstrap(HistoricalPPR(), data.X, data.y, n_resamples=50, random_state=0)
    row = refits.rank_intervals(0.9).loc["new-model"]
    assert row["rank"] == refits.estimator.ranks_["new-model"]
    assert 1 <= row["low"] <= row["high"] <= 7
    with pytest.raises(TypeError, match="HistoricalPPR only ranks"):
        Bootstrapped(HistoricalPPR()).fit(data.X, data.y)
