"""Measures of scores, ranks, intervals and rank sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from skanchor.metrics import (
    coverage,
    exact_insertion_rate,
    insertion_mae,
    insertion_rank,
    interval_width,
    rank_set_size,
    rmse,
    spearman,
)


def test_values_by_hand():
    true, estimate = np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 0.0])
    assert rmse(true, estimate) == pytest.approx(np.sqrt(5 / 3))
    assert insertion_rank(0.5, [1.0, 0.5, 0.0]) == 2
    assert insertion_rank(9.0, [1.0, 0.0]) == 1
    assert insertion_rank(-9.0, [1.0, 0.0]) == 3
    assert insertion_mae([1, 2, 3], [3, 2, 2]) == 1.0
    assert exact_insertion_rate([1, 2, 3], [3, 2, 2]) == pytest.approx(1 / 3)
    assert coverage([0, 1, 2], [0, 2, -np.inf], [1, 3, np.inf]) == pytest.approx(2 / 3)
    assert interval_width([0, 0], [1, np.inf]) == np.inf
    assert rank_set_size([1, 2], [1, 4]) == 2.0


@given(st.lists(st.integers(-5, 5), min_size=3, max_size=12), st.integers(0, 99))
def test_spearman_is_scipys_with_ties(values, seed):
    other = np.random.default_rng(seed).permutation(values)
    ours = spearman(values, other)
    if len(set(values)) == 1:
        assert np.isnan(ours)
    else:
        assert ours == pytest.approx(spearmanr(values, other).statistic, abs=1e-12)
        assert spearman(values, np.asarray(other) + 7) == pytest.approx(ours)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=10), st.floats(-5, 5))
def test_insertion_rank_is_a_place_in_the_sorted_list(historical, score):
    rank = insertion_rank(score, historical)
    ordered = sorted([*historical, score], reverse=True)
    assert rank == ordered.index(score) + 1
    assert 1 <= rank <= len(historical) + 1


@pytest.mark.parametrize(
    ("measure", "arguments"),
    [
        (rmse, ([0.0], [np.nan])),
        (insertion_rank, (np.nan, [0.0])),
        (insertion_rank, (0.0, [np.nan])),
        (insertion_mae, ([1, np.nan], [1, 2])),
        (exact_insertion_rate, ([1, 2], [1, np.nan])),
        (spearman, ([1, 2], [1, np.inf])),
        (coverage, ([np.nan], [0], [1])),
        (coverage, ([0], [np.nan], [1])),
        (interval_width, ([1], [0])),
        (rank_set_size, ([2], [1])),
    ],
)
def test_what_cannot_be_measured_is_refused(measure, arguments):
    with pytest.raises(ValueError, match="NaN"):
        measure(*arguments)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="inconsistent"):
        insertion_mae([1, 2], [1])
