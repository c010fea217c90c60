"""Rows of counts: how often each side won, and how many games were ties."""

from __future__ import annotations

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError, Call
from skanchor.io._plain_tables.names import candidates, name_key, pairs_of_sides
from skanchor.io._plain_tables.ratings import is_numeric
from skanchor.io._tools import rows_of_counts

__all__ = ["battles_of_counts", "is_count"]

_WON = frozenset(
    "wins won win nwins numwins wincount siege victoires victorias victorie 胜".split()
)
_LOST = frozenset(
    "losses lost loss lose nlosses numlosses losscount niederlagen defaites derrotas "
    "sconfitte 负".split()
)
_TIED = frozenset(
    "ties tie draws draw tied nties ndraws numties numdraws unentschieden egalites "
    "empates pareggi 平".split()
)
_PLAYED = frozenset(
    "games total n matches battles comparisons ngames nbattles played spiele".split()
)
"""Keys of columns of counts: of wins, losses and ties, and of all of them."""


def is_count(name: str) -> bool:
    """Whether a column may hold such a count, by its name."""
    return name_key(name) in _WON | _LOST | _TIED | _PLAYED


def battles_of_counts(
    raw: pd.DataFrame, sides: tuple[str, str]
) -> tuple[pd.DataFrame, list[str]] | None:
    """Table with a row for each outcome of a pair, and its ``count``.

    Parameters
    ----------
    raw : DataFrame
        Table without a column of the outcome.
    sides : tuple of str
        Columns of the models; wins and losses without a side are those of the first.

    Returns
    -------
    (DataFrame, list of str) or None
        The table, and what was assumed, in words; None if there are no counts of wins
        and of losses.

    Raises
    ------
    BattlesError
        If the counts of a row do not add up to its number of games.
    """
    numbers = [
        n for n in map(str, raw.columns) if n not in sides and is_numeric(raw[n])
    ]
    pair = _count_columns(numbers, sides)
    if pair is None:
        return None
    ties = candidates(numbers, _TIED)[:1]
    columns = [*pair, *ties]
    games = raw[columns].apply(pd.to_numeric, errors="coerce").fillna(0.0)
    if not ties and games.to_numpy().max() <= 1 and not games.sum(axis=1).all():
        # Where nobody has won, a row of flags may be a tie.
        return None
    _check_sum(raw, columns, candidates(numbers, _PLAYED))
    outcomes = ("model_a", "model_b", "tie")[: len(columns)]
    table = rows_of_counts(raw, dict(zip(columns, outcomes, strict=True)))
    tied = f", and {ties[0]!r} are ties" if ties else ""
    return table, [
        f"{pair[0]!r} and {pair[1]!r} count the comparisons that {sides[0]!r} and "
        f"{sides[1]!r} won{tied}"
    ]


def _count_columns(names: list[str], sides: tuple[str, str]) -> tuple[str, str] | None:
    """Columns of the comparisons that the first side won, and the second one."""
    by_side = [
        pair
        for stem, pair in pairs_of_sides(names, sides).items()
        if name_key(stem) in _WON
    ]
    won, lost = candidates(names, _WON), candidates(names, _LOST)
    if len(won) == len(lost) == 1:
        by_side.append((won[0], lost[0]))
    return by_side[0] if len(by_side) == 1 else None


def _check_sum(raw: pd.DataFrame, columns: list[str], played: list[str]) -> None:
    """Refuse counts that do not add up to the number of games, where there is one."""
    counts = raw[[*columns, *played]].apply(pd.to_numeric, errors="coerce").fillna(0.0)
    for name in played:
        odd = ~np.isclose(counts[columns].sum(axis=1), counts[name])
        if odd.any():
            row = int(np.argmax(odd))
            raise BattlesError(
                f"The counts in {' and '.join(map(repr, columns))} do not add up to "
                f"{name!r} in {odd.sum():,} rows, the first of them row {row}: "
                f"{counts[columns].iloc[row].sum():g} and {counts[name].iloc[row]:g}.",
                advice=Call(
                    {"columns": {name: "note"}}, "If the other ones are not to count"
                ),
            )
