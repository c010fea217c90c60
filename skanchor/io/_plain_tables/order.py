"""The order shown: flags of swapped sides, and what outcomes of such rows mean."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor.io._plain_tables import terms
from skanchor.io._plain_tables.cases import Case, undecided
from skanchor.io._plain_tables.names import name_key, side_pairs, words_of
from skanchor.io._plain_tables.outcomes import WON_OR_LOST, is_relative
from skanchor.io._plain_tables.winners import flags, is_flag, turned_round
from skanchor.io.columns import as_texts

SHOWN_SWAPPED, OUTCOME_SWAPPED = "shown_swapped", "outcome_swapped"
"""Names of a flag that leaves no question: of rows that were shown the other way round,
and of those whose outcomes are about the order shown besides."""

_SWAPPED = re.compile(r"(swap|flip|revers|switch|transpos|invert)(ped|ed|e|p)?")
"""A word of a name that suggests swapped sides."""

_ORDERS = frozenset(
    "order presentationorder displayorder shownorder orderofpresentation positions "
    "orderofdisplay positionorder position whowasfirst firstshown".split()
)
"""Keys of columns that say in which order the models were shown."""

_WHAT = "were shown the other way round"

_TURNED = frozenset(
    "ba 21 swapped flipped reversed reverse swap flip bfirst modelbfirst".split()
)
_AS_NAMED = frozenset(
    "ab 12 original normal forward straight unswapped afirst modelafirst".split()
)


def may_be_swapped(names: Iterable[str]) -> list[str]:
    """Columns whose names suggest that they say which rows were shown swapped.

    Parameters
    ----------
    names : iterable of str
        Names of the columns.

    Returns
    -------
    list of str
    """
    return [
        name
        for name in map(str, names)
        if name_key(name) in _ORDERS or any(map(_SWAPPED.fullmatch, words_of(name)))
    ]


def in_order(
    raw: pd.DataFrame, sides: tuple[str, str], outcome: str | None
) -> tuple[str, str]:
    """Columns of the models as the table has them, where names say no order.

    Wins and losses are the model's, not the opponent's, wherever it stands.

    Parameters
    ----------
    raw : DataFrame
        The table.
    sides : tuple of str
        Columns of the models.
    outcome : str or None
        Column of the outcome.

    Returns
    -------
    (str, str)
    """
    first, second = sides
    names = list(raw.columns)
    if (name_key(first), name_key(second)) not in terms.ROLES or outcome is None:
        return sides
    won = {*map(name_key, raw[outcome].unique())} & WON_OR_LOST
    of_model = bool(won) or is_relative(raw[outcome])
    turned = names.index(second) < names.index(first) and not of_model
    return (second, first) if turned else sides


def check_both_orders(raw: pd.DataFrame, sides: tuple[str, str]) -> None:
    """Refuse a table that has the same two models of each row in another order, too.

    Parameters
    ----------
    raw : DataFrame
        The table.
    sides : tuple of str
        Columns of the models.

    Raises
    ------
    BattlesError
        It ends in the arguments that decide.
    """
    others = [name for name in raw.columns if name not in sides]
    pairs = list(side_pairs(others))
    if not pairs:
        return  # before categories become text, which takes long
    one, two = (as_texts(raw[side]) for side in sides)
    for pair in pairs:
        first, second = (as_texts(raw[side]) for side in pair)
        turned = first.eq(two) & second.eq(one)
        if (turned | (first.eq(one) & second.eq(two))).all() and turned.any():
            raise undecided(
                f"The models are in {sides[0]!r} and {sides[1]!r}, and in "
                f"{turned.sum():,} of {len(raw):,} rows the other way round in "
                f"{pair[0]!r} and {pair[1]!r}.",
                [
                    Case({"columns": dict(zip(pair, standard, strict=True))}, case)
                    for standard, case in (
                        (("model_a", "model_b"),
                         f"If outcomes are about {pair[0]!r} and {pair[1]!r}"),
                        (("note 1", "note 2"),
                         f"If outcomes are about {sides[0]!r} and {sides[1]!r}"),
                    )
                ],
            )  # fmt: skip


def with_order(
    table: pd.DataFrame, *, by_name: bool, shown: Iterable[object]
) -> tuple[pd.DataFrame, list[str]]:
    """Give rows whose sides were swapped their display order and their outcome.

    Parameters
    ----------
    table : DataFrame
        With standard names and outcomes.
    by_name : bool
        Whether outcomes were names of models, which are about no order.
    shown : iterable
        Some outcomes as the table has them, for words.

    Returns
    -------
    table : DataFrame
        With a column ``shown_first``, if there is such a flag.
    says : list of str
        What was assumed, in words.

    Raises
    ------
    BattlesError
        If a flag says that sides were swapped, and outcomes may be about the columns
        as they are or about the order shown.
    """
    known = [name for name in (SHOWN_SWAPPED, OUTCOME_SWAPPED) if name in table]
    if known:
        told = _swapped(table[known[0]])
        rows = flags(table[known[0]], _WHAT) if told is None else told
        if known[0] == OUTCOME_SWAPPED:
            table = table.assign(winner=turned_round(table["winner"], rows))
        return _in_shown_order(table, rows).drop(columns=known[0]), []
    if "shown_first" in table:
        return table, []
    found = {name: _swapped(table[name]) for name in may_be_swapped(table.columns)}
    swapped = {n: rows for n, rows in found.items() if rows is not None and rows.any()}
    if not swapped:
        return table, []
    name, rows = next(iter(swapped.items()))
    if by_name and len(swapped) == 1:
        return _in_shown_order(table, rows), [
            f"{name!r} says that 'model_b' was shown first"
        ]
    labels = ", ".join(repr(str(label)) for label in list(shown)[:3])
    cases = [
        Case({"columns": {name: new}}, case)
        for name in swapped
        for new, case in (
            (SHOWN_SWAPPED, f"If outcomes ({labels}) are about the columns as they "
             f"are, and {name!r} says what was shown first"),
            (OUTCOME_SWAPPED, f"If outcomes are about the order shown, so that those "
             f"of rows with {name!r} must be turned round"),
            ("note", f"If the columns are in the order shown already, and {name!r} "
             "changes nothing"),
        )
    ]  # fmt: skip
    raise undecided(
        f"Column {name!r} says of {rows.sum():,} of {len(table):,} rows that the two "
        "sides were swapped, but not whether the outcomes there are about the columns "
        "or about the order shown.",
        cases,
    )


def _in_shown_order(table: pd.DataFrame, rows: NDArray[np.bool_]) -> pd.DataFrame:
    """Table whose rows have their display order."""
    order = np.where(rows, "model_b", "model_a").astype(object)
    return table.assign(shown_first=order)


def _swapped(column: pd.Series) -> NDArray[np.bool_] | None:
    """Rows whose sides were swapped; None if the column holds something else."""
    if is_flag(column):
        return None if name_key(column.name) in _ORDERS else flags(column, _WHAT)
    codes, labels = pd.factorize(column, use_na_sentinel=True)
    keys = [name_key(label) for label in labels.tolist()]
    if not keys or (codes < 0).any() or not {*keys} <= _TURNED | _AS_NAMED:
        return None
    return np.isin(keys, list(_TURNED))[codes]
