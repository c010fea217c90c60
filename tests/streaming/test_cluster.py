"""The same numbers from a cluster of several workers, one of which is killed."""

import os
import signal
import threading
import time

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from streams import anchor_of, sums_of, tables

from skanchor import AnchorPipeline
from skanchor.simulation import simulate_battles
from skanchor.streaming import StreamOptions, stream_history

# Of the cluster's own, while a worker dies.
pytestmark = pytest.mark.filterwarnings("ignore")


def streamed(data, **settings):
    options = StreamOptions(job_rows=300)
    return stream_history(data, anchor_of(**settings), options=options)


@pytest.fixture
def stored(tmp_path):
    table = pa.Table.from_pandas(tables()[0].drop(columns=["times", "importance"]))
    path = tmp_path / "all.parquet"
    pq.write_table(table, path, row_group_size=300)
    return path


def test_threads_of_a_pool(stored):
    alone = streamed(stored)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        found = streamed(stored)
    assert_array_equal(sums_of(found.state), sums_of(alone.state))


def test_a_dask_frame_is_a_stream():
    table = tables()[0].drop(columns=["times", "importance"])
    edges = np.arange(0, len(table), 500)
    pieces = [table.iloc[i : i + 500] for i in edges]
    dataframe = pytest.importorskip("dask.dataframe")
    frame = dataframe.from_pandas(table, npartitions=6, sort=False)
    assert_allclose(
        sums_of(streamed(frame).state),
        sums_of(streamed(pieces).state),
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.fixture(scope="module")
def client():
    """A cluster of two workers, whose client joblib takes for its backend "dask"."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_fit_on_a_cluster_is_that_of_this_process(client):
    data = simulate_battles(
        n_models=5, n_judges=2, n_new=120, n_historical=900, random_state=0
    )
    anchor = AnchorPipeline(cv=4, random_state=0)
    alone = anchor.fit(data.X, data.y).result_
    with joblib.parallel_config(backend="dask"):
        assert len(client.scheduler_info()["workers"]) == 2
        found = anchor.fit(data.X, data.y).result_
    for name in ("estimates", "covariances", "influence"):
        assert_array_equal(getattr(found, name), getattr(alone, name))


def test_a_worker_is_killed_and_nothing_changes(client, stored):
    alone = streamed(stored)
    with joblib.parallel_config(backend="dask"):
        first, *_ = client.run(os.getpid).values()
        killed = threading.Event()

        def kill():
            time.sleep(0.5)
            os.kill(first, signal.SIGKILL)
            killed.set()

        thread = threading.Thread(target=kill)
        thread.start()
        found = streamed(stored, n_jobs=-1)
        thread.join()
        assert killed.is_set()
        assert first not in client.run(os.getpid).values()
    assert_array_equal(sums_of(found.state), sums_of(alone.state))
