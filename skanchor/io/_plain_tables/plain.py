"""From a raw table to battles: names, types, outcomes; or ratings to battles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError, DataWarning
from skanchor.io._plain_tables import terms
from skanchor.io._plain_tables.cases import Case, undecided
from skanchor.io._plain_tables.counts import (
    battles_of_counts,
    counts_of_shares,
    is_count,
    with_crossed_counts,
)
from skanchor.io._plain_tables.measures import outcome_of_numbers
from skanchor.io._plain_tables.names import (
    candidates,
    name_key,
    quoted,
    side_pairs,
    words_of,
)
from skanchor.io._plain_tables.nested import (
    flattened,
    with_two_models,
    with_verdicts,
)
from skanchor.io._plain_tables.order import with_order
from skanchor.io._plain_tables.places import with_best_of_shown, with_places
from skanchor.io._plain_tables.ratings import (
    Ratings,
    find_ratings,
    model_columns,
    require_ratings,
    with_models_of_columns,
    with_scores_of_results,
)
from skanchor.io._plain_tables.refusals import missing_outcomes, no_battles
from skanchor.io._plain_tables.relations import with_relations
from skanchor.io._plain_tables.several import one_outcome_a_row
from skanchor.io._plain_tables.sources import (
    human_like,
    names_machine,
    with_people_flag,
)
from skanchor.io._plain_tables.understood import (
    Names,
    find_names,
    models_and_outcome,
    outcome_of_labels,
    read_outcomes,
)
from skanchor.io._plain_tables.winners import flags, names_loser, tied, turned_round
from skanchor.io._tools._cells import is_number_or_text
from skanchor.io._tools._reader import Options
from skanchor.io._tools.recognition import reader_called
from skanchor.io.columns import distinct, with_points
from skanchor.io.generic import NEEDED, fail_invalid, filled, relabelled, standard_names
from skanchor.warning_log import warn

_OF_PEOPLE = ("humanvote", "humanpreference")
"""Keys of outcomes of people, beside which there may be those of judges."""

_NEUTRAL = ("tie", "both_bad", "invalid")
"""What labels may mean that favours no side."""


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
    counted : bool
        Whether each row stands for as many comparisons as its ``count`` says.
    """

    table: pd.DataFrame
    says: tuple[str, ...] = ()
    outcomes: pd.Series | None = None
    counted: bool = False


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
        If no reading fits, or several do; it ends in the arguments that decide.
    """
    given = _comparable(flattened(raw))
    raw, ratings, told, together = _opened(raw, ratings)
    if (labels or levels) and not ratings:
        raw, said = _with_told_outcome(raw, {**(labels or {}), **(levels or {})})
        told = [*told, *said]
    made = _with_outcome(_comparable(raw), ratings, tie_margin, is_file)
    if made is not None:
        raw, told = made.table, [*told, *made.says]
    plain = _comparable(raw)
    # Ratings that the user has named are no battles, unless two models stand in a row.
    names = None if ratings and made is None else find_names(plain)
    if names is None:
        found = find_ratings(plain, ratings)
        if found is None:
            # Only what the file has can be named and renamed.
            missing = [name for name in NEEDED if name not in given]
            raise no_battles(given, missing, is_file=is_file)
        lower = _lower_is_better(levels or {})
        return _of_ratings(raw, found, told, tie_margin, lower_is_better=lower)
    if told:
        names = replace(names, says=(*told, *names.says))
    table, said = _without_other_rows(names.apply(raw))
    names = replace(names, says=(*names.says, *said))
    table = typed(table)
    outcomes = table["winner"]
    if names.outcome is None:
        return Plain(table, names.says, outcomes)
    if labels:
        table = relabelled(table, labels)
    if drop_invalid:
        table = fail_invalid(table)
    of_numbers = made is not None and made.outcomes is None
    trusted = of_numbers if made is not None else _is_documented(names) and not together
    reading, says = read_outcomes(
        table, names, levels or {}, trusted=trusted, lenient=drop_invalid
    )
    says = None if of_numbers else says
    winner = reading.winner
    if names_loser(names.outcome) and not _name_sides(labels, levels):
        winner = turned_round(winner, np.ones(len(table), dtype=bool))
        says = says and says.replace(" won", " lost").replace("winning", "losing")
    if names.tied is not None:
        winner = tied(winner, flags(table[names.tied], "are ties"))
        table = table.drop(columns=names.tied)
    missing_error = None if drop_invalid else missing_outcomes(winner, names.outcome)
    if missing_error is not None:
        raise missing_error
    if not winner.equals(table["winner"]):
        table = table.assign(winner=winner)
    said = [*names.says, *([f"{names.outcome!r}: {says}"] if says else [])]
    table, more = with_order(table, by_name=reading.by_name, shown=distinct(outcomes))
    counted = made is not None and made.counted
    return Plain(table, (*said, *more), None if of_numbers else outcomes, counted)


def _opened(
    raw: pd.DataFrame, ratings: Sequence[str] | None
) -> tuple[pd.DataFrame, Sequence[str] | None, list[str], bool]:
    """Table whose cells and rows hold one thing each, under standard names.

    Returns the table, the columns of ratings of raters, what was assumed, in words, and
    whether one cell held both models, where a number may be the winner's place in it.
    """
    given, raw = raw, with_two_models(flattened(with_points(raw, _scores(raw))))
    together = {"model_a", "model_b"} <= {*raw.columns} - {*given.columns}
    raw, told = with_verdicts(standard_names(raw))
    steps = (with_people_flag, with_crossed_counts, with_places, with_best_of_shown)
    for step in steps:
        raw, said = step(raw)
        told += said
    raw, said = with_relations(raw, ratings)
    if said:
        told, ratings = [*told, *said], None
    plain = _comparable(raw)
    if ratings and not model_columns(plain) and models_and_outcome(plain)[0] is None:
        absent = [name for name in ratings if name not in raw]
        if not absent:
            raw, ratings = with_models_of_columns(raw, ratings), None
            told.append("each column of ratings is one of a model")
    raw, said = with_scores_of_results(raw)
    return raw, ratings, [*told, *said], together


def _with_told_outcome(
    raw: pd.DataFrame, meanings: Mapping[Any, Any]
) -> tuple[pd.DataFrame, list[str]]:
    """Table whose outcomes have the name for it, where their values alone show them."""
    plain = _comparable(raw)
    pairs = side_pairs(plain.columns)
    if len(pairs) != 1 or candidates(plain.columns, terms.OUTCOMES):
        return raw, []
    name = outcome_of_labels(plain.drop(columns=list(pairs[0])), meanings)
    if name is None:
        return raw, []
    said = f"the outcome is {name!r}, whose values have meanings that are given"
    return raw.rename(columns={name: "winner"}), [said]


def _scores(raw: pd.DataFrame) -> list[str]:
    """Columns that hold scores, by a word of their names."""
    return [name for name in raw.columns if {*words_of(name)} & terms.SCORES]


def _lower_is_better(levels: Mapping[str, float]) -> bool:
    """Whether the ends of a scale of ratings say that less is better, as of ranks."""
    try:
        ends = sorted((float(level), value) for level, value in levels.items())
    except ValueError:
        return False
    return len(ends) == 2 and ends[0][1] > ends[1][1]


def _comparable(raw: pd.DataFrame) -> pd.DataFrame:
    """Columns whose cells can be compared; those of lists say nothing here."""
    return raw[[n for n in raw.columns if n in NEEDED or is_number_or_text(raw[n])]]


def _with_outcome(
    raw: pd.DataFrame,
    ratings: Sequence[str] | None,
    tie_margin: float,
    is_file: bool,
) -> Plain | None:
    """Table with one outcome in each row, where the table has several or numbers.

    Its ``outcomes`` are None where numbers of the sides decide. Counts are read of
    files only: in memory, nothing would weight the rows by them.
    """
    sides, outcome = models_and_outcome(raw)
    if sides is None:
        return None
    # The vote of people need not be the only outcome of a row.
    alone = outcome is None or name_key(outcome) not in _OF_PEOPLE
    if ratings or outcome in (None, "winner") or not alone:
        found = one_outcome_a_row(raw, sides, ratings)
        if found is not None:
            return Plain(found[0], tuple(found[1]), found[0]["winner"])
    if is_file and (outcome is None or is_count(outcome)):
        found = battles_of_counts(raw, sides)
        if found is not None:
            return Plain(found[0], tuple(found[1]), counted=True)
    if outcome is None:
        of_numbers = outcome_of_numbers(raw, sides, tie_margin)
        if of_numbers is None:
            return None
        table, says, flagged = of_numbers
        counted = counts_of_shares(table) if is_file and _has_shares(table) else None
        if counted is not None:
            table, more = counted
            says = [says[0].partition(";")[0] + f" {more}"]
        outcomes = table["winner"] if flagged else None
        return Plain(table, tuple(says), outcomes, counted is not None)
    return None


def _without_other_rows(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Table without rows that hold neither models nor an outcome, as of other events.

    Returns the table and what was left out, in words.
    """
    # Most tables have none: a look at one column saves one at the others.
    empty = _is_empty(table["model_a"])
    for name in ("model_b", "winner") if empty.any() else ():
        empty &= _is_empty(table[name])
    if not empty.any() or empty.all():
        return table, []
    said = (
        f"{int(empty.sum()):,} of {len(table):,} rows name no models and hold no "
        "outcome, and are left out"
    )
    return table[~empty].reset_index(drop=True), [said]


