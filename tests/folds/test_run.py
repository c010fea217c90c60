"""The loop over a plan: order of its jobs, threads of its workers."""

import joblib
from threadpoolctl import threadpool_info, threadpool_limits

from skanchor._crossfit.parallel import run_plan


def _blas_threads():
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return max((pool["num_threads"] for pool in pools), default=1)


def test_workers_that_are_threads_share_the_cores():
    before = _blas_threads()
    with joblib.parallel_config("threading"):
        inside = run_plan(_blas_threads, [()] * 4, n_jobs=2)
    assert max(inside) <= max(1, joblib.cpu_count() // 2)
    assert _blas_threads() == before


def test_one_worker_keeps_the_threads_that_it_is_given():
    with threadpool_limits(1, user_api="blas"), joblib.parallel_config("threading"):
        assert run_plan(_blas_threads, [()] * 2, n_jobs=1) == [1, 1]
