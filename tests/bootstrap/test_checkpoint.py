"""A run that was cut off goes on; what is another's, or damaged, is refused."""

import os
import pickle

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import FunctionTransformer

import skanchor.bootstrap._refit as engine
from skanchor import Comparisons, JudgeCalibrator
from skanchor.baselines import (
    DirectScore,
    HistoricalPPI,
    JointBTL,
)
from skanchor.bias import LinearBias
from skanchor.bootstrap import bootstrap


@pytest.fixture
def path(tmp_path):
    return tmp_path / "refits.checkpoint"


@pytest.fixture
def ran(monkeypatch):
    """Numbers of the blocks that are refitted."""
    numbers, run = [], engine._run_block

    def counted(problem, number, size):
        numbers.append(number)
        return run(problem, number, size)

    monkeypatch.setattr(engine, "_run_block", counted)
    return numbers


def test_a_run_goes_on_where_it_was_cut_off(data, path, ran, monkeypatch):
    methods = {"m": DirectScore(), "p": HistoricalPPI()}
    options = dict(n_resamples=200, random_state=5)
    whole = bootstrap(methods, data.X, data.y, **options)["m"]
    ran.clear()
    counted = engine._run_block

    def break_at_third(problem, number, size):
        if len(ran) == 2:
            raise KeyboardInterrupt
        return counted(problem, number, size)

    monkeypatch.setattr(engine, "_run_block", break_at_third)
    options["checkpoint"] = path
    with pytest.raises(KeyboardInterrupt):
        bootstrap(methods, data.X, data.y, **options)
    assert list(path.parent.iterdir()) == [path]
    monkeypatch.setattr(engine, "_run_block", counted)
    ran.clear()
    # Names, not places, tell the methods apart.
    turned = dict(reversed(methods.items()))
    again = bootstrap(turned, data.X, data.y, **options)["m"]
    assert ran[0] == 2
    assert_array_equal(again.replicates, whole.replicates)
    ran.clear()
    bootstrap(methods, data.X, data.y, **options)
    assert ran == []
    # More resamples: only the block that was cut short, and new ones.
    options["n_resamples"] = 230
    more = bootstrap(methods, data.X, data.y, **options)["m"]
    assert ran == [3]
    assert_allclose(more.replicates[:200], whole.replicates, atol=1e-12)


def test_inner_resamples_and_the_file_s_seed_are_kept(data, path, ran):
    options = dict(n_resamples=4, n_inner=3, checkpoint=path)
    first = bootstrap({"m": DirectScore()}, data.X, data.y, **options)["m"]
    ran.clear()
    # Without a seed the file's own is used; other layouts are the same data.
    X = Comparisons.from_battles(data.X)
    turned = X.with_rows(features_left=np.asfortranarray(X.features_left))
    again = bootstrap({"m": DirectScore()}, turned, data.y, **options)["m"]
    assert ran == []
    assert_array_equal(first.replicates, again.replicates)
    assert_array_equal(first.inner_covariances, again.inner_covariances)


