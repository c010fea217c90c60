"""Parquet, and Arrow's own file format Feather."""

from __future__ import annotations

import pandas as pd

from skanchor.io._format import Format, to_pandas
from skanchor.io._source import Source

__all__ = ["FEATHER", "PARQUET"]


def _read_parquet(
    source: Source, encoding: str | None, drop_invalid: bool
) -> pd.DataFrame:
    from pyarrow import parquet

    # ``read_table`` would also make columns of the names of folders.
    with source.open() as opened, parquet.ParquetFile(opened) as file:
        return to_pandas(file.read())


def _read_feather(
    source: Source, encoding: str | None, drop_invalid: bool
) -> pd.DataFrame:
    from pyarrow import feather

    with source.open() as file:
        return to_pandas(feather.read_table(file))


# Both formats have a compression of their own.
_BINARY = {"packed": False, "is_encoded": False}
PARQUET = Format("Parquet", (".parquet", ".pq"), _read_parquet, **_BINARY)
FEATHER = Format("Feather", (".feather", ".arrow"), _read_feather, **_BINARY)
