"""The model of all rows, against dense designs and finite differences."""

from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from skanchor._model.fit import Fit
from skanchor._model.layout import PEOPLE, Layout
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.newton import FitOfAllRows, minimise, steps_of
from skanchor._model.riesz import RieszWeights
from skanchor._model.sources import ResidualRows, SourceRows, extra_columns

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
            rng.choice([-1.0, 0.0, 1.0], n),
            rng.normal(size=(n, layout.widths[source])),
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
    found = fit.information(grams)
    free = fit.layout.estimated
    assert_allclose(found[free][:, free], expected[free][:, free], atol=2e-7)


def test_the_gradient_is_that_of_finite_differences(fit, sources):
    weights = [rows.weight for rows in sources]
    residuals = (
        (rows.source, rows.sums(rows.weight * (fit.probabilities(rows) - rows.y)))
        for rows in sources
    )
    found = fit.gradient(residuals) + fit.precision @ fit.x
    expected = gradient_by_differences(
        lambda x: fit.moved(x).loss(sources, weights), fit.x
    )
    free = fit.layout.estimated
    assert_allclose(found[free], expected[free], atol=1e-6)


def test_weights_of_rows_are_those_of_the_parameters_they_touch(rng, fit, sources):
    weights = rng.normal(size=(fit.layout.size, 4))
    weights[~fit.layout.estimated] = 0.0
    for rows in sources:
        local = fit.local_weights(rows.source, weights)
        expected = design_of(fit, rows) @ weights
        assert_allclose(dense_columns(rows) @ local, expected, atol=1e-8)


def test_weights_by_residual_columns_are_those_beside_the_span(fit, sources):
    """A least squares projection on a span profiles its coefficients out."""
    layout, bare = fit.layout, fit.with_spans((0,) * (N_JUDGES + 1))
    values = [
        rows.weight * expit(fit.logits(rows)) * expit(-fit.logits(rows))
        for rows in sources
    ]
    grams, projected = [], []
    for rows, value in zip(sources, values, strict=True):
        grams.append((rows.source, rows.gram(value)))
        # The projection is on historical rows and rows of new models together.
        own = [k for k, one in enumerate(sources) if one.source == rows.source]
        every = np.vstack([dense_columns(sources[k]) for k in own])
        root = np.sqrt(np.concatenate([values[k] for k in own]))[:, None]
        head, span = np.split(every, [layout.n_items + 1], axis=1)
        coef = np.linalg.lstsq(root * span, root * head, rcond=None)[0]
        known = vars(rows) | {"extra": rows.extra[:, :1], "offset": fit.bias(rows)}
        names = [f.name for f in fields(SourceRows)]
        residual = dense_columns(rows)[:, : layout.n_items + 1] - rows.span @ coef
        projected.append(
            ResidualRows(**{f: known[f] for f in names}, residual=residual)
        )
        assert_allclose(bare.logits(projected[-1]), fit.logits(rows), atol=1e-12)
    weights = RieszWeights.solve(fit, grams, fit.precision)
    grams = [
        (rows.source, rows.gram(value))
        for rows, value in zip(projected, values, strict=True)
    ]
    found = RieszWeights.solve(bare, grams, bare.precision)
    assert_allclose(found.item_covariance, weights.item_covariance, atol=1e-9)
    for rows, other in zip(sources, projected, strict=True):
        expected = rows.products(weights.local(rows.source))
        of_row = other.products(found.local(rows.source))
        assert_allclose(of_row, expected, atol=1e-8)
        assert_allclose(other.sums(rows.y), other.residual.T @ rows.y, atol=1e-10)


def test_residuals_of_new_models_sum_to_zero_in_the_unweighted_equation(fit, sources):
    layout = fit.layout
    fit.x[layout.sensitivities] = np.abs(fit.x[layout.sensitivities])
    step = steps_of(layout, is_joint=True, is_unweighted=True)[-1]
    assert step.is_unweighted is not layout.has_item_effects
    free = np.full(layout.size, np.inf)
    found = FitOfAllRows.of(fit, [step], sources, (-free, free), 1e-20).fit
    total, likelihood = np.zeros((2, layout.n_items))
    for rows in sources:
        if rows.is_new:
            residual = rows.weight * (rows.y - found.probabilities(rows))
            items = rows.sums(residual)[: layout.n_items]
            total += items
            likelihood += found.sensitivity(rows.source) * items
    zero = likelihood if layout.has_item_effects else total
    assert_allclose(zero[layout.is_new], 0.0, atol=1e-6)


