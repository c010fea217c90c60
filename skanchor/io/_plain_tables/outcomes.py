"""Outcomes of a table: every way to read them that all values fit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from skanchor._battles.outcomes import WINNER_VALUES
from skanchor.io._plain_tables.names import name_key, side_of, words_of
from skanchor.io._tools._grades import grade
from skanchor.io.columns import (
    as_texts,
    coded,
    distinct,
    label_key,
    shown_value,
    values_of_codes,
)

_FIRST = frozenset(
    "modela a 1 left first model1 systema system1 responsea response1 answera answer1 "
    "outputa output1 assistanta assistant1 optiona option1 leftvote leftmodel "
    "modelleft one candidatea candidate1 llma llm1 lhs awins aisbetter abetter "
    "modelawins modelaisbetter modelabetter leftisbetter leftwins leftbetter 1wins "
    "model1wins model1isbetter model1better upper top slota slot1 win wins won".split()
)
_SECOND = frozenset(
    "modelb b 2 right second model2 systemb system2 responseb response2 answerb "
    "answer2 outputb output2 assistantb assistant2 optionb option2 rightvote "
    "rightmodel modelright two candidateb candidate2 llmb llm2 rhs bwins bisbetter "
    "bbetter modelbwins modelbisbetter modelbbetter rightisbetter rightwins "
    "rightbetter 2wins model2wins model2isbetter model2better lower bottom slotb slot2 "
    "loss loses lost lose".split()
)
_TIES = frozenset(
    "tie tied ties draw equal equals same aboutthesame thesame both bothgood tievote "
    "tiebothgood neither nopreference nodifference equallygood similar undecided "
    "bothequal even level tossup nocall".split()
)
_BOTH_BAD = frozenset("bothbad tiebothbad bothbadvote botharebad equallybad".split())

WON_OR_LOST = frozenset("win wins won loss loses lost lose".split())
"""Keys of outcomes that are about the first model by its name, not by its place."""

_MIRROR = {"model_a": "model_b", "model_b": "model_a"}

_PLACES = frozenset(("index", "idx"))
"""Words of names of columns that hold the winner's place, counted from zero."""

_PLACED: dict[frozenset[float], list[dict[float, str]]] = {
    frozenset((0, 1)): [{0: "model_a", 1: "model_b"}],
    # No place is a tie or a failed verdict, and no end of a scale.
    frozenset((-1, 0, 1)): [],
}
_NUMBERED: dict[frozenset[float], list[dict[float, str]]] = {
    frozenset((1, 2)): [{1: "model_a", 2: "model_b"}],
    frozenset((0, 1, 2)): [
        {tie: "tie", one: "model_a", two: "model_b"}
        for tie, one, two in ((0, 1, 2), (2, 0, 1), (2, 1, 0))
    ],
}
"""Every way to read some numbers as sides and ties: places, and numbers of sides."""

_RESULTS = {
    **{"1-0": "1", "0-1": "2", "½-½": "tie", "1/2-1/2": "tie", "0.5-0.5": "tie"},
    **dict.fromkeys(("=", "==", "≈", "🤝"), "tie"),
    **dict.fromkeys(("👈", "←", "⬅", "⬅️"), "left"),
    **dict.fromkeys(("👉", "→", "➡", "➡️"), "right"),
}
"""Keys of results as chess has them, and of signs."""

# Words of strength in graded verdicts such as "A is much better".
_STRONG = re.compile(
    r"much|significantly|strongly|strong|far|clearly|clear|definitely|way|alot|very|"
    r"considerably|substantially|decisive|decisively|viel|deutlich|mucho|beaucoup|molto"
)
_WEAK = re.compile(
    r"slightly|slight|somewhat|marginally|marginal|abit|alittle|weakly|weak|barely|"
    r"narrowly|narrow|etwas|leicht|unpoco|unpeu|leggermente"
)
_BETTER = frozenset(
    "better betterthan win wins won ahead superior besser mejor meilleur meilleure "
    "migliore".split()
)
_WORSE = frozenset(
    "worse worsethan loss loses lost lose behind inferior schlechter peor pire "
    "peggiore".split()
)
"""Keys of what one side is, without words of strength."""

