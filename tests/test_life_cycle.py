"""Copies, refits, workers, interrupts: what happens to an estimator around ``fit``."""

import copy
import io
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from learners import Wrapped
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted
from tables import small

from skanchor import (
    AnchorPipeline,
    ArrivalScorer,
    BTLRegressor,
    Comparisons,
    JudgeCalibrator,
    RieszDebiaser,
    SourceKFold,
)
from skanchor.baselines import DirectScore, JointBTL
from skanchor.bias import LinearBias
from skanchor.exceptions import BattlesError


@pytest.fixture(scope="module")
def data():
    return small()


# Halves of a small table give shaky scores, and say so.
SHAKY = (
    "ignore::skanchor.exceptions.SkanchorWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)


def make(**params):
    return AnchorPipeline(**{"cv": 4, "random_state": 0, **params})


@pytest.fixture(scope="module")
def anchor(data):
    return make().fit(data.X, data.y)


def assert_same(one, other):
    for result in ("estimates", "covariances", "influence"):
        assert_array_equal(getattr(one.result_, result), getattr(other.result_, result))
    pd.testing.assert_frame_equal(one.conf_int(), other.conf_int())
    pd.testing.assert_frame_equal(one.rank_sets(), other.rank_sets())
    pd.testing.assert_frame_equal(one.leaderboard(), other.leaderboard())


# ----------------------------------------------------------------------------- copies
def by_joblib(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


COPIERS = [
    lambda estimator: pickle.loads(pickle.dumps(estimator)),
    by_joblib,
    copy.deepcopy,
    copy.copy,
]


def test_copies_give_the_same_intervals(data, anchor):
    for copier in COPIERS:
        other = copier(anchor)
        assert_same(other, anchor)
        assert_array_equal(other.predict_proba(data.X), anchor.predict_proba(data.X))
    assert_same(clone(anchor).fit(data.X, data.y), anchor)
    with pytest.raises(NotFittedError):
        clone(anchor).predict(data.X)


def test_features_are_read_by_name(data, anchor):
    """Order and further columns change nothing; a missing feature is named."""
    verdicts = data.X["judge"] != "human"
    for estimator in (anchor, DirectScore().fit(data.X, data.y), anchor.calibrator_):
        turned = data.X[data.X.columns[::-1]].assign(z_a=1.0, z_b=2.0)
        absent = data.X.drop(columns=["x2_a", "x2_b"])
        if estimator is anchor.calibrator_:
            expected, result = (
                estimator.transform(anchor.btl_.transform(X)).biases
                for X in (data.X, turned)
            )
            assert_array_equal(result, expected)
            continue
        expected = estimator.predict_proba(data.X)
        assert_array_equal(estimator.predict_proba(turned), expected)
        assert estimator.score(turned, data.y) == estimator.score(data.X, data.y)
        for call in (estimator.predict, lambda X, e=estimator: e.score(X, data.y)):
            with pytest.raises(BattlesError, match=r"No row has the features \['x2'\]"):
                call(absent)
        assert_array_equal(
            estimator.predict_proba(absent[~verdicts]), expected[~verdicts]
        )
    votes = JointBTL().fit(data.X, data.y)
    assert_array_equal(votes.predict_proba(absent), votes.predict_proba(data.X))


def test_a_second_fit_leaves_nothing_of_the_first(data, anchor):
    anchor = clone(anchor).set_params(item_effects=None).fit(data.X, data.y)
    other = clone(anchor).set_params(item_effects="random").fit(data.X, data.y)
    before = set(vars(other))
    other.set_params(item_effects=anchor.item_effects).fit(data.X, data.y)
    assert_same(other, anchor)
    assert other.comparisons_.deviations is None and set(vars(other)) == before
    # A bare array records its columns; a table afterwards does not keep them.
    btl = BTLRegressor().fit(pd.DataFrame({"l": [1, 2, 1], "r": [2, 1, 2]}), [0, 1, 1])
    assert hasattr(btl, "feature_names_in_")
    btl.fit(data.X, data.y)
    assert not hasattr(btl, "feature_names_in_")


def test_parts_given_are_never_fitted(data):
    parts = {
        "btl": BTLRegressor(),
        "calibrator": JudgeCalibrator(LinearBias()),
        "arrival": ArrivalScorer(),
        "debiaser": RieszDebiaser(LinearBias()),
    }
    anchor = make(**parts)
    before = {name: repr(value) for name, value in anchor.get_params().items()}
    anchor.fit(data.X, data.y)
    assert {name: repr(v) for name, v in anchor.get_params().items()} == before
    for part in [*parts.values(), parts["calibrator"].bias, parts["debiaser"].learner]:
        with pytest.raises(NotFittedError):
            check_is_fitted(part)


def test_seeds(data, anchor):
    assert_same(make().fit(data.X, data.y), anchor)
    other = make(random_state=1).fit(data.X, data.y)
    assert (other.scores_ != anchor.scores_).all()
    stream = make(random_state=np.random.RandomState(0))
    assert_same(stream.fit(data.X, data.y), anchor)


# ---------------------------------------------------------------------------- workers
def test_workers_change_nothing(data, anchor):
    # Workers of loky are new processes: nothing they need lives in the parent's memory.
    assert_same(make(n_jobs=2).fit(data.X, data.y), anchor)
    for backend in ("threading", "multiprocessing"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            assert_same(make().fit(data.X, data.y), anchor)


class Loud(Wrapped):
    """A learner that warns, stops, or fails."""

    def fit(self, X, y, sample_weight=None, *, start=None, **options):
        if self.act == "warn":
            warnings.warn("loud learner", RuntimeWarning, stacklevel=2)
        # Only folds have a start.
        if start is not None and self.act == "raise":
            raise LookupError("no such thing")
        if start is not None and self.act == "interrupt":
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight, **options)


def loud(act, **params):
    # The Riesz step keeps its own learner.
    # In two steps it is fitted once in the parent, not again in turn with the scores.
    return make(
        calibrator=JudgeCalibrator(Loud(act)),
        debiaser=RieszDebiaser(),
        historical_fit="two-step",
        **params,
    )


def test_warnings_of_workers_are_issued_once(data):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            loud("warn", n_jobs=2).fit(data.X, data.y)
    messages = [str(record.message) for record in records]
    # Two judges warn in the parent, all folds of the workers once together.
    assert messages.count("loud learner") == 3, messages


def test_exception_names_the_fold(data):
    estimator = loud("raise")
    with pytest.raises(LookupError, match=r"Fold \d: Bias of judge 'judge-1': no such"):
        estimator.fit(data.X, data.y)
    with pytest.raises(NotFittedError):
        estimator.predict(data.X)


def test_interrupt_leaves_nothing_fitted(data):
    estimator = make().fit(data.X, data.y)
    estimator.set_params(
        calibrator=JudgeCalibrator(Loud("interrupt")), debiaser=RieszDebiaser()
    )
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(data.X, data.y)
    with pytest.raises(NotFittedError):
        estimator.predict(data.X)
    assert not hasattr(estimator, "scores_") and not hasattr(estimator, "btl_")
    # The same estimator is as good as new.
    assert make().fit(data.X, data.y).scores_.notna().all()


def test_interrupt_closes_the_pool(data):
    """Ctrl-C while two workers fit ends the program with its own exception."""
    if os.name == "nt":
        pytest.skip("no such signal")
    code = """if True:
        import os, signal, threading, time
        import numpy as np
        from joblib.externals.loky import reusable_executor
        from skanchor import AnchorPipeline
        from skanchor.simulation import simulate_battles
        data = simulate_battles(random_state=0)
        def stop():
            # However long it takes, the interrupt comes once there is a pool.
            while not getattr(reusable_executor._executor, "_processes", None):
                time.sleep(0.01)
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGINT)
        anchor = AnchorPipeline(n_jobs=2, n_repeats=400, random_state=0)
        try:
            threading.Thread(target=stop, daemon=True).start()
            anchor.fit(data.X, data.y)
        except KeyboardInterrupt:
            print("interrupted", hasattr(anchor, "result_"))
    """
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        # Of 4,000 folds some are done; a pool that is not closed waits for ever.
        timeout=600,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
    )
    # joblib may write before it that workers were interrupted while they began.
    assert done.stdout.splitlines()[-1] == "interrupted False", done.stderr


def test_read_only_memory_maps(data, anchor, tmp_path):
    battles = Comparisons.from_battles(data.X)
    path = tmp_path / "battles.joblib"
    joblib.dump((battles, np.asarray(data.y), np.ones(len(battles))), path)
    frozen, y, weight = joblib.load(path, mmap_mode="r")
    assert isinstance(frozen.features_left, np.memmap)
    assert not frozen.features_left.flags.writeable
    assert_same(make().fit(frozen, y, weight), anchor)
    X = data.X.copy()
    y = np.array(data.y)
    make().fit(X, y)
    pd.testing.assert_frame_equal(X, data.X)
    assert_array_equal(y, data.y)


@pytest.mark.filterwarnings(*SHAKY)
def test_nested_parallel_search(data):
    search = GridSearchCV(
        make(cv=2, n_jobs=2),
        {"calibrator__bias__alpha": [0.0, 0.1]},
        cv=SourceKFold(2, random_state=0),
        n_jobs=2,
    )
    alone = clone(search).set_params(n_jobs=1, estimator__n_jobs=1)
    result = search.fit(data.X, data.y).cv_results_["mean_test_score"]
    expected = alone.fit(data.X, data.y).cv_results_["mean_test_score"]
    assert_allclose(result, expected, rtol=1e-12)


# --------------------------------------------------------------------- metadata routing
@pytest.mark.filterwarnings(*SHAKY)
def test_metadata_routing(data):
    rng = np.random.default_rng(0)
    n = len(data.y)
    weight, groups = rng.uniform(0.5, 2, n), rng.integers(0, n // 4, n)
    stages = BTLRegressor(covariance="clustered"), JudgeCalibrator(), ArrivalScorer()
    with config_context(enable_metadata_routing=True):
        chain = make_pipeline(
            *(
                clone(stage).set_fit_request(sample_weight=True, groups=True)
                for stage in stages
            )
        )
        chain.fit(data.X, data.y, sample_weight=weight, groups=groups)
        battles = data.X
        for stage in map(clone, stages):
            stage.fit(battles, data.y, weight, groups)
            battles = stage.transform(battles)
        assert_allclose(chain[-1].scores_, battles.scores[battles.is_new])

        search = GridSearchCV(
            make(cv=2)
            .set_fit_request(sample_weight=True, groups=True)
            .set_score_request(sample_weight=True),
            {"calibrator__bias__alpha": [0.1]},
            cv=SourceKFold(2, random_state=0),
        )
        search.fit(data.X, data.y, sample_weight=weight, groups=groups)
        best = make(cv=2, calibrator=JudgeCalibrator(LinearBias(alpha=0.1)))
        assert_same(search.best_estimator_, best.fit(data.X, data.y, weight, groups))
        # What is not asked for is not dropped in silence.
        plain = make_pipeline(*map(clone, stages))
        with pytest.raises(ValueError, match="not explicitly set as requested or not"):
            plain.fit(data.X, data.y, sample_weight=weight)
    with pytest.raises((TypeError, ValueError), match="sample_weight"):
        make_pipeline(*map(clone, stages)).fit(data.X, data.y, sample_weight=weight)
