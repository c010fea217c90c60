"""Meanings of outcomes, decided by their words, or left open."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from itertools import permutations
from typing import Any

from skanchor.exceptions import BattlesError
from skanchor.io import _words as words
from skanchor.io._decision import UNCLEAR, Decision
from skanchor.io._roles import FEW, OUTCOMES, RoleFinder
from skanchor.io._words import FAILED, TIE, A, B, name_key, outcome_key

_NUMBERS = "\0numbers"
_RESULTS = {1.0: A, 0.0: B, 0.5: TIE}
_RESULT_WORDS = words.words_of(words.RESULTS)
_UNKNOWN = "a word of no table"


class OutcomeFinder:
    """Meanings of all distinct outcomes."""

    def __init__(self, columns: RoleFinder, labels: Dict[Any, Any]):
        self.columns, self.table = columns, columns.table
        self.labels = {outcome_key(label): of for label, of in labels.items()}
        self.found = dict(columns.outcomes)
        self.scale: dict[str, Any] | None = None
        self.notes: list[str] = []

    def find(self) -> None:
        """Decide each outcome, or leave it open."""
        columns = self.columns
        names = [*columns.named(*OUTCOMES), *columns.open_outcomes]
        rows: dict[str, int] = {}
        for name in names:
            for value, n in self._values(name).items():
                rows[value] = rows.get(value, 0) + n
        if columns.layout == "judges" or len(columns.named(*OUTCOMES)) > 1:
            # An empty cell says that this judge, or another file, did not compare.
            rows.pop("", None)
        for value, n in rows.items():
            if value not in self.found and value != _NUMBERS:
                self.found[value] = Decision(*self._meaning(value), n)
        is_share = self.table.trusted or names[:1] == ["winner"]
        if _NUMBERS in rows:
            self._find_scale(names, is_share)
        else:
            self._find_numbers(is_share)
        self._spread_grades()
        for value, meaning in self.labels.items():
            if value not in self.found and self.scale is None:
                raise BattlesError(
                    f"{self.table.files}: no outcome is {value!r}; the outcomes are "
                    f"{list(self.found)[:20]}."
                )
            number = words.number_of(str(meaning))
            given = meaning if number is None else number
            if value in self.found:
                self.found[value] = Decision(given, "as given", rows.get(value))
        unknown = [v for v, one in self.found.items() if one.reason == _UNKNOWN]
        if len(unknown) > FEW:
            raise columns.refused(
                f"column {names[0]!r} holds {len(unknown)} outcomes that are in no "
                f"table, such as {unknown[0][:40]!r}."
            )

    def _values(self, name: str) -> dict[str, int]:
        """Outcomes of a column; many different numbers are one entry."""
        found = self.columns.values(name)
        numbers = [v for v in found if words.number_of(v) is not None and v != "-1"]
        if len(numbers) <= 7:
            return found
        rows = sum(found.pop(value) for value in numbers)
        self.range = min(map(float, numbers)), max(map(float, numbers))
        return {**found, _NUMBERS: rows}

    def _meaning(self, value: str) -> tuple[Any, str]:
        """Meaning of an outcome, and the reason."""
        worth = _RESULT_WORDS.get(name_key(value)) if value else None
        known = words.outcome_of(value)
        if known and known[0] == FAILED:
            if self.table.drop_invalid:
                return FAILED, "no verdict"
            said = "may be a failed verdict" if value else "empty cells"
            return UNCLEAR, f"{said}: failed, tie, or a side"
        if self.columns.layout == "battles" and worth is not None:
            return {A: "win", B: "loss", TIE: TIE}[_RESULTS[worth]], "a word of results"
        if value.casefold() in self.columns.models:
            if known and known[0] in (A, B, TIE):
                return UNCLEAR, "names a model, and a side"
            return "its model", "names a model"
        if words.number_of(value) is not None:
            return UNCLEAR, "a number"
        if not self.columns.has_sides and (known is None or known[0] in (A, B)):
            if worth is None:
                return UNCLEAR, "a side, but the columns of models have none"
            return _RESULTS[worth], "the result of the first model"
        return known or (UNCLEAR, _UNKNOWN)

    def _find_scale(self, names: list[str], is_share: bool) -> None:
        """What many different numbers mean."""
        low, high = self.range
        if is_share and low >= 0.0 and high <= 1.0:
            self.scale = {A: 1.0, B: 0.0}
            return
        self.scale = {A: UNCLEAR, B: UNCLEAR}
        ends = {f"{low:g}", f"{high:g}"}
        if ends <= {*self.labels}:
            a_high = str(self.labels[f"{high:g}"]) in (A, "1", "1.0")
            self.scale = {A: high, B: low} if a_high else {A: low, B: high}
        self.notes += [
            f"Numbers from {low:g} to {high:g} in {names[0]!r} may mean, as [scale]:",
            f"  model_a = {high:g}, model_b = {low:g}: larger ones favour model_a",
            f"  model_a = {low:g}, model_b = {high:g}: larger ones favour model_b",
            '  sign = "model_a", or "model_b": the side that those above 0 are for',
        ]

    def _find_numbers(self, is_share: bool) -> None:
        """Decide a few numbers, or list all codings that they may have."""
        numbers = [v for v, one in self.found.items() if one.reason == "a number"]
        numbers = sorted(numbers, key=float)
        values = [float(text) for text in numbers]
        inside = all(0.0 <= value <= 1.0 for value in values)
        if is_share and inside and (self.table.trusted or {*values} - {0.0, 0.5, 1.0}):
            why = "a share of model_a, as the standard has it"
            meanings: list[Any] = list(values)
        elif values == [1.0, 2.0] and self.columns.has_sides:
            meanings, why = [A, B], "the number of a side"
        else:
            if numbers:
                failed = [value for value in self.found if value == "-1"]
                self.notes.append(f"The numbers {', '.join(numbers)} may mean:")
                self.notes += [f"  {coding}" for coding in _codings(numbers, failed)]
            return
        for text, meaning in zip(numbers, meanings, strict=True):
            self.found[text] = Decision(meaning, why, self.found[text].rows)

    def _spread_grades(self) -> None:
        """Without a strong grade a weak one is a win; beside one a win is weak."""
        grades = ("a graded verdict", "a degree")
        strong = [
            one.reason
            for one in self.found.values()
            if one.reason in grades and one.meaning in (0.0, 1.0)
        ]
        for value, one in self.found.items():
            if one.reason == grades[0] and not strong and one.meaning in (0.25, 0.75):
                self.found[value] = one._replace(meaning=float(round(one.meaning)))
            elif grades[1] in strong and one.meaning in (A, B):
                weak = 0.75 if one.meaning == A else 0.25
                self.found[value] = one._replace(meaning=weak)


def _codings(numbers: list[str], failed: list[str]) -> list[str]:
    """Every coding that a few numbers may have."""
    found: list[dict[str, Any]] = []
    for extra in (failed, []) if failed else ([],):
        values = numbers if extra else sorted([*numbers, *failed], key=float)
        if len(values) in (2, 3):
            orders = {(A, B), (B, A)} if len(values) == 2 else permutations((A, B, TIE))
            found += [dict(zip(values, order, strict=True)) for order in sorted(orders)]
        else:
            even = [f"{n / max(len(values) - 1, 1):.3g}" for n in range(len(values))]
            found += [
                dict(zip(values, worth, strict=True)) for worth in (even, even[::-1])
            ]
        if extra:
            lost = dict.fromkeys(extra, FAILED)
            found = [{**lost, **one} if {*one} == {*numbers} else one for one in found]
    return [", ".join(f"{k} = {v}" for k, v in one.items()) for one in found]
