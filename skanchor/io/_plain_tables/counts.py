"""Rows of counts: how often each side won, and how many games were ties."""

from __future__ import annotations

import numpy as np
import pandas as pd

from skanchor.io._plain_tables.cases import Case, undecided
from skanchor.io._plain_tables.names import (
    candidates,
    name_key,
    pairs_of_sides,
    words_of,
)
from skanchor.io._plain_tables.ratings import is_numeric
from skanchor.io._tools._wins import rows_of_counts
from skanchor.io.columns import as_texts, distinct, is_coded

_WON = frozenset("wins won win nwins numwins wincount".split())
_LOST = frozenset("losses lost loss lose nlosses numlosses losscount".split())
_TIED = frozenset("ties tie draws draw tied nties ndraws numties numdraws".split())
_PLAYED = frozenset(
    "games total n matches battles comparisons ngames nbattles played".split()
)
"""Keys of columns of counts: of wins, losses and ties, and of all of them."""

_WINNERS = frozenset("winner winners winning won wins win beats".split())
_LOSERS = frozenset("loser losers losing lost loses loss losses beaten".split())
"""Words that say whose wins the cells of a table of models by models are."""


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
    numbers = [n for n in raw.columns if n not in sides and is_numeric(raw[n])]
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


def counts_of_shares(table: pd.DataFrame) -> tuple[pd.DataFrame, str] | None:
    """Table with a row for each outcome of a pair, of shares of a number of games.

    Parameters
    ----------
    table : DataFrame
        Table whose ``winner`` is the share of the games that ``model_a`` won.

    Returns
    -------
    (DataFrame, str) or None
        The table, and what was assumed, in words; None without a number of games.
    """
    found = [n for n in candidates(table.columns, _PLAYED) if is_numeric(table[n])]
    if len(found) != 1:
        return None
    games = pd.to_numeric(table[found[0]])
    if not ((games > 0) & (games == games.round())).all():
        return None
    halves = (2.0 * table["winner"] * games).round()
    wins, losses = halves // 2, (2.0 * games - halves) // 2
    counted = table.drop(columns=["winner", found[0]]).assign(
        wins=wins, losses=losses, ties=games - wins - losses
    )
    outcomes = {"wins": "model_a", "losses": "model_b", "ties": "tie"}
    said = f"of as many comparisons as {found[0]!r} says; a tie is half a win in it"
    return rows_of_counts(counted, outcomes), said


def with_crossed_counts(raw: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Table of wins, one pair in each row, of one with models in rows and columns.

    Parameters
    ----------
    raw : DataFrame
        The table.

    Returns
    -------
    table : DataFrame
        The same table if it is no such table.
    says : list of str
        What was assumed, in words.

    Raises
    ------
    BattlesError
        If nothing says whether cells are wins of the rows or of the columns.
    """
    names = list(raw.columns)
    if {"model_a", "model_b"} <= {*names}:
        # Other columns may say which of the two stood first, or won.
        return raw, []
    # Each row is of a model that has a column: the first one tells most tables apart.
    heads = [str(value).strip() for value in raw.iloc[0]] if len(raw) else []
    for label, head in zip(names, heads, strict=False):
        if head == label or head not in names:
            continue
        cells = raw[label] if is_coded(raw[label]) else as_texts(raw[label])
        found = {str(each).strip() for each in distinct(cells, nulls=True)}
        models = [n for n in names if n in found - {label} and is_numeric(raw[n])]
        if len(models) > 1 and found == {*models}:
            break
    else:
        return raw, []
    words = [word for word in words_of(label) if word in _WINNERS | _LOSERS]
    if not words:
        raise undecided(
            "The table has models in rows and in columns, and does not say which of "
            "them have won the comparisons that the cells count.",
            [
                Case({"columns": {label: new}}, f"If {case}")
                for new, case in (
                    ("winner", "a cell counts the wins of its row"),
                    ("loser", "a cell counts the wins of its column"),
                )
            ],
        )
    one, two = "model_a", "model_b"
    if words[0] in _LOSERS:
        one, two = two, one
    rest = [name for name in names if name not in (label, *models)]
    table = raw.melt([label, *rest], models, var_name=two, value_name="wins")
    table = table.rename(columns={label: one}).assign(losses=0, shown_first=None)
    table = table[as_texts(table[one]).str.strip() != table[two]]
    who = "row" if words[0] in _WINNERS else "column"
    said = f"cells count the wins of their {who} against models of the other kind"
    return table.reset_index(drop=True), [said]


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
            raise undecided(
                f"The counts in {' and '.join(map(repr, columns))} do not add up to "
                f"{name!r} in {odd.sum():,} rows, the first of them row {row}: "
                f"{counts[columns].iloc[row].sum():g} and {counts[name].iloc[row]:g}.",
                [
                    Case(
                        {"columns": {name: "note"}},
                        "If the other ones are not to count",
                    )
                ],
            )
