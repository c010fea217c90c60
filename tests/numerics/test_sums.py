"""Sums over the rows of one source."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from skanchor._numerics import sums
from skanchor._numerics.blocks import fitted_columns, item_columns
from skanchor._numerics.groups import ColumnTotals
from skanchor._numerics.sums import SourceSums

N_FOLDS, N_ITEMS, N_SPAN = 2, 3, 2
BLOCKS = fitted_columns(N_ITEMS, N_SPAN)


def of_rows(x, w, residual, blocks=BLOCKS):
    """Sums over rows by hand; the first axis is the folds."""
    return SourceSums(
        blocks,
        information=np.einsum("kn,kni,knj->kij", w, x, x),
        curvature=w.sum(axis=1),
        n_rows=np.count_nonzero(w, axis=1),
        score=np.einsum("kn,kni->ki", residual, x),
        outer=np.einsum("kn,kni,knj->kij", residual**2, x, x),
    )


def drawn(seed=0, n=20):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(N_FOLDS, n, BLOCKS.size)),
        rng.exponential(size=(N_FOLDS, n)),
        rng.normal(size=(N_FOLDS, n)),
    )


def assert_same(one, other):
    assert one.blocks == other.blocks
    for name in ("information", "curvature", "n_rows", "score", "outer"):
        assert_allclose(getattr(one, name), getattr(other, name), atol=1e-12)


def test_sums_of_two_sets_of_rows_are_those_of_all():
    x, w, residual = drawn()
    first, last = slice(0, 7), slice(7, None)
    one, other = (of_rows(x[:, at], w[:, at], residual[:, at]) for at in (first, last))
    both = of_rows(x, w, residual)
    assert_same(one + other, both)
    one.gain(other)
    assert_same(one, both)


def test_sums_of_one_fold():
    x, w, residual = drawn()
    alone = of_rows(x[1:], w[1:], residual[1:])
    assert_same(of_rows(x, w, residual)[1:], alone)
    assert_same(of_rows(x, w, residual)[1], alone[0])


def test_sums_among_more_items_in_any_order():
    x, w, residual = drawn()
    places = np.array([4, 0, 2])
    wide = np.zeros((*x.shape[:2], 5 + 2 + N_SPAN))
    wide[..., places], wide[..., 5:] = x[..., :N_ITEMS], x[..., N_ITEMS:]
    expected = of_rows(wide, w, residual, fitted_columns(5, N_SPAN))
    assert_same(of_rows(x, w, residual).embed(places, 5), expected)
    # Sums of rows that have more items gain them in place.
    late = of_rows(wide[:, :5], w[:, :5], residual[:, :5], fitted_columns(5, N_SPAN))
    own = late.copy()
    own.gain(of_rows(x, w, residual), places)
    assert_same(own, late + expected)


def test_sums_by_other_columns():
    x, w, residual = drawn()
    change = np.random.default_rng(1).normal(size=(BLOCKS.size, 4))
    expected = of_rows(x @ change, w, residual, item_columns(4))
    assert_same(of_rows(x, w, residual).in_columns(item_columns(4), change), expected)


def test_only_what_is_alike_is_added():
    x, w, residual = drawn()
    whole = of_rows(x, w, residual)
    for other in (
        replace(whole, score=None),
        replace(whole, blocks=fitted_columns(N_ITEMS + 1, N_SPAN - 1)),
    ):
        with pytest.raises(AssertionError):
            whole + other
        with pytest.raises(AssertionError):
            whole.gain(other)


def test_groups_of_two_sets_of_rows_are_joined():
    def of(names, values):
        items = csr_array(np.array(values, dtype=float))
        totals = ColumnTotals(np.array(names), items, np.empty((2, 0)))
        return SourceSums(item_columns(2), score=np.ones(2), by_group=totals)

    both = of([1, 4], [[1, 2], [3, 4]]) + of([0, 4], [[5, 6], [7, 8]])
    assert both.by_group.groups.tolist() == [0, 1, 4]
    assert both.by_group.toarray().tolist() == [[5, 6], [1, 2], [10, 12]]
    assert both.score.tolist() == [2, 2]
    wide = both.embed(np.array([2, 0]), 3)
    assert wide.by_group.toarray().tolist() == [[6, 0, 5], [2, 0, 1], [12, 0, 10]]


def test_sums_by_group_of_other_columns_and_targets():
    x, _, residual = (values[0] for values in drawn())
    codes = np.arange(20) % 7 * 3
    values = x * residual[:, None]
    items = csr_array(values[:, :N_ITEMS])
    by_group = ColumnTotals.of(codes, items, values[:, N_ITEMS:])
    dense = np.array([values[codes == 3 * g].sum(axis=0) for g in range(7)])
    assert by_group.groups.tolist() == [0, 3, 6, 9, 12, 15, 18]
    assert_allclose(by_group.toarray(), dense)
    targets = np.random.default_rng(1).normal(size=(BLOCKS.size, 4))
    assert_allclose((by_group @ targets).totals, dense @ targets)
    # Items stay, other columns are combinations of all.
    change = np.eye(BLOCKS.size)
    change[:, N_ITEMS:] += targets
    sums = SourceSums(BLOCKS, score=dense.sum(axis=0), by_group=by_group)
    found = sums.in_columns(BLOCKS, change)
    assert_allclose(found.by_group.toarray(), dense @ change)
    assert_allclose(found.score, found.by_group.toarray().sum(axis=0))


def test_certain_and_unknown_outcomes_carry_no_information():
    near = sums.LEAST_VARIANCE
    p = np.array([0.5, 0.0, 1.0, 0.9 * near, 1.1 * near, 1.0 - 0.9 * near, np.nan])
    found = sums.information_weights(p, np.arange(1.0, 8.0))
    assert_allclose(found, [0.25, 0, 0, 0, 5.5 * near, 0, 0], rtol=1e-6)
    both = sums.information_weights(np.stack([p, p]), np.ones((2, 7)))
    assert_allclose(both[1], found / np.arange(1.0, 8.0))
