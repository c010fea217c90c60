"""The leaderboard: scales and anchors, its order, and what a rank says."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from tables import ranking

from skanchor.exceptions import BattlesError
from skanchor.results import ELO_PER_LOGIT, Scale


def result_of(scores, sd=0.05, unbounded=(), items=None):
    n = len(scores)
    root = np.random.default_rng(0).normal(size=(n, n)) * sd
    fields = {"unbounded": np.isin(np.arange(n), unbounded)}
    if items is not None:
        fields |= {"item_covariances": items, "item_df": 12.0}
    return ranking(scores, root @ root.T, **fields)


FAR_APART = result_of([2.0, 1.0, 0.0, -3.0])


def test_elo_points_are_logits_by_a_factor():
    plain, elo = FAR_APART.leaderboard(), FAR_APART.leaderboard(scale="elo")
    assert ELO_PER_LOGIT == pytest.approx(400 / np.log(10))
    for name in ("score", "low", "high"):
        assert_allclose(elo[name], 1000 + ELO_PER_LOGIT * plain[name])
    assert_allclose(elo["standard_error"], ELO_PER_LOGIT * plain["standard_error"])
    others = ["rank", "rank_low", "rank_high", "is_new", "determined", "n_human"]
    pd.testing.assert_frame_equal(elo[others], plain[others])


@pytest.mark.parametrize("with_items", [False, True])
def test_from_an_anchor_errors_are_those_of_differences(with_items):
    items = np.eye(4)[None] * 1e-4 if with_items else None
    result = result_of([2.0, 1.0, 0.0, -3.0], items=items)
    leaderboard = result.leaderboard(0.9, "elo", {"m1": 1100})
    assert leaderboard.loc["m1", ["score", "low", "high"]].tolist() == [1100] * 3
    assert leaderboard.loc["m1", "standard_error"] == 0
    contrast = result.contrasts(0.9).loc[("m3", "m1")]
    row = leaderboard.loc["m3"]
    assert_allclose(row["score"], 1100 + ELO_PER_LOGIT * contrast["difference"])
    error = ELO_PER_LOGIT * contrast["standard_error"]
    assert_allclose(row["standard_error"], error)
    assert_allclose(row["low"], 1100 + ELO_PER_LOGIT * contrast["low"])
    assert_allclose(row["high"], 1100 + ELO_PER_LOGIT * contrast["high"])
    logits = result.leaderboard(anchor={"m1": 0})
    assert_allclose(logits["score"], [1, 0, -1, -4])


def test_what_is_no_scale_or_no_anchor_is_refused():
    result = result_of([2.0, 1.0, 0.0, 9.0], unbounded=[3])
    for requested, match in [
        ({"scale": "glicko"}, "scale must be"),
        ({"anchor": "m1"}, "one model to its score"),
        ({"anchor": {"m1": 1, "m2": 2}}, "one model to its score"),
        ({"anchor": {"m1": np.nan}}, "must be finite"),
    ]:
        with pytest.raises(ValueError, match=match):
            result.leaderboard(**requested)
    with pytest.raises(BattlesError, match="none of the models"):
        result.leaderboard(anchor={"gpt": 1000})
    with pytest.raises(BattlesError, match="no determined score"):
        result.leaderboard(anchor={"m3": 1000})
    assert Scale.of(scale := Scale("elo", "m1", 1200.0)) is scale
    assert "1200 by definition" in str(scale)


def test_undetermined_models_come_last():
    leaderboard = result_of([2.0, 1.0, 0.0, 9.0, -1.0], unbounded=[3]).leaderboard()
    assert leaderboard.index.tolist() == ["m0", "m1", "m2", "m4", "m3"]
    assert leaderboard["rank"].tolist() == [1, 2, 3, 4, 5]
    assert leaderboard["determined"].tolist() == [True] * 4 + [False]
    assert leaderboard.loc["m3", ["rank_low", "rank_high"]].tolist() == [1, 5]
    assert (
        leaderboard["rank"]
        .between(leaderboard["rank_low"], leaderboard["rank_high"])
        .all()
    )


def test_two_undetermined_models_share_the_last_place():
    result = result_of([2.0, 1.0, 0.0, 9.0, -9.0], unbounded=[3, 4])
    assert result.leaderboard()["rank"].tolist()[-2:] == [4, 4]


def test_a_plug_in_has_places_but_no_intervals():
    result = result_of([2.0, 1.0, 0.0])
    object.__setattr__(result, "covariances", np.full((1, 3, 3), np.nan))
    leaderboard = result.leaderboard()
    assert (
        leaderboard.index.tolist() == ["m0", "m1", "m2"]
        and leaderboard["determined"].all()
    )