_SIGNED = re.compile(r"[<>=+?]|^\s*-")

_MOST_LABELS = 3
"""Largest number of different numbers that may be labels of the sides and of ties."""

_SCALES = ((0, 1), (1, 2), (-1, 1), (-2, 2), (-3, 3), (1, 5), (1, 7), (1, 10))
_LARGE_SCALES = ((0, 10), (0, 100), (-10, 10), (-100, 100))
"""Ends of the scales on which preferences are usually given as numbers."""


@dataclass(frozen=True, eq=False)
class OutcomeReading:
    """One way to read the outcomes of a table.

    Attributes
    ----------
    winner : Series
        Standard outcomes: labels of `WINNER_VALUES`, or numbers in [0, 1]; null where
        the table has none.
    means : str
        What the values are taken for, in words.
    arguments : mapping
        Arguments of ``read_battles`` that ask for this reading.
    plain : bool, default=False
        Whether the values are standard already, so that nothing is assumed.
    """

    winner: pd.Series
    means: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    plain: bool = False

    @property
    def by_name(self) -> bool:
        """Whether the values are names of models."""
        return "columns" in self.arguments

    def of_losers(self) -> OutcomeReading:
        """The same values as names of losers, in words and arguments."""
        turned: dict[str, Any] = dict(self.arguments)
        if "labels" in turned:
            turned["labels"] = {
                value: _MIRROR.get(label, label)
                for value, label in turned["labels"].items()
            }
        if "levels" in turned:
            turned["levels"] = {n: 1.0 - at for n, at in turned["levels"].items()}
        means = self.means.replace(" won", " lost").replace("favour", "are against")
        return replace(self, means=means, arguments=turned)

    def numbers(self) -> np.ndarray:
        """Preferences for the first side; NaN where there is none."""
        if pd.api.types.is_numeric_dtype(self.winner):
            return self.winner.to_numpy(dtype=float, na_value=np.nan)
        codes, labels = coded(self.winner)
        values = [WINNER_VALUES[label] for label in labels]
        # The code of a null, -1, takes the last value.
        return np.array([*values, np.nan], dtype=float)[codes]


def holds_standard(outcome: pd.Series) -> bool:
    """Whether outcomes are standard labels, or numbers in [0, 1]."""
    if pd.api.types.is_bool_dtype(outcome):
        return True
    if pd.api.types.is_numeric_dtype(outcome):
        return bool(outcome.dropna().between(0.0, 1.0).all())
    return all(
        isinstance(label, str) and label in WINNER_VALUES for label in distinct(outcome)
    )


