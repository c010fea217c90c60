"""The model of all rows, against dense designs and finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from skanchor._model.fit import PEOPLE, Fit, Layout
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.sources import SourceRows, extra_columns

N_HISTORICAL, N_NEW, N_JUDGES, N_SPAN = 5, 2, 2, 3


@pytest.fixture(params=["plain", "item effects", "models with two items"])
def layout(request):
    model = np.arange(N_HISTORICAL + N_NEW)
    if request.param == "models with two items":
        model = np.array([0, 1, 2, 0, 1, 3, 3])
    return Layout(
        is_new=np.arange(N_HISTORICAL + N_NEW) >= N_HISTORICAL,
        context=np.zeros(N_HISTORICAL + N_NEW, dtype=int),
        model=model,
        widths=(0, *[N_SPAN] * N_JUDGES),
        positions=(False, True, True),
        has_item_effects=request.param != "plain",
    )


def draw_rows(rng, layout, source, is_new, n=150):
    """Rows of one source, historical or with a new model; scores fall by item."""
    n_old, scores = int((~layout.is_new).sum()), np.linspace(1.0, -1.0, layout.n_items)
    right = rng.integers(0, n_old, n)
    left = (right + rng.integers(1, n_old, n)) % n_old
    if is_new:
        left = rng.integers(n_old, layout.n_items, n)
    swapped = rng.random(n) < 0.5
    left, right = np.where(swapped, right, left), np.where(swapped, left, right)
    at = np.lexsort([right, left])
    return SourceRows(
        source=source,
        is_new=is_new,
        rows=np.arange(n),
        left=left[at],
        right=right[at],
        extra=extra_columns(
            rng.choice([-1.0, 0.0, 1.0], n), rng.normal(size=(n, layout.widths[source]))
        ),
        offset=rng.normal(size=n),
        y=(rng.logistic(size=n) < scores[left[at]] - scores[right[at]]).astype(float),
        weight=rng.exponential(size=n),
        count=rng.integers(1, 4, n).astype(float),
        group=np.full(n, -1),
        rater=np.full(n, -1),
        n_items=layout.n_items,
    )


@pytest.fixture
def sources(rng, layout):
    old = [draw_rows(rng, layout, m, False) for m in range(N_JUDGES + 1)]
    return old + [draw_rows(rng, layout, m, True) for m in range(1, N_JUDGES + 1)]


@pytest.fixture
def fit(rng, layout):
    """Parameters drawn where they are free, with a prior on the item effects."""
    x = np.zeros(layout.size)
    x[layout.sensitivities] = 1.0
    x[layout.estimated] = rng.normal(size=layout.estimated.sum())
    precision = np.zeros((layout.size, layout.size))
    at = layout.item_effects
    n_effects = at.stop - at.start
    precision[at, at] = 2.0 * np.eye(n_effects)
    return Fit(layout, x, precision)


def gradient_by_differences(function, x, step=1e-6):
    """Central differences of a function by each of its arguments."""
    slopes = []
    for i in range(len(x)):
        move = step * (np.arange(len(x)) == i)
        slopes.append((function(x + move) - function(x - move)) / (2.0 * step))
    return np.array(slopes)


def design_of(fit, rows):
    """Derivative of each logit by each parameter, (n, size)."""
    slopes = gradient_by_differences(lambda x: fit.moved(x).logits(rows), fit.x)
    # Sensitivity and position effect of people are no parameters.
    return slopes.T * (fit.layout.estimated | (rows.source != PEOPLE))


def dense_columns(rows):
    """Local columns of each row: items, display order, span."""
    items = np.eye(rows.n_items)
    return np.column_stack([items[rows.left] - items[rows.right], rows.extra])


def test_sums_by_local_column_are_those_of_a_dense_design(rng, sources):
    for rows in sources:
        columns, values = dense_columns(rows), rng.normal(size=len(rows))
        assert_allclose(rows.sums(values), columns.T @ values, atol=1e-10)
        expected = (columns * values[:, None]).T @ columns
        assert_allclose(rows.gram(values), expected, atol=1e-10)


def test_the_chain_rule_gives_the_information_of_a_dense_design(fit, sources):
    grams, expected = [], 0.0
    for rows in sources:
        curvature = rows.weight * expit(fit.logits(rows)) * expit(-fit.logits(rows))
        grams.append((rows.source, rows.gram(curvature)))
        design = design_of(fit, rows)
        expected = expected + (design * curvature[:, None]).T @ design
    result = fit.information(grams)
    free = fit.layout.estimated
    assert_allclose(result[free][:, free], expected[free][:, free], atol=2e-7)


def test_the_gradient_is_that_of_finite_differences(fit, sources):
    weights = [rows.weight for rows in sources]
    residuals = (
        (rows.source, rows.sums(rows.weight * (fit.probabilities(rows) - rows.y)))
        for rows in sources
    )
    result = fit.gradient(residuals) + fit.precision @ fit.x
    expected = gradient_by_differences(
        lambda x: fit.moved(x).loss(sources, weights), fit.x
    )
    free = fit.layout.estimated
    assert_allclose(result[free], expected[free], atol=1e-6)


def test_weights_of_rows_are_those_of_the_parameters_they_touch(rng, fit, sources):
    weights = rng.normal(size=(fit.layout.size, 4))
    weights[~fit.layout.estimated] = 0.0
    for rows in sources:
        local = fit.local_weights(rows.source, weights)
        expected = design_of(fit, rows) @ weights
        assert_allclose(dense_columns(rows) @ local, expected, atol=1e-8)


def test_systems_are_solved_and_their_rank_is_named(rng):
    root = rng.normal(size=(6, 4))
    matrix = root @ root.T
    for scale in (np.ones(6), 10.0 ** np.arange(6)):
        scaled = scale[:, None] * matrix * scale
        system = SymmetricSystem.of(scaled)
        assert system.rank == 4
        right = scaled @ rng.normal(size=6)
        assert_allclose(scaled @ system.solve(right), right, rtol=1e-7)
    full = matrix + np.eye(6)
    system = SymmetricSystem.of(full)
    assert system.is_cholesky
    assert_allclose(system.solve(np.eye(6)), np.linalg.inv(full), atol=1e-10)
    half = system.inverse_root
    assert_allclose(half @ half.T, np.linalg.inv(full), atol=1e-10)
    seen = matrix * np.outer(np.arange(6) > 0, np.arange(6) > 0)
    assert SymmetricSystem.of(seen).solve(np.ones(6))[0] == 0.0
