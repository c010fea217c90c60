"""Arrivals placed in all folds at once are placed as fold by fold."""

import pickle
import warnings
from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal
from sklearn.preprocessing import SplineTransformer

from skanchor import (
    AnchorHistory,
    AnchorPipeline,
    ArrivalScorer,
    JudgeCalibrator,
    RieszDebiaser,
)
from skanchor._placement import FoldStack
from skanchor._stored_folds import StoredFold
from skanchor.bias import LinearBias
from skanchor.simulation import simulate_battles

SETTINGS = {
    "random": {"item_effects": "random"},
    "repeats": {"item_effects": None, "n_repeats": 2},
    "ridge": {
        "item_effects": "random",
        "calibrator": JudgeCalibrator(LinearBias(alpha=0.05), position_effect=False),
        "debiaser": RieszDebiaser("calibrator", ridge=0.01),
    },
    "two-step": {"historical_fit": "two-step", "item_effects": "random"},
}


def battles(features=True, seed=0):
    """Rows of two new models, of which one has votes and both meet each other."""
    data = simulate_battles(
        2000, 150, n_models=6, n_new_models=2, item_sd=0.3, random_state=seed
    )
    X, y = data.X.copy(), np.asarray(data.y)
    rng = np.random.default_rng(seed)
    X["shown_first"] = rng.choice(["model_a", "model_b"], len(X))
    new = sorted(set(X["model_a"][X["model_a"].str.startswith("new")]))
    own = np.flatnonzero(X["model_a"] == new[0])
    X.loc[own[:15], "judge"] = "human"
    X.loc[own[15:40], "model_b"] = new[1]
    if not features:
        X = X.drop(columns=[name for name in X if name[:1] == "x"])
    late = X[["model_a", "model_b"]].isin(new).any(axis=1).to_numpy()
    return X, y, late


def history_of(X, y, late, groups=None, weight=None, **settings):
    anchor = AnchorPipeline(cv=3, random_state=0, **settings)
    parts = (None if one is None else one[~late] for one in (weight, groups))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AnchorHistory(anchor).fit(X[~late], y[~late], *parts)


