"""What one cell holds: objects of JSON, both models, a text that ends in a verdict."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from skanchor.io._plain_tables import terms
from skanchor.io._plain_tables.names import candidates, name_key, side_pairs
from skanchor.io._plain_tables.sources import human_like, names_machine
from skanchor.io.columns import as_texts

_PAIRS = frozenset("pair models matchup match battle comparison".split())
"""Keys of columns whose cells may name both models."""

_DEEPEST = 8
"""Largest depth to which objects in cells are opened."""

_OF_PLACE = frozenset("slot position index idx id side order".split())
"""Keys of fields that say where a response stood, as its place in the list does."""

_VERDICT = re.compile(r"\[\[([AB][<>=]{1,2}[AB]|[ABC])\]\]")
"""A verdict as prompts of judges ask for it."""

_BETWEEN = re.compile(r"\s+vs?\.?\s+|\s*[;|]\s*", re.IGNORECASE)
"""What stands between two models."""

_REMARK = re.compile(r"\s*(\((?!\s*\w+\s*\))[^()]*\)|\[[^\[\]]*\])\s*$")
"""A remark of several words or signs behind a name; one word may be a side's mark."""

_KNOWN = terms.OUTCOMES | terms.WHO | terms.PROMPTS[0] | {*terms.SIDES}
_KNOWN |= {*terms.SIDES.values(), "prompt", "question", "instruction"}


def flattened(raw: pd.DataFrame) -> pd.DataFrame:
    """Table in which the fields of objects are columns, whatever their depth.

    A field has its own name where that is known and no other column has it, as in
    ``{"pair": {"a": "x", "b": "y"}}``; else that of the object comes before it, as in
    ``{"judge": {"name": "gpt-4"}}``. A list of one item in each row is that item, and
    two objects in a list, each with a model, are the sides.

    Parameters
    ----------
    raw : DataFrame
        Table as it is in the file.

    Returns
    -------
    DataFrame
        The same table if no column holds objects alone.
    """
    raw = _with_rows_of_verdicts(_with_last_parts(raw))
    given = {*raw.columns}
    for _ in range(_DEEPEST):
        raw = _with_lists(raw)
        # A list of one name in a column of the file is none of the fields in its cells.
        items = {
            str(name): item
            for name in raw
            if (item := _only_item(raw[name])) is not None
            and (name not in given or isinstance(item.iloc[0], dict))
        }
        raw = raw.assign(**items) if items else raw
        opened = {
            str(name): part for name in raw if (part := _opened(raw[name])) is not None
        }
        if not (items or opened):
            break
        raw = _with_fields(raw, opened)
    return raw


