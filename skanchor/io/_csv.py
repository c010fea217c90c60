"""Text separated by commas or tabs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow as pa

from skanchor.io._format import Format, to_pandas

__all__ = ["CSV", "TSV"]


def _read_separated(path: Path, delimiter: str) -> pd.DataFrame:
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    # Everything as text: pyarrow guesses types from the first block of the file.
    with csv.open_csv(path, parse_options=parse) as head:
        names = head.schema.names
    table = csv.read_csv(
        path,
        parse_options=parse,
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )
    return to_pandas(table)


CSV = Format("CSV", (".csv",), partial(_read_separated, delimiter=","), is_text=True)
TSV = Format("TSV", (".tsv",), partial(_read_separated, delimiter="\t"), is_text=True)
