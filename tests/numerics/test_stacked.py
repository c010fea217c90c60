"""Systems of many folds, solved side by side, are those of each fold alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skanchor._numerics.blocks import fitted_columns
from skanchor._numerics.information import JudgeBlock, judge_block
from skanchor._numerics.linalg import covariance_factor, zero_sum_basis
from skanchor._numerics.logistic import fit_logistic
from skanchor._numerics.parameters import PEOPLE, Parameters, selectors
from skanchor._numerics.stacked import StackedSystems, fit_stacked, project_spans
from skanchor._numerics.sums import SourceSums
from skanchor._numerics.system import RieszProblem, joint_information

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
    projected, coef = project_spans(whole, N_ITEMS + 2, penalty)
    found = StackedSystems.solve(
        items, slopes, factor, people, projected, positions=True, ridge=ridge
    )
    columns, of_items = found.columns(coef), found.of_items()
    u = rng.normal(size=(N_FOLDS, N_JUDGES, N_ITEMS))
    plan = layout(items, True, deviations)
    columns_of = fitted_columns(N_ITEMS, N_SPAN)
    for k in range(N_FOLDS):
        blocks = [
            judge_block(SourceSums(columns_of, gram, np.asarray(1.0)), object(), own)
            for gram, own in zip(whole[k], penalty[k], strict=True)
        ]
        votes = JudgeBlock(people[k], people[k], None, None)
        system = RieszProblem(plan, slopes[k], factor, votes, ridge).solve(blocks)
        assert_allclose(found.weights[k], system.weights, atol=1e-9)
        assert_allclose(of_items[k], system.all_columns(PEOPLE), atol=1e-9)
        for m in range(N_JUDGES):
            assert_allclose(columns[k, m], system.all_columns(m), atol=1e-9)
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


def test_what_is_short_of_rank_is_left_to_others(rng):
    items, slopes, _, people, judges = an_instance(rng)
    whole = grams(rng, N_FOLDS, N_JUDGES, n_span=N_SPAN)
    whole[1, 0, -1] = whole[1, 0, -2]
    whole[1, 0, :, -1] = whole[1, 0, :, -2]
    assert project_spans(whole, N_ITEMS + 2, np.zeros((3, 2, N_SPAN))) is None
    # A judge without rows leaves its sensitivity open.
    judges[2, 1] = 0.0
    assert (
        StackedSystems.solve(items, slopes, None, people, judges, positions=False)
        is None
    )


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
