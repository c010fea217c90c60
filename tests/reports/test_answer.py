"""The answer in plain words agrees with the numbers."""

import numpy as np
import pytest
from reports.made_results import made_result

from skanchor._battles import Inputs
from skanchor.reports.answers import answer


def one_new(score, error, n_old=4):
    old = np.linspace(1.5, -1.5, n_old)
    variance = np.append(np.full(n_old, 1e-6), error**2)
    return made_result(
        n_old + 1,
        1,
        estimates=np.append(old, score)[None],
        covariances=np.diag(variance)[None],
    )


@pytest.mark.parametrize(
    ("score", "error", "said"),
    [
        (0.0, 0.001, "3rd of 5; these rows exclude every other rank."),
        (0.0, 0.5, "3rd of 5; its rank lies between 2 and 4."),
        (3.0, 0.001, "1st of 5; these rows exclude every other rank."),
        (0.1, 50.0, "3rd of 5, but these rows exclude no rank."),
    ],
)
def test_rank_and_range_are_those_of_the_rank_set(score, error, said):
    result = one_new(score, error)
    first, last = answer(result)
    assert first.startswith(f"People would rank model-04 {said}")
    assert "1 is best. With 95 % confidence" in last
    assert "within their rank sets at once" in last


def test_ranks_are_those_of_the_leaderboard():
    old = [2.0, 1.0, 0.0, -1.0, -2.0]
    result = made_result(
        7,
        2,
        estimates=np.array([[*old, 1.5, -0.5]]),
        covariances=0.09 * np.eye(7)[None],
    )
    board = result.leaderboard()
    assert "rank model-06 5th of 7; " in answer(result)[1]
    low, high = board.loc["model-06", ["rank_low", "rank_high"]]
    assert f"its rank lies between {low} and {high}." in answer(result)[1]


def test_chance_against_the_average_is_that_of_the_score():
    # A score of log 3 wins three of four.
    (first, _) = answer(one_new(np.log(3.0), 0.01))
    assert (
        "historical models in 75 % of comparisons (95 % interval: 75 % to 75" in first
    )
    (first, _) = answer(one_new(12.0, 0.01))
    assert "in over 99 % of comparisons" in first
    (first, _) = answer(one_new(-2000.0, 0.01))
    assert "in under 1 % of comparisons" in first


def test_an_undetermined_model_is_said_to_be():
    result = made_result(5, 1, unbounded=np.arange(5) == 4)
    assert "do not determine where people would rank model-04" in answer(result)[0]


def test_the_mix_of_contexts_is_in_the_answer():
    mixed = Inputs(context="kind", mix=(("chat", 0.75), ("code", 0.25)))
    said = answer(made_result(6, 1, inputs=mixed))
    assert said[1].startswith("This is for prompts that are 75 % chat and 25 % code")
    assert "75 % chat" in " ".join(answer(made_result(6, 0, inputs=mixed)))


def test_without_new_models_it_is_about_the_best():
    best, rest = answer(made_result(6, 0, error=0.001))
    assert best == "People like model-00 best, with 95 % confidence."
    assert "No model is new" in rest
    best, _ = answer(made_result(6, 0, error=9.0), 0.9)
    assert best.startswith("With 90 % confidence the model that people like best is")
    assert "one of these 6: model-00" in best


def test_many_new_models_are_counted():
    said = answer(made_result(12, 6))
    assert len(said) == 5
    assert said[3] == "The leaderboard has 3 more new models."
    assert "the ranks of all 12 models lie within their rank sets" in said[4]
