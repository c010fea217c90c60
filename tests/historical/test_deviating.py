"""Folds whose item effects follow fit nothing that these decide anew."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor import AnchorPipeline, JudgeCalibrator
from skanchor._historical import _fit
from skanchor.bias import BoostedBias
from skanchor.simulation import simulate_battles


def fit(data, **settings):
    return AnchorPipeline(item_effects="random", cv=4, random_state=0, **settings).fit(
        data.X, data.y
    )


@pytest.mark.parametrize("how", ["joint", "two-step"])
def test_what_is_left_out_moves_no_score_by_a_thousandth_of_its_error(how, monkeypatch):
    data = simulate_battles(n_human=800, random_state=3)
    short = fit(data, historical_fit=how)
    monkeypatch.setattr(_fit, "_is_decided_later", lambda *args: False)
    whole = fit(data, historical_fit=how)
    error = whole.standard_errors_
    assert (np.abs(short.scores_ - whole.scores_) < 1e-3 * error).all()
    assert_allclose(short.standard_errors_, error, rtol=2e-3)
    if how == "two-step":
        # Votes decide the scores, and the fit of item effects starts as near.
        assert_allclose(short.scores_, whole.scores_, atol=1e-9)


def decided_later(monkeypatch, data, **settings):
    """What every fold has decided."""
    found = []
    inner = _fit._is_decided_later

    def heard(*args):
        found.append(inner(*args))
        return found[-1]

    monkeypatch.setattr(_fit, "_is_decided_later", heard)
    fit(data, **settings)
    assert len(found) == 4
    return set(found)


def test_learners_that_have_to_be_fitted_are(monkeypatch):
    data = simulate_battles(n_human=800, random_state=3)
    assert decided_later(monkeypatch, data) == {True}
    boosted = JudgeCalibrator(BoostedBias(max_rounds=3))
    assert decided_later(monkeypatch, data, calibrator=boosted) == {False}


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")
def test_where_judges_place_models_every_fold_asks_whether_they_do(monkeypatch):
    data = simulate_battles(n_human=800, random_state=3)
    X = data.X
    people = (X["judge"] == "human").to_numpy()
    names = sorted(set(X.loc[people, "model_a"]) | set(X.loc[people, "model_b"]))
    group = {name: k % 2 for k, name in enumerate(names)}
    apart = X["model_a"].map(group) != X["model_b"].map(group)
    kept = ~(people & apart.to_numpy())
    data = type("Data", (), {"X": X[kept], "y": np.asarray(data.y)[kept]})
    assert decided_later(monkeypatch, data, historical_fit="joint") == {False}
