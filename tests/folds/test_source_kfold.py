"""Splitting by source: shares, groups and seeds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tables import warnings_of

from skanchor import AnchorPipeline, SourceKFold
from skanchor.exceptions import DataWarning
from skanchor.simulation import simulate_battles


def test_folds_partition_the_rows_and_follow_the_seed():
    data = simulate_battles(500, 60, random_state=0)
    splitter = SourceKFold(4, random_state=3)
    plans = [list(splitter.split(data.X)) for _ in range(2)]
    for (train, test), (_, again) in zip(*plans, strict=True):
        assert_allclose(test, again)
        assert_allclose(np.sort(np.r_[train, test]), np.arange(len(data.y)))
    other = next(SourceKFold(4, random_state=4).split(data.X))[1]
    assert not np.array_equal(plans[0][0][1], other)
    assert splitter.get_n_splits() == 4


def test_folds_are_dealt_by_source_and_pair_in_the_order_of_a_shuffle():
    """By hand, row by row; more folds and kinds than an integer of 8 bits holds."""
    data = simulate_battles(2000, 100, n_models=20, random_state=0)
    X = data.X.reset_index(drop=True)
    turn = np.random.RandomState(5).permutation(len(X))
    sources: dict[tuple, int] = {}
    pairs: dict[frozenset, int] = {}
    voted = X["model_a"][X["judge"] == "human"], X["model_b"][X["judge"] == "human"]
    old = set(voted[0]) | set(voted[1])
    keys = []
    for a, b, judge in X[["model_a", "model_b", "judge"]].itertuples(index=False):
        new = tuple(sorted(one for one in (a, b) if one not in old))
        source = sources.setdefault((judge, new), len(sources))
        keys.append((source, pairs.setdefault(frozenset((a, b)), len(pairs))))
    assert len(set(keys)) > 256
    expected = np.empty(len(X), dtype=int)
    for number, row in enumerate(
        sorted(range(len(X)), key=lambda row: (keys[row], turn[row]))
    ):
        expected[row] = number % 300
    fold = SourceKFold(300, random_state=5).assign_folds(X)
    assert fold.dtype == np.intp
    assert fold.tolist() == expected.tolist()


def test_groups_by_name_and_by_array():
    data = simulate_battles(500, 60, random_state=0)
    groups = np.arange(len(data.y)) // 7
    X = data.X.assign(prompt_id=groups)
    named = list(SourceKFold(3, groups="prompt_id", random_state=0).split(X))
    by_array = list(SourceKFold(3, random_state=0).split(X, groups=groups))
    for (train, test), (_, again) in zip(named, by_array, strict=True):
        assert_allclose(test, again)
        assert not set(groups[train]) & set(groups[test])


@pytest.mark.parametrize("n_splits", [1, 0, 2.5, True])
def test_bad_number_of_splits(n_splits):
    data = simulate_battles(100, 20, random_state=0)
    with pytest.raises(ValueError, match="n_splits"):
        next(SourceKFold(n_splits).split(data.X))


def test_seeds_matter_where_all_groups_differ():
    """Groups of all sizes: every seed draws other folds, each with its share."""
    sizes = np.arange(1, 61)
    groups = np.repeat(np.arange(60), sizes)
    data = simulate_battles(len(groups) - 30, 30, random_state=0)
    assigned = [
        SourceKFold(4, random_state=seed).assign_folds(data.X, groups)
        for seed in range(3)
    ]
    assert not np.array_equal(assigned[0], assigned[1])
    assert not np.array_equal(assigned[1], assigned[2])
    for fold in assigned:
        by_group = np.array([set(fold[groups == g]).pop() for g in range(60)])
        assert (np.bincount(by_group, minlength=4) == 15).all()
        assert np.bincount(fold).max() < 1.5 * np.bincount(fold).min()


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
def test_few_groups_are_told():
    data = simulate_battles(
        n_models=5, n_judges=2, n_new=120, n_historical=900, random_state=0
    )
    options = {"cv": 3, "item_effects": None, "random_state": 0}
    for n_groups, message in ((20, "There are 20 groups"), (200, None)):
        groups = np.random.default_rng(0).integers(n_groups, size=len(data.y))
        anchor = AnchorPipeline(**options)
        result = warnings_of(lambda: anchor.fit(data.X, data.y, groups=groups))  # noqa: B023
        warned = [str(one) for one in result if isinstance(one, DataWarning)]
        assert any(message in text for text in warned) if message else not warned


def test_groups_are_routed_to_it():
    assert SourceKFold().get_metadata_routing().split.requests == {"groups": True}
