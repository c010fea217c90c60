"""Numbers of either side, such as scores or shares of wins, that decide the outcome."""

from __future__ import annotations

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._plain_tables import terms
from skanchor.io._plain_tables.cases import Case, undecided
from skanchor.io._plain_tables.names import (
    name_key,
    pairs_of_sides,
    side_of,
    side_within,
    words_of,
)
from skanchor.io._plain_tables.ratings import is_numeric
from skanchor.io._plain_tables.winners import flags, is_flag
from skanchor.io.generic import filled

_RANKS = frozenset("rank ranking ranks place rang".split())
"""Keys of numbers of which less is better."""

_SHARES = frozenset(
    "winrate winrates winpercentage winpercent winpct winshare winprobability winprob "
    "pwin preferencerate preferenceshare shareofwins".split()
)
"""Keys of shares of wins."""

_SHARE_WORDS = frozenset(
    "prob probability p share rate percent percentage pct fraction chance".split()
)
_WON_WORDS = frozenset("win wins won winning better preferred preference".split())
_PLAIN_WORDS = frozenset("is being to be the of that was".split())
"""Words of names of shares of wins of a side: of both of the first two kinds."""

_WINS = frozenset(
    "won win wins winner iswinner better isbetter preferred ispreferred chosen".split()
)
_LOSSES = frozenset("lost loses loser isloser worse isworse rejected".split())
"""Keys of flags of the rows that a side has won, and of those that it has lost."""


def outcome_of_numbers(
    raw: pd.DataFrame, sides: tuple[str, str], tie_margin: float
) -> tuple[pd.DataFrame, list[str], bool] | None:
    """Table with the outcomes that follow from numbers of either side.

    Parameters
    ----------
    raw : DataFrame
        Table without a column of the outcome.
    sides : tuple of str
        Columns of the models.
    tie_margin : float
        Largest difference of two scores that is a tie.

    Returns
    -------
    (DataFrame, list of str, bool) or None
        The table with a column ``winner`` in place of the numbers, what was assumed, in
        words, and whether these are flags of who won; None if there are no such
        numbers.

    Raises
    ------
    BattlesError
        If there are several pairs of such numbers, or shares outside of [0, 1].
    """
    rest = [name for name in raw.columns if name not in sides]
    found = {
        stem: pair
        for stem, pair in pairs_of_sides(rest, sides).items()
        if name_key(stem) in terms.SCORES | _RANKS
        and all(is_numeric(raw[n]) for n in pair)
    }
    if len(found) > 1:
        raise undecided(
            f"The outcome may follow from {' or '.join(map(repr, found))} of the two "
            "sides.",
            [
                Case(
                    {
                        "columns": {
                            name: f"note {stem} {n}"
                            for stem, pair in found.items()
                            if stem != taken
                            for n, name in enumerate(pair, start=1)
                        }
                    },
                    f"If it follows from {taken!r}",
                )
                for taken in found
            ],
        )
    if not found:
        return _of_shares(raw, rest, sides)
    ((stem, pair),) = found.items()
    one, two = (pd.to_numeric(raw[name], errors="coerce") for name in pair)
    gap, better = one - two, "higher"
    if name_key(stem) in _RANKS:
        gap, better = -gap, "lower"
    verdict = np.select(
        [gap.isna(), gap > tie_margin, gap < -tie_margin], ["", *sides], "tie"
    )
    names = dict(zip(sides, ("model_a", "model_b"), strict=True))
    table = raw.drop(columns=list(pair))
    table["winner"] = pd.Series(verdict, index=raw.index).replace(names)
    said = (
        f"the outcome follows from {pair[0]!r} and {pair[1]!r}; the {better} one wins, "
        f"and a gap of up to {tie_margin:g} is a tie"
    )
    return table, [said], False


def says_who_won(column: pd.Series, sides: tuple[str, str]) -> bool:
    """Whether a column is a flag of the rows that one of the sides has won, or lost."""
    stem, _ = side_of(str(column.name), sides) or ("", -1)
    return name_key(stem) in _WINS | _LOSSES and _is_flag(column)


def _is_flag(column: pd.Series) -> bool:
    """Whether a column holds yes and no, where it holds anything."""
    return is_flag(column[filled(column)])


def _is_share(stem: str) -> bool:
    """Whether a name without the mark of a side is that of a share of wins."""
    words = {*words_of(stem)}
    told = words & _SHARE_WORDS and words & _WON_WORDS
    return name_key(stem) in _SHARES or bool(
        told and words <= _SHARE_WORDS | _WON_WORDS | _PLAIN_WORDS
    )


def _of_shares(
    raw: pd.DataFrame, rest: list[str], sides: tuple[str, str]
) -> tuple[pd.DataFrame, list[str], bool] | None:
    """Outcomes that are shares of wins of one side, or of both."""
    found: dict[int, str] = {}
    flagged = False
    for name in rest:
        # A share of no side is the first model's, as numbers of wins are.
        stem, side = side_within(name, sides) or (name, 0)
        marked = stem != name
        key = name_key(stem)
        won = marked and key in _WINS and _is_flag(raw[name])
        if marked and key in _LOSSES and _is_flag(raw[name]):
            # Who has not lost has won; rows that nobody won need the other flag.
            won, side = True, 1 - side
        if (_is_share(stem) or won) and side not in found:
            found[side] = name
            flagged = won
    if not found:
        return None
    values = {side: _as_share(raw[name]) for side, name in found.items()}
    shares = [1.0 - value if side else value for side, value in values.items()]
    if flagged and len(shares) == 2 and (shares[0] + 1.0 - shares[1]).max() > 1.0:
        # Where both have won, these may be two outcomes, and no flags of the sides.
        return None
    table = raw.drop(columns=list(found.values()))
    winner = pd.concat(shares, axis=1).mean(axis=1, skipna=False)
    if flagged:
        # Labels, so that empty cells can be given a meaning.
        winner = winner.map({1.0: "model_a", 0.0: "model_b", 0.5: "tie"})
    table["winner"] = winner
    told = "says whether {} won" if flagged else "is the share of wins of {}"
    named = " and ".join(
        f"{name!r} {told.format(repr(sides[side]))}"
        for side, name in sorted(found.items())
    )
    more = "; each row counts as one comparison"
    if flagged:
        more = ", and else the other one did" if len(found) == 1 else ""
    return table, [named + more], flagged


def _as_share(column: pd.Series) -> pd.Series:
    """Numbers in [0, 1] of shares, which may be percentages."""
    if _is_flag(column):
        told = column[filled(column)]
        won = pd.Series(flags(told, "were won"), index=told.index).astype(float)
        return won.reindex(column.index)
    texts = column.astype("str").str.strip()
    percent = texts.str.endswith("%")
    numbers = pd.to_numeric(texts.str.rstrip("% "), errors="coerce")
    if percent.any() or numbers.max() > 1.0:
        numbers = numbers / 100.0
    odd = ~numbers.between(0.0, 1.0)
    if odd.any():
        row = int(odd.to_numpy().argmax())
        raise BattlesError(
            f"Column {column.name!r} should hold shares of wins, from 0 to 1 or 0 % to "
            f"100 %, and holds {column.iloc[row]!r} in row {row}."
        )
    return numbers
