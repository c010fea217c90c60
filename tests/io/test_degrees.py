"""Outcomes in words of degree about one side, and levels that a user gives."""

import pandas as pd
import pytest
from offers import offers

from skanchor import read_battles
from skanchor.exceptions import AssumptionWarning, BattlesError

WORDS = ["much better", "better", "same", "worse", "much worse"]


def written(tmp_path, outcome, words=WORDS, sides=("system_1", "system_2")):
    """File in which the outcomes stand in one column."""
    path = tmp_path / "degrees.csv"
    table = pd.DataFrame({sides[0]: "owl", sides[1]: "elk", "judge": "human"}, range(5))
    table[outcome] = (words * 5)[:5]
    table.to_csv(path, index=False)
    return path


def winners(path, **arguments):
    with pytest.warns(AssumptionWarning):
        return read_battles(path, **arguments)["winner"].tolist()


@pytest.mark.parametrize(
    ("name", "first"),
    [("system_1_is", True), ("System 1 is", True), ("system_2_is", False),
     ("system_2 compared", False), ("verdict", True)],
)  # fmt: skip
def test_five_degrees_about_one_side(tmp_path, name, first):
    levels = [1.0, 0.75, 0.5, 0.25, 0.0]
    found = winners(written(tmp_path, name))
    assert found == (levels if first else levels[::-1])


def test_degrees_are_evenly_spaced_over_those_that_occur(tmp_path):
    words = ["much better", "better", "slightly better", "same", "slightly worse"]
    found = winners(written(tmp_path, "system_1_is", words))
    assert found == pytest.approx([1, 5 / 6, 2 / 3, 1 / 2, 1 / 3], abs=1e-4)
    words = ["better", "slightly better", "about the same", "slightly worse", "worse"]
    assert winners(written(tmp_path, "system_1_is", words)) == [1, 0.75, 0.5, 0.25, 0]
    words = ["better", "worse"]
    assert winners(written(tmp_path, "system_1_is", words)) == [1, 0, 1, 0, 1]


def test_wins_of_the_second_side(tmp_path):
    path = written(tmp_path, "model_b result", ["win", "loss", "tie"])
    with pytest.raises(BattlesError):
        read_battles(path)  # No outcome by its name: `columns` says so.
    table = pd.read_csv(path)
    table = table.set_axis(["model_a", "model_b", "judge", "model_b_is"], axis=1)
    table["model_b_is"] = ["better", "worse", "same"] + ["better"] * 2
    table.to_csv(path, index=False)
    assert winners(path) == [0.0, 1.0, 0.5, 0.0, 0.0]


def test_words_about_no_side_by_name_are_asked_about(tmp_path):
    path = written(tmp_path, "comparison")
    with pytest.raises(BattlesError, match="but not which one") as error:
        read_battles(path)
    one, two = (more for _, more in offers(error.value))
    assert winners(path, **one) == [1.0, 0.75, 0.5, 0.25, 0.0]
    assert winners(path, **two) == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_baseline_first_is_about_the_model(tmp_path):
    path = written(tmp_path, "outcome", sides=("baseline", "model"))
    with pytest.warns(AssumptionWarning):
        table = read_battles(path)
    assert table["model_a"].tolist() == ["elk"] * 5
    assert table["winner"].tolist() == [1.0, 0.75, 0.5, 0.25, 0.0]


def test_levels_say_what_unknown_words_mean(tmp_path):
    words = ["love 1st", "like 1st", "tie", "like 2nd", "love 2nd"]
    path = written(tmp_path, "opinion", words)
    with pytest.raises(BattlesError):
        read_battles(path)
    levels = {"love 1st": 1.0, "like 1st": 0.7, "like 2nd": 0.3, "love 2nd": 0.0}
    with pytest.warns(AssumptionWarning, match="the outcome is 'opinion', whose val"):
        table = read_battles(path, levels=levels)
    assert table["winner"].tolist() == [1.0, 0.7, 0.5, 0.3, 0.0]
    with pytest.raises(BattlesError, match="Unknown outcome labels"):
        read_battles(path, levels={"love 1st": 1.0}, columns={"opinion": "winner"})


def test_levels_of_single_numbers(tmp_path):
    path = written(tmp_path, "verdict", [1, 2, 3, 4, 5])
    levels = {"1": 1.0, "2": 0.9, "3": 0.5, "4": 0.1, "5": 0.0}
    assert winners(path, levels=levels) == [1.0, 0.9, 0.5, 0.1, 0.0]


def test_labels_show_the_column_of_outcomes(tmp_path):
    path = written(tmp_path, "opinion", ["first one", "other one"])
    labels = {"first one": "model_a", "other one": "model_b"}
    assert winners(path, labels=labels)[:2] == ["model_a", "model_b"]


@pytest.mark.parametrize("words", [
    ["crushes it", "edges it", "no call", "edged out", "crushed"],
    ["great", "good", "so so", "poor", "awful"],
])  # fmt: skip
def test_own_words_are_listed_to_be_given_levels(tmp_path, words):
    """Their order is not guessed: one that is wrong would reverse the ranking."""
    path = written(tmp_path, "verdict", words)
    with pytest.raises(BattlesError, match=r"levels=\{.*: \.\.\.") as error:
        read_battles(path)
    assert all(repr(word) in str(error.value) for word in words)
    assert not offers(error.value)


def test_own_words_with_numbers_stand_in_that_order(tmp_path):
    words = ["1 - left by far", "2 - left", "3 - even", "4 - right", "5 - right by far"]
    path = written(tmp_path, "verdict", words)
    with pytest.raises(BattlesError, match="5 different ones") as error:
        read_battles(path)
    one, two = (more for _, more in offers(error.value))
    assert winners(path, **one) == [1.0, 0.75, 0.5, 0.25, 0.0]
    assert winners(path, **two) == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_ahead_and_behind_are_words_of_degree(tmp_path):
    words = ["way ahead", "ahead", "level", "behind", "way behind"]
    path = written(tmp_path, "verdict", words)
    with pytest.warns(AssumptionWarning, match="way ahead is 1"):
        assert read_battles(path)["winner"].tolist() == [1.0, 0.75, 0.5, 0.25, 0.0]
