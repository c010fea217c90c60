"""Strong components beside each other: their order, and room for their widths."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor._numerics.graph import strong_components
from skanchor._numerics.separated_scores import find_separated_scores


def wins_of(rings, beats):
    """Wins of models of which each ring beats itself in a circle."""
    size = sum(rings)
    wins = np.zeros((size, size))
    starts = np.cumsum([0, *rings])
    for start, length in zip(starts, rings, strict=False):
        for i in range(length if length > 1 else 0):
            wins[start + i, start + (i + 1) % length] = 1.0
    for upper, lower in beats:
        wins[starts[upper], starts[lower]] = 1.0
    return wins


def test_strong_components_come_largest_first():
    parts = strong_components(wins_of([1, 2, 3, 2], [(0, 1), (1, 2), (2, 3)]))
    assert [part.tolist() for part in parts] == [[3, 4, 5], [1, 2], [6, 7], [0]]


def test_among_equal_components_games_decide_and_then_wins_not_the_order():
    # Two pairs between one who beats both and one whom both beat.
    wins = wins_of([1, 2, 2, 1], [(0, 1), (0, 2), (1, 3), (2, 3)])
    for more, first in (
        (0.0, [1, 2]),  # nothing tells them apart
        (1e-15, [1, 2]),  # but rounding
        (0.5, [3, 4]),
    ):
        wins[3, 4] = 1.0 + more
        assert strong_components(wins)[0].tolist() == first
    wins[3, 4] = 1.0
    wins[5, 4], wins[4, 5] = 0.0, 0.0
    wins[4, 5] = 0.3  # a second of the pair beats the last
    assert strong_components(wins)[0].tolist() == [3, 4]
    other = np.array([3, 1, 5, 4, 2, 0])
    first = strong_components(wins[np.ix_(other, other)])[0]
    assert sorted(other[first].tolist()) == [3, 4]


def test_room_above_and_below_a_scale():
    wins = wins_of([3, 1, 1, 1, 2], [(1, 2), (2, 0), (0, 3), (4, 2)])
    scores = np.array([1.0, 0.0, -1.0, 0, 0, 0, 2.0, -2.0])
    found = find_separated_scores(wins, scores, 9.0)
    assert [scale.tolist() for scale in found.scales] == [[0, 1, 2]]
    # Half way up, at the bound, and at the lower bound.
    assert_allclose(found.scores[:3], scores[:3])
    assert_allclose(found.scores[[3, 5]], [9.0, -9.0])
    # Of the longest way up, of six steps and widths, one leads to the fourth model.
    assert_allclose(found.scores[4], 1.0 + 8.0 / 6.0)
    # The pair above keeps its distance, in the middle of its stretch.
    assert_allclose(found.scores[6:], 1.0 + 8.0 * 4.0 / 6.0 + scores[6:])
    assert found.side.tolist() == [0, 0, 0, 1, 1, -1, 1, 1]


@pytest.mark.parametrize("bound", [1.0, 10.0])
def test_components_without_a_scale(bound):
    wins = wins_of([1, 1, 1, 1], [(0, 1), (1, 2), (2, 3), (0, 3)])
    found = find_separated_scores(wins, np.zeros(4), bound)
    assert not found.scales
    assert_allclose(found.scores, np.array([1, 1 / 3, -1 / 3, -1]) * bound)
    assert found.side.tolist() == [1, 0, 0, -1]


def test_a_scale_beyond_the_bound_stays_below_who_beats_it():
    wins = wins_of([2, 1, 1], [(1, 0), (0, 2)])
    found = find_separated_scores(wins, np.array([20.0, -20.0, 0, 0]), 15.0)
    assert_allclose(found.scores, [20.0, -20.0, 21.0, -21.0])


def test_groups_apart_have_scales_of_their_own():
    wins = wins_of([2, 2, 1], [(2, 1)])
    found = find_separated_scores(wins, np.array([0.5, -0.5, 1.0, -1.0, 0.0]), 5.0)
    assert [scale.tolist() for scale in found.scales] == [[0, 1], [2, 3]]
    assert_allclose(found.scores, [0.5, -0.5, 1.0, -1.0, 5.0])
