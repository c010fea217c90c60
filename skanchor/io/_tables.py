"""Tables as they were read, one or several, before a mapping says what they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skanchor._battles import as_frame
from skanchor.io._tools import tool_of, without_failures
from skanchor.io._words import has_role, name_key

FILE = "(file)"
"""Column of the names of files, of rows whose file has no column of judges."""


@dataclass
class Table:
    """A table that was read.

    Attributes
    ----------
    frame : DataFrame
        Its rows; tools' files have standard names and outcomes.
    source : str
        Its files and flags, as a command names them.
    stem : str
        Name of its first file without a suffix.
    format : str
        Name of the tool that wrote it, or "table".
    trusted : bool
        Whether numbers among the outcomes are preferences for the first side.
    file_names : set of str
        Names of files without a column of judges.
    file_judges : set of str
        Names of files that are those of judges, as a tool wrote them.
    file_twice : set of str
        Names that several files have.
    drop_invalid : bool
        Whether failed verdicts are left out unasked.
    is_text : bool
        Whether numbers may be text, as in a CSV.
    counted : bool
        Whether rows are counted by a column ``count``.
    """

    frame: pd.DataFrame
    source: str = "table"
    stem: str = "table"
    format: str = "table"
    trusted: bool = False
    file_names: frozenset[str] = frozenset()
    file_judges: frozenset[str] = frozenset()
    file_twice: frozenset[str] = frozenset()
    drop_invalid: bool = False
    is_text: bool = False
    counted: bool = False

    @property
    def files(self) -> str:
        """Its files, for messages."""
        return self.source.partition(" --")[0]

    @property
    def file_column(self) -> str:
        """Name of the column of files."""
        return FILE


def as_table(frame: Any, format: str = "auto") -> Table:
    """A table in memory."""
    opened = as_frame(frame)
    if opened is None:
        raise TypeError(
            f"A mapping needs a pandas, polars or pyarrow table, got "
            f"{type(frame).__name__}."
        )
    raw = frame if isinstance(frame, pd.DataFrame) else opened.to_pandas()
    raw = raw.set_axis(list(map(str, raw.columns)), axis=1).reset_index(drop=True)
    tool = tool_of(raw, format)
    if tool is not None:
        raw = without_failures(tool.read(raw), "the table")
    if not names_judges(raw):
        raw = raw.assign(**{FILE: constant("table", len(raw))})
    return Table(raw, format=tool.name if tool else "table", trusted=tool is not None)


def names_judges(frame: pd.DataFrame) -> bool:
    """Whether a column may name who decided."""
    keys = list(map(name_key, frame.columns))
    return any(has_role(key, role) for key in keys for role in ("judge", "kind"))


def constant(label: str, n: int) -> Any:
    """Column of one label, which takes a byte in each row."""
    return pd.Categorical.from_codes(np.zeros(n, dtype=np.int8), pd.Index([label]))


def join_tables(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Rows of all tables; each means what it means in its own table."""
    if len(frames) == 1:
        return frames[0]
    # Where a table lacks a column, its rows have what the lack of it means: the first
    # model was shown first, a row is one comparison, no tie was a bad one.
    lacks: dict[str, Any] = {"shown_first": "model_a", "count": 1, "both_bad": False}
    for name, value in lacks.items():
        if any(name in frame for frame in frames):
            frames = [
                frame.assign(**{name: frame.get(name, value)}) for frame in frames
            ]
    texts = [
        {name: frame[name].astype(object) for name in frame.columns
         if isinstance(frame[name].dtype, pd.CategoricalDtype)}
        for frame in frames
    ]  # fmt: skip
    pairs = zip(frames, texts, strict=True)
    return pd.concat([f.assign(**columns) for f, columns in pairs], ignore_index=True)
