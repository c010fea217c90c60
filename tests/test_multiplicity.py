"""Step-down tests of many contrasts, against exact laws and a literal step-down."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_equal
from scipy.stats import norm
from scipy.stats import t as t_law

from skanchor.results.adjustment import (
    BLOCK,
    JointErrors,
    holm_adjust,
    is_significant,
    romano_wolf_rejects,
)


def holm_rejections(p, alpha):
    """Step down literally: reject while p_(k) <= alpha / (K - k + 1)."""
    rejected = np.zeros(len(p), bool)
    for k, i in enumerate(np.argsort(p, kind="stable")):
        if p[i] > alpha / (len(p) - k):
            break
        rejected[i] = True
    return rejected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.01, 0.5))
@settings(max_examples=200)
def test_adjusted_p_values_reject_as_the_step_down_does(p, alpha):
    p = np.array(p)
    # Rounding may decide an exact tie between p and its threshold either way.
    adjusted = holm_adjust(p)
    clear = abs(adjusted - alpha) > 1e-9
    assert (holm_rejections(p, alpha) == (adjusted <= alpha))[clear].all()
    assert (adjusted >= p).all() and (adjusted <= 1.0).all()


def rejects(p, null, alpha):
    def null_p(rows, largest):
        # What is above the bound may be any number above it.
        return np.where(null[rows] <= largest, null[rows], 1.0)

    is_undrawn = np.zeros(len(p), dtype=bool)
    return romano_wolf_rejects(np.asarray(p), null_p, null.shape[1], alpha, is_undrawn)


def literal_adjust(p, null):
    """Step down one hypothesis at a time, with nothing shared between the steps."""
    left, adjusted, last = list(range(len(p))), np.empty(len(p)), 0.0
    while left:
        i = min(left, key=lambda j: p[j])
        count = (null[left].min(axis=0) <= p[i]).sum()
        step = (1 + count) / (1 + null.shape[1])
        last = max(last, min(max(step, p[i]), len(left) * p[i]))
        adjusted[i] = min(last, 1.0)
        left.remove(i)
    return adjusted


def test_literal_step_down(rng):
    # So many draws that a block of them has few hypotheses.
    for size, n_draws in ((1, 150), (2, 150), (7, 150), (30, 150), (30, BLOCK // 7)):
        root = rng.normal(size=(size, 3))
        null = norm.sf(root @ rng.normal(size=(3, n_draws)))
        p = norm.sf(rng.normal(size=size) * 2)
        adjusted = literal_adjust(p, null)
        for alpha in [*adjusted, 1e-6, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.99]:
            for level in (alpha - 1e-12, alpha + 1e-12):
                assert_equal(rejects(p, null, level), adjusted <= level)


def test_independent_contrasts_give_sidak(rng):
    null = norm.sf(rng.normal(size=(6, 200_000)))
    p = np.array([0.3, 0.004, 0.02, 0.011, 0.6, 0.04])
    order = np.argsort(p)
    sidak = np.empty(6)
    sidak[order] = np.maximum.accumulate(1 - (1 - p[order]) ** (6 - np.arange(6)))
    for value in sidak:
        assert_equal(rejects(p, null, value + 0.004)[sidak <= value], True)
        assert_equal(rejects(p, null, value - 0.004)[sidak >= value], False)


def test_identical_contrasts_need_no_adjustment(rng):
    null = np.tile(norm.sf(rng.normal(size=9999)), (8, 1))
    assert rejects(np.full(8, 0.03), null, 0.037).all()
    assert not rejects(np.full(8, 0.03), null, 0.023).any()


@pytest.fixture
def covariance(rng):
    root = rng.normal(size=(5, 5))
    return root @ root.T


def draw(covariance, items=None, df=np.inf, n_draws=40_000):
    items = np.zeros_like(covariance) if items is None else items
    scores = np.arange(len(covariance))
    return JointErrors.draw(covariance, items, df, scores, n_draws)


def test_errors_have_the_covariance(covariance):
    items = 0.3 * np.diag(np.diag(covariance)) * np.linalg.eigvalsh(covariance)[0]
    for drawn in (draw(covariance), draw(covariance, items, 9)):
        assert_allclose(np.cov(drawn.errors), covariance, atol=0.12)


@pytest.mark.parametrize("estimated", ["little", "most"])
def test_null_p_is_the_tail_of_the_studentized_contrast(covariance, estimated):
    if estimated == "little":
        items = np.linalg.eigvalsh(covariance)[0] * np.eye(5) / 2
    else:
        items = 0.999 * covariance
    drawn = draw(covariance, items, 7, 500)
    better, worse, df = np.array([0, 3]), np.array([1, 2]), np.array([30.0, 12.0])
    p = drawn.null_p(better, worse, df)
    for row, (i, j) in enumerate(zip(better, worse, strict=True)):
        total = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        part = items[i, i] + items[j, j] - 2 * items[i, j]
        error = np.sqrt(total - part + drawn.ratio * part)
        t = (drawn.errors[i] - drawn.errors[j]) / error
        assert_allclose(p[row], t_law.sf(t, df[row]), rtol=1e-10)
    sifted = drawn.null_p(better, worse, df, largest=0.05)
    assert_allclose(sifted[p <= 0.05], p[p <= 0.05])
    assert (sifted[p > 0.05] > 0.05).all()


def test_an_estimated_item_part_makes_t_tails():
    # All of the variance is estimated: exactly a t law with its degrees of freedom.
    drawn = draw(np.eye(2), np.eye(2), 6)
    p = drawn.null_p(np.array([0]), np.array([1]), np.array([6.0]))
    assert_allclose(np.mean(p <= 0.025), 0.025, atol=0.004)


def test_next_to_no_degrees_of_freedom_leave_draws_finite():
    drawn = draw(2 * np.eye(3), np.eye(3), 1e-3, n_draws=200)
    assert (drawn.ratio > 0).all()
    assert np.isfinite(drawn.posterior(np.zeros(3))).all()
    # As with one degree: half of that chi-square lies below Phi^-1(3/4)^2.
    one = draw(np.eye(2), np.eye(2), 0.5, n_draws=20_000).ratio
    assert_allclose(one, draw(np.eye(2), np.eye(2), 1.0, n_draws=20_000).ratio)
    # Four standard errors of a median, a density of .47 there.
    assert_allclose(np.median(one), norm.ppf(0.75) ** 2, atol=4 * 0.5 / 0.47 / 141.0)


def test_a_p_value_of_the_error_rate_itself_is_significant():
    # 1 - 0.9 is less than 0.1 in floating point, and 1 - 0.95 more than 0.05.
    assert 1 - 0.9 < 0.1 and 1 - 0.95 > 0.05
    for level, rate in ((0.9, 0.1), (0.95, 0.05), (0.99, 0.01)):
        p = np.array([0.0, rate, np.nextafter(rate + 1e-11, 1.0), 1.0, np.nan])
        assert is_significant(p, level).tolist() == [True, True, False, False, False]


@pytest.mark.parametrize(("n_undrawn", "rejects"), [(3, True), (4, False)])
def test_hypotheses_without_draws_cost_the_others_as_in_holm(n_undrawn, rejects):
    # Five that are one, and others of which nothing is drawn: at level .05 the first
    # step has .012 of the draws, and .012 more for each of the others.
    draws = np.tile((np.arange(9_999) + 1.0) / 10_000.0, (5, 1))
    p = np.repeat([0.012, 0.02], [5, n_undrawn])
    is_undrawn = np.repeat([False, True], [5, n_undrawn])

    def null_p(chosen, bound):
        return np.vstack([draws, np.ones((n_undrawn, 9_999))])[chosen]

    result = romano_wolf_rejects(p, null_p, 9_999, 0.05, is_undrawn)
    # Of the others alone, three at .02 come to .06.
    assert result.tolist() == [rejects] * 5 + [False] * n_undrawn