def with_verdicts(raw: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Table in which texts that end in a marked verdict are that verdict.

    Judges are often asked to end in ``[[A]]``, ``[[B]]`` or ``[[C]]``.

    Parameters
    ----------
    raw : DataFrame
        The table.

    Returns
    -------
    table : DataFrame
        The last mark stands in place of the text; a text without one is ``"error"``.
    says : list of str
        What was assumed, in words.
    """
    outcomes = candidates(raw.columns, terms.OUTCOMES)
    found = [n for n in raw.columns if _ends_in_verdicts(raw[n])]
    found = [name for name in found if name in outcomes or not outcomes]
    if len(found) != 1:
        return raw, []
    (name,) = found
    marks = raw[name].astype("str").str.findall(_VERDICT).str[-1]
    marks = marks.fillna("error").mask(raw[name].isna())
    new = name if outcomes else "verdict"
    said = f"the verdict is the last mark, such as [[A]], in {name!r}"
    return raw.assign(**{name: marks}).rename(columns={name: new}), [said]


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
    names = list(raw.columns)
    if side_pairs(names):
        return raw
    for name in candidates(names, _PAIRS):
        parts = raw[name]
        if not all(isinstance(cell, list) for cell in parts):
            parts = as_texts(parts).str.split(_BETWEEN, regex=True)
        if parts.notna().any() and all(len(part) == 2 for part in parts.dropna()):
            rest = raw.drop(columns=[name, *({"model_a", "model_b"} & {*names})])
            return rest.assign(model_a=parts.str[0], model_b=parts.str[1])
    return raw


def _with_rows_of_verdicts(raw: pd.DataFrame) -> pd.DataFrame:
    """Table with a row for each verdict, where a column holds lists of them.

    A verdict is an object that says who decided, and what.
    """
    raw = _with_lists(raw)
    found = [str(name) for name in raw if _lists_verdicts(raw[name])]
    return raw.explode(found[0], ignore_index=True) if len(found) == 1 else raw


def _lists_verdicts(column: pd.Series) -> bool:
    """Whether all cells are lists of objects with a judge and an outcome in each."""
    cells = _objects(column)
    if not cells or not all(isinstance(cell, list) and cell for cell in cells):
        return False
    items = [item for cell in cells for item in cell]
    if not all(isinstance(item, dict) for item in items):
        return False
    shared = [str(key) for key in set.intersection(*({*item} for item in items))]
    return bool(candidates(shared, terms.WHO) and candidates(shared, terms.OUTCOMES))


def _with_lists(raw: pd.DataFrame) -> pd.DataFrame:
    """Table whose lists are lists, not arrays as of Parquet."""
    found = {
        str(name): raw[name].map(lambda c: c.tolist() if _is_array(c) else c)
        for name in raw
        if raw[name].dtype == object and raw[name].head(20).map(_is_array).any()
    }
    return raw.assign(**found) if found else raw


def _is_array(cell: object) -> bool:
    return isinstance(cell, np.ndarray)


def _with_last_parts(raw: pd.DataFrame) -> pd.DataFrame:
    """Table whose columns have known names without what stands around these.

    ``pair.model_a`` of a tool that flattens fields is ``model_a``, and ``Score (1-10)``
    is ``Score``, where no other column has that name.
    """
    names = list(raw.columns)
    stems = [_before_signs(name) for name in names]
    plain = {
        name: name if stems.count(stem) > 1 else _without_remark(name)
        for name, stem in zip(names, stems, strict=True)
    }
    last = {
        name: part if part != name else re.split(r"[./]|::", name)[-1].strip()
        for name, part in plain.items()
    }
    taken = [*last.values()]
    named = {
        name: part
        for name, part in last.items()
        if name != part
        and name_key(part) in _KNOWN | terms.SCORES
        and taken.count(part) == 1
    }
    return raw.rename(columns=named) if named else raw


def _before_signs(name: str) -> str:
    """Part of a name before its first bracket, by which columns may differ alone."""
    return re.split(r"[(\[]", name)[0].strip()


def _without_remark(name: str) -> str:
    """Name without a remark behind it, unless this names people or an LLM."""
    found = _REMARK.search(name)
    if found is None:
        return name
    remark = found[0].strip(" ()[]")
    named = human_like([remark]) or names_machine(remark)
    return name if named and "=" not in remark else name[: found.start()]


def _with_fields(raw: pd.DataFrame, parts: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Table with the fields of some columns in place of these."""
    fields = [field for part in parts.values() for field in part]
    taken = {*raw.columns} - {*parts}
    named = {}
    for name, part in parts.items():
        own = {
            field
            for field in part
            if name_key(field) in _KNOWN
            and fields.count(field) == 1
            and field not in taken
        }
        columns = [field if field in own else f"{name}_{field}" for field in part]
        named[name] = part.set_axis(columns, axis=1)
    whole = pd.concat([raw.drop(columns=[*parts]), *named.values()], axis=1)
    return whole.loc[:, ~whole.columns.duplicated()]


def _objects(column: pd.Series) -> list[Any]:
    """Cells of a column that may hold lists or objects; none of other columns."""
    return column.tolist() if column.dtype == object else []


def _only_item(column: pd.Series) -> pd.Series | None:
    """The only items of lists, where each cell is a list of one item; else None."""
    cells = _objects(column)
    if not cells or not all(isinstance(c, list) and len(c) == 1 for c in cells):
        return None
    return pd.Series([cell[0] for cell in cells], index=column.index, dtype=object)


def _opened(column: pd.Series) -> pd.DataFrame | None:
    """Fields of the object in each cell, or of two that each have a model; else None.

    Those of two objects have the mark of their side.
    """
    cells = _objects(column)
    if not cells:
        return None
    # Rows of another kind may lack an object, and so its fields.
    missing = column.isna().tolist()
    objects = [{} if none else cell for cell, none in zip(cells, missing, strict=True)]
    if not all(missing) and all(isinstance(cell, dict) for cell in objects):
        return pd.DataFrame.from_records(objects, index=column.index)
    if not all(
        isinstance(cell, list)
        and len(cell) == 2
        and all(isinstance(each, dict) for each in cell)
        for cell in cells
    ):
        return None
    sides = []
    for side, mark in enumerate("ab"):
        part = pd.DataFrame.from_records([c[side] for c in cells], index=column.index)
        names = list(part.columns)
        model = candidates(names, terms.MODELS) or candidates(names, {"name"})
        if len(model) != 1:
            return None
        part = part.drop(columns=candidates(names, _OF_PLACE))
        sides.append(part.rename(columns={model[0]: "model"}).add_suffix(f"_{mark}"))
    return pd.concat(sides, axis=1)


def _ends_in_verdicts(column: pd.Series) -> bool:
    """Whether a column holds texts of which most have a marked verdict in them."""
    head = column.dropna().head(50).tolist()
    if not head or not all(isinstance(cell, str) for cell in head):
        return False
    marked = sum(bool(_VERDICT.search(text)) for text in head)
    bare = all(_VERDICT.fullmatch(text.strip()) for text in head)
    return 2 * marked > len(head) and not bare
