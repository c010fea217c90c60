"""Threads of BLAS are limited while small fits run, and are then as before."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from skanchor import AnchorHistory, AnchorPipeline, JudgeCalibrator
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
