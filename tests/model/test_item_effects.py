"""The covariance of the item effects, against laws and slow references."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit

from skanchor._model import item_covariance
from skanchor._model.fit import PEOPLE, Fit, Layout
from skanchor._model.item_covariance import estimate_covariance, expanded
from skanchor._model.item_effects import (
    PRIOR_WEIGHT,
    ItemPrior,
    count_independent,
    shrunk,
    with_item_effects,
)
from skanchor._model.newton import FitOfAllRows, steps_of
from skanchor._model.sources import SourceRows, extra_columns

N_MODELS, N_JUDGES = 8, 3
SLOPES = np.array([0.7, 1.0, 1.4])


# -------------------------------------------------------------------------------- rows
def rows_of(rng, source, n, by_item, n_span=0):
    """Historical rows of one source, of which each item has its part in the logit."""
    n_items = len(by_item)
    right = rng.integers(0, n_items, n)
    left = (right + rng.integers(1, n_items, n)) % n_items
    at = np.lexsort([right, left])
    left, right, alone = left[at], right[at], np.full(n, -1)
    y = (rng.random(n) < expit(by_item[left] - by_item[right])).astype(float)
    ones, span = np.ones(n), rng.normal(size=(n, n_span))
    sides = (
        left,
        right,
        extra_columns(rng.choice([-1.0, 1.0], n), span),
        np.zeros(n),
        y,
    )
    return SourceRows(
        source, False, np.arange(n), *sides, ones, ones, alone, alone, n_items
    )


def drawn(seed=0, n_models=N_MODELS, n_judges=N_JUDGES, sd=0.4, n=300, n_span=0):
    """A layout without item effects, and rows of people and judges that have them."""
    rng = np.random.default_rng(seed)
    scores, slopes = rng.normal(size=n_models), SLOPES[:n_judges]
    effects = sd * rng.normal(size=(n_judges, n_models))
    sources = [rows_of(rng, PEOPLE, 2 * n, scores)]
    for m, slope in enumerate(slopes):
        by_item = slope * scores + effects[m]
        sources.append(rows_of(rng, m + 1, n, by_item, n_span))
    return layout_of(n_models, n_judges, n_span), sources


def layout_of(n_models, n_judges, n_span=0):
    return Layout(
        is_new=np.zeros(n_models, dtype=bool),
        context=np.zeros(n_models, dtype=int),
        model=np.arange(n_models),
        widths=(0, *[n_span] * n_judges),
        positions=(False, *[True] * n_judges),
    )


def no_bounds(layout):
    size = replace(layout, has_item_effects=True).size
    return np.full(size, -np.inf), np.full(size, np.inf)


def fitted(layout, sources, joint=True):
    """The fit of all rows without item effects."""
    bounds = np.full(layout.size, -np.inf), np.full(layout.size, np.inf)
    steps = steps_of(layout, is_joint=joint)
    return FitOfAllRows.of(Fit.start(layout), steps, sources, bounds).fit


def history_of(layout, sources):
    start = fitted(layout, sources)
    beside = with_item_effects(start, np.eye(layout.n_sources - 1))
    return beside, sources, no_bounds(layout)


def estimated(layout, sources, prior=None):
    prior = ItemPrior() if prior is None else prior
    return estimate_covariance(*history_of(layout, sources), prior)


def posterior(layout, sources, covariance):
    """Modes of the effects, their dense covariance, all information, and the fit."""
    fit, *_ = expanded(*history_of(layout, sources), covariance.covariance)
    grams = [
        (rows.source, rows.information(rows.weight, fit.probabilities(rows)))
        for rows in sources
    ]
    matrix = fit.centred(fit.information(grams)) + fit.precision
    free = np.flatnonzero(fit.layout.estimated)
    spread = np.zeros_like(matrix)
    spread[free[:, None], free] = np.linalg.inv(matrix[free[:, None], free])
    at = fit.layout.item_effects
    return fit.x[at], spread[at, at], matrix, fit


@pytest.fixture(scope="module")
def table():
    return drawn()


@pytest.fixture(scope="module")
def covariance(table):
    return estimated(*table)


# ------------------------------------------------------------------------- fixed point
def test_the_estimate_is_the_covariance_of_its_posterior_moments(table, covariance):
    modes, spread, _, _ = posterior(*table, covariance)
    modes = modes.reshape(N_JUDGES, N_MODELS)
    spread = np.einsum("mili->ml", spread.reshape(N_JUDGES, N_MODELS, N_JUDGES, -1))
    moments = modes @ modes.T + spread
    sigma, prior = covariance.covariance, ItemPrior()
    scale = np.sqrt(np.diag(moments))
    n_judges = count_independent(moments / np.outer(scale, scale))
    variances = prior.variances(np.diag(moments), N_MODELS, n_judges)
    shown = 1.0 - np.trace(spread) / (N_MODELS * np.trace(sigma))
    again = shrunk(variances, moments / np.outer(scale, scale), N_MODELS, shown)
    assert covariance.converged
    assert_allclose(again, sigma, atol=3e-3 * np.diag(sigma).max())


def test_of_one_judge_it_is_the_mode_of_the_gaussian_marginal_likelihood():
    layout, sources = drawn(seed=3, n_judges=1)
    actual = estimated(layout, sources)
    # The likelihood expanded at the mode, all else profiled out of the effects u.
    modes, spread, _, _ = posterior(layout, sources, actual)
    variance = float(actual.covariance[0, 0])
    information = np.linalg.inv(spread) - np.eye(N_MODELS) / variance
    target = np.linalg.solve(spread, modes)

    def loss(log_variance):
        # Of N(0, s) effects it is |I + s J|^-1/2 exp(q' (J + 1/s)^-1 q / 2); the law
        # of the variance is r^(w / 2) / (1 + r)^w.
        s = np.exp(log_variance)
        inner = np.eye(N_MODELS) + s * information
        value = np.linalg.slogdet(inner)[1]
        value -= s * target @ np.linalg.solve(inner, target)
        weight, r = PRIOR_WEIGHT * ItemPrior().df, s / ItemPrior().sd ** 2
        return value + weight * (2.0 * np.log1p(r) - np.log(r))

    best = minimize_scalar(loss, bounds=(-8.0, 4.0), method="bounded")
    assert_allclose(np.exp(best.x), variance, rtol=5e-3)


def test_scores_do_not_depend_on_where_the_iteration_ends(table, monkeypatch):
    layout, sources = table
    actual = estimated(layout, sources)
    monkeypatch.setattr(item_covariance, "TOLERANCE", 1e-9)
    exact = estimated(layout, sources)
    size = exact.covariance.max()
    assert_allclose(actual.covariance, exact.covariance, atol=5e-3 * size)
    _, _, matrix, fit = posterior(layout, sources, exact)
    free = fit.layout.estimated
    errors = np.sqrt(np.diag(np.linalg.inv(matrix[free][:, free]))[:N_MODELS])
    near = posterior(layout, sources, actual)[-1]
    assert np.max(np.abs(near.scores - fit.scores) / errors) < 1e-3


# -------------------------------------------------------------------------- symmetries
def same_uncertainty(actual, expected):
    assert_allclose(actual.inflation, expected.inflation, rtol=1e-3)
    assert_allclose(actual.df, expected.df, rtol=1e-3)


def test_the_order_of_judges_and_models_does_not_matter(table, covariance):
    layout, sources = table
    judges, models = np.array([2, 0, 1]), np.random.default_rng(1).permutation(N_MODELS)
    code = np.concatenate([[0], 1 + np.argsort(judges)])
    moved = []
    for rows in sources:
        left, right = models[rows.left], models[rows.right]
        order = np.lexsort([right, left])
        moved.append(
            replace(
                rows,
                source=int(code[rows.source]),
                left=left[order],
                right=right[order],
                extra=rows.extra[order],
                y=rows.y[order],
            )
        )
    actual = estimated(layout, moved[::-1])
    expected = covariance.covariance[judges][:, judges]
    assert_allclose(actual.covariance, expected, atol=1e-4 * expected.max())
    seen = np.array([True, False, True])
    same_uncertainty(actual.for_judges(seen[judges]), covariance.for_judges(seen))


def test_a_judge_that_says_the_opposite_deviates_the_other_way(table, covariance):
    layout, sources = table
    turned = [
        replace(rows, y=1.0 - rows.y) if rows.source == 2 else rows for rows in sources
    ]
    sign = np.array([1.0, -1.0, 1.0])
    expected = covariance.covariance * np.outer(sign, sign)
    actual = estimated(layout, turned)
    assert_allclose(
        actual.covariance, expected, atol=1e-4 * covariance.covariance.max()
    )
    seen = np.ones(N_JUDGES, dtype=bool)
    same_uncertainty(actual.for_judges(seen), covariance.for_judges(seen))


# ------------------------------------------------------------------------------- prior
@pytest.mark.parametrize("df", [0.5, 2.0, 50.0, 1000.0])
def test_variances_are_the_mode_of_a_log_f_prior_and_the_moments(df):
    sums, n = np.array([1e-6, 0.2, 0.9, 30.0]), 7
    weight = PRIOR_WEIGHT * df / 4.0
    expected = []
    for one in sums:

        def slope(log_ratio, s=one / (n * 0.3**2)):
            r = np.exp(log_ratio)
            return n * (1.0 - s / r) + weight * (r - 1.0) / (r + 1.0)

        expected.append(0.3**2 * np.exp(brentq(slope, -40.0, 40.0, xtol=1e-13)))
    actual = ItemPrior(0.3, df).variances(sums, n, 4.0)
    assert_allclose(actual, np.maximum(expected, item_covariance.LEAST), rtol=1e-8)


def test_judges_that_deviate_alike_count_as_one():
    assert count_independent(np.eye(5)) == pytest.approx(5.0)
    assert count_independent(np.ones((5, 5))) == pytest.approx(1.0)
    assert count_independent(np.ones((1, 1))) == 1.0
    # Correlations below zero are no more judges than there are.
    assert count_independent(2.0 * np.eye(3) - 1.0) == 3.0


def test_without_verdicts_it_is_the_prior(table):
    layout, sources = table
    prior = ItemPrior(0.5, 3.0)
    actual = estimated(layout, sources[:1], prior)
    assert_allclose(actual.covariance, prior.covariance(N_JUDGES), rtol=1e-6)
    # A judge without rows has the size of the others, and not of the prior alone.
    partial = estimated(layout, sources[:-1])
    assert partial.converged
    assert 0.05 < partial.covariance[2, 2] < 0.5


def test_few_models_have_the_prior_of_the_correlation():
    variances, independent = np.ones(3), np.eye(3)
    assert shrunk(variances, independent, 4)[0, 1] == pytest.approx(0.3 / 5.0)
    assert shrunk(variances, independent, 5)[0, 1] == 0.0


# --------------------------------------------------------------------------- shrinkage
def test_shrinkage_keeps_sizes_and_leaves_many_models_alone(rng):
    half = rng.normal(size=(4, 4))
    moments = half @ half.T
    scale = np.sqrt(np.diag(moments))
    arguments = scale**2, moments / np.outer(scale, scale)
    actual = shrunk(*arguments, 10)
    assert np.linalg.eigvalsh(actual)[0] > 0.0
    # Of three models' weight beside ten, by ratios to the mean.
    ratio = np.diag(actual) / np.trace(moments) * 4.0
    assert_allclose(ratio, (scale**2 / np.mean(scale**2)) ** (10.0 / 13.0))
    assert_allclose(shrunk(*arguments, 10**9), moments, rtol=1e-6, atol=1e-6)
    assert_allclose(shrunk(*arguments, 10, 0.0), moments)
    several = shrunk(*(np.stack([one, one]) for one in arguments), 10)
    assert_allclose(several, [actual, actual])
    assert_allclose(shrunk(scale[:1] ** 2, np.ones((1, 1)), 10), moments[:1, :1])


# --------------------------------------------------------------------------- beside it


def test_features_that_tell_models_apart_leave_fewer_effects():
    layout, sources = drawn(n_span=1)
    free = estimated(layout, sources).free - 2.0
    assert 0.98 * (N_MODELS - 2.0) < free <= N_MODELS - 2.0
    trait = np.random.default_rng(2).normal(size=N_MODELS)
    explained = [
        replace(rows, extra=extra_columns(rows.order, rows.differences(trait)[:, None]))
        if rows.source
        else rows
        for rows in sources
    ]
    assert estimated(layout, explained).free - 2.0 < 0.95 * free
