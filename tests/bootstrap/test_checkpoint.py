"""A run that was cut off goes on, and none that is another's."""

import joblib
import pytest
from numpy.testing import assert_allclose

import skanchor.bootstrap._refit as engine
from skanchor.baselines import (
    DirectScore,
    JointBTL,
)
from skanchor.bootstrap import bootstrap


def test_a_run_goes_on_where_it_was_cut_off(data, tmp_path, monkeypatch):
    path = tmp_path / "refits.joblib"
    options = dict(n_resamples=200, random_state=5)
    whole = bootstrap({"m": DirectScore()}, data.X, data.y, **options)["m"]
    blocks, run = [], engine._run_block

    def break_at_third(problem, number, size):
        if len(blocks) == 2:
            raise KeyboardInterrupt
        blocks.append(number)
        return run(problem, number, size)

    monkeypatch.setattr(engine, "_run_block", break_at_third)
    options["checkpoint"] = path
    with pytest.raises(KeyboardInterrupt):
        bootstrap({"m": DirectScore()}, data.X, data.y, **options)
    assert list(tmp_path.iterdir()) == [path]
    assert sorted(joblib.load(path)["blocks"]) == [0, 1]
    later = []
    monkeypatch.setattr(engine, "_run_block", lambda *job: (later.append(job[1]),
                                                            run(*job))[1])  # fmt: skip
    again = bootstrap({"m": DirectScore()}, data.X, data.y, **options)["m"]
    assert later[0] == 2
    assert_allclose(again.replicates, whole.replicates, atol=1e-12)
    later.clear()
    bootstrap({"m": DirectScore()}, data.X, data.y, **options)
    assert later == []
    # More resamples: only the block that was cut short, and new ones.
    options["n_resamples"] = 230
    more = bootstrap({"m": DirectScore()}, data.X, data.y, **options)["m"]
    assert later == [3]
    assert_allclose(more.replicates[:200], whole.replicates, atol=1e-12)


def test_a_checkpoint_of_something_else_is_refused(data, tmp_path):
    path = tmp_path / "refits.joblib"
    options = dict(n_resamples=2, checkpoint=path)
    first = bootstrap({"m": DirectScore()}, data.X, data.y, **options)["m"]
    # Without a seed the file's own is used.
    again = bootstrap({"m": DirectScore()}, data.X, data.y, **options)["m"]
    assert_allclose(first.replicates, again.replicates)
    with pytest.raises(ValueError, match="belongs to a run with other data"):
        bootstrap({"m": JointBTL()}, data.X, data.y, **options)
    with pytest.raises(ValueError, match="belongs to a run with other data"):
        bootstrap({"m": DirectScore()}, data.X, 1 - data.y, **options)
    with pytest.raises(ValueError, match="belongs to a run with other data"):
        bootstrap({"m": DirectScore()}, data.X, data.y, random_state=0, **options)
    path.write_text("not a checkpoint")
    with pytest.raises(ValueError, match="is not a checkpoint"):
        bootstrap({"m": DirectScore()}, data.X, data.y, **options)
