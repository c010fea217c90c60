"""Riesz weights beyond what the whole chain shows."""

import warnings

import numpy as np
import pytest
from learners import Wrapped
from numpy.testing import assert_allclose

from skanchor import AnchorPipeline, BTLRegressor, Comparisons, RieszDebiaser
from skanchor.bias import LinearBias
from skanchor.exceptions import BattlesError, SkanchorWarning
from skanchor.simulation import simulate_battles


def with_plug_in(n_judges=2):
    """Rows that carry true parameters, and their outcomes."""
    data = simulate_battles(
        n_models=5,
        n_judges=n_judges,
        n_new=100,
        n_historical=600,
        rho=0.0,
        random_state=1,
    )
    X = Comparisons.from_battles(data.X, new_models=["new-model"])
    scores = np.append(data.truth.scores, data.truth.new_scores)
    X = X.with_columns(
        scores=scores[np.argsort([*data.truth.scores.index, "new-model"])],
        sensitivities=data.truth.sensitivities.to_numpy(),
        biases=np.zeros(len(X)),
    )
    return X, data.y


def test_rows_of_a_group_share_their_inner_fold():
    """Twins that one group holds are one row of twice the weight."""
    X, y = with_plug_in()
    twice = np.repeat(np.arange(len(X)), 2)
    debiaser = RieszDebiaser(Wrapped(), inner_folds=2)
    once = debiaser.fit(X, y, np.full(len(X), 2.0)).weights(X)
    twins = debiaser.fit(X[twice], y[twice], groups=twice).weights(X)
    assert_allclose(twins, once, atol=1e-8)
    apart = debiaser.fit(X[twice], y[twice]).weights(X)
    assert np.abs(apart - once).max() > 1e-4


@pytest.mark.parametrize("sharp", [100.0, 300.0])
def test_separated_verdicts_take_no_part(sharp):
    """A judge whose logits are all in the hundreds places nothing.

    The curvature of its rows is rounding noise, of which the solver, free of units,
    would make an inverse: weights of 1e9 and more.
    """
    data = simulate_battles(
        n_models=5, n_judges=2, n_new=100, n_historical=600, random_state=1
    )
    X = Comparisons.from_battles(data.X, new_models=["new-model"])
    X = BTLRegressor().fit(X, data.y).transform(X)
    X = X.with_columns(
        scores=np.where(X.is_new, 0.1, X.scores),
        sensitivities=np.array([1.0, sharp]),
        biases=np.zeros(len(X)),
    )
    second = X.judge == 1

    def weights(rows):
        return RieszDebiaser().fit(X[rows], data.y[rows]).weights(X[~second])

    # The new model is known to the second judge alone.
    rows = np.flatnonzero(second | ~X.involves_new)
    with pytest.warns(SkanchorWarning, match=r"not determine .*\['new-model'\]"):
        sharply = weights(rows)
    with pytest.warns(SkanchorWarning, match=r"not determine .*\['new-model'\]"):
        without = weights(rows[~second[rows]])
    reference = X.models != "new-model"
    assert_allclose(sharply[:, reference], without[:, reference], atol=1e-8)
    assert np.abs(sharply).max() < 10


def test_judges_that_follow_the_display_order_without_fail_tell_no_score():
    """Beside them, what is known stays known to the last digits."""
    data = simulate_battles(
        n_models=5, n_judges=3, n_new=100, n_historical=600, rho=0.0, random_state=1
    )
    X = data.X[["model_a", "model_b", "judge"]].assign(shown_first="model_a")
    blind = (X["judge"] == "judge-1").to_numpy()
    y = np.where(blind, 1.0, np.asarray(data.y))
    plan = [(np.flatnonzero(np.arange(len(X)) % 3 != k),
             np.flatnonzero(np.arange(len(X)) % 3 == k)) for k in range(3)]  # fmt: skip

    def board(rows):
        anchor = AnchorPipeline(cv=plan, item_effects=None)
        return anchor.fit(X, y, sample_weight=rows).leaderboard()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkanchorWarning)
        one, other = board(np.ones(len(X))), board(np.where(blind, 0.0, 1.0))
    columns = ["score", "standard_error"]
    assert_allclose(one[columns], other.loc[one.index, columns], rtol=1e-8, atol=1e-9)


def test_people_need_features_where_they_have_a_bias_of_their_own():
    X, y = with_plug_in()
    whole = RieszDebiaser().fit(X, y)

    def lacking(rows):
        left = np.where(rows[:, None], np.nan, X.features_left)
        return X.with_columns(features_left=left)

    without = RieszDebiaser().fit(lacking(X.is_human), y)
    weights = (one.solution_.weights.values for one in (without, whole))
    assert_allclose(*weights)
    with pytest.raises(BattlesError, match=r"NaN in judge rows: \d+, the first is row"):
        RieszDebiaser().fit(lacking(~X.is_human), y)
    with pytest.raises(BattlesError, match=r"NaN in human rows: \d+, the first is row"):
        RieszDebiaser(human_bias=LinearBias()).fit(lacking(X.is_human), y)
