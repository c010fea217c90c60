"""Products of sums by group, without the sums being held in full."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from skanchor._numerics import group_products as module
from skanchor._numerics.group_products import group_products
from skanchor._numerics.groups import ColumnTotals


def source(seed, n_others, share=0.5, n_groups=40, n_items=3):
    """Sums of some of the groups, and all of them with zeros where there are none."""
    rng = np.random.default_rng(seed)
    groups = 7 * np.flatnonzero(rng.random(n_groups) < share)
    items = rng.normal(size=(len(groups), n_items))
    items[rng.random(items.shape) < 0.4] = 0.0
    others = rng.normal(size=(len(groups), n_others))
    full = np.zeros((n_groups, n_items + n_others))
    full[groups // 7] = np.hstack([items, others])
    return ColumnTotals(groups, csr_array(items), others), full


@pytest.mark.parametrize("step", [1, 7, 100])
def test_products_are_those_of_the_sums_in_full(monkeypatch, step):
    monkeypatch.setattr(module, "_STEP", step)
    sources = [source(0, 0), source(1, 2), source(2, 2, share=0.9)]
    tables, full = zip(*sources, strict=True)
    whole = np.hstack(full)
    assert_allclose(group_products(tables), whole.T @ whole, atol=1e-12)


def test_few_groups_have_none():
    assert group_products([source(0, 2, n_groups=4)[0]]) is None
    assert group_products([source(0, 2, share=0.0)[0]]) is None


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_sums_of_some_groups_are_found(share):
    table, full = source(3, 2, share)
    asked = np.array([0, 3, 7, 14, 70, 273, 1000])
    at, found = table.rows_of(asked)
    assert_array_equal(asked[at], np.intersect1d(asked, table.groups))
    assert_allclose(found, full[asked[at] // 7])