def readings(
    outcome: pd.Series,
    first: pd.Series,
    second: pd.Series,
    levels: Mapping[str, float],
    *,
    by_name: bool = False,
    lenient: bool = False,
    sides: tuple[str, str] = ("model_a", "model_b"),
) -> list[OutcomeReading]:
    """List every way to read outcomes that all values fit.

    Parameters
    ----------
    outcome : Series
        Outcomes as the table has them; null where there is none.
    first, second : Series
        Models of the two sides.
    levels : mapping from str to float
        What graded verdicts mean, where the user says so.
    by_name : bool, default=False
        Whether the values are known to be names of models.
    lenient : bool, default=False
        Whether rows whose winner is not compared there may be left without an outcome.
    sides : tuple of str
        Names of the columns of the models, for words.

    Returns
    -------
    list of OutcomeReading
        Empty if some value fits nothing; several if the values may mean several things.
    """
    codes, values = coded(outcome)
    numbers = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce")
    found = []
    named = by_winners_name(outcome, first, second, lenient)
    if named is not None:
        found.append(named)
        # Many numbers that are all names of the two models are no scale.
        by_name = by_name or bool(numbers.nunique() > _MOST_LABELS)
    if by_name or not values:
        return found
    keys = [_value_key(value) for value in values]

    def add(meant: Sequence[Any], means: str, **arguments: Any) -> None:
        winner = values_of_codes(list(meant), codes).set_axis(outcome.index)
        found.append(OutcomeReading(winner, means, arguments))

    def add_labels(labels: Sequence[str], prefix: str = "") -> None:
        meant = dict(zip(map(shown_value, values), labels, strict=True))
        add(labels, prefix + _said(meant, sides), labels=meant)

    about = _side_told(str(outcome.name), sides)
    sided = [_side(key) for key in keys]
    if about == 1 and all(key in WON_OR_LOST or _tie(key) for key in keys):
        # The second side's wins, by the name of the column.
        sided = [_MIRROR.get(side or "", side) for side in sided]
    if numbers.notna().all():
        found += _of_numbers(outcome, numbers.tolist(), sides, add_labels)
    elif all(sided) and ("c" not in keys or {"a", "b"} & {*keys}):
        # "C" is no tie without A or B beside it.
        add_labels([side or "" for side in sided])
    told = {n for n in numbers.tolist() if n == n}
    words = [key for key, n in zip(keys, numbers, strict=True) if n != n]
    if told in ({0.0, 1.0}, {-1.0, 1.0}) and words and all(map(_tie, words)):
        # Two numbers beside words for ties: either may be the first side, unless they
        # are places, which begin with that of the first side.
        places = bool({*words_of(outcome.name)} & _PLACES)
        for high in ("model_b",) if places else ("model_a", "model_b"):
            other = "model_b" if high == "model_a" else "model_a"
            labels = [
                (_tie(key) or "") if n != n else (high if n == 1.0 else other)
                for key, n in zip(keys, numbers, strict=True)
            ]
            add_labels(labels)
    grades = [
        _degree(grade(str(value)), key, about)
        for value, key in zip(values, keys, strict=True)
    ]
    degrees = [degree for degree in grades if degree is not None]
    if not all(sided) and len(degrees) == len(values):
        _add_graded(values, degrees, levels, add)
    return found


def is_relative(column: pd.Series) -> bool:
    """Whether outcomes say how good one side is, as "better" and "much worse" do."""
    keys = [_value_key(value) for value in distinct(column)]
    plain = {_without_strength(key) for key in keys if not _tie(key)}
    return bool(plain & _BETTER) and bool(plain) and plain <= _BETTER | _WORSE


def tells_side(name: str, sides: tuple[str, str]) -> bool:
    """Whether a name says which side its outcomes are about, as "model_a is" does."""
    stem, _ = side_of(name, sides) or ("", -1)
    return bool(stem)


def label_of(value: Any) -> str | None:
    """Standard label of a word for a side or a tie; None for other words."""
    return _side(_value_key(value))


def by_levels(outcome: pd.Series, levels: Mapping[str, float]) -> OutcomeReading | None:
    """Read outcomes by levels that the user has given of all of them.

    Returns None if one of them has no level, and is no word for a tie.
    """
    codes, labels = coded(outcome)
    own = {label_key(level): number for level, number in levels.items()}
    meant = [
        own.get(label_key(value), 0.5 if _tie(_value_key(value)) else None)
        for value in labels
    ]
    if not meant or None in meant or {*map(label_key, labels)}.isdisjoint(own):
        return None
    winner = values_of_codes(meant, codes).set_axis(outcome.index)
    return OutcomeReading(winner.astype(float), "levels that are given")


def on_scale(outcome: pd.Series, levels: Mapping[str, float]) -> OutcomeReading | None:
    """Read numbers by two levels of their scale, such as ``{"1": 1.0, "7": 0.0}``.

    Returns None if the outcomes are not numbers, or the levels not two numbers.
    """
    try:
        (low, at_low), (high, at_high) = sorted(
            (float(level), value) for level, value in levels.items()
        )
    except ValueError:
        return None
    numbers = pd.to_numeric(outcome, errors="coerce")
    if low == high or numbers.isna().ne(outcome.isna()).any():
        return None
    winner = at_low + (numbers - low) * ((at_high - at_low) / (high - low))
    return OutcomeReading(winner, f"a scale from {low:g} to {high:g}")


