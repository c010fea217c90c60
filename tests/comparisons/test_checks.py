"""Rows and labels that are probably not meant: reported once, where they count."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tables import warnings_of

from skanchor import BTLRegressor, split_battles
from skanchor.exceptions import BattlesError


def reported(table, y=None, **kwargs):
    """Codes and texts of the warnings of a fit to a table."""
    y = np.arange(len(table)) % 2 if y is None else y
    result = warnings_of(lambda: BTLRegressor(alpha=1.0).fit(table, y, **kwargs))
    return {one.code: one for one in result}


@pytest.mark.parametrize("of", [pd.DataFrame, pl.DataFrame])
def test_labels_that_differ_in_case_or_blanks(of):
    names = ["Elk", "elk ", "owl", "fox"]
    table = of(
        {"model_a": names * 6, "model_b": [*names[1:], *names[:1]] * 6,
         "judge": ["human"] * 20 + ["Human"] * 4}
    )  # fmt: skip
    result = reported(table)
    assert result.keys() == {"look-alike-models", "look-alike-judges"}
    models, judges = result["look-alike-models"], result["look-alike-judges"]
    assert models.subject == ("Elk", "elk ")
    assert "X.replace({'elk ': 'Elk'})" in str(models)
    assert judges.subject == ("human", "Human")
    assert "X.replace({'Human': 'human'})" in str(judges)


def test_people_under_another_label_are_not_taken_for_a_judge_in_silence():
    names, judges = (
        ["elk", "owl", "fox"],
        ["human", "gpt-4", "Crowd_workers", "human 2"],
    )
    table = pd.DataFrame(
        {"model_a": names * 4, "model_b": [*names[1:], *names[:1]] * 4,
         "judge": np.repeat(judges, 3)}
    )  # fmt: skip
    result = reported(table)["people-as-judges"]
    assert result.subject == ("Crowd_workers", "human 2")
    assert not reported(table[:6])


def test_numbers_and_other_names_are_labels_of_their_own():
    table = pd.DataFrame({"model_a": [1, 2, 3, 1], "model_b": [2, 3, 1, 3]})
    assert not reported(table)
    for names in (["gpt-3.5", "gpt-35", "gpt-4"], ["C", "C++", "C#"]):
        assert not reported(table.replace(dict(enumerate(names, 1))))


def votes(n, rng, **columns):
    names = np.array(["fox", "elk", "owl", "yak"])
    a = rng.integers(0, 4, n)
    b = (a + rng.integers(1, 4, n)) % 4
    table = pd.DataFrame({"model_a": names[a], "model_b": names[b]})
    return table.assign(**columns), rng.choice([0.0, 0.5, 1.0], n)


def copied(table, y, rows, swap=False, **changes):
    """The table, followed by some of its rows again, perhaps with the sides swapped."""
    again, outcomes = table.iloc[rows].assign(**changes), y[rows]
    if swap:
        sides = {"_a": "_b", "_b": "_a"}
        again = again.rename(columns=lambda n: n[:-2] + sides.get(n[-2:], n[-2:]))
        again, outcomes = again.assign(shown_first="model_b"), 1.0 - outcomes
    joined = pd.concat([table.assign(shown_first="model_a"), again], ignore_index=True)
    return joined.fillna({"shown_first": "model_a"}), np.append(y, outcomes)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("has_prompts", [False, True])
def test_copies_are_reported(swap, has_prompts):
    rng = np.random.default_rng(0)
    length = {"len_a": rng.normal(size=300), "len_b": rng.normal(size=300)}
    prompts = {"prompt_id": [f"q{k}" for k in range(300)]} if has_prompts else {}
    table, y = votes(300, rng, **length, **prompts)
    result = reported(*copied(table, y, [17, 40, 2, 9, 55], swap))
    result = result["copied-rows" if has_prompts else "equal-rows"]
    assert "features): 5, the first" in str(result)
    assert "the first is row 300" in str(result)
    for change in ({"len_a": 9.0}, {"model_a": "new"}, {"rater": 1}):
        assert not reported(*copied(table, y, [17, 40, 2, 9, 55], swap, **change))


def test_rows_of_different_prompts_are_no_copies():
    """With features of few values, most rows differ in the prompt alone."""
    rng = np.random.default_rng(1)
    few = {"len_a": rng.integers(0, 2, 900) * 100.0, "len_b": 0.0}
    table, y = votes(900, rng, **few, prompt_id=[f"q{k}" for k in range(900)])
    assert not reported(table, y)
    # Nor do features of few values stand for prompts, or rows without a prompt equal.
    assert not reported(table.drop(columns="prompt_id"), y)
    assert not reported(table.assign(prompt_id=None), y)


@pytest.mark.parametrize("name", [5, ("a", "b"), pd.Timestamp("2024-01-01")])
@pytest.mark.parametrize("read", [split_battles, BTLRegressor().fit])
def test_a_column_whose_name_is_no_text_is_refused(read, name):
    """It ended in an AttributeError."""
    table = pd.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "x"]})
    table["winner"] = ["model_a", "tie"]
    table = pd.concat([table, pd.Series([1, 2], name=name)], axis=1)
    table.columns = pd.Index([*table.columns[:-1], name], tupleize_cols=False)
    outcomes = () if read is split_battles else (table["winner"],)
    with pytest.raises(BattlesError, match="is no text; rename it"):
        read(table, *outcomes)
