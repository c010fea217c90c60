"""The one reading of a table that no tool wrote, or the refusal of several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._plain_tables import sources, terms
from skanchor.io._plain_tables.cases import Case, undecided
from skanchor.io._plain_tables.measures import says_who_won
from skanchor.io._plain_tables.names import (
    candidates,
    name_key,
    pairs_of_sides,
    prompt_columns,
    side_pairs,
)
from skanchor.io._plain_tables.order import (
    check_both_orders,
    in_order,
    may_be_swapped,
)
from skanchor.io._plain_tables.outcomes import (
    OutcomeReading,
    by_levels,
    by_winners_name,
    holds_standard,
    is_relative,
    label_of,
    on_scale,
    readings,
    tells_side,
)
from skanchor.io._plain_tables.ratings import is_numeric
from skanchor.io._plain_tables.refusals import unknown_outcomes
from skanchor.io._plain_tables.several import fits_outcomes, not_read
from skanchor.io._plain_tables.winners import (
    flags,
    is_flag,
    may_be_tie_flag,
    names_loser,
    tie_flag,
    won_and_lost,
)
from skanchor.io.columns import distinct, label_key

_SHOWN = 8
"""Largest number of values that a message lists."""

_LONG_TEXT = 60
"""Median length of cells, in characters, above which they are texts, not names."""


@dataclass(frozen=True)
class Names:
    """Which columns of a table are what.

    Attributes
    ----------
    renames : mapping from str to str
        From the table's names to the standard ones.
    copies : mapping from str to str
        Columns to copy under a standard name, since they are of use as they are, too.
    sides : tuple of str
        The columns of the models.
    outcome : str or None
        The column of the outcome; None where each row names winner and loser.
    says : tuple of str
        What was assumed, in words.
    tied : str or None
        Column that says which rows are ties.
    """

    renames: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    sides: tuple[str, str] = ("model_a", "model_b")
    outcome: str | None = "winner"
    says: tuple[str, ...] = ()
    tied: str | None = None

    def apply(self, table: pd.DataFrame) -> pd.DataFrame:
        """Table with the standard names."""
        copied = {new: table[old] for old, new in self.copies.items()}
        table = table.assign(**copied).rename(columns=dict(self.renames))
        if self.outcome is None:
            table = table.assign(winner="model_a", shown_first=None)
            if self.tied is not None:
                table.loc[flags(table[self.tied], "are ties"), "winner"] = "tie"
        return table


def needs_names(names: Sequence[str]) -> bool:
    """Whether a table with standard models and outcome has other names to find."""
    names = [str(name) for name in names]
    some = [] if "judge" in names else [*terms.WHO]
    some += [] if "prompt_id" in names else [*terms.ALL_PROMPTS]
    told = candidates([n for n in names if n != "rater"], some)
    told += [*may_be_swapped(names), *may_be_tie_flag(names)]
    return bool(told or any(map(sources.is_people_flag, names)))


def models_and_outcome(
    raw: pd.DataFrame,
) -> tuple[tuple[str, str] | None, str | None]:
    """Find the columns of the two models, and the one of the outcome.

    Parameters
    ----------
    raw : DataFrame
        The table.

    Returns
    -------
    sides : (str, str) or None
    outcome : str or None

    Raises
    ------
    BattlesError
        If several columns may be the models, or the outcome.
    """
    names = raw.columns
    pairs = [pair for pair in side_pairs(names) if not _are_texts(raw, pair)]
    if not pairs:
        return None, None
    if len(pairs) > 1:
        raise undecided(
            f"The models may be in {_listed_readings(pairs)}.",
            [
                Case(
                    {"columns": {pair[0]: "model_a", pair[1]: "model_b"}},
                    f"If they are in {pair[0]!r} and {pair[1]!r}",
                )
                for pair in pairs
            ],
        )
    check_both_orders(raw, pairs[0])
    outcome = _outcome(raw, pairs[0])
    return in_order(raw, pairs[0], outcome), outcome


def find_names(raw: pd.DataFrame) -> Names | None:
    """Find the columns of a table of battles by their names.

    Parameters
    ----------
    raw : DataFrame
        The table.

    Returns
    -------
    Names or None
        None if there are no columns of two models or none of an outcome.

    Raises
    ------
    BattlesError
        If several columns may be the models, or the outcome.
    """
    names = list(raw.columns)
    sides, outcome = models_and_outcome(raw)
    if sides is None:
        return _winner_and_loser(raw)
    if outcome is None:
        return None
    renames, says = dict(zip(sides, ("model_a", "model_b"), strict=True)), []
    if not _as_standard(sides, ("model_a", "model_b")):
        says.append(
            f"the models are in {sides[0]!r} and {sides[1]!r}, shown in this order"
        )
    if (
        not _as_standard((outcome,), ("winner",))
        and name_key(outcome) != terms.WINNER_NAME
    ):
        lost = " names the loser of each row" if names_loser(outcome) else ""
        says.append(f"{outcome!r}{lost}" if lost else f"the outcome is {outcome!r}")
    says += [f"{name!r} is not read" for name in not_read(raw, outcome)]
    renames[outcome] = "winner"
    rest = [name for name in names if name not in renames]
    ties = [n for n in may_be_tie_flag(rest) if is_flag(raw[n])]
    tie = next((n for n in ties if flags(raw[n], "are ties").any()), None)
    if tie is not None:
        says.append(f"{tie!r} says which rows are ties")
    for more, said in (_judge_column(raw, rest), _prompt(rest)):
        renames |= more
        says += said
    copies = {}
    for old, new in list(renames.items()):
        if new == "prompt_id" and name_key(old) in terms.PROMPTS[1]:
            copies[old] = renames.pop(old)
    features = pairs_of_sides([n for n in rest if n not in renames], sides)
    features = {
        name: pair
        for name, pair in features.items()
        if pair != (f"{name}_a", f"{name}_b")
        and all(is_numeric(raw[side]) for side in pair)
    }
    if features:
        for name, pair in features.items():
            renames |= {pair[0]: f"{name}_a", pair[1]: f"{name}_b"}
        says.append(f"pairs of features are {_listed_readings(list(features))}")
    renames = {old: new for old, new in renames.items() if old != new}
    return Names(renames, copies, sides, outcome, tuple(says), tie)


def read_outcomes(
    table: pd.DataFrame,
    names: Names,
    levels: Mapping[str, float],
    *,
    trusted: bool,
    lenient: bool = False,
) -> tuple[OutcomeReading, str | None]:
    """Read the outcomes of a table in the one way that all of them fit.

    Parameters
    ----------
    table : DataFrame
        With standard names of columns.
    names : Names
        The names that the table had.
    levels : mapping from str to float
        What verdicts mean, where the user says so.
    trusted : bool
        Whether numbers in [0, 1] mean the preference for ``model_a``, as documented.
    lenient : bool, default=False
        Whether rows that name another model as the winner have no outcome.

    Returns
    -------
    reading : OutcomeReading
        Standard outcomes, and how they were read.
    says : str or None
        What was assumed, in words; None if nothing was.

    Raises
    ------
    BattlesError
        If the outcomes can be read in no way, or in several that disagree.
    """
    outcome = table["winner"]
    name = names.outcome or "winner"
    scaled = (
        (on_scale(outcome, levels) or by_levels(outcome, levels)) if levels else None
    )
    if scaled is not None:
        _check_range(scaled, name)
        return scaled, None
    by_name = name_key(name) == terms.WINNER_NAME
    numeric = pd.api.types.is_numeric_dtype(outcome)
    plain = holds_standard(outcome) and (trusted or not numeric)
    found = (
        [] if not plain else [OutcomeReading(outcome, "standard labels", plain=True)]
    )
    if plain and numeric:
        return found[0], _of_zero_and_one(outcome, names.sides)
    told = outcome.rename(name), table["model_a"], table["model_b"]
    if plain:
        # Standard labels may be names of models, too.
        named = by_winners_name(*told, lenient)
        found += [] if named is None else [named]
    else:
        found = readings(
            *told, levels, by_name=by_name, lenient=lenient, sides=names.sides
        )
    if not found:
        raise unknown_outcomes(*told, names.sides)
    for other in found[1:]:
        differ = ~np.isclose(found[0].numbers(), other.numbers(), equal_nan=True)
        if differ.any():
            if names_loser(name):
                found = [reading.of_losers() for reading in found]
            raise _several(told[0], found, int(np.argmax(differ)))
    return found[0], None if found[0].plain or by_name else found[0].means


def _of_zero_and_one(outcome: pd.Series, sides: tuple[str, str]) -> str | None:
    """What nothing but 0 and 1 is taken for; None where other numbers show a share."""
    values = set(distinct(outcome))
    if values != {0, 1}:
        return None
    one, zero = ("True", "False") if pd.api.types.is_bool_dtype(outcome) else ("1", "0")
    return (
        f"{one} is {sides[0]!r} won, {zero} is {sides[1]!r} won (if it is the other "
        "way round, give the levels 0=1,1=0)"
    )


# ----------------------------------------------------------------------- single roles
def _outcome(raw: pd.DataFrame, sides: tuple[str, str]) -> str | None:
    """The column of the outcome; raise if there are several."""
    rest = [name for name in raw.columns if name not in sides]
    # The loser's column comes last, since it is the winner's turned round.
    lost = [name for name in rest if _may_be_loser(raw, name, sides)]
    # So do those that say how good one side is, where no other column holds outcomes.
    keys = {"winner"}, {terms.WINNER_NAME}, terms.OUTCOMES
    named = [candidates(rest, each) for each in keys]
    relative = [] if any(named) else _relative(raw, rest, sides)
    for found in (*named, relative, lost):
        if len(found) == 1:
            return found[0]
        if found:
            raise undecided(
                f"The outcome may be in {_listed_readings(found)}.",
                [
                    Case({"columns": {name: "winner"}}, f"If it is in {name!r}")
                    for name in found
                ],
            )
    return None


def _relative(
    raw: pd.DataFrame, names: Sequence[str], sides: tuple[str, str]
) -> list[str]:
    """Columns that say how good one side is, as "better" and "much worse" do.

    Raises
    ------
    BattlesError
        If there is one, and nothing says which side it is about.
    """
    found = [
        name for name in names if not is_numeric(raw[name]) and is_relative(raw[name])
    ]
    told = [name for name in found if tells_side(name, sides)]
    if told or len(found) != 1:
        return told
    (name,) = found
    one, two = (raw[side] for side in sides)
    (reading,) = readings(raw[name].rename("winner"), one, two, {})
    raise undecided(
        f"Column {name!r} says that one side is better or worse, but not which one.",
        [
            Case({"columns": {name: "winner"}, **each.arguments}, f"If {side!r} is it")
            for side, each in zip(sides, (reading, reading.of_losers()), strict=True)
        ],
    )


def outcome_of_labels(raw: pd.DataFrame, given: Iterable[Any]) -> str | None:
    """The column whose values all have a meaning that the user has given.

    Parameters
    ----------
    raw : DataFrame
        Table in which no column is known to hold the outcome.
    given : iterable
        Labels and levels of the user.

    Returns
    -------
    str or None
        None unless there is one such column.
    """
    known = {label_key(label) for label in given}
    found = []
    for name in raw.columns:
        own = {label_key(value) for value in distinct(raw[name])}
        if own & known and all(key in known or label_of(key) == "tie" for key in own):
            found.append(name)
    return found[0] if len(found) == 1 else None


def _may_be_loser(raw: pd.DataFrame, name: str, sides: tuple[str, str]) -> bool:
    """Whether a column holds the loser, by its name and its values."""
    one, two = (raw[side] for side in sides)
    if not names_loser(name) or says_who_won(raw[name], sides):
        return False
    return name_key(name) in terms.LOSERS or (
        not is_numeric(raw[name]) and fits_outcomes(raw[name], one, two)
    )


def _winner_and_loser(raw: pd.DataFrame) -> Names | None:
    """Names of a table whose rows name the model that won and the one that lost."""
    sides = won_and_lost(raw)
    if sides is None or _are_texts(raw, sides):
        return None
    says = f"each row names the winner, {sides[0]!r}, and the loser, {sides[1]!r}"
    rest = [name for name in raw.columns if name not in sides]
    tied = tie_flag(raw, rest)
    if tied is not None:
        says += f"; {tied!r} says which rows are ties"
    judge, said = _judge_column(raw, rest)
    prompt, told = _prompt(rest)
    renames = {sides[0]: "model_a", sides[1]: "model_b", **judge, **prompt}
    return Names(renames, {}, sides, None, (says, *said, *told), tied)


def _judge_column(
    raw: pd.DataFrame, rest: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """The column of judges, if one of the candidates holds a label of people."""
    if "judge" in rest:
        return {}, []
    found = sources.judge_columns(rest)
    people = sources.people_column(raw[list(rest)])
    if found == [people] and "rater" not in rest:
        return {found[0]: "rater"}, [f"{people!r} names people"]
    if len(found) == 1 and name_key(found[0]) == "judge":
        return {found[0]: "judge"}, []
    # A column of raters names people, unless one of them is called a human.
    found = [*found, *(name for name in rest if name == "rater")]
    holds = [n for n in found if sources.human_like(distinct(raw[n]))]
    if not found:
        holds = sources.judges_by_label(raw[list(rest)]) or _judging_models(raw, rest)
    if len(holds) != 1:
        # Whether such a column names judges or people, nothing here can tell.
        return {}, []
    return {holds[0]: "judge"}, [f"judges are in {holds[0]!r}"]


def _judging_models(raw: pd.DataFrame, rest: Sequence[str]) -> list[str]:
    """Columns of LLMs by name that are compared in no row: they are the judges."""
    compared = {*raw.drop(columns=list(rest)).astype("str").to_numpy().ravel()}
    labels = {
        n: set(raw[n].dropna().astype("str")) for n in candidates(rest, terms.MODELS)
    }
    return [
        name
        for name, own in labels.items()
        if own and not own & compared and all(map(sources.names_machine, own))
    ]


def _prompt(rest: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The column that names the prompts, if there is one."""
    found = prompt_columns(rest)
    if not found or "prompt_id" in found:
        return {}, []
    if len(found) > 1:
        listed = _listed_readings(found)
        return {}, [f"rows count as independent, although {listed} repeat"]
    same = _as_standard(found, ("prompt_id",))
    said = [] if same else [f"rows of one {found[0]!r} belong together"]
    return {found[0]: "prompt_id"}, said