def test_a_checkpoint_of_another_run_is_refused(data, path):
    X, y, m = data.X, data.y, {"m": DirectScore()}
    options = dict(n_resamples=2, random_state=0, checkpoint=path)
    bootstrap(m, X, y, **options)
    content = path.read_bytes()
    ridge = {"m": DirectScore(calibrator=JudgeCalibrator(LinearBias(alpha=0.1)))}
    renamed = X.replace("model-01", "another")
    for differs, methods, rows, outcomes, other in (
        ("methods or settings", {"m": JointBTL()}, X, y, {}),
        ("methods or settings", ridge, X, y, {}),
        ("methods or settings", {"n": DirectScore()}, X, y, {}),
        ("data", m, X, 1 - y, {}),
        ("data", m, renamed, y, {}),
        ("data", m, X, y, {"sample_weight": np.full(len(y), 2.0)}),
        ("data", m, X, y, {"groups": np.arange(len(y)) // 2}),
        ("seed", m, X, y, {"random_state": 1}),
        ("n_inner", m, X, y, {"n_inner": 2}),
        ("tol", m, X, y, {"tol": 1e-6}),
        ("batched", m, X, y, {"batched": False}),
    ):
        with pytest.raises(ValueError, match=f"another run, with other .*{differs}"):
            bootstrap(methods, rows, outcomes, **{**options, **other})
        assert path.read_bytes() == content


def test_a_checkpoint_of_other_new_models_is_refused(data, path):
    options = dict(n_resamples=2, random_state=0, checkpoint=path)
    one, two = (
        Comparisons.from_battles(data.X, new_models=new)
        for new in (["new-model"], ["new-model", "model-01"])
    )
    bootstrap({"m": DirectScore()}, one, data.y, **options)
    with pytest.raises(ValueError, match="with other roles of models and judges;"):
        bootstrap({"m": DirectScore()}, two, data.y, **options)


def test_a_checkpoint_of_another_version_is_refused(data, path, monkeypatch):
    options = dict(n_resamples=2, random_state=0, checkpoint=path)
    bootstrap({"m": DirectScore()}, data.X, data.y, **options)
    monkeypatch.setattr(np, "__version__", "99.0")
    with pytest.raises(ValueError, match="with other versions of skanchor and NumPy"):
        bootstrap({"m": DirectScore()}, data.X, data.y, **options)


REFUSED = r"is damaged: |no (whole )?bootstrap checkpoint|has format|was written"


def test_damaged_bytes_are_refused(data, path):
    options = dict(n_resamples=2, random_state=0, checkpoint=path)
    bootstrap({"m": DirectScore()}, data.X, data.y, **options)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    ends = [whole[:-1], whole + b"\0", whole[: len(whole) // 2], b""]
    flips = []
    for places in rng.integers(len(whole), size=(40, 3)):
        bad = bytearray(whole)
        for place in np.unique(places):
            bad[place] ^= 1 << rng.integers(8)
        flips.append(bytes(bad))
    for bad in ends + flips:
        path.write_bytes(bad)
        with pytest.raises(
            ValueError,
            match=REFUSED,
        ):
            bootstrap({"m": DirectScore()}, data.X, data.y, **options)
        assert path.read_bytes() == bad


class Bomb:
    """What runs code when it is loaded."""

    def __reduce__(self):
        return (os.mkdir, (os.environ["BOMB"],))


def test_pickles_are_never_opened(data, path, tmp_path, monkeypatch):
    monkeypatch.setenv("BOMB", str(tmp_path / "exploded"))
    options = dict(n_resamples=2, random_state=0, checkpoint=path)
    for dump in (joblib.dump, lambda bomb, at: at.write_bytes(pickle.dumps(bomb))):
        dump(Bomb(), path)
        with pytest.raises(ValueError, match="is a pickle, no bootstrap checkpoint"):
            bootstrap({"m": DirectScore()}, data.X, data.y, **options)
    assert not (tmp_path / "exploded").exists()
    path.write_text("not a checkpoint")
    with pytest.raises(ValueError, match="is no bootstrap checkpoint"):
        bootstrap({"m": DirectScore()}, data.X, data.y, **options)


def test_two_runs_do_not_share_a_file(data, path, ran, monkeypatch):
    options = dict(n_resamples=2, checkpoint=path)
    counted = engine._run_block

    def while_another_begins(problem, number, size):
        monkeypatch.setattr(engine, "_run_block", counted)
        path.unlink()
        bootstrap({"m": JointBTL()}, data.X, data.y, random_state=1, **options)
        return counted(problem, number, size)

    monkeypatch.setattr(engine, "_run_block", while_another_begins)
    with pytest.raises(ValueError, match="has been changed while this run used it"):
        bootstrap({"m": DirectScore()}, data.X, data.y, random_state=0, **options)
    # It is still the other's.
    bootstrap({"m": JointBTL()}, data.X, data.y, random_state=1, **options)


def test_what_cannot_be_kept_is_told_before_the_work(data, path, ran):
    options = dict(n_resamples=2, checkpoint=path)
    absent = path.parent / "absent" / "refits"
    with pytest.raises(OSError, match="absent"):
        bootstrap({"m": DirectScore()}, data.X, data.y, checkpoint=absent)
    squares = FunctionTransformer(lambda values: values**2)
    odd = {"m": DirectScore(calibrator=JudgeCalibrator(LinearBias(squares)))}
    with pytest.raises(TypeError, match="Give functions of a module rather than lamb"):
        bootstrap(odd, data.X, data.y, **options)
    assert ran == []
    assert not path.exists()
