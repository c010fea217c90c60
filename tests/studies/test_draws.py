"""Designs of the studies: what is drawn, and what is known of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from skanchor.studies import draw_battles
from skanchor.studies._draws import draw_insertion, draw_omitted, draw_variance


def test_lower_bound_is_that_of_the_scale_direction():
    """B_l by its definition: l, v0 and the information of the votes as matrices."""
    drawn = draw_battles({"n_historical": 300, "n_models": 5, "new_score": 0.7}, 0)
    truth, X = drawn.data.truth, drawn.data.X
    votes = X[(X["judge"] == "human").to_numpy() & drawn.is_history]
    names = list(truth.scores.index)
    basis = np.linalg.svd(np.eye(5) - 0.2)[0][:, :4]
    coordinates = basis.T @ truth.scores.to_numpy()
    s0 = np.concatenate([[0.7], coordinates, -truth.sensitivities.to_numpy()])
    v0 = s0 / np.linalg.norm(s0)
    J = np.zeros((len(s0), len(s0)))
    for a, b in votes[["model_a", "model_b"]].to_numpy():
        z = np.zeros(len(s0))
        z[1:5] = basis[names.index(a)] - basis[names.index(b)]
        p = expit(truth.scores[a] - truth.scores[b])
        J += p * (1 - p) * np.outer(z, z) / len(votes)
    expected = v0[0] ** 2 / (len(votes) * v0 @ J @ v0)
    assert_allclose(drawn.lower_bounds, expected)


def test_seventy_percent_of_the_verdicts_are_historical():
    drawn = draw_variance({"n_human": 100, "n_judge": 1000}, 0)
    is_human = (drawn.data.X["judge"] == "human").to_numpy()
    assert is_human.sum() == 100 and (is_human & ~drawn.is_history).sum() == 0
    assert (drawn.is_history & ~is_human).sum() == 700
    assert (~drawn.is_history).sum() == 300


def test_insertion_varies_only_the_gap():
    near, far = (draw_insertion({"gap": gap, "n_models": 10}, 3) for gap in (0.05, 0.4))
    for drawn, gap in ((near, 0.05), (far, 0.4)):
        truth = drawn.data.truth
        assert_allclose(np.diff(truth.scores), gap)
        assert_allclose(truth.scores.mean(), 0.0, atol=1e-12)
        assert_allclose(truth.new_scores - truth.scores.to_numpy()[:-1], gap / 2)
        assert_array_equal(drawn.true_ranks, np.arange(10, 1, -1))
    assert near.data.truth.bias_coef.equals(far.data.truth.bias_coef)
    assert near.data.truth.sensitivities.equals(far.data.truth.sensitivities)
    assert near.data.X.equals(far.data.X)


def test_omitted_length_favours_the_new_models():
    settings = {"gap": 0.2, "n_models": 4, "longer": 1.0}
    none = draw_omitted({**settings, "preference": 0.0}, 0)
    much = draw_omitted({**settings, "preference": 1.0}, 0)
    assert none.data.X.equals(much.data.X) and none.apart
    assert list(none.data.X.columns) == list(draw_insertion(
        {"gap": 0.2, "n_models": 4}, 0).data.X.columns)  # fmt: skip
    is_human = (none.data.X["judge"] == "human").to_numpy()
    assert_array_equal(none.data.y[is_human], much.data.y[is_human])

    def wins(drawn):
        X = drawn.data.X[~drawn.is_history]
        first = X["model_a"].isin(drawn.new_models).to_numpy()
        return np.mean(drawn.data.y[~drawn.is_history] == first)

    # One logit in favour, with lengths that vary: about a fifth of all verdicts.
    assert wins(much) - wins(none) > 0.1


@pytest.mark.parametrize("apart", [False, True])
def test_votes_of_a_draw(apart):
    drawn = draw_insertion({"gap": 0.2, "n_models": 3}, 0)
    models = drawn.new_models[:1] if apart else drawn.new_models
    X, y = drawn.with_votes(models)
    assert (X["judge"] == "human").all() and len(X) == len(y)
    sides = set(X[["model_a", "model_b"]].to_numpy().ravel())
    assert sides == {*drawn.data.truth.historical_models, *models}
