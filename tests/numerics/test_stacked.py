"""Systems of many folds, solved side by side, are those of each fold alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor._numerics.blocks import fitted_columns
from skanchor._numerics.information import JudgeBlock, judge_block, profile_span
from skanchor._numerics.joint_information import joint_information
from skanchor._numerics.linalg import covariance_factor, zero_sum_basis
from skanchor._numerics.logistic import fit_logistic
from skanchor._numerics.parameters import PEOPLE, Parameters, selectors
from skanchor._numerics.stacked import fit_stacked
from skanchor._numerics.sums import SourceSums
from skanchor._numerics.system import RieszProblem

N_FOLDS, N_JUDGES, N_ITEMS, N_SPAN = 3, 2, 5, 2


def grams(rng, *lead, n_span=0):
    """Information of rows by local column, items' differences summing to zero."""
    width = N_ITEMS + 2 + n_span
    rows = rng.normal(size=(*lead, 60, width))
    rows[..., :N_ITEMS] -= rows[..., :N_ITEMS].mean(axis=-1, keepdims=True)
    return np.swapaxes(rows, -1, -2) @ rows


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def layout(items, positions, deviations):
    flags = (positions,) * N_JUDGES
    return Parameters(items, N_JUDGES, positions=flags, has_deviations=deviations)


def an_instance(rng):
    is_new = np.array([False, True, False, False, False])
    items = selectors(is_new, zero_sum_basis(4))
    slopes = rng.uniform(0.5, 1.5, (N_FOLDS, N_JUDGES))
    root = rng.normal(size=(N_JUDGES, N_JUDGES))
    root = covariance_factor(root @ root.T)
    people = grams(rng, N_FOLDS)[..., :N_ITEMS, :N_ITEMS]
    return items, slopes, root, people, grams(rng, N_FOLDS, N_JUDGES)


@pytest.mark.parametrize("deviations", [False, True])
@pytest.mark.parametrize("positions", [False, True])
def test_joint_information_is_that_added_up_source_by_source(
    rng, positions, deviations
):
    items, slopes, root, people, judges = an_instance(rng)
    factor = root if deviations else None
    joint, human = joint_information(
        items, slopes, factor, people, judges, positions=positions
    )
    plan = layout(items, positions, deviations)
    for k in range(N_FOLDS):
        total = plan.no_information()
        plan.add_information(total, PEOPLE, people[k], 1.0)
        for m in range(N_JUDGES):
            plan.add_information(total, m, judges[k, m], slopes[k, m])
        expected = plan.reduce_information(total, factor)
        if deviations:
            tail = np.arange(plan.size)[plan.at["deviation"]]
            expected[tail, tail] += 1.0
        assert_allclose(joint[k], expected, atol=1e-10)
        assert_allclose(human[k], items.T @ people[k] @ items, atol=1e-10)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("deviations", [False, True])
def test_systems_are_solved_as_each_alone(rng, deviations, ridge):
    items, slopes, root, people, _ = an_instance(rng)
    factor = root if deviations else None
    whole = grams(rng, N_FOLDS, N_JUDGES, n_span=N_SPAN)
    penalty = rng.uniform(size=(N_FOLDS, N_JUDGES, N_SPAN))
    plan = layout(items, True, deviations)
    columns_of = fitted_columns(N_ITEMS, N_SPAN)
    votes = JudgeBlock(people, people, None, None)
    sources = [
        judge_block(
            SourceSums(columns_of, whole[:, m], np.ones(N_FOLDS)),
            object(),
            penalty[:, m],
        )
        for m in range(N_JUDGES)
    ]
    found = RieszProblem(plan, slopes, factor, votes, ridge).solve_folds(sources)
    assert not found.undetermined.any()
    u = rng.normal(size=(N_FOLDS, N_JUDGES, N_ITEMS))
    for k in range(N_FOLDS):
        blocks = [
            judge_block(SourceSums(columns_of, gram, np.asarray(1.0)), object(), own)
            for gram, own in zip(whole[k], penalty[k], strict=True)
        ]
        votes = JudgeBlock(people[k], people[k], None, None)
        system = RieszProblem(plan, slopes[k], factor, votes, ridge).solve(blocks)
        assert_allclose(found.weights[k], system.weights, atol=1e-9)
        for m in range(PEOPLE, N_JUDGES):
            own, other = found.all_columns(m)[k], system.all_columns(m)
            assert_allclose(own, other, atol=1e-9)
        for m, (own, other) in enumerate(
            zip(found.judge_columns(), system.judge_columns(), strict=True)
        ):
            assert_allclose(own[k], other, atol=1e-9)
            assert_allclose(other, system.all_columns(m), atol=1e-12)
        for name in ("item_covariance", "expected_covariance"):
            own, other = getattr(found, name)()[k], getattr(system, name)()
            assert_allclose(own, other, atol=1e-9, err_msg=name)
        expected = np.zeros(N_ITEMS)
        if deviations:
            # Score -R u of the prior, R the covariance's inverse for each item.
            tail = np.linalg.solve(root, u[k]).ravel()
            expected = -(tail @ system.weights[-len(tail) :])
        assert_allclose(system.prior_score(u[k]), expected, atol=1e-9)
        assert_allclose(found.prior_score(u)[k], expected, atol=1e-9)


