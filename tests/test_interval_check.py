"""Tests of the intervals on models left out: identities, size and power."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.base import clone

from skanchor import AnchorPipeline
from skanchor._diagnostics import interval_check
from skanchor.baselines import HistoricalPPI, JointBTL
from skanchor.evaluation import IntervalCheck, check_intervals, leave_one_model_out
from skanchor.exceptions import DataWarning
from skanchor.reports.sentences import check_record
from skanchor.simulation import simulate_battles

NORMAL = 1.959963984540054


def small(seed=0, **more):
    data = simulate_battles(2000, 10, n_models=6, rho=0.0, random_state=seed, **more)
    old = ~(data.X[["model_a", "model_b"]] == "new-model").any(axis=1).to_numpy()
    return data.X.loc[old, ["model_a", "model_b", "judge"]], data.y[old]


def table_of(score, true_score, error, human):
    """A table as `leave_one_model_out` returns it, of normal intervals."""
    frame = pd.DataFrame({"true_score": true_score, "score": score})
    frame["standard_error"], frame["true_error"] = error, human
    frame["low"] = frame["score"] - NORMAL * frame["standard_error"]
    frame["high"] = frame["score"] + NORMAL * frame["standard_error"]
    gap = (frame["score"] - frame["true_score"]).abs()
    frame["compatible"] = gap <= NORMAL * np.hypot(error, human)
    frame["covered"] = gap <= NORMAL * frame["standard_error"]
    frame["true_rank"] = frame["true_score"].rank(ascending=False)
    frame.index = pd.Index([f"model-{k:02d}" for k in range(len(frame))], name="model")
    return frame


# -------------------------------------------------------------------- parts of errors
PLAIN = AnchorPipeline(cv=2, item_effects="none", random_state=0)


@pytest.mark.parametrize("grouped", [False, True])
def test_the_error_of_a_difference_is_about_that_of_both_scores(grouped):
    X, y = small()
    groups = np.arange(len(y)) // 2 if grouped else None
    table = check_intervals(PLAIN, X, y, groups=groups).table
    # Score and human score share votes between other models, and few of those.
    both = np.hypot(table["standard_error"], table["true_error"])
    np.testing.assert_allclose(table["difference_error"], both, rtol=0.15)


@pytest.mark.filterwarnings("ignore:.* copies of earlier ones")
def test_counted_rows_are_checked_like_the_rows_that_they_count():
    X, y = small()
    times = np.tile([1, 2, 3], len(y))[: len(y)]
    anchor = clone(PLAIN).set_params(weights="frequency")
    counted = check_intervals(anchor, X, y, sample_weight=times)
    at = np.repeat(np.arange(len(y)), times)
    listed = check_intervals(PLAIN, X.iloc[at].reset_index(drop=True), y[at])
    pd.testing.assert_frame_equal(counted.table, listed.table, rtol=0.01)
    assert counted.p_value == pytest.approx(listed.p_value, abs=0.02)


# ------------------------------------------------------------------------------- size
def test_size_where_the_intervals_hold(monkeypatch):
    """Correlated errors, item effects whose variance is estimated, noisy votes."""
    monkeypatch.setattr(interval_check, "DRAWS", 999)
    rng, n_models, n_tables, df = np.random.default_rng(0), 8, 120, 12
    true = np.linspace(1.5, -1.5, n_models)
    items = 0.1 * (np.eye(n_models) - 0.6 / n_models)
    common = rng.normal(size=(n_models, 3)) * 0.05
    judged = np.hstack([0.1 * np.eye(n_models), common])
    human = np.hstack([0.12 * np.eye(n_models), 0.5 * common])
    error = np.sqrt((judged**2).sum(axis=1) + (items**2).sum(axis=1))
    below = {"largest": 0, "top": 0, "direction": 0, "coverage": 0, "together": 0}
    for _ in range(n_tables):
        ratio = np.sqrt(rng.chisquare(df) / df)
        # The estimate of the items' standard deviation is off by this factor.
        noise, shared = rng.normal(size=n_models), rng.normal(size=judged.shape[1])
        seen = np.sqrt(error**2 + (ratio**2 - 1.0) * (items**2).sum(axis=1))
        table = table_of(
            true + judged @ shared + items @ noise,
            true + human @ shared,
            seen,
            np.sqrt((human**2).sum(axis=1)),
        )
        result = IntervalCheck.of(table, judged - human, ratio * items, df)
        below["largest"] += result.largest.p_value < 0.05
        below["top"] += result.top.p_value < 0.05
        below["direction"] += result.direction.p_value < 0.05
        below["coverage"] += result.coverage_p < 0.05
        below["together"] += result.p_value < 0.05
    # A false alarm once in ten thousand runs; a discrete or conservative test may
    # reject less often.
    low, high = binom.interval(1 - 2e-4, n_tables, 0.05)
    assert max(below.values()) <= high, below
    assert low <= below["top"] and below["largest"] > 0


# ------------------------------------------------------------------------------ power
def independent(score, true_score, error=0.08, human=0.03):
    return IntervalCheck.of(table_of(score, true_score, error, human))


def test_the_largest_miss_is_adjusted_for_the_number_of_models():
    true = np.linspace(1.5, -1.5, 20)
    score = true.copy()
    score[7] += 3.2 * np.hypot(0.08, 0.03)
    result = independent(score, true)
    assert result.largest.model == "model-07"
    assert result.largest.z == pytest.approx(3.2)
    # Twenty times .001374.
    assert result.largest.p_value == pytest.approx(0.02748, abs=1e-4)
    assert result.top.model == "model-00" and result.top.p_value > 0.9
    verdict = check_record(result)
    assert verdict["holds"] == "doubtful"
    assert "model-07: its score is 3.2 standard errors above" in " ".join(
        verdict["findings"]
    )


def test_a_miss_of_the_best_model_is_tested_by_itself():
    true = np.linspace(1.5, -1.5, 20)
    score = true.copy()
    score[0] -= 2.5 * np.hypot(0.08, 0.03)
    result = independent(score, true)
    assert result.largest.p_value > 0.1
    assert result.top.p_value == pytest.approx(0.01242, abs=1e-4)
    verdict = check_record(result)
    assert verdict["holds"] == "doubtful"
    assert "2.5 standard errors below" in " ".join(verdict["findings"])
    assert "at the top of the leaderboard" in verdict["advice"]


def test_good_models_placed_too_low_are_seen():
    true = np.linspace(1.5, -1.5, 20)
    result = independent(0.9 * true, true)
    assert result.direction.gap == pytest.approx(0.3, rel=0.05)
    assert result.direction.p_value < 0.001
    assert "good models too low and bad ones too high" in " ".join(
        check_record(result)["findings"]
    )
    assert independent(1.1 * true, true).direction.gap < 0


def test_too_few_models_placed_right():
    true = np.linspace(1.5, -1.5, 20)
    score = true + 0.08 * np.tile([3.0, -3.0, 0.0, 0.0], 5)
    result = independent(score, true)
    verdict = check_record(result)
    assert result.compatible == 10 and result.coverage_p < 0.001
    assert verdict["holds"] == "no"
    assert verdict["advice"].startswith("Do not report them")
    assert verdict["tests"]["coverage"]["p_value"] == result.coverage_p
    assert verdict["tests"]["together"]["p_value"] == result.p_value
    assert verdict["models"]["p_adjusted"].equals(result.table["p_adjusted"])


@pytest.mark.parametrize(("n", "holds"), [(3, "unknown"), (8, "yes"), (20, "yes")])
def test_a_good_result_of_few_models_says_little(n, holds):
    true = np.linspace(1.5, -1.5, n)
    verdict = check_record(independent(true + 0.01, true))
    assert verdict["holds"] == holds
    assert verdict["advice"] or n >= 20


# --------------------------------------------------------------------- of an estimator
class Loud(JointBTL):
    """Warns in each fit."""

    def fit(self, X, y, **more):
        warnings.warn(DataWarning("Judge 'one' has 3 rows."), stacklevel=2)
        return super().fit(X, y, **more)


def test_fits_of_models_left_out_warn_once():
    X, y = small()
    with pytest.warns(DataWarning) as issued:
        leave_one_model_out(Loud(), X, y, models=["model-01", "model-02"])
    assert [str(item.message) for item in issued] == [
        "Leaving out models ['model-01', 'model-02']: Judge 'one' has 3 rows."
    ]
    # What is known of the fit of all rows is not repeated, whatever its numbers.
    fitted = Loud()
    fitted.warnings_ = (DataWarning("Judge 'one' has 4 rows."),)
    check_intervals(fitted, X, y, models=["model-01"])


def test_a_method_without_errors_has_no_intervals_to_test():
    X, y = small()
    with pytest.raises(TypeError, match="use leave_one_model_out"):
        check_intervals(HistoricalPPI(), X, y, models=["model-01"])
