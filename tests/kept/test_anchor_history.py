"""A kept history places new models where a fit of all rows places them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal
from sklearn.base import clone

from skanchor import (
    AnchorHistory,
    AnchorPipeline,
    JudgeCalibrator,
    SourceKFold,
)
from skanchor.bias import LinearBias
from skanchor.simulation import simulate_battles

N_FOLDS = 3


def table(n_new=2, features=True, seed=0, **options):
    """History, and rows of new models, of whom one is warm and two meet each other."""
    data = simulate_battles(
        2400, 200, n_models=6, n_new_models=n_new, item_sd=0.3, random_state=seed,
        **options,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    X, y = data.X.copy(), pd.Series(np.asarray(data.y))
    X["shown_first"] = rng.choice(["model_a", "model_b"], len(X))
    new = sorted(set(X.model_a[X.model_a.str.startswith("new")]))
    own = np.flatnonzero(X.model_a == new[0])
    if n_new > 1:
        X.loc[own[20:50], "model_b"] = new[1]
    X.loc[own[:20], "judge"] = "human"
    if not features:
        X = X.drop(columns=[name for name in X if name[:1] == "x"])
    return X, y, new


def is_late(X, new):
    return (X.model_a.isin(new) | X.model_b.isin(new)).to_numpy()


def both_fits(anchor, X, y, new, weight=None, groups=None, path=None):
    """Result of the pipeline on all rows, and of arrivals at a kept history."""
    late = is_late(X, new)
    n_repeats = anchor.n_repeats
    plans = [
        list(
            SourceKFold(N_FOLDS, random_state=seed, new_models=new).split(
                X, groups=groups
            )
        )
        for seed in range(n_repeats)
    ]
    place = np.where(late, np.cumsum(late), np.cumsum(~late)) - 1

    def part(of, values):
        return None if values is None else np.asarray(values)[of]

    def folds(of):
        return [
            [tuple(place[rows[of[rows]]] for rows in split) for split in plan]
            for plan in plans
        ]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = clone(anchor).set_params(cv=plans, new_models=new)
        whole.fit(X, y, weight, groups)
        history = AnchorHistory(clone(anchor).set_params(cv=folds(~late)))
        history.fit(X[~late], y[~late], part(~late, weight), part(~late, groups))
        if path is not None:
            history.save(path)
            history = AnchorHistory.load(path)
        placed = history.place(
            X[late], y[late], part(late, weight), part(late, groups), cv=folds(late)
        )
    return whole.result_, placed


def assert_same(one, other, atol=1e-9):
    assert one.models.tolist() == other.models.tolist()
    assert one.is_new.tolist() == other.is_new.tolist()
    assert one.unbounded.tolist() == other.unbounded.tolist()
    assert one.n_human.tolist() == other.n_human.tolist()
    assert one.n_judge.tolist() == other.n_judge.tolist()
    for name in ("estimates", "covariances", "plug_in", "parts", "lower_bound"):
        known, found = getattr(one, name), getattr(other, name)
        assert_allclose(found, known, rtol=0, atol=atol, err_msg=name)
    assert_allclose(one.item_df, other.item_df, rtol=1e-9)
    assert_frame_equal(one.contrasts(), other.contrasts(), atol=1e-8, rtol=0)
    assert one.rank_sets().equals(other.rank_sets())
    known, found = one.diagnostics, other.diagnostics
    # These are read off some of the historical rows, which are kept.
    by_some = ["effective_share", "largest_ratio"]
    assert_frame_equal(
        found.judges.drop(columns=by_some), known.judges.drop(columns=by_some),
        rtol=1e-6, atol=1e-8,
    )  # fmt: skip
    assert_frame_equal(found.judges[by_some], known.judges[by_some], rtol=0.15)
    by_row = ["largest_influence"]
    assert_frame_equal(
        found.models.drop(columns=by_row), known.models.drop(columns=by_row), rtol=1e-6
    )
    assert_frame_equal(found.deviations, known.deviations, rtol=1e-6, atol=1e-8)
    assert_frame_equal(found.historical, known.historical, rtol=1e-6)
    assert_frame_equal(found.arrivals.models, known.arrivals.models, rtol=1e-5)
    assert_frame_equal(
        found.arrivals.changes, known.arrivals.changes, rtol=1e-5, atol=1e-8
    )
    assert_allclose(found.scale_z, known.scale_z, rtol=1e-8)
    assert found.grouped == known.grouped


SETTINGS = {
    "default": {},
    "random": {"item_effects": "random"},
    "plain": {"item_effects": None, "n_repeats": 2},
    "ridge": {"calibrator": JudgeCalibrator(LinearBias(alpha=0.02))},
    "two-step": {
        "historical_fit": "two-step",
        "calibrator": JudgeCalibrator(position_effect=False),
        "item_effects": None,
    },
}


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("name", SETTINGS)
def test_placed_is_fitted(name, saved, tmp_path):
    X, y, new = table()
    anchor = AnchorPipeline(random_state=0, **SETTINGS[name])
    path = tmp_path / "history" if saved else None
    assert_same(*both_fits(anchor, X, y, new, path=path))


@pytest.mark.parametrize("features", [False, True])
def test_weights_and_groups(features, tmp_path):
    X, y, new = table(features=features, seed=1)
    rng = np.random.default_rng(0)
    weight = rng.exponential(size=len(X))
    groups = np.array([f"prompt {i}" for i in rng.integers(0, len(X) // 3, len(X))])
    anchor = AnchorPipeline(random_state=0, item_effects="random")
    path = tmp_path / "history"
    assert_same(*both_fits(anchor, X, y, new, weight, groups, path))


def test_models_left_out_are_on_the_board(tmp_path):
    X, y, new = table(n_new=1, seed=2)
    X = pd.concat([X, X[:4].assign(model_a="loser")], ignore_index=True)
    y = pd.concat([y, pd.Series([0.0] * 4)], ignore_index=True)
    late = np.flatnonzero(is_late(X, new))
    X.loc[late[-2:], "model_b"] = "loser"
    anchor = AnchorPipeline(random_state=0)
    one, other = both_fits(anchor, X, y, new, path=tmp_path / "history")
    assert "loser" in other.models
    assert_same(one, other)
