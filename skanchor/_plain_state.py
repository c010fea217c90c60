"""State without pandas, so that whatever keeps estimators needs to know only arrays.

Formats that load no code, such as skops, take arrays and plain containers, and refuse
pandas. Objects that hold tables keep them as arrays in their state.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd

__all__ = ["PlainState"]

_MARK = "pandas"
"""Key of a state that stands for a table."""


class PlainState:
    """Tables among its attributes are arrays in the state that is pickled."""

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
        # A copy shares what it holds, and has no need of another form.
        twin = type(self).__new__(type(self))
        vars(twin).update(vars(self))
        return twin


def _without_tables(value: Any) -> Any:
    """A table as arrays; all else as it is, but for dicts of tables."""
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
    return value


def _restored(value: Any) -> Any:
    """The table that :func:`_plain` made arrays of."""
    if type(value) is not dict:
        return value
    kind = value.get(_MARK) if isinstance(value.get(_MARK), str) else None
    if kind == "DataFrame":
        index = _to_index(value["index"])
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
    is_numeric = isinstance(column.dtype, np.dtype) and column.dtype.kind != "O"
    values = column.to_numpy() if is_numeric else column.to_numpy(dtype=object)
    return {"values": values, "dtype": str(column.dtype)}


def _of_index(index: pd.Index) -> dict[str, Any]:
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
