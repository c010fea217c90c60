"""From a raw table to battles: names, types, outcomes; or ratings to battles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from skanchor.exceptions import BattlesError, DataWarning
from skanchor.io._plain_tables.names import WINNER_NAME, name_key
from skanchor.io._plain_tables.ratings import Ratings, find_ratings
from skanchor.io._plain_tables.refusals import no_battles
from skanchor.io._plain_tables.sources import human_like
from skanchor.io._plain_tables.understood import Names, find_names, read_outcomes
from skanchor.io._tools import Options, is_number_or_text, reader_called
from skanchor.io.generic import NEEDED, fail_invalid, relabelled, standard_names
from skanchor.warning_log import warn

__all__ = ["Plain", "read_plain"]


@dataclass(frozen=True, eq=False)
class Plain:
    """Battles of a table that no tool wrote.

    Attributes
    ----------
    table : DataFrame
        With standard names and outcomes.
    says : tuple of str
        What was assumed, in words.
    outcomes : Series or None
        The outcomes as the table has them; None of ratings.
    """

    table: pd.DataFrame
    says: tuple[str, ...] = ()
    outcomes: pd.Series | None = None


def read_plain(
    raw: pd.DataFrame,
    typed: Callable[[pd.DataFrame], pd.DataFrame],
    *,
    labels: Mapping[Any, Any] | None = None,
    levels: Mapping[str, float] | None = None,
    ratings: Sequence[str] | None = None,
    tie_margin: float = 0.0,
    drop_invalid: bool = False,
    is_file: bool = True,
) -> Plain:
    """Read a table in the one way that fits its names and values.

    Parameters
    ----------
    raw : DataFrame
        The table.
    typed : callable
        Function that gives the columns of a table with standard names their types.
    labels, levels, ratings, tie_margin, drop_invalid
        As in :func:`skanchor.io.read_battles`.
    is_file : bool, default=True
        Whether the table comes from a file, not from memory.

    Returns
    -------
    Plain

    Raises
    ------
    BattlesError
        If no reading fits, or several do; its advice is the calls that decide.
    """
    raw = standard_names(raw)
    # Cells of lists or objects say nothing here, and cannot be compared.
    plain = raw[[n for n in raw.columns if n in NEEDED or is_number_or_text(raw[n])]]
    # Ratings that the user has named are no battles, whatever the other columns.
    names = None if ratings else find_names(plain)
    if names is None:
        found = find_ratings(plain, ratings)
        if found is None:
            missing = [name for name in NEEDED if name not in raw]
            raise no_battles(plain, missing, is_file=is_file)
        return _of_ratings(raw, found, tie_margin)
    table = typed(names.apply(raw))
    outcomes = table["winner"]
    if names.outcome is None:
        return Plain(table, names.says, outcomes)
    if labels:
        table = relabelled(table, labels)
    if drop_invalid:
        table = fail_invalid(table)
    winner, says = read_outcomes(
        table, names, levels or {}, trusted=_is_documented(names), lenient=drop_invalid
    )
    if not winner.equals(table["winner"]):
        table = table.assign(winner=winner)
    said = [*names.says, *([f"{names.outcome!r}: {says}"] if says else [])]
    return Plain(table, tuple(said), outcomes)


def _is_documented(names: Names) -> bool:
    """Whether models and outcome have the names of the documentation."""
    keys = [name_key(name) for name in (*names.sides, names.outcome)]
    return keys == ["modela", "modelb", "winner"] and keys[-1] != WINNER_NAME


def _of_ratings(raw: pd.DataFrame, found: Ratings, tie_margin: float) -> Plain:
    """Battles of all pairs of models that a rater has rated for one prompt."""
    absent = [name for name in found.scores if name not in raw]
    if absent:
        raise BattlesError(
            f"The columns of ratings {absent} are not there; the table has "
            f"{list(raw)[:20]}."
        )
    who = "judge" if found.wide or found.rater is not None else None
    long = _long(raw, found)
    rated = long[long["score"].astype("str").str.strip().ne("") & long["score"].notna()]
    if rated["model"].nunique() < 2:
        raise BattlesError(
            f"Ratings of one model only, {long['model'].iloc[0]!r}: nothing is "
            "compared with it. Add the ratings of other models."
        )
    keys = ["prompt_id", *(["judge"] if who else [])]
    alone = rated.groupby(keys)["model"].transform("nunique") == 1
    table = reader_called("scores").read(rated, Options({}, tie_margin))
    if alone.all() or table.empty:
        raise BattlesError(
            "No rater has rated two models for one prompt, so no two ratings can be "
            "compared: a rating is compared with the same rater's of the same prompt. "
            "Leave out the column of raters if ratings of different people are alike."
        )
    if alone.any():
        warn(
            DataWarning(
                f"{int(alone.sum())} of {len(rated)} ratings are compared with no "
                "other: their rater has rated one model only for that prompt."
            ),
            stacklevel=5,
        )
    labels = [] if found.rater is None else raw[found.rater].dropna().unique().tolist()
    if found.rater not in (None, "judge") and not human_like(labels):
        table = table.rename(columns={"judge": found.rater})
    by = " and column" if found.wide else f" and {found.rater!r}" if who else ""
    said = (
        f"ratings of {found.model!r} in {_listed(found.scores)} are compared in pairs, "
        f"by {found.prompt!r}{by}; a higher one is better, and a gap of up to "
        f"{tie_margin:g} is a tie"
    )
    return Plain(table, (said,))


def _long(raw: pd.DataFrame, found: Ratings) -> pd.DataFrame:
    """Ratings with one rating in each row, under standard names."""
    names = {found.model: "model", found.prompt: "prompt_id"}
    if found.wide:
        rest = raw[[*names]].rename(columns=names)
        tables = [
            rest.assign(judge=name, score=raw[name].to_numpy()) for name in found.scores
        ]
        return pd.concat(tables).sort_index(kind="stable").reset_index(drop=True)
    names[found.scores[0]] = "score"
    if found.rater is not None:
        names[found.rater] = "judge"
    taken = set(names.values()) - set(names)
    others = [name for name in raw.columns if name not in taken]
    return raw[others].rename(columns=names)


def _listed(names: Sequence[str]) -> str:
    shown = [repr(name) for name in names[:5]]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(shown) + more
