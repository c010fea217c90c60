"""The test for item effects, against dense references."""

from types import SimpleNamespace

import numpy as np
import pytest
from model.test_item_effects import drawn, fitted
from numpy.testing import assert_allclose
from scipy.stats import chi2, kstest

from skanchor._crossfit.item_effects import choose_item_effects
from skanchor._crossfit.item_test import (
    ItemTest,
    JudgeSums,
    ScoreTest,
    _beside_fit,
    _score_test,
    item_test,
)
from skanchor._model.fit import PEOPLE
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.riesz import dispersion

N_ITEMS = 5
SLOPES = np.array([0.6, 1.0, 1.7])


def laplacian(rng):
    """Information on items, of which the common level is not seen."""
    half = rng.normal(size=(N_ITEMS, N_ITEMS))
    half -= half.mean(axis=0)
    return half @ half.T


@pytest.fixture
def problem(rng):
    """Informations of three judges, and covariance of people's scores."""
    informations = np.array([20.0 * laplacian(rng) for _ in SLOPES])
    return informations, 0.05 * laplacian(rng)


def dense_law(informations, error):
    """Dense variance of the summed residuals, their scores, and A."""
    columns = np.concatenate([s * d for s, d in zip(SLOPES, informations, strict=True)])
    n = len(columns)
    block = np.zeros((n, n))
    for m, information in enumerate(informations):
        at = slice(m * N_ITEMS, (m + 1) * N_ITEMS)
        block[at, at] = information
    covariance = block + columns @ error @ columns.T
    variance = block @ np.linalg.pinv(covariance, rcond=1e-9) @ block
    return block, covariance, variance


@pytest.mark.parametrize(("kind", "unshared"), enumerate([1.0, 0.0]))
def test_the_statistics_are_those_of_a_dense_reference(kind, unshared, rng, problem):
    """For effects that judges share by half, and for those that all judges share."""
    informations, error = problem
    block, covariance, variance = dense_law(informations, error)
    shared = np.kron(unshared * np.eye(3) + 1.0, np.eye(N_ITEMS))
    sums = np.concatenate([d @ rng.normal(size=N_ITEMS) for d in informations])
    score = block @ np.linalg.pinv(covariance, rcond=1e-9) @ sums
    power = variance @ shared
    first, second, third = (
        np.trace(np.linalg.matrix_power(power, k)) for k in (1, 2, 3)
    )
    df = second**3 / third**2
    value = df + (score @ shared @ score - first) / np.sqrt(2 * second) * np.sqrt(
        2 * df
    )
    actual = _score_test(sums.reshape(3, -1), informations, SLOPES, error)[kind]
    assert_allclose(actual.df, df, rtol=1e-8)
    assert_allclose(actual.scale, third / second, rtol=1e-8)
    assert_allclose(actual.value, max(value, 0.0), rtol=1e-8, atol=1e-8)
    assert_allclose(actual.p_value, chi2.sf(max(value, 0.0), df))


def test_without_effects_p_values_are_uniform(rng, problem):
    informations, error = problem
    _, covariance, _ = dense_law(informations, error)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    p = [
        _score_test((root @ z).reshape(3, -1), informations, SLOPES, error)[0].p_value
        for z in rng.normal(size=(300, len(root)))
    ]
    assert kstest(p, "uniform").pvalue > 1e-3


def test_what_was_fitted_is_taken_out_as_by_a_dense_regression(rng):
    layout, sources = drawn(n_span=2)
    fit, rows = fitted(layout, sources, joint=False), sources[2]
    sums = rows.statistics(rows.weight, fit.probabilities(rows))
    score, information, n_fitted = _beside_fit(fit, rows.source, sums)
    p, items = fit.probabilities(rows), np.eye(layout.n_items)
    columns = items[rows.left] - items[rows.right]
    fitted_columns = np.column_stack([columns @ fit.scores, rows.order, rows.span])
    root = np.sqrt(rows.weight * p * (1.0 - p))[:, None]
    beside = root * columns
    beside -= (root * fitted_columns) @ np.linalg.lstsq(
        root * fitted_columns, root * columns, rcond=None
    )[0]
    assert_allclose(information, beside.T @ beside, atol=1e-8 * information.max())
    assert_allclose(score, columns.T @ (rows.y - p), atol=1e-4 * score.max())
    assert n_fitted == pytest.approx(4.0)


def test_pearson_is_over_unordered_pairs(rng):
    n, dispersion = 4, 0.8
    residual, information = rng.normal(size=(n, n)), rng.exponential(size=(n, n))
    # As many rows in one order as in the other, more, none, and none at all.
    n_rows = np.array([[0, 3, 2, 0], [3, 0, 0, 1], [5, 0, 0, 2], [0, 0, 2, 0]])
    residual, information = residual * (n_rows > 0), information * (n_rows > 0)
    root = rng.normal(size=(n, n))
    error = root @ root.T
    expected, n_pairs = 0.0, 0
    for i in range(n):
        for j in range(i):
            if n_rows[i, j] + n_rows[j, i]:
                seen = information[i, j] + information[j, i]
                contrast = np.eye(n)[i] - np.eye(n)[j]
                variance = dispersion * seen + seen**2 * contrast @ error @ contrast
                expected += (residual[i, j] - residual[j, i]) ** 2 / variance
                n_pairs += 1
    by_pair = np.array([residual, information, n_rows])
    actual = JudgeSums(None, dispersion, by_pair).pearson(error, 1.4)
    assert_allclose(actual, (expected, n_pairs - 1))
    assert n_pairs == 4


