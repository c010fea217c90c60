"""Equations of new scores against scipy's root finder, their bounds and their laws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import root
from scipy.special import expit

from skanchor._numerics.arrivals import SCORE_BOUND, ArrivalRows


def arrivals(rng, n_new=1, n_rows=60, n_replicates=3, meet=False):
    """Rows against known opponents; some between new models."""
    signs = np.zeros((n_rows, n_new))
    signs[np.arange(n_rows), np.arange(n_rows) % n_new] = rng.choice([-1, 1], n_rows)
    if meet:
        signs[:10] = 0.0
        signs[:10, 0], signs[:10, 1] = 1.0, -1.0
    slope = rng.uniform(0.5, 2.0, (n_replicates, n_rows))
    offset = rng.normal(size=(n_replicates, n_rows))
    weight = rng.exponential(size=(n_replicates, n_rows))
    y = rng.random(n_rows) < expit(0.5 * signs[:, 0] + offset.mean(axis=0))
    return ArrivalRows(signs, weight, weight * y, slope, offset)


def left_side(rows, scores, weighting, shift, r):
    """The equations of one replicate, written out."""
    p = expit(rows.offset[r] + rows.slope[r] * (rows.signs @ scores))
    k = rows.slope[r] if weighting == "sensitivity" else 1.0
    residual = k * (rows.first[r] - rows.weight[r] * p)
    n = np.abs(rows.signs).T @ rows.weight[r]
    return rows.signs.T @ residual / n + shift


@pytest.mark.parametrize("weighting", ["sensitivity", "equal"])
@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize(("n_new", "meet"), [(1, False), (2, False), (3, True)])
def test_root_is_scipy_s(weighting, shifted, n_new, meet, rng):
    rows = arrivals(rng, n_new, meet=meet)
    shift = np.array([0.02, -0.03, 0.0]) if shifted else np.zeros(3)
    found = rows.root(weighting, np.zeros(n_new), shift=shift if shifted else None)
    for r in range(3):
        slow = root(
            lambda s, r=r: left_side(rows, s, weighting, shift[r], r),
            np.zeros(n_new),
            tol=1e-12,
        )
        assert np.abs(slow.fun).max() < 1e-12
        assert_allclose(found[r], slow.x, atol=1e-8)


def test_the_start_does_not_matter(rng):
    rows = arrivals(rng, 2, meet=True)
    near = rows.root("sensitivity", np.zeros(2))
    for start in ([3.0, -3.0], [-8.0, 8.0], [SCORE_BOUND, 0.0]):
        assert_allclose(rows.root("sensitivity", np.array(start)), near, atol=1e-7)


def test_equal_slopes_make_both_weightings_one(rng):
    rows = arrivals(rng, 2)
    rows = ArrivalRows(
        rows.signs, rows.weight, rows.first, np.full_like(rows.slope, 1.7), rows.offset
    )
    start = np.zeros(2)
    both = (rows.root(weighting, start) for weighting in ("sensitivity", "equal"))
    assert_allclose(*both, atol=1e-9)


def test_turned_rows_ask_the_same(rng):
    rows = arrivals(rng)
    turned = ArrivalRows(
        -rows.signs, rows.weight, rows.weight - rows.first, rows.slope, -rows.offset
    )
    for weighting in ("sensitivity", "equal"):
        start = np.zeros(1)
        assert_allclose(
            turned.root(weighting, start), rows.root(weighting, start), atol=1e-9
        )


def test_one_opponent_by_hand():
    """Of four rows against a score of 0.3, three won: logit(3/4) and 0.3 more."""
    ones = np.ones((1, 4))
    rows = ArrivalRows(
        np.ones((4, 1)), ones, np.array([[1.0, 1, 1, 0]]), ones, -0.3 * ones
    )
    expected = np.log(3.0) + 0.3
    for weighting in ("sensitivity", "equal"):
        assert_allclose(rows.root(weighting, np.zeros(1)), [[expected]], atol=1e-10)


@pytest.mark.parametrize("won", [True, False])
def test_no_root_is_the_bound(won, rng):
    rows = arrivals(rng)
    one_sided = rows.weight * (rows.signs[:, 0] > 0 if won else rows.signs[:, 0] < 0)
    rows = ArrivalRows(rows.signs, rows.weight, one_sided, rows.slope, rows.offset)
    for bounds in ((-SCORE_BOUND, SCORE_BOUND), (-4.0, 6.0)):
        found = rows.root("sensitivity", np.zeros(1), bounds=bounds)
        assert_allclose(found, bounds[1] if won else bounds[0], atol=1e-3)


def test_a_model_without_rows_has_no_score(rng):
    rows = arrivals(rng, 2)
    mine = rows.signs[:, 1] != 0
    weight, first = rows.weight.copy(), rows.first.copy()
    weight[1, mine] = first[1, mine] = 0.0
    cut = ArrivalRows(rows.signs, weight, first, rows.slope, rows.offset)
    found, full = cut.root("equal", np.zeros(2)), rows.root("equal", np.zeros(2))
    assert np.isnan(found).tolist() == [[False, False], [False, True], [False, False]]
    assert_allclose(found[~np.isnan(found)], full[~np.isnan(found)], atol=1e-7)


@pytest.mark.parametrize("column", ["slope", "offset"])
def test_a_replicate_with_an_unknown_judge_has_no_scores(column, rng):
    rows = arrivals(rng, 2)
    known = rows.root("sensitivity", np.zeros(2))
    getattr(rows, column)[1, 3] = np.nan
    found = rows.root("sensitivity", np.zeros(2))
    assert np.isnan(found[1]).all()
    assert_allclose(found[[0, 2]], known[[0, 2]], atol=1e-9)
