"""Groups of dependent rows, where a row may stand for rows of several groups."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skanchor._numerics.groups import Crossed, GroupTotals, Membership


@pytest.fixture
def table():
    """Rows of a table, their groups, and the cell that stands for each."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 30, 200), rng.integers(0, 12, 200)


def dense(one):
    """How many rows of each group each row stands for."""
    return one.matrix().toarray()


@pytest.mark.parametrize("shares", [[1.0, 1.0, 1.0], [0.5, 0.3, 0.9], [0.0, 0.4, 0.0]])
def test_totals_of_parts_are_joined(shares):
    rng, expected, parts = np.random.default_rng(5), np.zeros((20, 2)), []
    for share in shares:
        some = np.flatnonzero(rng.random(20) < share)
        values = rng.normal(size=(len(some), 2))
        expected[some] += values
        parts.append(GroupTotals(some, values))
    found = GroupTotals.joined(parts)
    assert_array_equal(
        found.groups, np.unique(np.concatenate([p.groups for p in parts]))
    )
    assert_allclose(found.totals, expected[found.groups])
    again = (parts[0] + parts[1]) + parts[2]
    assert_array_equal(again.groups, found.groups)
    assert_allclose(again.totals, found.totals)


def test_parts_have_their_groups_alone(table):
    groups, cell = table
    whole = Membership.of(groups, cell)
    part = np.random.default_rng(1).integers(-1, 4, len(whole.groups)).astype(np.int8)
    for number, one in enumerate(whole.divided(part, 4)):
        assert_array_equal(one.groups, whole.groups[part == number])
        assert_array_equal(dense(one), dense(whole)[part == number])


def test_parts_of_prompts_and_raters(table):
    prompts, cell = table
    raters = np.random.default_rng(2).integers(-1, 9, 200)
    whole = Crossed.of(prompts, raters, cell, 12)
    part = np.random.default_rng(3).integers(-1, 3, 30)
    values = np.random.default_rng(4).normal(size=(12, 2))
    for number, one in enumerate(whole.divided(part, 3)):
        rows = np.flatnonzero(part[prompts] == number)
        own = Crossed.of(prompts[rows], raters[rows], cell[rows], 12)
        assert_array_equal(one.prompt, own.prompt)
        assert_array_equal(one.rater, own.rater)
        assert_allclose(one.sums(values).excess(), own.sums(values).excess())


@pytest.mark.parametrize("several", [False, True], ids=["once", "several times"])
def test_squares_of_sums_by_group_and_column(table, several):
    groups, cell = table
    # Where each group has one row, no sums are taken at all.
    groups = groups if several else np.arange(200)
    rng = np.random.default_rng(5)
    columns = np.array([rng.permutation(5)[:2] for _ in range(12)])
    values = rng.normal(size=(12, 2))
    expected = np.zeros((200, 5))
    for group, row in zip(groups, cell, strict=True):
        expected[group, columns[row]] += values[row]
    members = Membership.of(groups, cell)
    ((squares, n_sums, n_groups),) = members.squares((columns, values, 5))
    assert n_sums == np.count_nonzero(expected)
    assert n_groups == len(np.unique(groups))
    assert_allclose(squares, (expected**2).sum(axis=0))


@pytest.mark.parametrize(
    "rows",
    [[3, 0, 7], [0, 1, 4], [4, 1, 0], [0, 0, 1], np.arange(8) < 2, slice(1, 4)],
    ids=["some", "all that have any", "turned", "twice", "a mask", "a slice"],
)
def test_rows_are_chosen_with_their_own_entries(rows):
    whole = Membership.of(np.array([0, 1, 1, 2]), np.array([0, 0, 1, 4]))
    whole = Membership(
        whole.groups, np.append(whole.starts, [4, 4, 4]), whole.place, whole.number
    )
    assert_array_equal(dense(whole[rows]), dense(whole)[:, rows])


def test_sums_of_some_rows_and_of_the_others(table):
    groups, cell = table
    rng = np.random.default_rng(6)
    values, first = rng.normal(size=(12, 3)), rng.random(12) < 0.5
    members = Membership.of(groups, cell)
    for found, some in zip(
        members.split_totals(values, first), (first, ~first), strict=True
    ):
        assert_array_equal(found.groups, members.groups)
        expected = members.totals(np.where(some[:, None], values, 0.0))
        assert_allclose(found.totals, expected.totals, atol=1e-12)
