"""Rows of more than two models: a column for each place, or the best of those shown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._plain_tables import terms
from skanchor.io._plain_tables.names import (
    candidates,
    name_key,
    pairs_called,
    side_pairs,
    words_of,
)
from skanchor.io._plain_tables.ratings import is_numeric

_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_PLACE = re.compile(r"(?:rank|ranked|place|placed|top)?(\d+)(?:st|nd|rd|th)?(?:place)?")
"""Key of a column of the models in one place, such as "1st" and "rank_2"."""

_SEPARATOR = re.compile(r"\s*[,;|]\s*")

_RANKING = "ranked best to worst"
"""Name of the column that is made of places."""


def with_places(raw: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Table with one column of rankings where there is a column for each place.

    Parameters
    ----------
    raw : DataFrame
        The table.

    Returns
    -------
    table : DataFrame
        The same table if there are no such columns.
    says : list of str
        What was assumed, in words.
    """
    names = list(raw.columns)
    places = {place: n for n in names if (place := _place(n)) is not None}
    columns = [places[place] for place in sorted(places)]
    if sorted(places) != [*range(1, len(places) + 1)] or len(places) < 2:
        return raw, []
    if candidates(names, terms.OUTCOMES) or any(
        is_numeric(raw[name]) for name in columns
    ):
        return raw, []
    if len(columns) == 2 and side_pairs(columns):
        return raw, []
    cells = raw[columns].map(lambda cell: "" if _is_blank(cell) else str(cell).strip())
    models = {*cells[columns[0]]} & {*cells[columns[1]]} - {""}
    if not models:
        return raw, []
    ranked = [" > ".join(filter(None, row)) for row in cells.to_numpy().tolist()]
    said = f"{columns[0]!r} holds the best model of a row, {columns[1]!r} the next one"
    return raw.drop(columns=columns).assign(**{_RANKING: ranked}), [said]


def with_best_of_shown(raw: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Table of pairs where each row names the best of three or more models.

    The best one has won against all others that were shown, and these have won against
    the worst one, if it is named.

    Parameters
    ----------
    raw : DataFrame
        The table.

    Returns
    -------
    table : DataFrame
        The same table if there are no such rows.
    says : list of str
        What was assumed, in words.

    Raises
    ------
    BattlesError
        If a model that is named best or worst was not shown in that row.
    """
    found = _best_and_worst(raw)
    # Where two models stand in a row, a list of more says nothing of the outcome.
    if found is None or side_pairs(raw.columns):
        return raw, []
    best, worst = found
    shown = _shown(raw, [name for name in found if name is not None])
    if shown is None:
        return raw, []
    columns, cells = shown
    size = cells.map(len)
    rows = np.repeat(np.arange(len(raw)), size)
    others = np.concatenate([np.empty(0, dtype=object), *cells])
    first = raw[best].to_numpy(dtype=object)[rows]
    parts = [(rows, first, others)]
    if worst is not None:
        last = raw[worst].to_numpy(dtype=object)[rows]
        middle = others != first
        parts.append((rows[middle], others[middle], last[middle]))
    rest = raw.drop(columns=[*columns, best, *([worst] if worst else [])])
    if not candidates(rest.columns, terms.ALL_PROMPTS):
        rest = rest.assign(prompt_id=[f"row {n}" for n in range(len(rest))])
    tables = [
        rest.iloc[at[won != lost]].assign(
            model_a=won[won != lost], model_b=lost[won != lost], winner="model_a"
        )
        for at, won, lost in parts
    ]
    table = pd.concat(tables).sort_index(kind="stable").reset_index(drop=True)
    listed = " and ".join(map(repr, columns))
    said = f"{best!r} has won against all others in {listed}"
    said += f", and these against {worst!r}" if worst else ""
    return table.assign(shown_first=None), [said]


def _place(name: str) -> int | None:
    """Place that a column is about, from 1; None for other columns."""
    key = name_key(name)
    if key in _ORDINALS or key.removesuffix("place") in _ORDINALS:
        return _ORDINALS.index(key.removesuffix("place")) + 1
    found = _PLACE.fullmatch(key)
    return int(found[1]) if found and not key.isdigit() else None


def _is_blank(cell: Any) -> bool:
    return cell is None or cell != cell or not str(cell).strip()


def _best_and_worst(raw: pd.DataFrame) -> tuple[str, str | None] | None:
    """Columns of the best model of a row, and of the worst one; None without any."""
    pairs = pairs_called(raw.columns, terms.WON_AND_LOST)
    if pairs:
        return pairs[0]
    found = candidates(raw.columns, terms.OUTCOMES)
    return (found[0], None) if len(found) == 1 else None


def _shown(
    raw: pd.DataFrame, named: Iterable[str]
) -> tuple[list[str], pd.Series] | None:
    """Columns of the models that were shown, and these by row; None for pairs."""
    named = list(named)
    texts = raw[named].astype("str").apply(lambda column: column.str.strip())
    if raw[named].isna().any(axis=None) or len(raw) == 0:
        return None
    for name in raw.columns:
        if name in named or {*words_of(name)} & _TEXTS:
            continue
        parts = _lists(raw[name])
        if parts is None or parts.map(len).max() < 3:
            continue
        inside = [
            {*row} <= {*part}
            for row, part in zip(texts.to_numpy().tolist(), parts, strict=True)
        ]
        if all(inside):
            return [name], parts
        if sum(inside) > 0.5 * len(inside):
            row = inside.index(False)
            raise BattlesError(
                f"Row {row} names {' and '.join(map(repr, texts.iloc[row]))} in "
                f"{' and '.join(map(repr, named))}, which are not all among "
                f"{parts.iloc[row]} in {name!r}. Correct or leave out such rows: there "
                f"are {len(inside) - sum(inside)}."
            )
    return None


_TEXTS = frozenset(
    "prompt question instruction query text response output rank ranks ranked ranking "
    "rankings order".split()
)
"""Words of names of columns of texts, and of lists that stand in an order."""


def _lists(column: pd.Series) -> pd.Series | None:
    """Lists of names in the cells of a column; None if it holds others."""
    head = column.head(20).tolist()
    if head and all(isinstance(cell, list) for cell in head):
        lists = column.map(lambda cell: cell if isinstance(cell, list) else [])
    elif head and all(isinstance(c, str) and _SEPARATOR.search(c) for c in head):
        lists = column.map(lambda cell: _SEPARATOR.split(str(cell).strip()))
    else:
        return None
    plain = [[str(each).strip() for each in cell] for cell in lists]
    return pd.Series(plain, index=column.index, dtype=object)