def test_spans_that_are_short_of_rank_are_projected_as_each_alone(rng):
    whole = grams(rng, N_FOLDS, N_JUDGES, n_span=N_SPAN)
    whole[1, 0, -1] = whole[1, 0, -2]
    whole[1, 0, :, -1] = whole[1, 0, :, -2]
    projected, coef, inner = profile_span(whole, N_ITEMS + 2)
    for at in np.ndindex(N_FOLDS, N_JUDGES):
        own = profile_span(whole[at], N_ITEMS + 2)
        for found, expected in zip((projected, coef, inner), own, strict=True):
            assert_allclose(found[at], expected, atol=1e-9)
    # One of the two equal columns says as much as both.
    (expected, _, _) = profile_span(whole[1, 0, :-1, :-1], N_ITEMS + 2)
    assert_allclose(projected[1, 0], expected, atol=1e-9)


def test_a_judge_without_rows_leaves_open_what_only_it_could_say(rng):
    items, slopes, _, _, judges = an_instance(rng)
    people = np.zeros((N_FOLDS, N_ITEMS, N_ITEMS))
    judges[2] = 0.0
    blocks = [
        JudgeBlock(judges[:, m], judges[:, m], None, None) for m in range(N_JUDGES)
    ]
    votes = JudgeBlock(people, people, None, None)
    problem = RieszProblem(layout(items, False, False), slopes, None, votes)
    found = problem.solve_folds(blocks)
    assert found.undetermined[2].all()


@pytest.mark.parametrize("n_scores", [1, 3])
def test_fits_are_those_of_each_alone(rng, n_scores):
    signs = rng.integers(-1, 2, size=(80, n_scores)).astype(float)
    source, share = rng.integers(3, size=80), rng.normal(size=(N_FOLDS, 3, 2))
    offset = rng.normal(size=(N_FOLDS, 80))
    y = rng.integers(0, 3, 80) / 2.0
    weight = rng.exponential(size=(N_FOLDS, 80))
    penalty = np.array([0.0, 1.0])
    coef, eta = fit_stacked(signs, source, share, offset, y, weight, penalty)
    for k in range(N_FOLDS):
        columns = share[k, source][:, :, None] * signs[:, None]
        columns = columns.reshape(80, -1)
        known = fit_logistic(
            columns,
            y,
            weight[k],
            offset=offset[k],
            penalty=np.repeat(penalty, n_scores) / weight[k].sum(),
        )
        assert_allclose(coef[k].ravel(), known.coef, atol=1e-10)
        assert_allclose(eta[k], offset[k] + columns @ known.coef, atol=1e-10)


def test_separated_rows_have_no_easy_fit():
    signs, source, share = np.ones((10, 1)), np.zeros(10, dtype=int), np.ones((1, 1, 1))
    ones, none = np.ones((1, 10)), np.zeros((1, 10))
    penalty = np.zeros(1)
    assert fit_stacked(signs, source, share, none, ones[0], ones, penalty) is None
