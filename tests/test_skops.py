"""Estimators survive skops, which loads nothing that it has not been told to trust."""

import pickle

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal, assert_series_equal

from skanchor import AnchorPipeline, BTLRegressor, JudgeCalibrator
from skanchor._plain_state import PlainState
from skanchor.baselines import BASELINES
from skanchor.bias import BoostedBias, LinearBias
from skanchor.simulation import simulate_battles


def survived(estimator):
    """The estimator, dumped and loaded with trust in our own classes alone."""
    sio = pytest.importorskip("skops.io")
    data = sio.dumps(estimator)
    unknown = sio.get_untrusted_types(data=data)
    foreign = {name for name in unknown if not name.startswith("skanchor.")}
    assert foreign <= {"builtins.frozenset"}
    return sio.loads(data, trusted=unknown)


def test_an_unfitted_pipeline_survives():
    calibrator = JudgeCalibrator(LinearBias(alpha=0.1), position_effect=False)
    anchor = AnchorPipeline(calibrator=calibrator, cv=4, random_state=1)
    again = survived(anchor)
    assert repr(again) == repr(anchor)
    assert again.get_params()["calibrator__bias__alpha"] == 0.1


@pytest.fixture(scope="module")
def battles():
    return simulate_battles(n_historical=1200, n_new=200, random_state=0)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"item_effects": "random", "historical_fit": "two-step"},
        {"calibrator": JudgeCalibrator(BoostedBias(max_rounds=3))},
        {"human_bias": "linear"},
    ],
    ids=["default", "random", "boosted", "style"],
)
def test_a_fitted_pipeline_survives(battles, settings):
    anchor = AnchorPipeline(cv=2, random_state=0, **settings)
    anchor.fit(battles.X, battles.y)
    again = survived(anchor)
    assert_frame_equal(again.leaderboard(), anchor.leaderboard())
    assert_frame_equal(again.contrasts(), anchor.contrasts())
    judges, own = (one.calibrator_ for one in (again, anchor))
    assert_series_equal(judges.sensitivities_, own.sensitivities_)
    found, told = (one.result_.diagnostics for one in (again, anchor))
    assert_frame_equal(found.judges, told.judges)
    np.testing.assert_array_equal(again.influence_, anchor.influence_)
    np.testing.assert_array_equal(
        again.predict_proba(battles.X), anchor.predict_proba(battles.X)
    )


@pytest.mark.parametrize("name", ["DirectScore", "JointMLE", "HistoricalPPI"])
def test_fitted_baselines_survive(battles, name):
    fitted = BASELINES[name]().fit(battles.X, battles.y)
    assert_series_equal(survived(fitted).scores_, fitted.scores_)
    btl = BTLRegressor().fit(battles.X, battles.y)
    assert_series_equal(survived(btl).scores_, btl.scores_)


class Holder(PlainState):
    def __init__(self, **tables):
        vars(self).update(tables)


TABLES = {
    "plain": pd.Series([1.0, np.nan], index=["a", "b"], name="score"),
    "flags": pd.Series([True, False], index=pd.Index([3, 1], name="judge")),
    "texts": pd.DataFrame({"why": ["x", None], "n": [1, 2], "z": [0.5, 1.5]}),
    "empty": pd.DataFrame(index=pd.Index([], name="judge")),
    "pairs": pd.DataFrame(
        {"p": [0.1, 0.2]},
        index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["m", None]),
    ),
    "twice": pd.DataFrame([[1, 2.0]], columns=["a", "a"]),
    "mixed": pd.Series([1, "x", (2, 3)], index=[("t", 1), 2, "s"], dtype=object),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_come_back_as_they_were(name):
    table = TABLES[name]
    held = pickle.loads(pickle.dumps(Holder(one=table, inside={"deep": table})))
    is_frame = isinstance(table, pd.DataFrame)
    same = assert_frame_equal if is_frame else assert_series_equal
    same(held.one, table, check_index_type="equiv")
    same(held.inside["deep"], table, check_index_type="equiv")
