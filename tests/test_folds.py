"""Splitting by source, and the loop over a plan."""

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_info

from skanchor import AnchorPipeline, Comparisons, SourceKFold
from skanchor.exceptions import DataWarning
from skanchor.folds import run_plan, training_weights
from skanchor.sample import Sample
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


def test_groups_by_name_and_by_array():
    data = simulate_battles(500, 60, random_state=0)
    groups = np.arange(len(data.y)) // 7
    X = data.X.assign(prompt_id=groups)
    named = list(SourceKFold(3, groups="prompt_id", random_state=0).split(X))
    given = list(SourceKFold(3, random_state=0).split(X, groups=groups))
    for (train, test), (_, again) in zip(named, given, strict=True):
        assert_allclose(test, again)
        assert not set(groups[train]) & set(groups[test])


@pytest.mark.parametrize("n_splits", [1, 0, 2.5, True])
def test_bad_number_of_splits(n_splits):
    data = simulate_battles(100, 20, random_state=0)
    with pytest.raises(ValueError, match="n_splits"):
        next(SourceKFold(n_splits).split(data.X))


def test_training_weights_stand_for_the_whole_source():
    weight = [1.0, 2.0, 1.0, 1.0, 1.0, 5.0]

    def weights(judges, new, train):
        """Of six rows: three by one source, two by another, and one of no use."""
        table = pd.DataFrame(
            {
                "model_a": [*new, "x"],
                "model_b": ["y", "y", "y", "y", "y", "x"],
                "judge": [*judges, "human"],
            }
        )
        X = Comparisons.from_battles(table, new_models=sorted({*new} - {"x"}))
        return training_weights(Sample.admit(X, np.ones(6) / 2, weight), train)

    votes = ["human"] * 3 + ["gpt"] * 2
    got = weights(votes, ["x"] * 5, np.array([0, 1, 3]))
    assert_allclose(got, [4 / 3, 8 / 3, 0, 2, 0, 0])
    with pytest.raises(ValueError, match="keeps no row of judge 'gpt' rows between"):
        weights(votes, ["x"] * 5, np.array([0, 1]))
    # A source of a new model is done without while another one places the model.
    verdicts = ["claude"] * 3 + ["gpt"] * 2
    spared = weights(verdicts, ["new"] * 5, np.array([0, 1]))
    assert (spared[3:5] == 0.0).all()
    lost = "keeps no row of judge 'gpt' rows with new model 'other'"
    with pytest.raises(ValueError, match=lost):
        weights(verdicts, ["new"] * 3 + ["other"] * 2, np.array([0, 1]))


def _square(x):
    return x * x


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_plan_keeps_the_order_of_its_jobs(n_jobs, capsys):
    assert run_plan(_square, [(i,) for i in range(5)], n_jobs=n_jobs) == [
        0, 1, 4, 9, 16,
    ]  # fmt: skip
    assert run_plan(_square, [(3,)], verbose=1) == [9]
    assert capsys.readouterr().out == ""


def _blas_threads():
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return max((pool["num_threads"] for pool in pools), default=1)


def test_workers_that_are_threads_share_the_cores():
    before = _blas_threads()
    with joblib.parallel_config("threading"):
        inside = run_plan(_blas_threads, [()] * 4, n_jobs=2)
    assert max(inside) <= max(1, joblib.cpu_count() // 2)
    assert _blas_threads() == before


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
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always", DataWarning)
            AnchorPipeline(**options).fit(data.X, data.y, groups=groups)
        told = [str(w.message) for w in heard if issubclass(w.category, DataWarning)]
        assert any(message in text for text in told) if message else not told
