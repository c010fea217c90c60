"""Equal rows numbered: against a dictionary of the rows themselves."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skanchor._battles.rows import constant, number_rows


def by_hand(columns):
    """Kind of each row, first row and size of each kind, from sorted tuples."""
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    kinds = sorted(set(rows))
    kind = [kinds.index(row) for row in rows]
    return kind, [kind.index(k) for k in range(len(kinds))], np.bincount(kind)


def columns_of(case, rng):
    n = 300
    codes = rng.integers(-2, 4, n)
    if case == "codes":
        return codes, rng.integers(0, 3, n), constant(1.0, n)
    if case == "fractions":
        return rng.choice([0.2, 1 / 3, 7.0, -1e300], n), codes
    if case == "far apart":
        return rng.choice([-(2**60), 3, 2**61], n), codes
    if case == "many columns":
        # Their product is beyond the range of integers.
        return tuple(rng.integers(0, 1000, 40)[rng.integers(0, 40, (30, n))])
    return rng.random(n), codes


@pytest.mark.parametrize(
    "case",
    ["codes", "fractions", "far apart", "many columns", "distinct"],
)
def test_kinds_are_those_of_sorted_rows(case):
    columns = columns_of(case, np.random.default_rng(3))
    result = number_rows(*columns)
    kind, first, size = by_hand(columns)
    assert_array_equal(result.kind, kind)
    assert_array_equal(result.first, first)
    assert_array_equal(result.size, size)