# --------------------------------------------------------------------------- readings
def by_winners_name(
    outcome: pd.Series, first: pd.Series, second: pd.Series, lenient: bool
) -> OutcomeReading | None:
    """Outcomes that are the winner's name, or words for a tie; None for others."""
    # Distinct values decide whether any row is worth a look: rows may be millions.
    names = {name.casefold() for side in (first, second) for name in _distinct(side)}
    if not any(value.casefold() in names for value in _distinct(outcome)):
        return None
    texts, one, two = (_plain(column) for column in (outcome, first, second))
    given = outcome.notna()
    wins, loses = given & texts.eq(one), given & texts.eq(two)
    models = {*one.dropna().unique(), *two.dropna().unique()}
    if len({model.casefold() for model in models}) == len(models):
        # Names in another case, where that leaves all models apart.
        folded = [column.str.casefold() for column in (texts, one, two)]
        wins, loses = given & folded[0].eq(folded[1]), given & folded[0].eq(folded[2])
    rest = given & ~wins & ~loses
    odd = [_tie(_value_key(value)) for value in outcome[rest].unique().tolist()]
    fits = all(odd) or (lenient and (wins | loses).sum() > 0.5 * given.sum())
    if not (wins | loses).any() or not fits:
        return None
    winner = pd.Series(None, index=outcome.index, dtype=object)
    ties = dict(zip(outcome[rest].unique().tolist(), odd, strict=True))
    winner[rest] = outcome[rest].map(ties)
    # A row that compares a model with itself has no winner.
    winner[loses] = "model_b"
    winner[wins] = "model_a"
    winner[wins & loses] = "tie"
    name = str(outcome.name)
    return OutcomeReading(
        winner, "names of the winning models", {"columns": {name: "winner_name"}}
    )


def _of_numbers(
    outcome: pd.Series, numbers: list[float], sides: tuple[str, str], add_labels: Any
) -> list[OutcomeReading]:
    """Readings of numbers: of the sides and ties, or a scale either way."""
    known = frozenset(numbers)
    places = known in _PLACED and bool({*words_of(outcome.name)} & _PLACES)
    ways = _PLACED[known] if places else _NUMBERED.get(known)
    if ways is not None:
        prefix = "places from 0: " if places else ""
        for label in ways:
            add_labels([label[n] for n in numbers], prefix)
        return []
    low, high = _scale(min(known), max(known))
    share = (pd.to_numeric(outcome, errors="coerce") - low) / (high - low)
    means = f"numbers from {low:g} to {high:g}, of which larger ones favour"
    found = []
    for winner, at_low, better in (
        (share, 0.0, sides[0]),
        (1.0 - share, 1.0, sides[1]),
    ):
        levels = {f"{low:g}": at_low, f"{high:g}": 1.0 - at_low}
        found.append(OutcomeReading(winner, f"{means} {better!r}", {"levels": levels}))
    return found


def _scale(low: float, high: float) -> tuple[float, float]:
    """Ends of the narrowest usual scale that holds all numbers."""
    for start, end in (*_SCALES, *_LARGE_SCALES):
        if start <= low and high <= end:
            return float(start), float(end)
    widest = max(abs(low), abs(high))
    return -widest, widest


