"""Rows with several outcomes: of several judges, or of both orders of the sides."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._plain_tables import terms
from skanchor.io._plain_tables.cases import Case, undecided
from skanchor.io._plain_tables.measures import says_who_won
from skanchor.io._plain_tables.names import candidates, name_key, words_of
from skanchor.io._plain_tables.order import OUTCOME_SWAPPED, SHOWN_SWAPPED
from skanchor.io._plain_tables.outcomes import (
    by_winners_name,
    holds_standard,
    label_of,
    readings,
)
from skanchor.io._plain_tables.ratings import is_numeric, require_ratings
from skanchor.io._plain_tables.sources import flag_of_people, human_like, names_machine
from skanchor.io._plain_tables.winners import names_loser
from skanchor.io.columns import distinct
from skanchor.io.generic import filled

_WORDS = terms.OUTCOMES - {"answer", "annotation", "best", "better", "source"}
_WORDS |= {f"{word}s" for word in _WORDS} - {"answers", "results"}
"""Words of names of columns that may hold one of several outcomes."""

_SECOND, _SECOND_SHOWN = "second_winner", "second_winner_shown"
"""Names of a second outcome beside ``winner``: about the columns as that one is, or of
a second game in which ``model_b`` was shown first, about the order shown."""

_GAMES = terms.pairs(
    "ab/ba 12/21 original/swapped normal/swapped forward/reverse forward/reversed "
    "forward/backward"
)
"""What tells the two orders of a pair in names of columns."""

_NUMBERED = terms.pairs("1/2 g1/g2 game1/game2 first/second")
"""What tells two games, or two raters."""

_NO_OUTCOMES = frozenset(
    "confidence certainty strength score scores rating ratings reason rationale "
    "explanation length tokens cost time latency prob probability id index".split()
)
"""Words of names of columns beside outcomes that are none."""

_TURNED = {"ba", "21", "swapped", "flipped", "reversed", "reverse", "backward"}
"""Words of names of columns whose outcomes may be about swapped sides."""

_NUMBERS = {-1.0, 0.0, 0.5, 1.0, 2.0}
"""Numbers of which outcomes of several columns may consist."""


def one_outcome_a_row(
    raw: pd.DataFrame, sides: tuple[str, str], given: Sequence[str] | None
) -> tuple[pd.DataFrame, list[str]] | None:
    """Table with a row for each outcome, of one that has several in a row.

    Parameters
    ----------
    raw : DataFrame
        Table without a column of the outcome.
    sides : tuple of str
        Columns of the models.
    given : sequence of str or None
        Columns of outcomes, one for each rater, as the user has named them.

    Returns
    -------
    (DataFrame, list of str) or None
        The table with the outcomes in one column, and what was assumed, in words; None
        if there are not several outcomes in a row.

    Raises
    ------
    BattlesError
        If there are several, and what they are is open.
    """
    if given:
        require_ratings(raw, given)
        return _rows_of_judges(raw, {name: name for name in given})
    if "winner" in raw:
        return _with_second(raw)
    found = _outcome_columns(raw, sides)
    if len(found) < 2:
        return None
    judges = {name: judge_name(name) for name in found}
    known = [n for n, of in judges.items() if human_like([of]) or names_machine(of)]
    turned = [name for name in found if {*words_of(name)} & _TURNED]
    if known and turned:
        raise open_judges(found, [name for name in found if name not in turned])
    if len({is_numeric(raw[name]) for name in found}) > 1:
        # Numbers in one column and words in another need not say the same.
        raise open_judges(found, known)
    if len(known) == len(found) == len(set(judges.values())) and "judge" not in raw:
        return _rows_of_judges(raw, judges)
    if not known and len(found) == 2:
        return _both_games(raw, (found[0], found[1]), sides)
    raise open_judges(found, known)


def _with_second(raw: pd.DataFrame) -> tuple[pd.DataFrame, list[str]] | None:
    """Rows of both outcomes, where the user has said what the second one is."""
    for second, flag in ((_SECOND, None), (_SECOND_SHOWN, OUTCOME_SWAPPED)):
        if second in raw:
            return _two_outcomes(raw, "winner", second, flag)
    return None


def not_read(raw: pd.DataFrame, outcome: str) -> list[str]:
    """Columns that look like a second outcome, and are not read.

    Parameters
    ----------
    raw : DataFrame
        The table.
    outcome : str
        Column of the outcome.

    Returns
    -------
    list of str
    """
    others = [
        name for name in raw.columns if name != outcome and {*words_of(name)} & _WORDS
    ]
    labels = _labels_of(raw[outcome]) if others else set()
    return [name for name in others if (own := _labels_of(raw[name])) and own <= labels]


def fits_outcomes(column: pd.Series, one: pd.Series, two: pd.Series) -> bool:
    """Whether the values of a column may be outcomes between two columns of models."""
    blank = [each for each in column.unique().tolist() if not str(each).strip()]
    column = column.mask(column.isin(blank)) if blank else column
    if not column.notna().any():
        return False
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().eq(column.notna()).all():
        return {*numbers.dropna().astype(float)} <= _NUMBERS
    return holds_standard(column) or bool(readings(column, one, two, {}))


# ----------------------------------------------------------------------------- reading
def _outcome_columns(raw: pd.DataFrame, sides: tuple[str, str]) -> list[str]:
    """Columns of outcomes: by a word of their names, or by the labels of those."""
    other = terms.WHO | terms.ALL_PROMPTS | terms.MEASURES
    names = [
        name
        for name in raw.columns
        if name not in sides
        and name_key(name) not in other
        and not {*words_of(name)} & _NO_OUTCOMES
        and not names_loser(name)
        and not says_who_won(raw[name], sides)
        and (flag_of_people(raw[name]) is None or name_key(name) == "human")
    ]
    one, two = (raw[side] for side in sides)
    fits = [name for name in names if fits_outcomes(raw[name], one, two)]
    told = [
        name
        for name in fits
        if {*words_of(name)} & (_WORDS | terms.WHO)
        or human_like([name])
        or names_machine(name)
    ]
    if len(told) < 2:
        # Columns of any name whose labels are those of the sides, such as "A" and "B".
        words = {name: {*map(label_of, _labels_of(raw[name]))} for name in fits}
        told = [name for name in fits if {"model_a", "model_b"} <= words[name]]
        told = [name for name in told if not is_numeric(raw[name])]
    labels = set().union(*(_labels_of(raw[name]) for name in told))
    alike = [n for n in fits if n in told or (_labels_of(raw[n]) <= labels and told)]
    return alike if len(told) > 1 else []


def _rows_of_judges(
    raw: pd.DataFrame, judges: Mapping[str, str]
) -> tuple[pd.DataFrame, list[str]]:
    """Rows of all judges that have a column each."""
    if "judge" in raw and human_like(_labels_of(raw["judge"])):
        # Their names would take the place of those in the table, in silence.
        raise BattlesError(
            f"Columns {list(judges)} cannot be those of a judge each: column 'judge' "
            "already says who decided in each row. Read the table without naming them "
            "as ratings, and the message says what they may be."
        )
    table = _stacked_columns(raw, {n: {"judge": of} for n, of in judges.items()})
    listed = ", ".join(map(repr, judges))
    return table, [f"columns {listed} hold the verdicts of a judge each"]


def _both_games(
    raw: pd.DataFrame, names: tuple[str, str], sides: tuple[str, str]
) -> tuple[pd.DataFrame, list[str]]:
    """Rows of both games of a pair; raise if the second one may mean two things."""
    first, second = names
    one, two = ({*words_of(name)} for name in names)
    marks = "".join(sorted(one - two)), "".join(sorted(two - one))
    if marks[::-1] in (*_GAMES, *_NUMBERED):
        first, second, marks = second, first, (marks[1], marks[0])
    models = raw[sides[0]], raw[sides[1]]
    named = [by_winners_name(raw[name], *models, False) for name in names]
    if None not in named:
        flag = SHOWN_SWAPPED if marks in _GAMES else None
        return _two_outcomes(raw, first, second, flag)
    if marks not in (*_GAMES, *_NUMBERED):
        raise open_judges(names, [])
    cases = [
        Case(
            {"columns": {first: "winner", second: _SECOND_SHOWN}},
            f"If {second!r} is a second game, in which {sides[1]!r} was shown first, "
            "and its outcomes are about the order shown",
        ),
        Case(
            {"columns": {first: "winner", second: _SECOND}},
            f"If outcomes of both are about {sides[0]!r} and {sides[1]!r} as the "
            "columns stand",
        ),
        Case({"columns": {first: "winner"}}, f"If {second!r} is not to count"),
    ]
    raise undecided(f"Each row holds two outcomes, {first!r} and {second!r}.", cases)


def open_judges(found: Sequence[str], known: Sequence[str]) -> BattlesError:
    """Error for columns of outcomes whose judges are open."""
    cases, each = [], {"ratings": list(found)}
    people = [n for n in found if n not in known and not {*words_of(n)} & _TURNED]
    if known and people and not human_like(map(judge_name, known)):
        case = f"If {', '.join(people)} are people, and the others LLM judges"
        cases.append(Case({**each, "human": people}, case))
    cases.append(Case(each, "If each holds the verdicts of a judge"))
    if known:
        cases.append(Case({"ratings": list(known)}, f"If only {', '.join(known)} do"))
    else:
        votes = {**each, "human": list(found)}
        cases.append(Case(votes, "If each holds the votes of a person"))
        cases.append(
            Case({"columns": {found[0]: "winner"}}, f"If only {found[0]!r} is to count")
        )
    listed = ", ".join(map(repr, found))
    return undecided(f"Each row holds {len(found)} outcomes, {listed}.", cases)


def _stacked_columns(
    raw: pd.DataFrame, columns: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame:
    """One row for each filled cell of some columns, with further cells of each."""
    names = list(raw.columns)
    rest = raw.drop(columns=[*columns])
    if not candidates(names, terms.ALL_PROMPTS):
        # The outcomes of one row are about the same two responses.
        rest = rest.assign(prompt_id=[f"row {n}" for n in range(len(raw))])
    parts = [rest.assign(winner=raw[name], **more) for name, more in columns.items()]
    table = pd.concat(parts).sort_index(kind="stable")
    return table[filled(table["winner"])].reset_index(drop=True)


def _two_outcomes(
    raw: pd.DataFrame, first: str, second: str, flag: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """Rows of both outcomes, with a flag of swapped sides or else an unknown order."""
    name, one, two = (flag, "no", "yes") if flag else ("shown_first", "model_a", "")
    marks = {first: {name: one}, second: {name: two}}
    said = f"each row holds two outcomes, {first!r} and {second!r}"
    return _stacked_columns(raw, marks), [said]


def judge_name(name: str) -> str:
    """Name of a column without the word for an outcome."""
    for word in {*words_of(name)} & _WORDS:
        rest = re.sub(rf"(?i)(?<![^\W_]){word}(?![^\W_])", "", name).strip(" _-.:()")
        name = rest or name
    return name


def _labels_of(column: pd.Series) -> set[str]:
    labels = distinct(column)
    return {text for label in labels if (text := str(label).strip().casefold())}
