"""A proposal: decisions about the columns, outcomes and judges of a table.

Each decision follows from the tables of words and from values; what these leave open is
``"?"``. Nothing is decided by what is likely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping as Dict
from fnmatch import fnmatchcase
from itertools import permutations
from typing import Any

from skanchor.exceptions import BattlesError
from skanchor.io import _words as words
from skanchor.io._columns import (
    FEW,
    MODELS,
    OUTCOMES,
    SCALE,
    UNCLEAR,
    Columns,
    Decision,
    judge_name,
)
from skanchor.io._tables import FILE, Table
from skanchor.io._words import FAILED, SHARES, TIE, A, B, number_of, outcome_key

_STANDARD = ("model_a", "model_b", "winner", "judge", "rater", "prompt_id",
             "shown_first")  # fmt: skip
_UNKNOWN = "a word of no table"
_RESULTS = words.words_of(words.RESULTS)


def propose(
    table: Table,
    roles: Dict[str, str],
    labels: Dict[Any, Any],
    human: Iterable[str] | None,
) -> dict[str, Any]:
    """Attributes of the mapping of a table; what is given is not looked for."""
    columns = Columns(table)
    for name, role in roles.items():
        if name not in table.frame:
            raise BattlesError(
                f"{table.files}: it has no column {name!r}; its columns are "
                f"{list(table.frame.columns)[:20]}."
            )
        columns.decide(role, "as given", name)
    columns.set_aside()
    if table.is_standard:
        for name in columns.free():
            role = "judge" if name == FILE else name if name in _STANDARD else "keep"
            columns.decide(role, "as the tool has it", name)
    else:
        columns.find()
    outcomes = Outcomes(columns)
    outcomes.find({outcome_key(label): of for label, of in labels.items()})
    # Names of models that differ in case alone may be one.
    names = dict.fromkeys(v for n in columns.named(*MODELS) for v in columns.values(n))
    twins = {
        name: Decision(UNCLEAR, f"may be {first!r}, or a model of its own")
        for name in names
        if (first := columns.models.get(name.casefold(), name)) != name
    }
    return {
        "layout": columns.layout,
        "columns": {name: columns.decisions[name] for name in table.frame.columns},
        "outcomes": outcomes.decisions,
        "judges": _judges(columns, human),
        "models": twins,
        "format": table.format,
        "source": table.source,
        "notes": tuple(outcomes.notes),
    }


# ---------------------------------------------------------------------------- outcomes
class Outcomes:
    """Decisions about all distinct outcomes."""

    def __init__(self, columns: Columns):
        self.columns = columns
        self.names = [*columns.named(*OUTCOMES), *columns.open_outcomes]
        self.decisions: dict[str, Decision] = {}
        self.notes: list[str] = []

    def find(self, labels: Dict[str, Any]) -> None:
        """Decide each outcome, or leave it open; meanings of labels are given."""
        table, layout = self.columns.table, self.columns.layout
        rows: Counter[str] = Counter()
        many: list[float] = []
        for name in self.names:
            values = self.columns.values(name)
            numbers = [v for v in values if number_of(v) is not None and v != "-1"]
            if len(numbers) > SCALE:
                many += map(float, numbers)
                values = {v: n for v, n in values.items() if v not in numbers}
            rows.update(values)
        if layout == "judges" or len(self.columns.named(*OUTCOMES)) > 1:
            # An empty cell says that this judge, or another file, did not compare.
            rows.pop("", None)
        for value, n in rows.items():
            self.decisions[value] = Decision(*self._meaning(value), n)
        if many:
            self._find_shares(min(many), max(many), len(many))
        elif not table.is_standard:
            self._find_numbers()
        self._find_weak_grades()
        for value, meaning in labels.items():
            if value in self.decisions:
                number = number_of(str(meaning))
                meaning = meaning if number is None else number
                self.decisions[value] = Decision(meaning, "as given", rows[value])
            else:
                raise BattlesError(
                    f"{table.files}: no outcome is {value!r}; the outcomes are "
                    f"{list(self.decisions)[:20]}."
                )
        unknown = [v for v, one in self.decisions.items() if one.reason == _UNKNOWN]
        if len(unknown) > FEW:
            raise BattlesError(
                f"{table.files}: column {self.names[0]!r} holds {len(unknown)} "
                f"outcomes that are in no table, such as {unknown[0][:40]!r}."
            )

    def _meaning(self, value: str) -> tuple[Any, str]:
        """Meaning of an outcome, and the reason."""
        columns = self.columns
        number = number_of(value)
        if columns.table.is_standard:
            return value if number is None else number, "as the tool has it"
        result = _RESULTS.get(words.name_key(value)) if value else None
        word = words.outcome_of(value)
        if word and word[0] == FAILED:
            if columns.table.drop_invalid:
                return FAILED, "no verdict"
            what = "may be a failed verdict" if value else "empty cells"
            return UNCLEAR, f"{what}: failed, tie, or a side"
        if columns.layout == "battles" and result is not None:
            return {A: "win", B: "loss", TIE: TIE}[result], "a word of results"
        if value.casefold() in columns.models:
            if word and word[0] in (A, B, TIE):
                return UNCLEAR, "names a model, and a side"
            return "its model", "names a model"
        if number is not None:
            return UNCLEAR, "a number"
        if not columns.has_sides and (word is None or word[0] in (A, B)):
            if result is None:
                return UNCLEAR, "a side, but the columns of models have none"
            return result, "the result of the first model"
        return word or (UNCLEAR, _UNKNOWN)

    def _find_shares(self, low: float, high: float, n: int) -> None:
        """What many different numbers mean: shares, if it is the standard."""
        text = f"{n} numbers from {low:g} to {high:g}"
        if low < 0.0 or high > 1.0:
            raise BattlesError(
                f"{self.columns.table.files}: column {self.names[0]!r} holds {text}; "
                "write numbers from 0 to 1, of which 1 means model_a (the page "
                "'Reshape your file' shows how)."
            )
        if self.names[0] == "winner":
            meaning, why = "share", f"{text}, as the standard has it"
        else:
            meaning = UNCLEAR
            why = f"{text}: share, if larger ones favour model_a, or share of model_b"
        self.decisions[SHARES] = Decision(meaning, why)

    def _find_numbers(self) -> None:
        """Decide a few numbers, or list all codings that they may have."""
        numbers = [v for v, one in self.decisions.items() if one.reason == "a number"]
        numbers = sorted(numbers, key=float)
        worth = {text: float(text) for text in numbers}
        inside = all(0.0 <= value <= 1.0 for value in worth.values())
        is_share = {*worth.values()} - {0.0, 0.5, 1.0}
        meanings: dict[str, Any] = {}
        if self.names[:1] == ["winner"] and inside and is_share:
            meanings, why = worth, "a share of model_a, as the standard has it"
        elif [*worth.values()] == [1.0, 2.0] and self.columns.has_sides:
            meanings, why = dict(zip(numbers, (A, B), strict=True)), "number of a side"
        elif numbers:
            self.notes.append(f"The numbers {', '.join(numbers)} may mean:")
            self.notes += [f"  {one}" for one in _codings(numbers)]
            if "-1" in self.decisions:
                self.notes += [f"  -1 = failed, {one}" for one in _codings(numbers)]
                self.notes += [f"  {one}" for one in _codings(["-1", *numbers])]
        for text, meaning in meanings.items():
            self.decisions[text] = Decision(meaning, why, self.decisions[text].rows)

    def _find_weak_grades(self) -> None:
        """Without a strong grade, a weak one is a win."""
        grades = {
            v: one
            for v, one in self.decisions.items()
            if one.reason == "a graded verdict"
        }
        if not any(one.meaning in (0.0, 1.0) for one in grades.values()):
            for value, one in grades.items():
                self.decisions[value] = one._replace(meaning=float(round(one.meaning)))


def _codings(numbers: list[str]) -> list[str]:
    """Every coding that a few numbers may have, in words."""
    if len(numbers) in (2, 3):
        codings: Any = sorted(permutations((A, B, TIE)[: len(numbers)]))
    else:
        even = [f"{n / max(len(numbers) - 1, 1):.3g}" for n in range(len(numbers))]
        codings = even, even[::-1]
    return [", ".join(f"{k} = {v}" for k, v in zip(numbers, coding, strict=True))
            for coding in codings]  # fmt: skip


# ------------------------------------------------------------------------------- judges
def _judges(columns: Columns, human: Iterable[str] | None) -> dict[str, Decision]:
    """Whether each label of a judge means people or a judge."""
    rows: dict[str, int | None] = {}
    judge = columns.named("judge")
    if columns.layout == "judges":
        rows = dict.fromkeys(columns.named("verdict") + columns.open_outcomes)
    else:
        for name in judge:
            for label, n in columns.values(name).items():
                rows[label] = (rows.get(label) or 0) + n
        rows.pop("", None)
    patterns = [human] if isinstance(human, str) else list(human or ())
    absent = [one for one in patterns if not any(fnmatchcase(k, one) for k in rows)]
    if absent:
        raise BattlesError(
            f"{columns.table.files}: no label of a judge is {absent[0]!r}; the labels "
            f"are {list(rows)[:20]}."
        )
    files = columns.values(FILE) if FILE in judge else {}
    kinds = columns.kinds(judge[0]) if judge and judge[0] != FILE else {}
    decisions: dict[str, Decision] = {}
    for label, n_rows in rows.items():
        if human is not None:
            is_person = any(fnmatchcase(label, pattern) for pattern in patterns)
            meaning, why = "people" if is_person else "judge", "as given"
        elif label in kinds:
            meaning, why = kinds[label], "says who decided"
        else:
            meaning, why = _who(columns, label, label in files)
        decisions[label] = Decision(meaning, why, n_rows)
    has_people = any(one.meaning == "people" for one in decisions.values())
    if has_people and "judge" in (name.strip().casefold() for name in judge):
        why = "the standard: all in 'judge' but people"
        for label, one in decisions.items():
            if one.is_open and label not in files:
                decisions[label] = Decision("judge", why, one.rows)
    open_labels = [label for label, one in decisions.items() if one.is_open]
    if len(open_labels) > FEW:
        total = sum(decisions.pop(label).rows or 0 for label in open_labels)
        why = f"{len(open_labels)} labels, such as {open_labels[0]!r}: people or judge"
        decisions["*"] = Decision(UNCLEAR, why, total)
    return decisions


def _who(columns: Columns, label: str, is_file: bool) -> tuple[Any, str]:
    """Who a label is, and the reason."""
    key = words.name_key(judge_name(label) if label in columns.frame else label)
    if columns.table.is_standard and not is_file:
        return ("people" if label == "human" else "judge"), "as the tool has it"
    if is_file and (key in words.NO_NAMES or label in columns.table.twice):
        return UNCLEAR, "the name of a file, which names no judge"
    who = words.who_is(key)
    if who:
        return who, f"a word of {'people' if who == 'people' else 'LLMs'}"
    if label.casefold() in columns.models:
        return "judge", "also a model that is compared"
    return UNCLEAR, "people, judge, drop, or 'judge: NAME'"
