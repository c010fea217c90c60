"""Sums over alike rows: nothing is lost, and the tables are those of the rows."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from skanchor import Comparisons
from skanchor._admission import admit_to_ranking
from skanchor._refits import CellSums, Layout
from skanchor.sample import Sample
from skanchor.simulation import simulate_battles


def sample_of(**kwargs):
    data = simulate_battles(400, 60, n_models=4, random_state=1, **kwargs)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(len(data.y)) < 0.1, 0.5, data.y)
    X = data.X.assign(shown_first=rng.choice(["model_a", "model_b"], len(y)))
    return admit_to_ranking(Sample.admit(X, y), None)


@pytest.fixture
def cells():
    sample = sample_of()
    weights = np.random.default_rng(1).multinomial(
        len(sample), np.full(len(sample), 1 / len(sample)), size=3
    )
    return sample, weights.astype(float), CellSums.of(Layout(sample), weights * 1.0)


def keys_of(found):
    return pd.MultiIndex.from_arrays([found.left, found.right, found.judge])


def test_sums_are_those_of_a_plain_grouping(cells):
    sample, weights, found = cells
    X = sample.X
    labels = [X.left, X.right, X.judge, X.order]
    index = pd.MultiIndex.from_arrays(
        [found.left, found.right, found.judge, found.order]
    )
    assert index.is_unique
    for rows, sums in ((weights, found.weight), (weights * sample.y, found.first)):
        expected = pd.DataFrame(rows.T).groupby(labels).sum()
        assert_allclose(sums.T, expected.loc[index])
    assert_allclose(found.weight.sum(axis=1), weights.sum(axis=1))


def test_cells_part_into_votes_verdicts_and_arrivals(cells):
    sample, weights, found = cells
    X = sample.X
    new = X.is_new[X.left] | X.is_new[X.right]
    for part, rows in (
        (found.human, X.is_human & ~new),
        (found.judges, ~X.is_human & ~new),
        (found.arrivals, ~X.is_human & new),
        (found.of_judge(1), X.judge == 1),
        (found.judges.of_judge(0), (X.judge == 0) & ~new),
    ):
        assert_allclose(part.weight.sum(axis=1), weights[:, rows].sum(axis=1))
        won = weights[:, rows] @ sample.y[rows]
        assert_allclose(part.first.sum(axis=1), won)


def test_residuals_are_means_over_rows(cells):
    sample, weights, found = cells
    scores = np.random.default_rng(2).normal(size=(3, len(sample.X.models)))
    gap = scores[:, sample.X.left] - scores[:, sample.X.right]
    residual = weights * (sample.y - expit(gap))
    expected = residual.sum(axis=1) / weights.sum(axis=1)
    assert_allclose(found.mean_residual(scores), expected, atol=1e-12)


def test_tables_count_games_and_wins(cells):
    sample, weights, found = cells
    games, wins = found.tables()
    size = len(sample.X.models)
    expected, won = np.zeros((2, 3, size, size))
    for i, (a, b) in enumerate(zip(sample.X.left, sample.X.right, strict=True)):
        expected[:, a, b] += weights[:, i]
        expected[:, b, a] += weights[:, i]
        won[:, a, b] += weights[:, i] * sample.y[i]
        won[:, b, a] += weights[:, i] * (1 - sample.y[i])
    assert_allclose(games, expected)
    assert_allclose(wins, won)
    assert_allclose(wins + wins.transpose(0, 2, 1), games)


def test_rows_that_do_not_count_are_in_no_cell():
    table = pd.DataFrame(
        [("a", "b", "human"), ("b", "a", "human"), ("a", "a", "human"),
         ("a", "b", "j"), ("n", "a", "j"), ("b", "n", "j")],
        columns=["model_a", "model_b", "judge"],
    )  # fmt: skip
    X = Comparisons.from_battles(table)
    weight = [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    sample = admit_to_ranking(Sample.admit(X, [1, 0, 1, 1, 0, 1], weight), None)
    found = CellSums.of(Layout(sample), sample.weight[None])
    assert sorted(keys_of(found)) == [(0, 1, -1), (0, 1, 0), (1, 0, -1), (2, 0, 0)]
    assert found.weight.tolist() == [[1.0] * 4]
