"""Parquet, and Arrow's own file format Feather."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from skanchor.io._format import CODED, Format, to_pandas
from skanchor.io._source import Source

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile


def _read_parquet(
    source: Source,
    encoding: str | None,
    drop_invalid: bool,
    kept: Collection[str] = (),
) -> pd.DataFrame:
    from pyarrow import parquet

    # ``read_table`` would also make columns of the names of folders.
    with source.open() as opened, parquet.ParquetFile(opened) as file:
        coded = _coded_texts(file)
        reader = parquet.ParquetFile(
            opened, metadata=file.metadata, read_dictionary=coded
        )
        return to_pandas(reader.read(), coded, kept)


def _coded_texts(file: ParquetFile) -> list[str]:
    """Names of columns of text that the file holds mostly as codes of a dictionary.

    Read as codes, they take a fifth of the time. Columns of texts of their own would
    take longer.
    """
    texts = {
        field.name
        for field in file.schema_arrow
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
    }
    size: dict[str, int] = dict.fromkeys(texts, 0)
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        for at in range(group.num_columns):
            column = group.column(at)
            if column.path_in_schema in size:
                size[column.path_in_schema] += column.total_uncompressed_size
    # Each text in full takes four bytes for its length alone.
    return [name for name, taken in size.items() if taken < 4 * file.metadata.num_rows]


def _read_feather(
    source: Source, encoding: str | None, drop_invalid: bool
) -> pd.DataFrame:
    from pyarrow import feather

    with source.open() as file:
        return to_pandas(feather.read_table(file))


# Both formats have a compression of their own.
_binary = partial(Format, packed=False, is_encoded=False)
PARQUET = _binary(
    "Parquet",
    (".parquet", ".pq"),
    _read_parquet,
    read_codes=partial(_read_parquet, kept=CODED),
)
FEATHER = _binary("Feather", (".feather", ".arrow"), _read_feather)
