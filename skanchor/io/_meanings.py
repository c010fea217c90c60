"""A mapping proposed for a table: decided by the tables of words, or left open."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Dict
from fnmatch import fnmatchcase
from itertools import permutations
from typing import Any

from skanchor.exceptions import BattlesError
from skanchor.io import _words as words
from skanchor.io._roles import (
    FEW,
    KINDS,
    MODELS,
    OUTCOMES,
    UNCLEAR,
    Decision,
    RoleFinder,
    judge_name,
)
from skanchor.io._tables import FILE, Table
from skanchor.io._words import FAILED, TIE, A, B, name_key, number_of, outcome_key

_RESULTS = words.words_of(words.RESULTS)
_STANDARD = ("model_a", "model_b", "winner", "judge", "rater", "prompt_id",
             "shown_first")  # fmt: skip
_UNKNOWN = "a word of no table"
_MANY = 7  # numbers above which outcomes are a scale


def propose(
    table: Table,
    columns: Dict[str, str],
    labels: Dict[Any, Any],
    human: Iterable[str] | None,
) -> dict[str, Any]:
    """Attributes of the mapping of a table; what is given is not looked for."""
    roles = RoleFinder(table)
    for name, role in columns.items():
        if name not in table.frame:
            raise BattlesError(
                f"{table.files}: it has no column {name!r}; its columns are "
                f"{list(table.frame.columns)[:20]}."
            )
        roles.set(name, role, "as given")
    if table.trusted:
        roles.set_aside()
        for name in roles.free():
            known = name in _STANDARD
            roles.set(name, name if known else "judge" if name == FILE else "keep",
                      "as the tool has it")  # fmt: skip
    else:
        roles.find()
    outcomes = _OutcomeFinder(roles, labels)
    outcomes.find()
    models, spellings = _other_spellings(roles)
    return {
        "layout": roles.layout,
        "columns": {name: roles.columns[name] for name in table.frame.columns},
        "outcomes": outcomes.found,
        "judges": _judges(roles, human),
        "models": models,
        "scale": outcomes.scale,
        "format": table.format,
        "source": table.source,
        "notes": (*outcomes.notes, *spellings),
    }


def _other_spellings(roles: RoleFinder) -> tuple[dict[str, str], list[str]]:
    """Names of models that differ in case alone, which may be one."""
    labels = dict.fromkeys(v for n in roles.named(*MODELS) for v in roles.values(n))
    twins = {v: roles.models.get(v.casefold(), v) for v in labels}
    notes = [
        f"{v!r} may be {first!r}, or a model of its own."
        for v, first in twins.items()
        if v != first
    ]
    return {v: UNCLEAR for v, first in twins.items() if v != first}, notes


# ----------------------------------------------------------------------------- outcomes
class _OutcomeFinder:
    """Meanings of all distinct outcomes."""

    def __init__(self, roles: RoleFinder, labels: Dict[Any, Any]):
        self.roles, self.trusted = roles, roles.table.trusted
        self.drop_invalid = roles.table.drop_invalid
        self.labels = {outcome_key(label): of for label, of in labels.items()}
        self.names = [*roles.named(*OUTCOMES), *roles.open_outcomes]
        self.found: dict[str, Decision] = {}
        self.scale: dict[str, Any] | None = None
        self.notes: list[str] = []

    def find(self) -> None:
        """Decide each outcome, or leave it open."""
        rows: dict[str, int] = {}
        many: list[float] = []
        for name in self.names:
            values = self.roles.values(name)
            numbers = [v for v in values if number_of(v) is not None and v != "-1"]
            if len(numbers) > _MANY:
                many += map(float, numbers)
                values = {v: n for v, n in values.items() if v not in numbers}
            for value, n in values.items():
                rows[value] = rows.get(value, 0) + n
        if self.roles.layout == "judges" or len(self.roles.named(*OUTCOMES)) > 1:
            # An empty cell says that this judge, or another file, did not compare.
            rows.pop("", None)
        for value, n in rows.items():
            self.found[value] = Decision(*self._meaning(value), n)
        if many:
            self._find_scale(min(many), max(many))
        else:
            self._find_numbers()
        self._find_weak_grades()
        for value, meaning in self.labels.items():
            number = number_of(str(meaning))
            if value in self.found:
                told = meaning if number is None else number
                self.found[value] = Decision(told, "as given", rows[value])
            elif self.scale is None:
                raise BattlesError(
                    f"{self.roles.table.files}: no outcome is {value!r}; the outcomes "
                    f"are {list(self.found)[:20]}."
                )
        unknown = [v for v, one in self.found.items() if one.reason == _UNKNOWN]
        if len(unknown) > FEW:
            raise BattlesError(
                f"{self.roles.table.files}: column {self.names[0]!r} holds "
                f"{len(unknown)} outcomes that are in no table, such as "
                f"{unknown[0][:40]!r}."
            )

    def _meaning(self, value: str) -> tuple[Any, str]:
        """Meaning of an outcome, and the reason."""
        roles = self.roles
        result = _RESULTS.get(name_key(value)) if value else None
        known = words.outcome_of(value)
        if known and known[0] == FAILED:
            if self.drop_invalid:
                return FAILED, "no verdict"
            said = "may be a failed verdict" if value else "empty cells"
            return UNCLEAR, f"{said}: failed, tie, or a side"
        if roles.layout == "battles" and result is not None:
            return {A: "win", B: "loss", TIE: TIE}[result], "a word of results"
        if value.casefold() in roles.models and not self.trusted:
            if known and known[0] in (A, B, TIE):
                return UNCLEAR, "names a model, and a side"
            return "its model", "names a model"
        if number_of(value) is not None:
            return UNCLEAR, "a number"
        if not roles.has_sides and (known is None or known[0] in (A, B)):
            if result is None:
                return UNCLEAR, "a side, but the columns of models have none"
            return result, "the result of the first model"
        return known or (UNCLEAR, _UNKNOWN)

    def _find_scale(self, low: float, high: float) -> None:
        """What many different numbers mean."""
        if self.names[0] == "winner" and low >= 0.0 and high <= 1.0:
            self.scale = {A: 1.0, B: 0.0}
            return
        self.scale = {A: UNCLEAR, B: UNCLEAR}
        ends = [self.labels.get(f"{end:g}") for end in (low, high)]
        if None not in ends:
            a_high = str(ends[1]) in (A, "1", "1.0")
            self.scale = {A: high, B: low} if a_high else {A: low, B: high}
        self.notes += [
            f"Numbers from {low:g} to {high:g} in {self.names[0]!r} may mean, as "
            "[scale]:",
            f"  model_a = {high:g}, model_b = {low:g}: larger ones favour model_a",
            f"  model_a = {low:g}, model_b = {high:g}: larger ones favour model_b",
            '  sign = "model_a", or "model_b": the side that those above 0 are for',
        ]

    def _find_numbers(self) -> None:
        """Decide a few numbers, or list all codings that they may have."""
        numbers = [v for v, one in self.found.items() if one.reason == "a number"]
        numbers = sorted(numbers, key=float)
        worth = {text: float(text) for text in numbers}
        inside = all(0.0 <= value <= 1.0 for value in worth.values())
        is_share = self.trusted or {*worth.values()} - {0.0, 0.5, 1.0}
        meanings: dict[str, Any] = {}
        if self.names[:1] == ["winner"] and inside and is_share:
            meanings, why = worth, "a share of model_a, as the standard has it"
        elif [*worth.values()] == [1.0, 2.0] and self.roles.has_sides:
            meanings, why = dict(zip(numbers, (A, B), strict=True)), "number of a side"
        elif numbers:
            self.notes.append(f"The numbers {', '.join(numbers)} may mean:")
            self.notes += [f"  {one}" for one in _codings(numbers)]
            if "-1" in self.found:
                self.notes += [f"  -1 = failed, {one}" for one in _codings(numbers)]
                self.notes += [f"  {one}" for one in _codings(["-1", *numbers])]
        for text, meaning in meanings.items():
            self.found[text] = Decision(meaning, why, self.found[text].rows)

    def _find_weak_grades(self) -> None:
        """Without a strong grade, a weak one is a win."""
        graded = {v: d for v, d in self.found.items() if d.reason == "a graded verdict"}
        if not any(one.meaning in (0.0, 1.0) for one in graded.values()):
            for value, one in graded.items():
                if one.meaning in (0.25, 0.75):
                    won = float(round(one.meaning))
                    self.found[value] = one._replace(meaning=won)


def _codings(numbers: list[str]) -> list[str]:
    """Every coding that a few numbers may have, in words."""
    if len(numbers) in (2, 3):
        found: Any = sorted(permutations((A, B, TIE)[: len(numbers)]))
    else:
        even = [f"{n / max(len(numbers) - 1, 1):.3g}" for n in range(len(numbers))]
        found = even, even[::-1]
    return [", ".join(f"{k} = {v}" for k, v in zip(numbers, one, strict=True))
            for one in found]  # fmt: skip


# ------------------------------------------------------------------------------- judges
def _judges(roles: RoleFinder, human: Iterable[str] | None) -> dict[str, Decision]:
    """Whether each label of a judge means people or a judge."""
    rows: dict[str, int | None] = {}
    in_names = roles.named("score") if roles.layout != "judges" else roles.named(
        "verdict") + roles.open_outcomes  # fmt: skip
    if roles.layout == "judges" or len(in_names) > 1:
        rows = dict.fromkeys(in_names)
    else:
        for name in roles.named("judge"):
            for label, n_rows in roles.values(name).items():
                rows[label] = (rows.get(label) or 0) + n_rows
        rows.pop("", None)
    patterns = [human] if isinstance(human, str) else list(human or ())
    lost = [one for one in patterns if not any(fnmatchcase(k, one) for k in rows)]
    if lost:
        raise BattlesError(
            f"{roles.table.files}: no label of a judge is {lost[0]!r}; the labels are "
            f"{list(rows)[:20]}."
        )
    files = roles.values(FILE) if FILE in roles.named("judge") else {}
    found: dict[str, Decision] = {}
    for label, n in rows.items():
        if human is not None:
            is_person = any(fnmatchcase(label, pattern) for pattern in patterns)
            found[label] = Decision("people" if is_person else "judge", "as given", n)
        else:
            found[label] = Decision(*_who(roles, label, label in files), n)
    has_people = any(one.meaning == "people" for one in found.values())
    if has_people and "judge" in (n.strip().casefold() for n in roles.named("judge")):
        for label, one in found.items():
            if one.is_open and label not in files:
                why = "the standard: all in 'judge' but people"
                found[label] = Decision("judge", why, one.rows)
    opened = [label for label, one in found.items() if one.is_open]
    if len(opened) > FEW:
        n_rows = sum(found.pop(label).rows or 0 for label in opened)
        said = f"{len(opened)} labels, such as {opened[0]!r}: people or judge"
        found["*"] = Decision(UNCLEAR, said, n_rows)
    return found


def _who(roles: RoleFinder, label: str, is_file: bool) -> tuple[Any, str]:
    """Who a label is, and the reason."""
    key = name_key(judge_name(label) if label in roles.frame else label)
    if roles.table.trusted and not is_file:
        return ("people" if label == "human" else "judge"), "as the tool has it"
    if is_file and (key in words.NO_NAMES or label in roles.table.twice):
        return UNCLEAR, "the name of a file, which names no judge"
    judge, kind = roles.named("judge"), roles.named("kind")
    if judge and kind:
        rows = roles.frame[judge[0]].map(words.value_key) == label
        kinds = {KINDS.get(name_key(outcome_key(one)))
                 for one in roles.frame[kind[0]][rows].unique()}  # fmt: skip
        if len(kinds) == 1 and None not in kinds:
            return kinds.pop(), "by the column of kinds"
    known = words.who_is(key)
    if known:
        return known, f"a word of {'people' if known == 'people' else 'LLMs'}"
    if judge and key in KINDS and roles.is_kind(judge[0]):
        return KINDS[key], "says who decided"
    if label.casefold() in roles.models:
        return "judge", "also a model that is compared"
    return UNCLEAR, "people, judge, drop, or 'judge: NAME'"
