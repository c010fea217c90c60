"""Parquet."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from skanchor.io._format import Format, to_pandas

__all__ = ["PARQUET"]


def _read_parquet(path: Path) -> pd.DataFrame:
    from pyarrow import parquet

    # Not read_table, which takes columns from the names of folders too.
    with parquet.ParquetFile(path) as file:
        return to_pandas(file.read())


# Parquet compresses by itself.
PARQUET = Format("Parquet", (".parquet", ".pq"), _read_parquet, gzipped=False)
