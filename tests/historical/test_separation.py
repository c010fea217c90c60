"""Judges that the scores separate have no say in the scores of a joint fit."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from tables import quiet

from skanchor import AnchorPipeline, BTLRegressor
from skanchor.exceptions import SeparationWarning, WeakJudgeWarning
from skanchor.simulation import simulate_battles


def with_a_sure_judge(n_rows=40):
    """A table, and the same with a judge that is always for the better by votes."""
    data = simulate_battles(
        n_models=5, n_judges=2, n_new=100, n_historical=600, tau=0.0, random_state=5
    )
    X, y = data.X, np.asarray(data.y, dtype=float)
    scores = BTLRegressor().fit(X, y).scores_
    old = (X["judge"] != "human") & (X[["model_a", "model_b"]] != "new-model").all(
        axis=1
    )
    few = X[old][:n_rows].assign(judge="sure")
    better = few["model_a"].map(scores) > few["model_b"].map(scores)
    more = pd.concat([X, few], ignore_index=True)
    return X, y, more, np.concatenate([y, better.astype(float)])


def test_a_separated_judge_moves_no_historical_score():
    X, y, more, outcomes = with_a_sure_judge()
    settings = {"debiaser": "passthrough", "item_effects": None, "cv": 3}
    without = AnchorPipeline(**settings).fit(X, y)
    with (
        pytest.warns(SeparationWarning, match="'sure'"),
        pytest.warns(WeakJudgeWarning, match="'sure' lies on its bound"),
    ):
        anchor = AnchorPipeline(**settings).fit(more, outcomes)
    assert_allclose(anchor.btl_.scores_, without.btl_.scores_, atol=1e-6)
    # By the scores that the others find it need not be separated.
    assert 1.0 < anchor.calibrator_.sensitivities_["sure"] < 20.0


def test_a_judge_of_many_sure_verdicts_spoils_no_error():
    data = simulate_battles(
        n_historical=3000, n_human=700, rho=0.0, new_score=1.0, random_state=0
    )
    X = data.X[["model_a", "model_b", "judge"]]
    scores = pd.concat([data.truth.scores, data.truth.new_scores])
    better = X["model_a"].map(scores) > X["model_b"].map(scores)
    y = np.where(X["judge"] == "judge-1", better, data.y).astype(int)
    anchor = AnchorPipeline(item_effects="random", cv=3, random_state=0)
    quiet(anchor.fit, X, y)
    # Its sensitivity had no bound, and the folds' scores differed by thousands.
    assert anchor.calibrator_.sensitivities_["judge-1"] <= 20.0
    assert anchor.standard_errors_["new-model"] < 0.3
    assert anchor.scores_["new-model"] == pytest.approx(1.0, abs=0.5)