def test_sums_of_parts_add_up_and_counts_stand_for_equal_rows(fit, sources):
    rows = sources[2]
    first = np.arange(len(rows)) < 40
    whole = rows.statistics(rows.weight, fit.probabilities(rows))
    parts = [rows[first], rows[~first]]
    total = sum(
        (part.statistics(part.weight, fit.probabilities(part)) for part in parts[1:]),
        parts[0].statistics(parts[0].weight, fit.probabilities(parts[0])),
    )
    # Each row as often as it counts, with its share of the weight.
    times = rows.count.astype(int)
    listed = rows[np.repeat(np.arange(len(rows)), times)]
    listed = replace(
        listed, weight=listed.weight / listed.count, count=np.ones(len(listed))
    )
    spread = listed.statistics(listed.weight, fit.probabilities(listed))
    for other in (total, spread):
        assert other.n == whole.n
        for name in ("gram", "score", "outer"):
            assert_allclose(getattr(other, name), getattr(whole, name), atol=1e-10)


def joint_mask(layout):
    old = ~layout.is_new
    return layout.of_scores(old) | layout.of_judges() | layout.of_item_effects(old)


@pytest.mark.parametrize("n_distinct", [50, 150])
def test_equal_rows_are_fitted_as_one(rng, fit, sources, n_distinct):
    for rows in sources:
        rows = rows[np.sort(rng.permutation(150) % n_distinct)]
        weight = rng.exponential(size=len(rows)) * (rng.random(len(rows)) < 0.9)
        cells, sums = rows.cells, rows.by_cell(weight)
        assert len(cells) == len(sums) == n_distinct
        here, there = fit.logits(rows), fit.logits(cells)
        for name in ("loss", "slope", "curvature"):
            found = getattr(cells, name)(sums, there)
            assert_allclose(found, getattr(rows, name)(weight, here), atol=1e-10)
        for name in ("weight", "count"):
            found = getattr(cells, name)
            assert_allclose(found, rows.by_cell(getattr(rows, name)))


def test_the_score_of_historical_rows_vanishes_at_the_joint_fit(fit, sources):
    old = [rows for rows in sources if not rows.is_new]
    weights, free = [rows.weight for rows in old], joint_mask(fit.layout)
    start = replace(Fit.start(fit.layout), precision=fit.precision)
    start.x[fit.layout.scores][:N_HISTORICAL] = np.linspace(-1, 1, N_HISTORICAL)
    found, _ = minimise(start, old, weights, free, tolerance=1e-18)
    assert found.converged
    residuals = (
        (rows.source, rows.sums(rows.weight * (rows.y - found.probabilities(rows))))
        for rows in old
    )
    score = found.gradient(residuals) - found.precision @ found.x
    assert_allclose(score[free], 0.0, atol=1e-6)
    assert_allclose(found.scores[~fit.layout.is_new].sum(), 0.0, atol=1e-8)
    # People alone fix the scale: sum_human delta (y - sigma(delta)) = 0.
    people = old[0]
    residual = people.weight * (people.y - found.probabilities(people))
    scored = found.logits(people) - people.offset
    assert_allclose(scored @ residual, 0.0, atol=1e-5)


def test_a_parameter_on_its_bound_stays_there_and_the_others_are_fitted(layout):
    # All verdicts agree with the scores, so that the sensitivity has no limit.
    n_old = N_HISTORICAL
    left, right = np.triu_indices(n_old, 1)
    scores = np.linspace(1.0, -1.0, n_old)
    rows = SourceRows(
        1, False, np.arange(len(left)), left, right,
        np.zeros((len(left), 1 + N_SPAN)), np.zeros(len(left)), np.ones(len(left)),
        np.ones(len(left)), np.ones(len(left)), np.full(len(left), -1),
        np.full(len(left), -1),
        layout.n_items,
    )  # fmt: skip
    start = Fit.start(layout)
    start.x[:n_old] = scores
    low, high = np.full(layout.size, -np.inf), np.full(layout.size, np.inf)
    at = layout.sensitivities.start + 1
    low[at], high[at] = -20.0, 20.0
    found, _ = minimise(
        start, [rows], [rows.weight], layout.of_source(1), bounds=(low, high)
    )
    assert found.sensitivity(1) == 20.0


def test_systems_are_solved_and_their_null_directions_are_named(rng):
    root = rng.normal(size=(6, 4))
    matrix = root @ root.T
    for scale in (np.ones(6), 10.0 ** np.arange(6)):
        scaled = scale[:, None] * matrix * scale
        system = SymmetricSystem.of(scaled)
        assert system.rank == 4
        assert_allclose(scaled @ system.null, 0.0, atol=1e-8 * np.abs(scaled).max())
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
