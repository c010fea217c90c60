"""Why a table is not read, all of it, and the arguments that read it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._plain_tables import sources, terms
from skanchor.io._plain_tables.cases import Case, undecided
from skanchor.io._plain_tables.counts import is_count
from skanchor.io._plain_tables.names import (
    candidates,
    name_key,
    pairs_of_sides,
    quoted,
    side_pairs,
    words_of,
)
from skanchor.io._plain_tables.order import may_be_swapped
from skanchor.io._plain_tables.outcomes import label_of, readings
from skanchor.io._plain_tables.ratings import (
    is_board,
    is_numeric,
    model_columns,
    models_in_columns,
)
from skanchor.io._plain_tables.several import fits_outcomes
from skanchor.io._plain_tables.winners import names_loser
from skanchor.io._tools._cells import FAILED
from skanchor.io._tools.recognition import nearest
from skanchor.io.columns import distinct, label_key

_RESPONSES = terms.pairs(
    "chosen/rejected output_1/output_2 response_1/response_2 response_a/response_b "
    "response_A/response_B"
)
"""Columns of pairs of responses in files that need not name the models."""

_COUNTS = {"votes", "vote", "count", "counts", "voters", "num", "n"}
"""Words of names of numbers of votes for either side."""

_OFFERED = 6
"""Largest number of cases that are offered."""

_GAPS = frozenset("score preference diff difference margin gap delta advantage".split())
"""Words of names of differences between the sides, of which there may be many."""

_GRADES = 11
"""Largest number of different numbers that may be grades of outcomes."""

_SHOWN = 5
"""Largest number of labels that a message lists."""


def unknown_outcomes(
    outcome: pd.Series, first: pd.Series, second: pd.Series, sides: tuple[str, str]
) -> BattlesError:
    """Error for outcomes that fit no reading as a whole.

    Parameters
    ----------
    outcome : Series
        Outcomes as the table has them.
    first, second : Series
        Models of the two sides.
    sides : tuple of str
        Names of the columns of the models.

    Returns
    -------
    BattlesError
        It names the labels that fit nothing, and ends in the arguments that help.
    """
    return undecided(*_unknown_outcomes(outcome, first, second, sides))


def _unknown_outcomes(
    outcome: pd.Series, first: pd.Series, second: pd.Series, sides: tuple[str, str]
) -> tuple[str, list[Case | str]]:
    """Which outcomes fit no reading, and what each may be said to mean."""
    labels = outcome.dropna().value_counts().index.tolist()
    failed = [v for v in labels if label_key(v) in (*FAILED, "-1")]
    rest = outcome.mask(outcome.isin(failed))
    if failed and readings(rest, first, second, {}):
        n = int(outcome.isin(failed).sum())
        ties = {"-1": "tie"} if "-1" in map(label_key, failed) else {}
        tied = [Case({"labels": ties}, "If they are ties")] if ties else []
        return (
            f"Column {outcome.name!r} holds no verdict in {n} rows ({quoted(failed)}).",
            [*tied, Case({"drop_invalid": True}, "To leave them out")],
        )
    named = [value for value in labels if value in {*first.unique(), *second.unique()}]
    if named:
        plays = outcome.eq(first) | outcome.eq(second)
        odd = outcome.notna() & outcome.isin(named) & ~plays
        if odd.any():
            row = int(odd.to_numpy().argmax())
            return (
                f"Column {outcome.name!r} names winners, but in {odd.sum()} rows a "
                f"model that is not compared there, first in row {row}: "
                f"{outcome.iloc[row]!r} beside {first.iloc[row]!r} and "
                f"{second.iloc[row]!r}.",
                [Case({"drop_invalid": True}, "To leave such rows out")],
            )
    known = [value for value in labels if value in named or label_of(value)]
    unknown = [value for value in labels if value not in known]
    row = int(outcome.isin(unknown).to_numpy().argmax())
    what = (
        f"Unknown outcome labels {[str(v) for v in unknown[:_SHOWN]]} in column "
        f"{outcome.name!r}, first in row {row}"
    )
    favours = [v for v in known if label_of(v) not in ("tie", "both_bad")]
    if (favours and len(unknown) <= 2 * _SHOWN) or (known and len(unknown) in (1, 3)):
        ties = {str(value): "tie" for value in unknown}
        none = {str(value): "invalid" for value in unknown}
        return (
            f"{what}; the others are {quoted(known)}.",
            [
                Case({"labels": ties}, "If they are ties"),
                Case({"labels": none, "drop_invalid": True}, "If they are no verdicts"),
            ],
        )
    if not 2 <= len(unknown) <= 3:
        own = [str(value) for value in labels if value not in failed]
        return (
            f"{what}; there are {len(unknown)} different ones.",
            _levels_of(own, sides),
        )
    # The two most frequent labels are the sides, and a third one is the tie.
    one, two, *third = (str(value) for value in unknown)
    ties = dict.fromkeys(third, "tie")
    return (
        f"{what}.",
        [
            Case({"labels": {a: "model_a", b: "model_b", **ties}},
                 f"If {a!r} means that {sides[0]!r} won")
            for a, b in ((one, two), (two, one))
        ],
    )  # fmt: skip


def _levels_of(labels: list[str], sides: tuple[str, str]) -> list[Case | str]:
    """Cases that give words of degree their levels; else what to fill in.

    Words that are numbered stand in that order, which may begin at either side.
    """
    if not 3 < len(labels) <= _GRADES:
        return ["Say what they mean with labels={'left': 'model_a'}."]
    numbers = [re.match(r"\s*\(?([-+]?\d+)\b", label) for label in labels]
    places = [int(found[1]) for found in numbers if found]
    if len({*places}) < len(labels):
        levels = ", ".join(f"{label!r}: ..." for label in labels)
        return [
            f"Give each a number, from 1 where {sides[0]!r} is far better to 0 where "
            f"{sides[1]!r} is: levels={{{levels}}}."
        ]
    ordered = [label for _, label in sorted(zip(places, labels, strict=True))]
    step = 1.0 / (len(ordered) - 1)
    return [
        Case({"levels": {w: round(1.0 - n * step, 4) for n, w in enumerate(words)}},
             f"If {words[0]!r} is the best for {sides[0]!r}, and {words[-1]!r} the "
             "worst")
        for words in (ordered, ordered[::-1])
    ]  # fmt: skip


def missing_outcomes(winner: pd.Series, name: str) -> BattlesError | None:
    """Error for rows without an outcome, where others have one.

    Parameters
    ----------
    winner : Series
        Outcomes, null where there is none.
    name : str
        Name of the column in the table.

    Returns
    -------
    BattlesError or None
        None if no outcome is missing, or all are.
    """
    empty = winner.isna()
    if not empty.any() or empty.all():
        return None
    return undecided(
        f"Column {name!r} is empty in {empty.sum():,} of {len(winner):,} rows, the "
        f"first of them row {int(empty.to_numpy().argmax())}.",
        [
            Case({"labels": {"": "tie"}}, "If empty cells are ties"),
            Case({"drop_invalid": True}, "If they hold no verdict"),
        ],
    )


def no_battles(
    raw: pd.DataFrame, missing: Sequence[str], *, is_file: bool = True
) -> BattlesError:
    """Error for a table in which no battles are found.

    Parameters
    ----------
    raw : DataFrame
        The table.
    missing : sequence of str
        Standard columns that it lacks.
    is_file : bool, default=True
        Whether the table comes from a file, not from memory.

    Returns
    -------
    BattlesError
    """
    names = list(raw.columns)
    models = model_columns(raw)
    pairs, near = side_pairs(names), nearest(raw) if is_file else []
    if is_board(raw):
        return BattlesError(
            f"A leaderboard: it holds scores of {len(raw)} models, not battles. Give "
            "the comparisons that the scores were computed from, one in each row."
        )
    results = [name for name in names if name.endswith("_result")]
    if "idx" in names and len(results) == 1:
        return BattlesError(
            f"Results of a judge by 'idx' (column {results[0]!r}), which names no "
            "models: they are in another file, such as PandaLM's testset-v1.json. Give "
            "both files, that one first."
        )
    if len(models) == 1 and raw[models[0]].nunique() == 1 and not pairs:
        return BattlesError(
            f"Column {models[0]!r} holds one model only, {raw[models[0]].iloc[0]!r}: "
            "nothing is compared with it. Add the rows of other models."
        )
    if not (near or pairs) and any({a, b} <= set(names) for a, b in _RESPONSES):
        return BattlesError(
            "The table holds pairs of responses, but not the models that gave them, so "
            "there is nothing to rank. Add columns 'model_a' and 'model_b'."
        )
    scores = [name for name in candidates(names, terms.SCORES) if is_numeric(raw[name])]
    guesses = _guesses(raw, names, pairs, models, scores)
    if not is_file:
        return undecided(
            f"The battles table lacks the columns {list(missing)}; it has "
            f"{names[:20]}.",
            guesses or ["Rename columns with columns={'given': 'standard'}."],
        )
    return undecided(
        f"The format is not known: the file has the columns {names[:20]} and lacks "
        f"{list(missing)}"
        + (f"; it comes near to {', '.join(near)}." if near else "."),
        guesses
        or [
            "Rename columns with columns={'given': 'standard'}, or name the tool with "
            "format (--from)."
        ],
    )


def _guesses(
    raw: pd.DataFrame,
    names: list[str],
    pairs: Sequence[tuple[str, str]],
    models: Sequence[str],
    scores: Sequence[str],
) -> list[Any]:
    """Cases that name columns which may be the missing ones."""
    if models and scores:
        prompts = [
            name
            for name in names
            if name not in (*models, *scores, *candidates(names, terms.WHO))
            and 1 < raw[name].nunique() < len(raw)
        ]
        return [
            Case({"columns": {models[0]: "model", name: "prompt_id"}},
                 f"If {name!r} names the prompts that were rated")
            for name in prompts[:3]
        ] or [
            "Tables of scores are read with format='scores' (--from scores)."
        ]  # fmt: skip
    few = [
        n
        for n in names
        if raw[n].nunique() <= max(3, 0.2 * len(raw)) or _may_be_gap(raw[n])
    ]
    sides = pairs[0] if pairs else next(iter(_alike_pairs(raw, few)), None)
    if sides is None:
        return _of_models_in_columns(raw)
    models_are: dict[str, str] = {}
    if not pairs:
        models_are = dict(zip(sides, ("model_a", "model_b"), strict=True))
    known = candidates(names, terms.WHO | terms.ALL_PROMPTS)
    known += sources.judges_by_label(raw)
    rest = [name for name in few if name not in (*sides, *known)]
    rest = [
        name
        for name in rest
        if not (sources.is_people_flag(name) or may_be_swapped([name]))
        and not (is_count(name) and is_numeric(raw[name]))
        and not {*words_of(name)} & terms.MEASURES
        and not sources.human_like(distinct(raw[name]))
    ]
    sided = pairs_of_sides(rest, sides)
    rest = [name for name in rest if not any(name in two for two in sided.values())]
    named = candidates(rest, terms.OUTCOMES)
    cases = [] if models_are else _of_counts(sided)
    cases += [
        case
        for name in named or rest
        for case in _meanings(raw, name, sides, models_are)
    ]
    others = [n for n in names if n not in (*sides, *known, *named)]
    if not (cases or others) and models_are:
        return [
            Case({"columns": {won: "winner", lost: "loser"}},
                 f"If {won!r} won against {lost!r} in each row")
            for won, lost in (sides, sides[::-1])
            if name_key(lost) not in terms.OUTCOMES
        ]  # fmt: skip
    return cases[:_OFFERED]


def _of_models_in_columns(raw: pd.DataFrame) -> list[Case]:
    """Cases that read columns of numbers as the ranks, or the ratings, of models."""
    found = models_in_columns(raw)
    if not found:
        return []
    numbers = raw[found].apply(pd.to_numeric, errors="coerce")
    low, high = numbers.min().min(), numbers.max().max()
    words = set.intersection(*({*words_of(name)} for name in found))
    shown = f"{quoted(found)} hold the"
    ranks = Case(
        {"ratings": found, "levels": {f"{low:g}": 1.0, f"{high:g}": 0.0}},
        f"If {shown} ranks of a model each, of which {low:g} is the best",
    )
    ratings = Case(
        {"ratings": found}, f"If {shown} ratings of a model each, and more is better"
    )
    return [ranks] if "rank" in words else [ranks, ratings]


def _of_counts(sided: Mapping[str, tuple[str, str]]) -> list[Case]:
    """Cases that read numbers of votes of either side as counts, or as scores."""
    found = [pair for stem, pair in sided.items() if {*words_of(stem)} & _COUNTS]
    return [
        Case({"columns": {pair[0]: f"{new}_a", pair[1]: f"{new}_b"}}, case)
        for pair in found[:1]
        for new, case in (
            ("wins", f"If {pair[0]!r} and {pair[1]!r} are numbers of comparisons won"),
            ("score", "If a row is one comparison, which the larger number wins"),
        )
    ]


def _meanings(
    raw: pd.DataFrame,
    name: str,
    sides: tuple[str, str],
    models_are: Mapping[str, str],
) -> list[Case]:
    """Cases that take a column for the outcome, each in one case of what it holds.

    There are none for words of which some name an LLM, for more than a few words, and
    for more different numbers than grades have, unless these have both signs or are
    called differences.
    """
    outcome, one, two = (raw[each] for each in (name, *sides))
    # What empty cells mean is another question, which has a message of its own.
    outcome = outcome.mask(outcome.astype("str").str.strip().eq(""))
    role = "loser" if names_loser(name) else "winner"
    holds = "names the loser" if role == "loser" else "holds the outcome"
    models = f"{sides[0]!r} and {sides[1]!r} are the models"
    is_recognised = name_key(name) in terms.OUTCOMES | terms.LOSERS

    def case(
        arguments: Mapping[str, Any], held: str = "", prefix: str = "", by: str = role
    ) -> Case:
        known = arguments.get("columns", {name: by})
        # A column that is recognised under its own name keeps it.
        own = {} if models_are and is_recognised else known
        parts = [models] if models_are else []
        parts += [prefix] if prefix else []
        parts += [f"{name!r} {held or holds}"] if own or held else []
        return Case(
            {**arguments, "columns": {**models_are, **own}},
            f"If {', and '.join(parts)}",
        )

    if is_numeric(outcome):
        if outcome.nunique() > _GRADES and not _may_be_gap(outcome):
            return []
        numbers = pd.to_numeric(outcome, errors="coerce")
        found = readings(numbers.rename(name), one, two, {}, sides=sides)
        if len(found) < 2:
            return [case({})] if found else []
        if role == "loser":
            found = [reading.of_losers() for reading in found]
        return [case(each.arguments, f"holds {each.means}") for each in found]
    if fits_outcomes(outcome, one, two):
        return [case({})]
    texts = outcome.dropna().astype("str").str.strip()
    words = texts[texts.ne("")].unique().tolist()
    if not 2 <= len(words) <= 4 or any(map(sources.names_machine, words)):
        return []
    if {*words} & {*one, *two}:
        return []
    return [
        case(each.arguments, prefix=each.when.removeprefix("If "), by="winner")
        for each in _unknown_outcomes(outcome, one, two, sides)[1]
        if isinstance(each, Case)
    ]


def _may_be_gap(column: pd.Series) -> bool:
    """Whether a column may hold differences: by its name, or numbers of both signs."""
    if {*words_of(column.name)} & _GAPS:
        return True
    numbers = pd.to_numeric(column, errors="coerce")
    return is_numeric(column) and bool(numbers.min() < 0.0 < numbers.max())


def _alike_pairs(raw: pd.DataFrame, names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of columns of text that share most of their values, as those of models."""
    found = []
    for at, first in enumerate(names):
        one = set(raw[first].dropna().astype("str"))
        for second in names[at + 1 :]:
            two = set(raw[second].dropna().astype("str"))
            shared = len(one & two) / max(len(one | two), 1)
            if shared >= 0.5 and not is_numeric(raw[first]) and len(one | two) > 2:
                found.append((shared, (first, second)))
    return [pair for _, pair in sorted(found, key=lambda each: -each[0])]
