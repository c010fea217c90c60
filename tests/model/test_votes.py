"""Sums of votes, and strong components beside each other: order, room for widths."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor._model.btl import VoteCells, fit_btl, in_order_of_wins
from skanchor._model.btl_errors import ScoreErrors
from skanchor._model.graph import sorted_components

ONE = np.ones(1)


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


def ordered(wins, scores, bound):
    parts = sorted_components(wins, "strong")
    scores, scales = in_order_of_wins(wins, parts, scores, bound)
    return scores, [scale.tolist() for scale in scales]


# ---------------------------------------------------------------------- sums of votes
def draw(rng, n, n_models=5):
    left, right = rng.integers(n_models, size=(2, n))
    return left, right, rng.choice([0.0, 0.5, 1.0], n)


def fields(cells):
    names = "left", "right", "y", "weight", "square"
    return np.array([getattr(cells, name) for name in names], dtype=float)


def test_equal_votes_may_be_counted(rng):
    left, right, y = draw(rng, 60)
    count, weight = rng.integers(1, 5, 60), rng.exponential(size=60)
    counted = VoteCells.of(left, right, y, weight * count, weight**2 * count, 5)
    listed = np.repeat(np.arange(60), count)
    votes, each = (left[listed], right[listed], y[listed]), weight[listed]
    assert_allclose(fields(counted), fields(VoteCells.of(*votes, each, each**2, 5)))
    # Equal weights need no sums of them.
    equal, single = (
        VoteCells.of(*votes, w, w**2, 5) for w in (np.full(len(listed), 2.0), 2 * ONE)
    )
    assert_allclose(fields(equal), fields(single))


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_graded_outcomes_are_cells_of_their_own(rng, alpha):
    """A third of a win at three votes has the scores of one win and two losses."""
    left, right, _ = draw(rng, 90)
    graded = VoteCells.of(left, right, np.full(90, 1 / 3), 3 * ONE, 9 * ONE, 5)
    left, right = (np.repeat(side, 3) for side in (left, right))
    votes = VoteCells.of(left, right, np.tile([1.0, 0, 0], 90), ONE, ONE, 5)
    assert_allclose(graded.wins, votes.wins, atol=1e-12)
    settings = {"alpha": alpha, "bound": 15.0}
    assert_allclose(
        fit_btl(graded.wins, **settings).scores, fit_btl(votes.wins, **settings).scores
    )


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_score_vectors_are_those_of_the_sandwich(rng, alpha):
    left, right, y = draw(rng, 200)
    weight = rng.exponential(size=200)
    cells = VoteCells.of(left, right, y, weight, weight**2, 5)
    fit = fit_btl(cells.wins, alpha=alpha, bound=15.0)
    errors = ScoreErrors.of(cells, fit, alpha)
    vectors = errors.score_vectors(left, right, y, weight)
    # The slope of the penalised likelihood is zero.
    ridge = alpha * cells.wins.sum()
    assert_allclose(vectors.sum(axis=0), ridge * fit.scores, atol=1e-8)
    assert_allclose(errors.of_totals(vectors), errors.of_votes(), rtol=1e-9)


# ----------------------------------------------------------- components of the wins


def test_among_equal_components_games_decide_and_then_wins_not_the_order():
    # Two pairs between one who beats both and one whom both beat.
    wins = wins_of([1, 2, 2, 1], [(0, 1), (0, 2), (1, 3), (2, 3)])
    for more, first in (
        (0.0, [1, 2]),  # nothing tells them apart
        (1e-15, [1, 2]),  # but rounding
        (0.5, [3, 4]),
    ):
        wins[3, 4] = 1.0 + more
        assert sorted_components(wins, "strong")[0].tolist() == first
    wins[3, 4] = 1.0
    wins[5, 4], wins[4, 5] = 0.0, 0.0
    wins[4, 5] = 0.3  # a second of the pair beats the last
    assert sorted_components(wins, "strong")[0].tolist() == [3, 4]
    other = np.array([3, 1, 5, 4, 2, 0])
    first = sorted_components(wins[np.ix_(other, other)], "strong")[0]
    assert sorted(other[first].tolist()) == [3, 4]


def test_room_above_and_below_a_scale():
    wins = wins_of([3, 1, 1, 1, 2], [(1, 2), (2, 0), (0, 3), (4, 2)])
    scores = np.array([1.0, 0.0, -1.0, 0, 0, 0, 2.0, -2.0])
    found, scales = ordered(wins, scores, 9.0)
    assert scales == [[0, 1, 2]]
    # Half way up, at the bound, and at the lower bound.
    assert_allclose(found[:3], scores[:3])
    assert_allclose(found[[3, 5]], [9.0, -9.0])
    # Of the longest way up, of six steps and widths, one leads to the fourth model.
    assert_allclose(found[4], 1.0 + 8.0 / 6.0)
    # The pair above keeps its distance, in the middle of its stretch.
    assert_allclose(found[6:], 1.0 + 8.0 * 4.0 / 6.0 + scores[6:])


def test_groups_apart_have_scales_of_their_own():
    wins = wins_of([2, 2, 1], [(2, 1)])
    found, scales = ordered(wins, np.array([0.5, -0.5, 1.0, -1.0, 0.0]), 5.0)
    assert scales == [[0, 1], [2, 3]]
    assert_allclose(found, [0.5, -0.5, 1.0, -1.0, 5.0])
