"""Pickled state without pandas: tables are stored as arrays and plain containers.

Formats that load no code, such as skops, accept arrays and plain containers, and refuse
pandas. Objects with tables among their attributes therefore store them as arrays.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd

_MARK = "pandas"
"""Key of a dict that stands for a pandas object; its value is the type."""


class PlainState:
    """Mixin: tables among the attributes become arrays in the pickled state."""

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: _without_tables(value) for name, value in (state or {}).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {name: _restored(value) for name, value in state.items()}
        inherited = getattr(super(), "__setstate__", None)
        if inherited is None:
            vars(self).update(state)
        else:
            inherited(state)

    def __copy__(self) -> Self:
        # A shallow copy shares the attributes, so tables need not be converted.
        twin = type(self).__new__(type(self))
        vars(twin).update(vars(self))
        return twin


def _without_tables(value: Any) -> Any:
    """A pandas object as a dict of arrays; dicts by value, all else unchanged."""
    if isinstance(value, pd.DataFrame):
        columns = [_of_values(value.iloc[:, k]) for k in range(value.shape[1])]
        return {
            _MARK: "DataFrame",
            "columns": columns,
            "labels": _of_index(value.columns),
            "index": _of_index(value.index),
        }
    if isinstance(value, pd.Series):
        index = _of_index(value.index)
        return {
            _MARK: "Series",
            **_of_values(value),
            "index": index,
            "name": value.name,
        }
    if isinstance(value, pd.Index):
        return {_MARK: "Index", "index": _of_index(value)}
    if type(value) is dict:
        return {key: _without_tables(one) for key, one in value.items()}
    # Tables within lists or other containers are not converted.
    return value


def _restored(value: Any) -> Any:
    """Inverse of :func:`_plain`."""
    if type(value) is not dict:
        return value
    # A dict of the user may have the key "pandas", too, with another value.
    kind = value.get(_MARK) if isinstance(value.get(_MARK), str) else None
    if kind == "DataFrame":
        index = _to_index(value["index"])
        # By number first, because labels of columns may repeat.
        columns = {
            k: pd.Series(one["values"], index=index, dtype=one["dtype"])
            for k, one in enumerate(value["columns"])
        }
        table = pd.DataFrame(columns, index=index)
        return table.set_axis(_to_index(value["labels"]), axis=1)
    if kind == "Series":
        index, dtype = _to_index(value["index"]), value["dtype"]
        return pd.Series(value["values"], index=index, dtype=dtype, name=value["name"])
    if kind == "Index":
        return _to_index(value["index"])
    return {key: _restored(one) for key, one in value.items()}


def _of_values(column: pd.Series | pd.Index) -> dict[str, Any]:
    """Values and dtype; pandas' own types, such as strings, become objects."""
    is_numeric = isinstance(column.dtype, np.dtype) and column.dtype.kind != "O"
    values = column.to_numpy() if is_numeric else column.to_numpy(dtype=object)
    return {"values": values, "dtype": str(column.dtype)}


def _of_index(index: pd.Index) -> dict[str, Any]:
    """Values and names of all levels; a plain index has one level."""
    levels = [index.get_level_values(k) for k in range(index.nlevels)]
    return {
        "levels": [_of_values(level) for level in levels],
        "names": list(index.names),
    }


def _to_index(state: dict[str, Any]) -> pd.Index:
    levels = [pd.Index(one["values"], dtype=one["dtype"]) for one in state["levels"]]
    if len(levels) > 1:
        return pd.MultiIndex.from_arrays(levels, names=state["names"])
    return levels[0].rename(state["names"][0])
