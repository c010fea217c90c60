"""Who is a person, whose rows are left out, what is one group, who contradicts."""

import pandas as pd
import polars as pl
import pytest

from skanchor import split_battles
from skanchor.exceptions import BattlesError

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
