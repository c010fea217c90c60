"""What a row of a pair says that nobody has compared yet."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from planning_fits import forecast
from scipy.special import expit

from skanchor import AnchorPipeline
from skanchor._comparisons import FeaturePairs
from skanchor._numerics.parameters import PEOPLE
from skanchor.simulation import simulate_battles


@pytest.fixture(scope="module")
def with_gaps():
    """Judge-2 has never compared the new model with model-03, nor judge-1 at all."""
    data = simulate_battles(n_models=5, n_new=300, n_historical=1500, random_state=0)
    X = data.X
    new = (X == "new-model").any(axis=1)
    gone = new & X["judge"].eq("judge-2") & (X == "model-03").any(axis=1)
    gone |= new & X["judge"].eq("judge-1")
    y = data.y[~gone.to_numpy()]
    return AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X[~gone], y)


def test_responses_are_drawn_from_those_of_both_models(with_gaps, monkeypatch):
    few = with_gaps._forecast()
    # All of them, so that the mean is exact.
    monkeypatch.setattr("skanchor.planning._kinds._DRAWS", 10_000)
    found, X = with_gaps._forecast(), with_gaps._distinct_sample.X
    names = X.models.tolist()
    new, other = names.index("new-model"), names.index("model-03")
    kinds = found.kinds[found.source("judge-2")]
    (q,) = np.flatnonzero((kinds.model == new) & (kinds.opponent == other))
    assert kinds.n_rows[q] == 0 and not kinds.seen[q].any()
    # All responses of either model that the judge has seen, each with each.
    judge = X.judges.tolist().index("judge-2")
    mine = X.judge == judge

    def responses(item):
        sides = X.features_left[mine & (X.left == item)]
        return np.vstack([sides, X.features_right[mine & (X.right == item)]])

    first, second = responses(new), responses(other)
    left = np.repeat(first, len(second), axis=0)
    right = np.tile(second, (len(first), 1))
    bias = with_gaps.calibrator_.biases_["judge-2"]
    shift = np.ravel(bias.contrast(FeaturePairs(left, right, X.feature_names)))
    eta = X.sensitivities[judge] * (X.scores[new] - X.scores[other]) + shift
    total = 0.0
    for order in (1.0, -1.0):
        p = expit(eta + order * X.position_effects[judge])
        z = np.column_stack([np.ones(len(eta)), np.full(len(eta), order), left - right])
        total = total + (z * (p * (1 - p))[:, None]).T @ z / len(eta) / 2
    assert_allclose(kinds.unit[q], total, atol=1e-10)
    # A few dozen responses of each stand for all.
    some = few.kinds[judge].unit[q]
    assert_allclose(some, total, atol=0.15 * np.abs(total).max())


def test_a_judge_that_has_not_seen_the_model_can_be_asked(with_gaps):
    found = with_gaps._forecast()
    kinds = found.kinds[found.source("judge-1")]
    assert not kinds.n_rows.any() and (kinds.unit[:, 0, 0] > 0.01).all()
    design = with_gaps.design(10, {"judge-1": 0.1})
    assert set(design.table["source"]) == {"judge-1"}
    half = design.half_widths.loc["new-model"]
    assert half["design"] < half["now"]


@pytest.mark.parametrize("name", ["items", "default"])
def test_votes_are_known_exactly(name):
    """p (1 - p) at the plug-in scores, whatever the display order."""
    found = forecast(name)
    votes = found.kinds[PEOPLE]
    scores = found.information.solution.fit.scores
    p = expit(scores[votes.model] - scores[votes.opponent])
    assert_allclose(votes.unit[:, 0, 0], p * (1 - p))


def test_draws_do_not_depend_on_the_order_of_the_rows():
    data = simulate_battles(n_models=4, n_new=300, n_historical=1200, random_state=1)
    X, y = data.X, np.asarray(data.y)
    order = np.random.default_rng(0).permutation(len(y))
    fold = np.arange(len(y)) % 3
    found = []
    for rows in (np.arange(len(y)), order):
        plan = [np.flatnonzero(fold[rows] == k) for k in range(3)]
        cv = [(np.setdiff1d(rows, test), test) for test in plan]
        anchor = AnchorPipeline(cv=cv, item_effects="none", human_bias="linear")
        found.append(anchor.fit(X.iloc[rows].reset_index(drop=True), y[rows]).worth())
    assert_allclose(found[1].table, found[0].table, rtol=1e-6)
