"""The table that the faults are put into, and checks that many of them share."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

from skanchor import AnchorPipeline, JudgeCalibrator, split_battles
from skanchor.bias import LinearBias
from skanchor.exceptions import DiagnosticWarning
from skanchor.simulation import simulate_battles

# The strongest and a weak one of the historical models.
NEW, FIRST, LAST = "new-model", "model-01", "model-02"

FEATURES = [f"x{i}_{side}" for i in (1, 2, 3) for side in "ab"]


def make_frame():
    data = simulate_battles(
        n_models=5, n_judges=2, n_new=100, n_historical=600, tau=0.0, random_state=5
    )
    return data.X.assign(winner=np.asarray(data.y, dtype=float))


FRAME = make_frame()

HUMAN = (FRAME["judge"] == "human").to_numpy()


def meets(model, frame=FRAME):
    return ((frame["model_a"] == model) | (frame["model_b"] == model)).to_numpy()


ARRIVAL = meets(NEW)


def wins(frame, model, rows, won=True):
    """Let a model win (or lose) all of its chosen rows."""
    first = (frame["model_a"] == model).to_numpy()
    winner = frame["winner"].to_numpy().copy()
    rows = rows & meets(model, frame)
    winner[rows] = np.where(first[rows], float(won), float(not won))
    return frame.assign(winner=winner)


def keep_rows(rows):
    return FRAME[rows].reset_index(drop=True)


def fit(frame, groups=None, sample_weight=None, **params):
    X, y = split_battles(frame)
    # Item effects need more models than small tables have, and say so.
    settings = {"cv": 4, "random_state": 0, "item_effects": None, **params}
    return AnchorPipeline(**settings).fit(X, y, sample_weight, groups)


def ridge(alpha=0.01):
    return JudgeCalibrator(LinearBias(alpha=alpha))


def infinite(*models):
    """Check that these models have no finite error, and the others have one."""

    def check(anchor):
        leaderboard = anchor.leaderboard()
        at = leaderboard.index.isin(models)
        assert np.isinf(leaderboard.loc[at, "standard_error"]).all(), leaderboard
        assert np.isfinite(leaderboard.loc[~at, "standard_error"]).all(), leaderboard
        assert (leaderboard.loc[~at, "standard_error"] > 0).all()
        # One that won, or lost, everything has a limit, and a rank set by it.
        lost = at & ~leaderboard["determined"]
        assert (leaderboard.loc[lost, "rank_low"] == 1).all()
        assert (leaderboard.loc[lost, "rank_high"] == len(leaderboard)).all()
        assert (
            np.isfinite(leaderboard[["low", "high"]]).sum(axis=1) == 2 - at - lost
        ).all()
        assert (leaderboard["score"].abs() < 25).all(), leaderboard
        assert not leaderboard.isna().any(axis=None)

    return check


def half(column, label, other):
    rows = (FRAME[column] == label) & (np.arange(len(FRAME)) % 2 == 0)
    return FRAME.assign(**{column: FRAME[column].mask(rows, other)})


def same_fit(anchor):
    pd.testing.assert_frame_equal(
        anchor.conf_int(), fitted().conf_int(), check_index_type=False, atol=1e-9
    )


def same_numbers(anchor):
    plain = fitted()
    assert_allclose(anchor.result_.estimates, plain.result_.estimates, atol=1e-7)
    assert_allclose(anchor.standard_errors_, plain.standard_errors_, rtol=1e-6)


def warnings_of(function, diagnostics=False):
    """Give a call's result and the warnings that it issued."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        result = function()
    # Diagnostics doubt small tables now and then; they are no answer to a fault.
    return result, [
        (record.category, str(record.message))
        for record in records
        if diagnostics or record.category is not DiagnosticWarning
    ]


GHOST = FRAME[:3].drop(columns="winner").assign(model_a="ghost")


def many_features(n=250):
    names = [f"w{i}_{side}" for i in range(n) for side in "ab"]
    values = np.random.default_rng(0).normal(size=(len(FRAME), 2 * n))
    return pd.concat([FRAME, pd.DataFrame(values, columns=names)], axis=1)


@cache
def fitted():
    """Give the pipeline fitted on the table as it is."""
    return fit(FRAME)
