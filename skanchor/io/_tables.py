"""Tables as they were read, one or several, before a mapping says what they hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skanchor._battles import HUMAN, as_frame
from skanchor.io._tools import Tool, tool_of
from skanchor.io._words import names_in_role, value_key

FILE = "(file)"
"""Column of the names of files, of rows whose file has no column of judges."""


@dataclass(frozen=True)
class Table:
    """A table that was read.

    Attributes
    ----------
    frame : DataFrame
        Its rows.
    source : str
        Its files and flags, as a command names them.
    format : str
        Name of the tool that wrote it, or "table".
    tool : Tool or None
        What is known about its columns and outcomes.
    is_counted : bool
        Whether rows are counted by a column ``count``.
    twice : set of str
        Names that several of its files have.
    drop_invalid : bool
        Whether failed verdicts are left out unasked.
    """

    frame: pd.DataFrame
    source: str = "table"
    format: str = "table"
    tool: Tool | None = None
    is_counted: bool = False
    twice: frozenset[str] = frozenset()
    drop_invalid: bool = False

    @property
    def files(self) -> str:
        """Its files, for messages."""
        return self.source.partition(" --")[0]


def as_table(
    frame: Any, format: str = "auto", stem: str = "table", **more: Any
) -> Table:
    """A table as it was read, with columns for all that its tool says.

    Rows without a column of judges are by the judge that the name of the file says.
    """
    if isinstance(frame, Table):
        return frame
    opened = as_frame(frame)
    if opened is None:
        raise TypeError(
            f"A mapping needs a pandas, polars or pyarrow table, got "
            f"{type(frame).__name__}."
        )
    raw = frame if isinstance(frame, pd.DataFrame) else opened.to_pandas()
    raw = raw.set_axis([*map(str, raw.columns)], axis=1).reset_index(drop=True)
    tool = tool_of(raw, format)
    raw = raw if tool is None else tool.prepared(raw)
    is_of_people = tool is not None and tool.is_of_people
    has_judge = any(names_in_role(raw.columns, role) for role in ("judge", "kind"))
    if is_of_people or not has_judge:
        raw[FILE] = constant(HUMAN if is_of_people else stem, len(raw))
    return Table(raw, format=tool.name if tool else "table", tool=tool, **more)


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
    lacks = {n: value for n, value in lacks.items() if any(n in f for f in frames)}
    parts = []
    for frame in frames:
        part = frame.assign(**{n: frame.get(n, value) for n, value in lacks.items()})
        coded = part.select_dtypes("category").columns
        parts.append(part.astype(dict.fromkeys(coded, object)))
    return pd.concat(parts, ignore_index=True)


def recoded(column: pd.Series, new: Callable[[Any], Any]) -> pd.Series:
    """Column with another value in place of each distinct one; null stays null."""
    codes, labels = pd.factorize(column)
    values = np.array([*map(new, labels), None], dtype=object)
    return pd.Series(values[codes], index=column.index, name=column.name)


def relabelled(column: pd.Series, new: Callable[[str], str | None]) -> pd.Series:
    """Column with other labels, as codes; the same one if all are text already.

    Blanks around labels are dropped, and empty ones become null.
    """
    codes, labels = pd.factorize(column)
    keys = map(value_key, labels)
    texts = [(new(key) or None) if key else None for key in keys]
    if texts == list(labels) and column.dtype != object:
        return column
    distinct = pd.Index(dict.fromkeys(text for text in texts if text is not None))
    at = np.array([*distinct.get_indexer(pd.Index(texts)), -1])
    made = pd.Categorical.from_codes(at[codes], distinct)
    return pd.Series(made, index=column.index, name=column.name)


def as_text(column: pd.Series) -> pd.Series:
    """Column of text instead of categories."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column
    labels = pd.array(list(column.cat.categories), dtype="str")
    texts = labels.take(column.cat.codes.to_numpy(), allow_fill=True)
    return pd.Series(texts, index=column.index, name=column.name)
