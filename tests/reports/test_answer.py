"""The answer in plain words agrees with the numbers."""

import numpy as np
import pytest
from reports.made_results import made_result

from skanchor.reports import answer


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
        (0.0, 0.001, "3rd of 5, and these rows leave room for no other place."),
        (0.0, 0.5, "3rd of 5; these rows leave room for places 2 to 4."),
        (3.0, 0.001, "1st of 5, and these rows leave room for no other place."),
        (0.1, 50.0, "3rd of 5, but these rows leave room for every place."),
    ],
)
def test_place_and_room_are_those_of_the_rank_set(score, error, said):
    result = one_new(score, error)
    first, last = answer(result)
    assert first.startswith(f"People would place model-04 {said}")
    assert "With 95 % confidence this range is right." in last
    assert "the 4 models that people have voted on" in last


def test_chance_against_the_average_is_that_of_the_score():
    # A score of log 3 wins three of four.
    (first, _) = answer(one_new(np.log(3.0), 0.01))
    assert "prefer it in 75 % of comparisons (95 % interval: 75 % to 75 %" in first
    (first, _) = answer(one_new(12.0, 0.01))
    assert "in over 99 % of comparisons" in first
    (first, _) = answer(one_new(-2000.0, 0.01))
    assert "in under 1 % of comparisons" in first


def test_an_undetermined_model_is_told_to_be():
    result = made_result(5, 1, unbounded=np.arange(5) == 4)
    assert "is not determined by these rows" in answer(result)[0]


def test_without_new_models_it_is_about_the_best():
    best, rest = answer(made_result(6, 0, error=0.001))
    assert best == "People like model-00 best, with 95 % confidence."
    assert "No model is new" in rest
    best, _ = answer(made_result(6, 0, error=9.0), 0.9)
    assert best.startswith("With 90 % confidence the model that people like best is")
    assert "one of these 6: model-00" in best


def test_many_new_models_are_counted():
    told = answer(made_result(12, 6))
    assert len(told) == 5
    assert told[3] == "The leaderboard has 3 more new models."
    assert "all of these ranges of places are right" in told[4]
