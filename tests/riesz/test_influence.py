"""Sums over the influence of rows, by parts and by groups."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor._numerics.groups import Membership
from skanchor._riesz import InfluenceSums


@pytest.mark.parametrize("grouped", [False, True])
def test_parts_add_up_to_the_whole(rng, grouped):
    """Groups may have rows of people and of judges, and rows in several parts."""
    values = rng.normal(size=(200, 3))
    is_human = rng.random(200) < 0.3
    groups = rng.integers(0, 40, 200) if grouped else np.arange(200)
    human, judge = (np.zeros((200, 3)) for _ in range(2))
    np.add.at(human, groups[is_human], values[is_human])
    np.add.at(judge, groups[~is_human], values[~is_human])
    across = human.T @ judge
    cuts = np.array_split(rng.permutation(200), 3)
    parts = [
        InfluenceSums.of(
            values[at], is_human[at], Membership.of(groups[at]) if grouped else None
        )
        for at in cuts
    ]
    found = (parts[0] + parts[1] + parts[2]).with_closed_groups()
    assert_allclose(found.total, values.sum(axis=0))
    outer = np.array([human.T @ human, judge.T @ judge, across + across.T])
    assert_allclose(found.outer, outer, atol=1e-12)
    assert_allclose(found.sampling, (human + judge).T @ (human + judge), atol=1e-12)
    assert_allclose(found.largest, np.abs(human + judge).max(axis=0))


def test_where_no_row_is_at_hand_the_largest_is_that_of_the_others(rng):
    some = InfluenceSums.of(rng.normal(size=(20, 2)), np.zeros(20, dtype=bool), None)
    none = InfluenceSums(np.ones(2), np.zeros((3, 2, 2)), np.full(2, np.nan))
    for both in (some + none, none + some):
        assert_allclose(both.largest, some.largest)
    assert np.isnan((none + none).largest).all()