# ---------------------------------------------------------------------------- on tables
def run_test(layout, sources):
    """The test at the two-step fit, with the sandwich of the votes."""
    fit = fitted(layout, sources, joint=False)
    n, judges = layout.n_items, {}
    for rows in sources:
        p = fit.probabilities(rows)
        if rows.source == PEOPLE:
            one = rows.statistics(rows.weight, p)
            root = SymmetricSystem.of(one.gram[:n, :n]).inverse_root
            error = root @ root.T @ one.outer[:n, :n] @ root @ root.T
        else:
            noise = dispersion(rows, p, without_items=False)
            judges[rows.source] = JudgeSums.of(rows, p, noise)
    return item_test(fit, judges, error), (fit, judges, error)


def test_effects_are_seen_and_their_lack_is_not():
    seen, _ = run_test(*drawn(sd=0.6, n=600))
    unseen, _ = run_test(*drawn(sd=0.0, n=600))
    assert seen.p_value < 1e-6 < 0.01 < unseen.p_value
    assert set(seen.by_judge) == {1, 2, 3}
    for one in seen.by_judge.values():
        assert chi2.sf(one.chi2, one.df) < 0.01
        assert chi2.sf(one.pearson, one.pearson_df) < 0.01
    assert unseen.rules_out(2.0)
    assert not seen.rules_out(0.3)


@pytest.mark.parametrize("n_judges", [1, 3])
def test_what_the_verdicts_rule_out_has_the_level_that_it_names(n_judges, rng):
    """With effects of a size in about a tenth of the tables, at most."""
    n, sd, scale = 9, 0.3, 20.0
    information = scale * (np.eye(n) - 1 / n)
    root = np.sqrt(scale) * (np.eye(n) - 1 / n)
    same, slopes = np.array([information] * n_judges), np.ones(n_judges)
    # Shared by half, and by all judges; beside the rounding that Cholesky needs.
    for kind, share in enumerate([0.5, 1e-9]):
        matrix = share * np.eye(n_judges) + (1.0 - share) * np.ones(
            (n_judges, n_judges)
        )
        shared = sd * np.linalg.cholesky(matrix)
        single, both = [], []
        for _ in range(400):
            effects = shared @ rng.normal(size=(n_judges, n))
            scores = [root @ rng.normal(size=n) + information @ one for one in effects]
            tests = _score_test(np.array(scores), same, slopes, np.zeros((n, n)))
            single.append(tests[kind].rules_out([sd**2 / 2.0, sd**2][kind]))
            both.append(ItemTest(*tests).rules_out(sd))
        # 99.9 % of binomial draws of 400 with probability 0.1 lie between 22 and 61.
        assert 22 <= np.sum(single) <= 61
        assert np.sum(both) <= np.sum(single)


# ------------------------------------------------------------------------------- choice
CLEAR, SLIGHT, NONE, VAGUE = (
    ItemTest(one, one)
    for one in (
        ScoreTest(40.0, 5.0, 100.0),
        ScoreTest(8.5, 5.0, 1000.0),
        ScoreTest(1.0, 5.0, 1000.0),
        ScoreTest(4.0, 5.0, 1.0),
    )
)
NAN, ALIKE = ItemTest(), ItemTest(NONE.score, VAGUE.score)


@pytest.mark.parametrize(
    ("test", "n_judges", "n_models", "expected", "reason"),
    [
        (CLEAR, 0, 9, False, "no judges"),
        (CLEAR, 3, 1, False, "one historical model"),
        (NONE, 3, 4, True, "4 historical models"),
        (NONE, 2, 9, True, "one or two judges"),
        (NAN, 3, 9, True, "no test"),
        (CLEAR, 3, 9, True, "sees them"),
        # At a level of .13, of effects that are far smaller than those expected.
        (SLIGHT, 3, 9, True, "sees them"),
        (VAGUE, 3, 9, True, "do not rule out a size of 0.3 logits"),
        # Effects that all judges share look like errors of people's scores.
        (ALIKE, 3, 9, True, "do not rule out a size of 0.3 logits"),
        (NONE, 3, 9, False, "does not see them"),
    ],
)
def test_auto_leaves_out_only_what_verdicts_rule_out(
    test, n_judges, n_models, expected, reason
):
    X = SimpleNamespace(
        judges=np.arange(n_judges),
        models=np.arange(n_models),
        is_new=np.zeros(n_models, dtype=bool),
        items=SimpleNamespace(model=np.arange(n_models)),
    )
    result = choose_item_effects("auto", X, test)
    assert result.item_effects == ("random" if expected else "none")
    assert reason in result.reason