def _as_standard(names: Sequence[str], standard: Sequence[str]) -> bool:
    """Whether names are standard but for case and blanks around them."""
    return [name.strip().casefold() for name in names] == list(standard)


def _are_texts(raw: pd.DataFrame, columns: Sequence[str]) -> bool:
    """Whether columns hold texts such as responses, not names of models."""
    if _as_standard(columns, ("model_a", "model_b")):
        return False
    head = raw[list(columns)].head(200)
    lengths = [head[name].astype("str").str.len().median() for name in columns]
    return max(lengths, default=0) > _LONG_TEXT


# --------------------------------------------------------------------------- refusals
def _several(
    outcome: pd.Series, found: Sequence[OutcomeReading], row: int
) -> BattlesError:
    """Error for outcomes that fit several readings, with the arguments that decide."""
    values = distinct(outcome)
    shown = ", ".join(map(str, values[:_SHOWN]))
    shown += ", ..." if len(values) > _SHOWN else ""
    different: list[OutcomeReading] = []
    for reading in found:
        numbers = reading.numbers()
        if not any(
            np.allclose(numbers, one.numbers(), equal_nan=True) for one in different
        ):
            different.append(reading)
    return undecided(
        f"Column {outcome.name!r} holds {shown}, which may mean "
        f"{len(different)} things, and row {row} differs between them.",
        [
            Case(
                reading.arguments or {"labels": {str(v): v for v in values}},
                f"If it holds {reading.means}",
            )
            for reading in different
        ],
    )


def _check_range(reading: OutcomeReading, name: str) -> None:
    """Refuse numbers outside the scale that the user gave."""
    numbers = reading.numbers()
    outside = (numbers < 0.0) | (numbers > 1.0)
    if outside.any():
        row = int(np.argmax(outside))
        raise BattlesError(
            f"Column {name!r} holds numbers outside {reading.means}, the first in row "
            f"{row}."
        )


def _listed_readings(names: Sequence[Any]) -> str:
    shown = [
        " and ".join(map(repr, name)) if isinstance(name, tuple) else repr(name)
        for name in names[:_SHOWN]
    ]
    if len(shown) < 2:
        return "".join(shown)
    joint = " or " if any(isinstance(name, tuple) for name in names) else " and "
    return ", ".join(shown[:-1]) + joint + shown[-1]
