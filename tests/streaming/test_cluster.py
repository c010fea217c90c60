"""The same sums from a cluster of several workers, one of which is killed."""

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

from skanchor.streaming import StreamOptions, stream_history

distributed = pytest.importorskip("distributed")
dataframe = pytest.importorskip("dask.dataframe")

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


def test_a_worker_is_killed_and_nothing_changes(stored):
    alone = streamed(stored)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
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
    assert_array_equal(sums_of(found.stored), sums_of(alone.stored))


def test_threads_of_a_pool(stored):
    alone = streamed(stored)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        found = streamed(stored)
    assert_array_equal(sums_of(found.stored), sums_of(alone.stored))


def test_a_dask_frame_is_a_stream():
    table = tables()[0].drop(columns=["times", "importance"])
    edges = np.arange(0, len(table), 500)
    pieces = [table.iloc[i : i + 500] for i in edges]
    frame = dataframe.from_pandas(table, npartitions=6, sort=False)
    assert_allclose(
        sums_of(streamed(frame).stored),
        sums_of(streamed(pieces).stored),
        rtol=1e-9,
        atol=1e-9,
    )
