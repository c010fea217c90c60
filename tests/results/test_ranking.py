"""Rank sets, contrasts and intervals from scores and covariance."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import binom, norm
from tables import ranking

from skanchor.results.adjustment import holm_adjust
from skanchor.results.intervals import one_sided_p


def test_contrasts_follow_from_the_covariance(rng):
    root = rng.normal(size=(4, 4)) / 10
    covariance = root @ root.T
    scores = np.array([1.0, 0.0, -1.0, 0.4])
    assert (np.diag(covariance) < 0.1).all()
    table = ranking(scores, covariance).contrasts(0.9)
    assert len(table) == 3
    row = table.loc[("m3", "m1")]
    variance = covariance[3, 3] + covariance[1, 1] - 2 * covariance[3, 1]
    z = norm.ppf(0.95)
    assert_allclose(row["difference"], 0.4)
    assert_allclose(row["standard_error"], np.sqrt(variance))
    assert_allclose(row["low"], 0.4 - z * np.sqrt(variance))
    assert_allclose(row["win_high"], expit(row["high"]))
    p = norm.sf(np.abs(table["difference"]) / table["standard_error"])
    # All three lie above or below as Holm takes each side.
    above, below = (
        norm.sf(side * (table["difference"] / table["standard_error"]).to_numpy())
        for side in (1, -1)
    )
    holm = np.minimum(holm_adjust(above), holm_adjust(below))
    assert_allclose(table["p_adjusted"], np.minimum(2.0 * holm, 1.0))
    assert (table["p_adjusted"] >= 2.0 * p - 1e-12).all()
    equal = ranking(np.zeros(4), covariance).contrasts()
    assert (equal["p_adjusted"] == 1.0).all()


def test_zero_and_infinite_errors_never_reject():
    below, above = one_sided_p(np.array([5.0, 5.0]), np.array([0.0, np.inf]))
    assert (below == 1).all() and (above == 1).all()
    result = ranking([3.0, -3.0, 0.0], np.eye(3) * 0.01, unbounded=np.arange(3) == 1)
    sets = result.rank_sets()
    assert sets.loc["m2"].tolist() == [2, 2, 3]
    assert result.conf_int().loc["m2"].notna().all()
    assert result.all_standard_errors["m1"] == np.inf


def test_rank_set_of_a_model_tied_with_all(rng):
    n, hits = 400, 0
    for _ in range(n):
        draw = rng.normal(size=8)
        result = ranking(draw, np.eye(8))
        row = result.rank_sets(n_draws=1999).iloc[0]
        hits += (row["low"], row["high"]) == (1, 8)
    assert hits >= binom.ppf(1e-4, n, 0.95)
