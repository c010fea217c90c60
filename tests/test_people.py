"""Who is a person, whose rows are left out, what is one group, who contradicts."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skanchor import AnchorPipeline, split_battles
from skanchor.exceptions import BattlesError, DataWarning, WeakJudgeWarning
from skanchor.simulation import simulate_battles

JUDGES = ["expert_1", "author_2", "expert_3", "gpt-4", "gpt-3.5", "expert_1"]


@pytest.fixture(params=[pd.DataFrame, pl.DataFrame])
def table(request):
    return request.param(
        {"model_a": list("xyxyxy"), "model_b": list("yzyzyz"), "judge": JUDGES}
        | {"winner": ["tie"] * 6}
    )


@pytest.mark.parametrize(
    "chosen",
    [
        {"human": ["expert_*", "author_*"]},
        {"human": ["expert_1", "author_?", "expert_3"]},
        {"judges": "gpt-*"},
        {"judges": ["gpt-4", "gpt-3.5"]},
    ],
)
def test_people_by_pattern_or_by_what_is_none(table, chosen):
    X, _ = split_battles(table, **chosen)
    assert list(X["judge"]) == ["human"] * 3 + ["gpt-4", "gpt-3.5", "human"]
    raters = pd.Series(list(X["rater"])).fillna("").tolist()
    assert raters == ["expert_1", "author_2", "expert_3", "", "", "expert_1"]


def test_judges_are_left_out(table):
    X, y = split_battles(table, human=["expert_*", "author_2"], without="gpt-3*")
    assert set(X["judge"]) == {"human", "gpt-4"}
    assert len(X) == len(y) == 5


def test_one_label_makes_no_rater(table):
    X, _ = split_battles(table, human="author_2")
    assert "rater" not in X.columns


@pytest.mark.parametrize(
    ("chosen", "match"),
    [
        ({"human": "crowd*"}, r"holds the human labels \['crowd\*'\]"),
        ({"human": []}, "human labels"),
        ({"judges": "llama"}, r"holds the judges \['llama'\]"),
        ({"judges": "*"}, r"people have \[\]"),
        ({"without": "llama"}, r"holds the judges to drop \['llama'\]"),
        ({"human": "author_2", "judges": "gpt-*"}, "not both"),
    ],
)
def test_labels_that_no_row_holds(table, chosen, match):
    with pytest.raises(BattlesError, match=match):
        split_battles(table, **chosen)


# ----------------------------------------------------------------------- agreement
def simulated(judge_2):
    """A simulated table in which the verdicts of a judge are changed."""
    data = simulate_battles(
        n_models=5, n_judges=2, n_new=100, n_historical=900, tau=0.0, random_state=5
    )
    y = np.asarray(data.y, dtype=float)
    rows = (data.X["judge"] == "judge-2").to_numpy()
    return data.X, np.where(rows, judge_2(y), y)


def test_judge_whose_outcomes_are_turned_round_is_told_once():
    X, y = simulated(lambda y: 1.0 - y)
    with pytest.warns() as caught:
        AnchorPipeline(cv=2, item_effects="none", random_state=0).fit(X, y)
    told = [w for w in caught if "coded the other way round" in str(w.message)]
    assert len(told) == 1
    assert issubclass(told[0].category, DataWarning)
    assert str(told[0].message).startswith("Judge 'judge-2' sides with people in ")
    assert any(issubclass(w.category, WeakJudgeWarning) for w in caught)


def test_judge_who_tosses_a_coin_is_not_told():
    coin = np.random.default_rng(0)
    X, y = simulated(lambda y: coin.integers(0, 2, len(y)))
    with pytest.warns() as caught:
        AnchorPipeline(cv=2, item_effects="none", random_state=0).fit(X, y)
    assert not any("other way round" in str(w.message) for w in caught)