def _add_graded(
    values: list[Any], grades: list[int], levels: Mapping[str, float], add: Any
) -> None:
    """Add the reading of graded verdicts, evenly spaced over the grades that occur."""
    degrees = sorted({abs(degree) for degree in grades if degree})
    # Without the strong grades, the others are the ends of the scale.
    share = {
        sign * degree: 0.5 + sign * 0.5 * step / len(degrees)
        for step, degree in enumerate(degrees, start=1)
        for sign in (-1, 1)
    }
    own = {label_key(level): number for level, number in levels.items()}
    meant = {
        value: own.get(label_key(value), round(share.get(degree, 0.5), 4))
        for value, degree in zip(values, grades, strict=True)
    }
    ordered = sorted(meant.items(), key=lambda item: -item[1])
    said = ", ".join(f"{value} is {number:g}" for value, number in ordered)
    add([*meant.values()], said, levels={str(k): v for k, v in ordered})


# ------------------------------------------------------------------------ single cells
def _value_key(value: Any) -> str:
    """Key of an outcome: letters and digits, without case; "" for numbers and grades.

    Signs such as those of ``A>B`` and ``-1`` have a meaning, so they must not be lost.
    """
    text = shown_value(value)
    if text in _RESULTS:
        return _RESULTS[text]
    return "" if _SIGNED.search(text) else name_key(text)


def _tie(key: str) -> str | None:
    if key in _BOTH_BAD:
        return "both_bad"
    return "tie" if key in _TIES else None


def _side(key: str) -> str | None:
    """Standard label of a word for a side or a tie; None for other words."""
    if key in _FIRST:
        return "model_a"
    if key in _SECOND:
        return "model_b"
    # "C" is a tie beside A and B, as some prompts of judges ask for it.
    return "tie" if key == "c" else _tie(key)


_DEGREES = {"A>>B": 3, "A>B": 2, "A=B": 0, "B>A": -2, "B>>A": -3}


def _degree(verdict: str | None, key: str, about: int) -> int | None:
    """Degree of a grade, or of a verdict in words; negative for the second side.

    It is 1 if slight, 2, or 3 if strong. "A is much better" names its side; "much
    better" is about the side ``about``.
    """
    if verdict is not None:
        return _DEGREES[verdict]
    if _tie(key):
        return 0
    strong, weak = bool(_STRONG.search(key)), bool(_WEAK.search(key))
    plain = _without_strength(key)
    if plain in _BETTER | _WORSE:
        first = (plain in _BETTER) == (about == 0)
    else:
        side = _side(plain) or _side(plain.removesuffix("better").removesuffix("is"))
        if side not in ("model_a", "model_b"):
            return None
        first = side == "model_a"
    if strong and weak:
        return None
    degree = 3 if strong else 1 if weak else 2
    return degree if first else -degree


def _without_strength(key: str) -> str:
    """Key of a verdict without its words of strength."""
    return _WEAK.sub("", _STRONG.sub("", key))


def _side_told(name: str, sides: tuple[str, str]) -> int:
    """The side, 0 or 1, that outcomes are about by their name; else the first.

    Parameters
    ----------
    name : str
        Name of the column, such as ``"model_b is"``.
    sides : tuple of str
        Names of the columns of the models.
    """
    _, side = side_of(name, sides) or ("", 0)
    return side


def _distinct(column: pd.Series) -> list[str]:
    """Distinct texts of a column, as :func:`_plain` has them."""
    return _plain(pd.Series(distinct(column))).dropna().unique().tolist()


def _plain(column: pd.Series) -> pd.Series:
    """Cells as text without blanks around them; whole numbers without a point."""
    if pd.api.types.infer_dtype(column, skipna=True) != "string":
        column = column.map(shown_value, na_action="ignore")
    return as_texts(column).str.strip()


def _said(meant: Mapping[str, str], sides: tuple[str, str]) -> str:
    """What labels mean, in words, such as ``A: 'left' won``."""
    a, b = sides
    words = {"model_a": f"{a!r} won", "model_b": f"{b!r} won", "tie": "a tie"}
    words["both_bad"] = "both bad"
    order = list(words)
    pairs = sorted(meant.items(), key=lambda item: order.index(item[1]))
    return ", ".join(f"{value} is {words[label]}" for value, label in pairs)