def _is_empty(column: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(column):
        return column.isna()
    return column.isna() | column.eq("")


def _has_shares(table: pd.DataFrame) -> bool:
    """Whether outcomes are shares of several comparisons, not each of one."""
    winner = table["winner"]
    return pd.api.types.is_numeric_dtype(winner) and not (
        winner.dropna().isin((0.0, 0.5, 1.0)).all()
    )


def _name_sides(
    labels: Mapping[Any, Any] | None, levels: Mapping[str, float] | None
) -> bool:
    """Whether the user says which side outcomes favour, so that nothing is turned."""
    given = [meant for meant in (labels or {}).values() if meant not in _NEUTRAL]
    return bool(given or levels)


def _is_documented(names: Names) -> bool:
    """Whether models and outcome have the names of the documentation."""
    keys = [name_key(name) for name in (*names.sides, names.outcome)]
    return keys == ["modela", "modelb", "winner"] and keys[-1] != terms.WINNER_NAME


def _of_ratings(
    raw: pd.DataFrame,
    found: Ratings,
    told: Sequence[str],
    tie_margin: float,
    *,
    lower_is_better: bool,
) -> Plain:
    """Battles of all pairs of models that a rater has rated for one prompt."""
    require_ratings(raw, found.scores)
    who = "judge" if found.wide or found.rater is not None else None
    long = _long(raw, found)
    rated = long[filled(long["score"])]
    if lower_is_better:
        rated = rated.assign(score=-pd.to_numeric(rated["score"]))
    if rated["model"].nunique() < 2:
        raise BattlesError(
            f"Ratings of one model only, {long['model'].iloc[0]!r}: nothing is "
            "compared with it. Add the ratings of other models."
        )
    keys = ["prompt_id", *(["judge"] if who else [])]
    alone = rated.groupby(keys)["model"].transform("nunique") == 1
    table = reader_called("scores").read(rated, Options({}, tie_margin))
    if alone.all() or table.empty:
        raise undecided(
            "No rater has rated two models for one prompt, so no two ratings can be "
            "compared: a rating is compared with the same rater's of the same prompt.",
            _without_raters(raw, found),
        )
    if alone.any():
        warn(
            DataWarning(
                f"{int(alone.sum())} of {len(rated)} ratings are compared with no "
                "other: their rater has rated one model only for that prompt.",
                code="single-ratings",
            ),
            stacklevel=5,
        )
    labels = [] if found.rater is None else distinct(raw[found.rater])
    if found.rater not in (None, "judge") and not human_like(labels):
        table = table.rename(columns={"judge": found.rater})
    by = " and column" if found.wide else f" and {found.rater!r}" if who else ""
    said = (
        f"ratings of {found.model!r} in {quoted(found.scores)} are compared in pairs, "
        f"by {found.prompt!r}{by}; a {'lower' if lower_is_better else 'higher'} "
        f"one is better, and a gap of up to {tie_margin:g} is a tie"
    )
    used = {found.model, found.prompt, found.rater, *found.scores, *table.columns}
    used |= {name.removesuffix("_a") for name in table.columns}
    left = [name for name in raw.columns if name not in used]
    if left:
        said += f"; {quoted(left)} {'is' if len(left) == 1 else 'are'} not read"
    return Plain(table, (*told, said))


def _without_raters(raw: pd.DataFrame, found: Ratings) -> list[Case]:
    """Cases that compare the ratings of different raters with each other."""
    if found.rater is None or found.wide:
        return []
    labels = distinct(raw[found.rater])
    if human_like(labels) or any(map(names_machine, labels)):
        return []
    return [
        Case({"columns": {found.rater: "note"}, "all_human": True},
             f"If {found.rater!r} names people, whose ratings may be compared with "
             "each other")
    ]  # fmt: skip


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