def both_ways(history, *rows, monkeypatch):
    """The result of all folds at once, and of one after the other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with monkeypatch.context() as patch:
            patch.setattr(StoredFold, "place", _never)
            at_once = history.place(*rows)
        with monkeypatch.context() as patch:
            vars(history.state_.history).pop("_stack", None)
            patch.setattr(FoldStack, "of", classmethod(lambda cls, folds: None))
            one_by_one = history.place(*rows)
    vars(history.state_.history).pop("_stack", None)
    return at_once, one_by_one


def _never(*args):
    raise AssertionError("a fold was looked at by itself")


def assert_same(one, other):
    for name in ("estimates", "covariances", "parts", "plug_in", "influence"):
        values = getattr(one, name), getattr(other, name)
        assert_allclose(*values, rtol=0, atol=1e-11, err_msg=name)
    assert one.unbounded.tolist() == other.unbounded.tolist()
    assert_allclose(
        one.diagnostics.models, other.diagnostics.models, rtol=1e-7, atol=1e-9
    )
    both = one.diagnostics, other.diagnostics
    assert_allclose(*(each.judges for each in both), rtol=1e-7, atol=1e-9)
    for name in ("changes", "curvature", "models"):
        tables = [getattr(each.arrivals, name) for each in both]
        assert_frame_equal(*tables, rtol=1e-6, atol=1e-8)
    assert both[0].messages() == both[1].messages()


@pytest.mark.parametrize("features", [True, False])
@pytest.mark.parametrize("name", SETTINGS)
def test_all_folds_at_once_are_one_by_one(name, features, monkeypatch):
    X, y, late = battles(features)
    history = history_of(X, y, late, **SETTINGS[name])
    assert_same(*both_ways(history, X[late], y[late], monkeypatch=monkeypatch))


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("features", [True, False])
def test_a_judge_need_not_compare_new_models(features, grouped, monkeypatch):
    X, y, late = battles(features)
    groups = np.random.default_rng(1).integers(0, 400, len(X)) if grouped else None
    history = history_of(X, y, late, groups)
    last = X["judge"].mask(X["judge"] == "human").max()
    rows = late & (X["judge"] != last).to_numpy()
    given = (X[rows], y[rows], None, groups[rows] if grouped else None)
    one, other = both_ways(history, *given, monkeypatch=monkeypatch)
    assert_allclose(one.estimates, other.estimates, rtol=0, atol=1e-11)
    assert_allclose(one.covariances, other.covariances, rtol=0, atol=1e-11)


def test_folds_of_which_one_leaves_out_a_position_effect_are_not_of_a_kind():
    X, y, late = battles()
    folds = history_of(X, y, late, item_effects=None).state_.history.repeats[0]
    assert FoldStack.of(folds) is not None
    other = copy(folds[1].calibrator)
    other.has_position_effect_ = ~other.has_position_effect_
    assert FoldStack.of([folds[0], replace(folds[1], calibrator=other)]) is None


def test_weights_and_groups(monkeypatch):
    X, y, late = battles(seed=1)
    rng = np.random.default_rng(0)
    weight = rng.exponential(size=len(X))
    groups = rng.integers(0, len(X) // 3, len(X))
    history = history_of(X, y, late, groups, weight, item_effects="random")
    rows = X[late], y[late], weight[late], groups[late]
    assert_same(*both_ways(history, *rows, monkeypatch=monkeypatch))


def looked_at(history, monkeypatch, *rows):
    """The result, and how many folds were placed by themselves."""
    found, inner = [], StoredFold.place

    def counted(self, *args):
        # The fit of all rows starts from none.
        found.extend([args] if len(args) > 5 else [])
        return inner(self, *args)

    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(StoredFold, "place", counted)
        return history.place(*rows), len(found)


@pytest.mark.parametrize(
    "settings",
    [
        {"calibrator": JudgeCalibrator(LinearBias(feature_map=SplineTransformer(4)))},
        {"arrival": ArrivalScorer(equation="unweighted"), "item_effects": None},
    ],
)
def test_what_is_of_another_kind_is_placed_fold_by_fold(settings, monkeypatch):
    X, y, late = battles()
    history = history_of(X, y, late, **settings)
    result, n_folds = looked_at(history, monkeypatch, X[late], y[late])
    assert n_folds == 3
    assert np.isfinite(result.standard_errors).all()


def test_a_model_that_wins_throughout_is_at_its_bound(monkeypatch):
    X, y, late = battles()
    history = history_of(X, y, late, item_effects="random")
    rows = X[late & (X["model_a"] == "new-model-1").to_numpy()]
    rows = rows[~rows["model_b"].str.startswith("new")]
    result, n_folds = looked_at(history, monkeypatch, rows, np.ones(len(rows)))
    # Each fold once with the model on its bound, and once without it.
    assert n_folds == 2 * 3
    assert result.unbounded[result.is_new].all()


@pytest.mark.parametrize("won", [0.0, 1.0])
def test_one_model_at_its_bound_is_enough_to_look_at_folds_apart(won, monkeypatch):
    X, y, late = battles()
    history = history_of(X, y, late, item_effects="random")
    first, second = (X[side].str.startswith("new") for side in ("model_a", "model_b"))
    rows = (late & ~(first & second)).to_numpy()
    own, turned = (
        X.loc[rows, side] == "new-model-1" for side in ("model_a", "model_b")
    )
    outcomes = np.where(own, won, np.where(turned, 1.0 - won, y[rows]))
    result, n_folds = looked_at(history, monkeypatch, X[rows], outcomes)
    assert n_folds == 3
    assert result.unbounded[result.is_new].tolist() == [True, False]


def test_votes_need_no_features(monkeypatch):
    X, y, late = battles()
    history = history_of(X, y, late, item_effects="random")
    rows = X[late].reset_index(drop=True)
    complete = history.place(rows, y[late])
    rows.loc[rows["judge"] == "human", "x1_a"] = np.nan
    some, other = both_ways(history, rows, y[late], monkeypatch=monkeypatch)
    assert_same(some, other)
    assert_allclose(some.estimates, complete.estimates, rtol=0, atol=1e-12)


def test_tables_are_made_when_read_and_survive_pickling():
    X, y, late = battles()
    history = history_of(X, y, late, item_effects="random")
    found = history.place(X[late], y[late]).diagnostics
    assert not isinstance(vars(found)["deviations"], pd.DataFrame)
    again = pickle.loads(pickle.dumps(found))
    assert_frame_equal(again.deviations, found.deviations)
    assert_frame_equal(again.arrivals.changes, found.arrivals.changes)
    assert found.deviations is found.deviations
