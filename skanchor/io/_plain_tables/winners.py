"""Rows that name who won and who lost, or who lost alone; flags of yes and no."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles.outcomes import WINNER_VALUES
from skanchor.exceptions import BattlesError
from skanchor.io._plain_tables import terms
from skanchor.io._plain_tables.cases import Case, undecided
from skanchor.io._plain_tables.names import candidates, name_key, pairs_called, words_of
from skanchor.io.columns import label_key

_OF_LOSERS = frozenset(
    "loser losing worse worst rejected dispreferred weaker weakest inferior lower "
    "disliked".split()
)
"""Words of names of columns that hold the loser, such as ``which_is_worse``."""

_TIE_FLAGS = frozenset("draw draws tie ties tied isdraw istie istied".split())

_YES = frozenset(("true", "1", "1.0", "yes", "y"))
_NO = frozenset(("false", "0", "0.0", "no", "n"))

_OTHER_SIDE = {"model_a": "model_b", "model_b": "model_a"}


def names_loser(name: str) -> bool:
    """Whether a column holds the loser of each row, by its name."""
    return name_key(name) in terms.LOSERS or bool({*words_of(name)} & _OF_LOSERS)


def won_and_lost(raw: pd.DataFrame) -> tuple[str, str] | None:
    """Columns of the model that won and of the one that lost.

    Parameters
    ----------
    raw : DataFrame
        The table.

    Returns
    -------
    (str, str) or None
        None if there are no such columns, or if they share no value, so that they need
        not hold models: texts of two responses do not.
    """
    for pair in pairs_called(raw.columns, terms.WON_AND_LOST):
        one, two = (set(raw[name].dropna().astype("str")) for name in pair)
        if one & two or [*map(name_key, pair)] == ["winner", "loser"]:
            return pair
    return None


def tie_flag(raw: pd.DataFrame, names: list[str]) -> str | None:
    """The column that says which rows are ties, if there is one."""
    found = candidates(names, _TIE_FLAGS)
    if not found:
        return None
    flags(raw[found[0]], "are ties")
    return found[0]


def may_be_tie_flag(names: Iterable[str]) -> list[str]:
    """Columns that may say which rows are ties, by their names."""
    return candidates(names, _TIE_FLAGS)


def tied(winner: pd.Series, rows: NDArray[np.bool_]) -> pd.Series:
    """Outcomes that are ties in some rows, whatever else stands there."""
    if pd.api.types.is_bool_dtype(winner) or pd.api.types.is_numeric_dtype(winner):
        return winner.astype(float).mask(rows, 0.5)
    return winner.astype(object).mask(rows, "tie")


def is_flag(column: pd.Series) -> bool:
    """Whether a column holds yes and no, and nothing else, in each row."""
    # Distinct values are few where it is one, and rows may be millions.
    head = {label_key(value) for value in column.head(20).tolist()}
    if not head or not head <= _YES | _NO:
        return False
    return {label_key(value) for value in column.unique().tolist()} <= _YES | _NO


def flags(column: pd.Series, what: str) -> NDArray[np.bool_]:
    """Read a column of yes and no; raise where it holds anything else.

    Parameters
    ----------
    column : Series
        The column.
    what : str
        What it says of rows, such as ``"are ties"``.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
    """
    codes, values = pd.factorize(column, use_na_sentinel=False)
    keys = [label_key(value) for value in values.tolist()]
    odd = np.array([key not in _YES | _NO for key in keys], dtype=bool)[codes]
    if odd.any():
        raise BattlesError(
            f"Column {str(column.name)!r} should say which rows {what}, by true and "
            f"false, and holds {column[odd].iloc[0]!r} in {odd.sum():,} rows. Put true "
            "or false there, or leave the column out."
        )
    return np.array([key in _YES for key in keys], dtype=bool)[codes]


def turned_round(winner: pd.Series, rows: NDArray[np.bool_]) -> pd.Series:
    """Outcomes for the other side in some rows.

    Parameters
    ----------
    winner : Series
        Standard outcomes: labels, or numbers in [0, 1].
    rows : ndarray of bool, shape (n_rows,)
        Rows to turn round.

    Returns
    -------
    Series
    """
    if pd.api.types.is_bool_dtype(winner) or pd.api.types.is_numeric_dtype(winner):
        winner = winner.astype(float)
        return winner.mask(rows, 1.0 - winner)
    assert winner.dropna().isin(list(WINNER_VALUES)).all()
    other = winner.map(lambda label: _OTHER_SIDE.get(label, label))
    return winner.astype(object).mask(rows, other)


def refuse_losers_as_winners(
    columns: Mapping[str, str], meanings: Mapping[Any, Any]
) -> None:
    """Refuse to rename a column that by its name holds the loser to the winner.

    Parameters
    ----------
    columns : mapping from str to str
        Renames that the user gave.
    meanings : mapping
        Labels or levels that the user gave; who says what outcomes mean is believed.

    Raises
    ------
    BattlesError
        It ends in an argument for either reading.
    """
    for old, new in columns.items():
        winner = name_key(new) in ("winner", terms.WINNER_NAME)
        if winner and names_loser(old) and not meanings:
            raise undecided(
                f"Column {old!r} is given as the winner, but by its name it holds the "
                "loser, which would reverse the ranking.",
                [
                    Case({"columns": {old: "loser"}}, "If it names the loser"),
                    Case({"columns": {old: "outcome"}}, "If it names the winner"),
                ],
            )
