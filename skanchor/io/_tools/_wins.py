"""Tables of wins: one row has the counts of the outcomes of a pair."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._tools._cells import as_numbers
from skanchor.io._tools._reader import Options, Reader
from skanchor.io.columns import typed

_PAIR = frozenset({"model_a", "model_b"})
_LABELS = {*_PAIR, "judge", "prompt_id", "rater"}
_BY_SIDE, _OF_FIRST = ("wins_a", "wins_b"), ("wins", "losses")


def _read_wins(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    first, second = _BY_SIDE if set(_BY_SIDE) <= set(raw) else _OF_FIRST
    meant = {first: "model_a", second: "model_b", "ties": "tie"}
    rest = raw.drop(columns=[name for name in meant if name in raw])
    if _all_text(rest):
        # The table comes from a CSV, as text, but its features are numbers.
        rest = typed(rest, _LABELS, from_text=True)
    counts = [name for name in meant if name in raw]
    return rows_of_counts(pd.concat([rest, raw[counts]], axis=1), meant)


def rows_of_counts(raw: pd.DataFrame, meant: Mapping[str, str]) -> pd.DataFrame:
    """One row for each outcome of a pair, with its ``count``.

    Parameters
    ----------
    raw : DataFrame
        Table whose rows hold the counts of all outcomes.
    meant : mapping from str to str
        By column of counts, the outcome whose count it is.

    Returns
    -------
    DataFrame
        With ``winner`` and ``count`` in place of these columns.
    """
    rest = raw.drop(columns=[name for name in meant if name in raw])
    tables = [
        rest.assign(winner=winner, count=_counts(raw[name]))
        for name, winner in meant.items()
        if name in raw
    ]
    table = pd.concat(tables).sort_index(kind="stable")
    table = table[table["count"] > 0].reset_index(drop=True)
    if not len(table):
        raise BattlesError("All counts are zero: there is no comparison.")
    return table


def _counts(column: pd.Series) -> pd.Series:
    """Counts of comparisons; an empty cell counts as zero."""
    counts = as_numbers(column).fillna(0.0)
    odd = ~np.isfinite(counts) | (counts < 0) | (counts != counts.round())
    if odd.any():
        row = int(np.argmax(odd))
        raise BattlesError(
            f"Column {column.name!r} holds {column.iloc[row]!r} in row {row}, which is "
            "no number of comparisons."
        )
    return counts.astype(np.int64)


def _all_text(table: pd.DataFrame) -> bool:
    return all(pd.api.types.is_string_dtype(table[name]) for name in table)


def _has_no_winner(raw: pd.DataFrame) -> bool:
    return "winner" not in raw


WINS = Reader(
    name="wins",
    files="tables of wins",
    markers=tuple(_PAIR.union(sides) for sides in (_BY_SIDE, _OF_FIRST)),
    fits=_has_no_winner,
    assumes="`wins` and `losses` (or `wins_b`) are those of `model_a` and `model_b`; "
    "an empty cell, or no `ties`, is zero. Each row gives up to three, with their "
    "`count`: frequency weights. Pairs of numbers are features. Without `judge` all "
    "rows are people's, unless several files are read or the judge is told.",
    read=_read_wins,
)
