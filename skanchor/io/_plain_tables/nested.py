"""Objects in cells of JSON: their fields become columns, one level deep."""

from __future__ import annotations

import re

import pandas as pd

from skanchor.io._plain_tables.names import (
    JUDGES,
    OUTCOMES,
    PEOPLE,
    PROMPTS,
    SIDES,
    candidates,
    name_key,
    side_pairs,
)

__all__ = ["flattened", "with_two_models"]

_PAIRS = frozenset("pair models matchup match battle comparison".split())
"""Keys of columns whose cells may name both models."""

_BETWEEN = re.compile(r"\s+vs?\.?\s+|\s*[;|]\s*", re.IGNORECASE)
"""What stands between two models."""

_KNOWN = OUTCOMES | JUDGES | PEOPLE | PROMPTS[0] | {*SIDES, *SIDES.values()}


def flattened(raw: pd.DataFrame) -> pd.DataFrame:
    """Table in which the fields of objects are columns.

    A field has its own name where that is known and no other column has it, as in
    ``{"pair": {"a": "x", "b": "y"}}``; else that of the object comes before it, as in
    ``{"judge": {"name": "gpt-4"}}``.

    Parameters
    ----------
    raw : DataFrame
        Table as it is in the file.

    Returns
    -------
    DataFrame
        The same table if no column holds objects alone.
    """
    nested = [name for name in raw.columns if _are_objects(raw[name])]
    if not nested:
        return raw
    parts = {
        name: pd.DataFrame.from_records(raw[name].tolist(), index=raw.index)
        for name in nested
    }
    fields = [field for part in parts.values() for field in part]
    taken = {*raw.columns} - {*nested}
    for name, part in parts.items():
        own = {
            field
            for field in part
            if name_key(field) in _KNOWN
            and fields.count(field) == 1
            and field not in taken
        }
        part.columns = [f if f in own else f"{name}_{f}" for f in part]
    whole = pd.concat([raw.drop(columns=nested), *parts.values()], axis=1)
    return whole.loc[:, ~whole.columns.duplicated()]


def with_two_models(raw: pd.DataFrame) -> pd.DataFrame:
    """Table with a column for each model, where one holds both.

    Cells are texts such as ``owl vs elk``, or lists of two names.

    Parameters
    ----------
    raw : DataFrame
        The table.

    Returns
    -------
    DataFrame
        The same table if there are columns of two models, or no such cells.
    """
    names = [str(name) for name in raw.columns]
    if side_pairs(names):
        return raw
    for name in candidates(names, _PAIRS):
        parts = raw[name]
        if not all(isinstance(cell, list) for cell in parts):
            parts = parts.astype("str").str.split(_BETWEEN, regex=True)
        if len(parts) and all(len(part) == 2 for part in parts):
            rest = raw.drop(columns=[name, *({"model_a", "model_b"} & {*names})])
            return rest.assign(model_a=parts.str[0], model_b=parts.str[1])
    return raw


def _are_objects(column: pd.Series) -> bool:
    """Whether each cell holds an object."""
    return column.dtype == object and all(isinstance(cell, dict) for cell in column)
