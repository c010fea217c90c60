"""What a fit takes of the machine: its free memory, and threads of BLAS.

These are limited while small fits run, and are then as before.
"""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from skanchor import AnchorHistory, AnchorPipeline, JudgeCalibrator
from skanchor import _machine as machine
from skanchor._machine import limited_threads
from skanchor.bias import LinearBias
from skanchor.simulation import simulate_battles


def n_threads():
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return max((pool["num_threads"] for pool in pools), default=1)


@pytest.fixture
def four_threads():
    with threadpool_limits(4, user_api="blas"):
        if n_threads() < 2:
            pytest.skip("this BLAS has no threads")
        yield n_threads()


class Watched(LinearBias):
    """Counts the threads that a fit may use."""

    seen = ()

    def fit(self, *args, **kwargs):
        type(self).seen += (n_threads(),)
        return super().fit(*args, **kwargs)


def test_the_outer_limit_holds_and_ends(four_threads):
    with limited_threads(2):
        assert n_threads() == 2
        for inner in (1, 3, None):
            with limited_threads(inner):
                assert n_threads() == 2
    assert n_threads() == four_threads
    with pytest.raises(ZeroDivisionError), limited_threads(1):
        1 / 0  # noqa: B018
    assert n_threads() == four_threads


@pytest.mark.filterwarnings("ignore")
def test_small_fits_use_one_thread(four_threads):
    data = simulate_battles(n_historical=400, n_new=80, n_models=4, random_state=0)
    calibrator = JudgeCalibrator(Watched())
    anchor = AnchorPipeline(calibrator=calibrator, cv=2, item_effects=None)
    Watched.seen = ()
    anchor.fit(data.X, data.y)
    assert set(Watched.seen) == {1}
    assert n_threads() == four_threads
    new = (data.X[["model_a", "model_b"]] == "new-model").any(axis=1).to_numpy()
    Watched.seen = ()
    AnchorHistory(anchor).fit(data.X[~new], data.y[~new])
    assert set(Watched.seen) == {1}
    assert n_threads() == four_threads


@pytest.fixture
def reported(tmp_path, monkeypatch):
    """Files of a Linux that says so."""

    def tell(meminfo=None, limit=None):
        for name, text in (("_MEMINFO", meminfo), ("_LIMIT", limit)):
            path = tmp_path / name
            if text is not None:
                path.write_text(text)
            monkeypatch.setattr(machine, name, path)

    return tell


def test_what_is_available_and_the_limit_of_a_container(reported):
    reported("MemTotal: 9 kB\nMemAvailable:      7 kB\n", "max\n")
    assert machine.available_bytes() == 7 * 1024
    reported("MemAvailable: 7 kB\n", "1000\n")
    assert machine.available_bytes() == 1000


def test_elsewhere_all_of_the_machine_or_a_constant(reported, monkeypatch):
    reported()
    pages = {"SC_PHYS_PAGES": 10, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(machine.os, "sysconf", pages.__getitem__, raising=False)
    assert machine.available_bytes() == 40960
    monkeypatch.delattr(machine.os, "sysconf")
    assert machine.available_bytes() == machine.ASSUMED
