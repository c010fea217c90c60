"""Layout, sums and system against dense designs with one row per comparison."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from skanchor._comparisons.judge_rows import JudgeRows
from skanchor._numerics.blocks import fitted_columns
from skanchor._numerics.groups import Membership
from skanchor._numerics.information import JudgeBlock, judge_block, profile_span
from skanchor._numerics.joint_information import diagonal_by_model
from skanchor._numerics.linalg import Columns, covariance_factor, zero_sum_basis
from skanchor._numerics.parameters import (
    PEOPLE,
    Parameters,
    selectors,
    without_rounding,
)
from skanchor._numerics.sums import SourceSums
from skanchor._numerics.system import RieszProblem

IS_NEW = np.array([False, True, False, False, False])
N_ITEMS, N_JUDGES = 5, 2
SIGMA = np.array([[0.3, 0.1], [0.1, 0.2]])


class Span:
    """A learner whose contrasts are the columns it is given."""

    def span(self, pairs):
        return pairs


class Rows:
    """Random rows of people and two judges, as sources and as a dense design."""

    def __init__(self, rng, *, position, deviations, n=60):
        basis = zero_sum_basis(int((~IS_NEW).sum()))
        self.layout = Parameters(
            selectors(IS_NEW, basis),
            N_JUDGES,
            positions=(position,) * N_JUDGES,
            has_deviations=deviations,
        )
        self.factor = covariance_factor(SIGMA) if deviations else None
        self.slopes = rng.uniform(0.5, 2.0, N_JUDGES)
        scores = rng.normal(size=N_ITEMS)
        self.cuts, self.extra, self.weight, self.dense = {}, {}, {}, {}
        for m in range(PEOPLE, N_JUDGES):
            left = rng.integers(0, N_ITEMS, n)
            right = (left + rng.integers(1, N_ITEMS, n)) % N_ITEMS
            order = rng.choice([-1.0, 1.0], n)
            span = rng.normal(size=(n, 2))
            cut = JudgeRows(np.arange(n), left, right, order, span, N_ITEMS)
            delta = scores[left] - scores[right]
            blocks = [np.empty((n, 0))]
            if m != PEOPLE:
                blocks = [delta[:, None], order[:, None], span]
            self.cuts[m], self.extra[m] = cut, Columns(*blocks)
            self.weight[m] = rng.exponential(size=n)
            self.dense[m] = self.design(m, cut.incidence.toarray(), delta, order, span)

    def design(self, m, pair, delta, order, span):
        """Derivatives of the logits by (s, c, p, v), then by all spans."""
        n = len(pair)
        slope = 1.0 if m == PEOPLE else self.slopes[m]
        own, place, deviations = (np.zeros((n, k)) for k in (2, 2, 0))
        spans = np.zeros((n, 4))
        if self.factor is not None:
            deviations = np.zeros((n, N_JUDGES * N_ITEMS))
        if m != PEOPLE:
            own[:, m], place[:, m] = delta, order
            spans[:, 2 * m : 2 * m + 2] = span
            if self.factor is not None:
                deviations = np.hstack([f * pair for f in self.factor[m]])
        blocks = [slope * pair @ self.layout.items, own]
        if self.layout.has_positions:
            blocks.append(place)
        return np.hstack([*blocks, deviations]), spans

    def information(self, m):
        extra = self.extra[m]
        blocks = fitted_columns(N_ITEMS, extra.shape[1] - 2)
        return SourceSums.of_information(blocks, self.cuts[m], extra, self.weight[m])

    def solve(self, identity=lambda gram: gram):
        people = self.information(PEOPLE).information
        people = JudgeBlock(people, people, None, None)
        problem = RieszProblem(self.layout, self.slopes, self.factor, people)
        found = [judge_block(self.information(m), Span()) for m in range(N_JUDGES)]
        return problem.solve(replace(one, identity=identity(one.gram)) for one in found)

    def solve_densely(self, weight=None):
        """Inverse of the whole information, bias coefficients and prior included."""
        weight = weight or self.weight
        every = [np.hstack(self.dense[m]) for m in self.dense]
        X, w = np.vstack(every), np.concatenate([weight[m] for m in self.dense])
        total = X.T @ (X * w[:, None])
        if self.factor is not None:
            tail = np.arange(self.layout.size)[self.layout.at["deviation"]]
            total[tail, tail] += 1.0
        targets = np.zeros((len(total), N_ITEMS))
        targets[: self.layout.items.shape[1]] = self.layout.items.T
        return targets, np.linalg.solve(total, targets)


CASES = pytest.mark.parametrize(
    ("position", "deviations"), [(False, False), (True, False), (True, True)]
)


@CASES
def test_the_system_is_that_of_the_dense_design(rng, position, deviations):
    rows = Rows(rng, position=position, deviations=deviations)
    system = rows.solve()
    targets, weights = rows.solve_densely()
    size = rows.layout.size
    assert_allclose(system.weights, weights[:size], atol=1e-10)
    assert np.abs(system.gap).max() < 1e-10
    variance = targets.T @ weights
    item = weights[rows.layout.at["deviation"]] if deviations else np.zeros((1, 5))
    assert_allclose(system.item_covariance(), item.T @ item, atol=1e-10)
    sampling = system.expected_covariance()
    assert_allclose(sampling.sum(axis=0) + item.T @ item, variance, atol=1e-10)
    for kind, sources in enumerate([[PEOPLE], range(N_JUDGES)]):
        a = np.vstack([np.hstack(rows.dense[m]) @ weights for m in sources])
        w = np.concatenate([rows.weight[m] for m in sources])
        assert_allclose(sampling[kind], a.T @ (a * w[:, None]), atol=1e-10)


@CASES
def test_the_identity_adds_up_as_the_information_does(rng, position, deviations):
    rows = Rows(rng, position=position, deviations=deviations)
    copied = rows.solve(identity=np.copy)
    assert_allclose(copied.identity, copied.information, atol=1e-10)
    # Half of the judges' part is missing, and nothing of people's or of the prior's.
    half = rows.solve(identity=lambda gram: gram / 2.0)
    whole = half.information
    none = rows.solve(identity=np.zeros_like).identity
    assert_allclose(half.identity, (whole + none) / 2.0, atol=1e-10)
    own = np.zeros_like(whole)
    at = rows.layout.at["scores"]
    own[at, at] = half.human_information
    if deviations:
        tail = np.arange(len(own))[rows.layout.at["deviation"]]
        own[tail, tail] = 1.0
    assert_allclose(none, own, atol=1e-10)


@CASES
def test_columns_give_the_weights_of_rows(rng, position, deviations):
    rows = Rows(rng, position=position, deviations=deviations)
    system, (_, weights) = rows.solve(), rows.solve_densely()
    for m, cut in rows.cuts.items():
        local = np.hstack([cut.incidence.toarray(), rows.extra[m].scaled(np.ones(60))])
        a = np.hstack(rows.dense[m]) @ weights
        assert_allclose(local @ system.all_columns(m), a, atol=1e-10)


def test_the_gain_is_how_the_variance_falls_with_more_rows(rng):
    rows = Rows(rng, position=True, deviations=True)
    columns = rows.solve().all_columns(1)
    gain = np.sum(columns * (rows.information(1).information @ columns), axis=0)
    step = 1e-6
    variances = []
    for share in (1.0 - step, 1.0 + step):
        more = {**rows.weight, 1: share * rows.weight[1]}
        targets, weights = rows.solve_densely(more)
        variances.append(np.sum(targets * weights, axis=0))
    fall = (variances[0] - variances[1]) / (2 * step)
    assert_allclose(gain, fall, rtol=1e-6)


def test_what_targets_ask_of_people_s_bias_is_a_part_of_their_variance(rng):
    rows = Rows(rng, position=False, deviations=False)
    span, none = rng.normal(size=(60, 2)), np.zeros((60, 1))
    asked = rng.normal(size=(2, N_ITEMS))
    known = SourceSums.of_information(
        fitted_columns(N_ITEMS, 2),
        rows.cuts[PEOPLE],
        Columns(none, none, span),
        rows.weight[PEOPLE],
    )
    people = judge_block(known, Span())
    problem = RieszProblem(rows.layout, rows.slopes, None, people, asked=asked)
    system = problem.solve(
        judge_block(rows.information(m), Span()) for m in range(N_JUDGES)
    )
    # The span of people's bias beside all other columns.
    X = np.vstack([
        np.hstack([*rows.dense[m], span if m == PEOPLE else 0.0 * span])
        for m in rows.dense
    ])  # fmt: skip
    w = np.concatenate([rows.weight[m] for m in rows.dense])
    targets = np.zeros((X.shape[1], N_ITEMS))
    targets[: rows.layout.items.shape[1]] = rows.layout.items.T
    targets[-2:] = asked
    weights = np.linalg.solve(X.T @ (X * w[:, None]), targets)
    found = system.expected_covariance()
    assert_allclose(found.sum(axis=0), targets.T @ weights, atol=1e-10)
    a = X[:60] @ weights
    assert_allclose(found[0], a.T @ (a * w[:60, None]), atol=1e-10)


def test_votes_that_say_nothing_of_the_scale_bound_no_variance_but_of_zero(rng):
    system = Rows(rng, position=False, deviations=False).solve()
    silent = replace(system, human_information=np.zeros_like(system.human_information))
    scores = rng.normal(size=N_ITEMS)
    scores -= scores[~IS_NEW].mean()
    assert (silent.lower_bound(scores) == np.inf).all()
    # Where all scores are zero, another scale leaves them there.
    assert (silent.lower_bound(np.zeros(N_ITEMS)) == 0.0).all()
    assert (system.lower_bound(scores) > 0.0).all()
    # Without a sensitivity either, there is no scale.
    blind = replace(system, slopes=np.zeros(N_JUDGES))
    assert (blind.lower_bound(np.zeros(N_ITEMS)) == 0.0).all()


def test_gradients_take_the_same_road_as_informations(rng):
    """The gradient of a quadratic form is its matrix times a vector."""
    rows = Rows(rng, position=True, deviations=True)
    layout = rows.layout
    matrix, vector = layout.no_information(), layout.no_gradient()
    at = rng.normal(size=(layout.size, 1))
    by_item = layout.by_item(at, rows.factor)
    for m in range(N_JUDGES):
        gram = rows.information(m).information[: N_ITEMS + 2, : N_ITEMS + 2]
        layout.add_information(matrix, m, gram, rows.slopes[m])
        local = gram @ layout.local(by_item, m, rows.slopes[m])
        layout.add_gradient(vector, m, local.ravel(), rows.slopes[m])
    reduced = layout.reduce_information(matrix, rows.factor)
    assert_allclose(
        reduced @ at.ravel(), layout.reduce_gradient(vector, rows.factor), atol=1e-9
    )
    assert_allclose(reduced, reduced.T, atol=1e-10)


def test_bias_coefficients_have_places_of_their_own():
    basis = zero_sum_basis(int((~IS_NEW).sum()))
    layout = Parameters(
        selectors(IS_NEW, basis), 2, positions=(True, True), widths=(3, 1),
        has_deviations=True,
    )  # fmt: skip
    assert layout.size == 4 + 2 + 2 + 4 + 10
    assert list(layout.bias.values()) == [slice(8, 11), slice(11, 12), slice(12, 12)]
    assert layout.at["deviation"] == slice(12, 22)
    total = layout.no_gradient()
    layout.add_gradient(total, 1, np.arange(1.0, 9.0), 0.5)
    # By item: s, then c, p, b and u of both judges.
    assert total[:5].tolist() == [0.5, 1.0, 1.5, 2.0, 2.5]
    assert total[5:13].tolist() == [0, 6, 0, 7, 0, 0, 0, 8]
    assert total[13:].tolist() == [0] * 5 + [1, 2, 3, 4, 5]


@pytest.mark.parametrize("grouped", [False, True])
def test_sums_of_parts_add_up_and_spread_over_more_items(rng, grouped):
    rows = Rows(rng, position=True, deviations=False)
    cut, residual = rows.cuts[0], rng.normal(size=60)
    groups = rng.integers(0, 9, 60) if grouped else None
    delta_order_span = rows.extra[0].scaled(np.ones(60))
    local = np.hstack([cut.incidence.toarray(), delta_order_span])

    def of(at):
        part = JudgeRows(
            at, cut.left[at], cut.right[at], cut.order[at], cut.pairs[at], N_ITEMS
        )
        columns = Columns(delta_order_span[at])
        code = None if groups is None else Membership.of(groups[at])
        blocks = fitted_columns(N_ITEMS, 2)
        return (
            SourceSums.of_information(blocks, part, columns, rows.weight[0][at]),
            SourceSums.of_residuals(blocks, part, columns, residual[at], code),
        )

    middle = np.arange(60) < 23
    (one, first), (two, second) = (of(np.flatnonzero(at)) for at in (middle, ~middle))
    information, residuals = one + two, first + second
    w = rows.weight[0]
    assert_allclose(information.information, local.T @ (local * w[:, None]), atol=1e-10)
    assert (information.n_rows, round(float(information.curvature), 9)) == (
        60, round(w.sum(), 9),
    )  # fmt: skip
    assert_allclose(residuals.score, local.T @ residual, atol=1e-10)
    values = local * residual[:, None]
    if groups is None:
        assert_allclose(residuals.outer, values.T @ values, atol=1e-10)
    else:
        gather = csr_array((np.ones(60), (groups, np.arange(60))))
        assert_allclose(residuals.by_group.toarray(), gather @ values, atol=1e-10)
    # Seen among seven items, the five are the last but one, the first and so on.
    places = np.array([5, 0, 3, 1, 6])
    wide = np.zeros((60, 7 + 4))
    wide[:, places], wide[:, 7:] = local[:, :5], local[:, 5:]
    spread = information.embed(places, 7)
    assert_allclose(spread.information, wide.T @ (wide * w[:, None]), atol=1e-10)
    moved = residuals.embed(places, 7)
    assert_allclose(moved.score, wide.T @ residual, atol=1e-10)
    if groups is None:
        values = wide * residual[:, None]
        assert_allclose(moved.outer, values.T @ values, atol=1e-10)
    else:
        values = gather @ (wide * residual[:, None])
        assert_allclose(moved.by_group.toarray(), values, atol=1e-10)


def test_judges_may_lack_a_position_effect():
    basis = zero_sum_basis(int((~IS_NEW).sum()))
    layout = Parameters(selectors(IS_NEW, basis), 3, (False, True, True), (1, 0, 2))
    places = [layout.of_judge(m).tolist() for m in range(3)]
    assert places == [[4, 9], [5, 7], [6, 8, 10, 11]]
    total = layout.no_gradient(2)
    layout.add_gradient(total, 0, np.arange(16.0).reshape(8, 2), 1.0)
    # Judge 0 has delta and one column of the bias, but no order.
    assert layout.reduce_gradient(total, None)[[4, 9]].tolist() == [[10, 11], [14, 15]]


def test_what_a_bias_explains_of_a_column_is_no_information(rng):
    """Its rounding was: solvers here go by the unit of each column."""
    n_head, n_span = N_ITEMS + 2, 3
    columns = rng.normal(size=(60, n_head + n_span))
    # The display order is a feature, and one item was never compared.
    columns[:, n_head - 1] = columns[:, n_head:] @ [1e3, -2e3, 1e-3]
    columns[:, 0] = 0.0
    gram = columns.T @ columns
    known = SourceSums(fitted_columns(N_ITEMS, n_span), gram, np.asarray(1.0))
    found = judge_block(known, object()).gram
    head, span = columns[:, :n_head], columns[:, n_head:]
    rest = head - span @ np.linalg.lstsq(span, head, rcond=None)[0]
    assert_allclose(found, rest.T @ rest, atol=1e-6)
    assert (found[-1] == 0.0).all() and (found[:, -1] == 0.0).all()
    assert (np.diag(found)[1:-1] > 1.0).all()
    (stacked, _, _) = profile_span(gram[None], n_head)
    assert_allclose(stacked[0], found, atol=1e-6)
    assert (stacked[0, -1] == 0.0).all()


def test_a_sensitivity_of_rounding_size_is_none():
    found = without_rounding(np.array([1.1e-10, -1.1e-10, 0.9e-10, -0.9e-10, 0.0, 2.0]))
    assert found.tolist() == [1.1e-10, -1.1e-10, 0.0, 0.0, 0.0, 2.0]


def test_a_ridge_goes_by_what_each_model_has_seen(rng):
    """Of its own rows: votes, and verdicts by the square of their sensitivity."""
    items = selectors(IS_NEW, zero_sum_basis(int((~IS_NEW).sum())))
    n_scores = items.shape[1]
    slopes = np.array([2.0, 0.5])
    people, *grams = (root @ root.T for root in rng.normal(size=(3, 7, 9)))
    joint = np.diag(np.arange(1.0, n_scores + N_JUDGES + 1))
    found = diagonal_by_model(
        items, slopes, people[:N_ITEMS, :N_ITEMS], np.array(grams), joint
    )
    own = [
        people[i, i]
        + sum(c * c * gram[i, i] for c, gram in zip(slopes, grams, strict=True))
        for i in range(N_ITEMS)
    ]
    expected = joint.copy()
    expected[:n_scores, :n_scores] = items.T @ np.diag(own) @ items
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
