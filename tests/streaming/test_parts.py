"""Data sets as parts that any process can read."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from skanchor.streaming._parts import open_data


@pytest.mark.parametrize("several", [False, True])
def test_a_worker_that_was_started_elsewhere_finds_the_file(
    several, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pa.table({"a": [1, 2, 3]}), "rows.parquet")
    data = open_data(["rows.parquet"] if several else "rows.parquet")
    parts = list(data.parts())
    monkeypatch.chdir("/")
    read = [len(table) for part in parts for table in part.tables(None, 10)]
    assert read == [3]
