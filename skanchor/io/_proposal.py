"""A proposal: decisions about the columns, outcomes and judges of a table.

Each decision follows from the tables of words and from values; what these leave open is
``"?"``. Nothing is decided by what is likely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping as Dict
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io import _words as words
from skanchor.io._tables import FILE, Table
from skanchor.io._words import (
    FAILED,
    SHARES,
    TIE,
    A,
    B,
    name_key,
    number_of,
    outcome_key,
)

UNCLEAR = "?"
"""In place of a meaning that is not known."""

_OUTCOMES = ("winner", "winner_swapped", "loser", "verdict", "result")
_MODELS = ("model_a", "model_b", "model", "better", "worse")
_STANDARD = (
    *("model_a", "model_b", "winner", "judge"),
    *("rater", "prompt_id", "shown_first"),
)
_UNKNOWN = "a word of no table"

_FEW = 20  # most values of a column that has few, and questions that are listed
_SCALE = 7  # numbers above which outcomes are a scale
_LONG, _HEAD = 80, 1000  # letters of a long text; rows that are looked at first

_ASKS_WINNER = (
    "winner, winner_swapped if it is about a game that showed model_b first, loser, "
    "verdict if its name is that of a judge, or ignored"
)
_ASKS_TURN = {
    "swapped": "could turn outcomes round: swapped if they are about the order shown, "
    "swapped_order if about the columns, or ignored",
    "tie": "may say which rows are ties: tie, or ignored",
}
_KINDS = words.words_of(words.KINDS)
_FLAGS = words.words_of(words.FLAGS)
_RESULTS = words.words_of(words.RESULTS)


class Decision(NamedTuple):
    """What a column, an outcome or a judge is taken for, and why.

    Parameters
    ----------
    meaning : str or float
        What it is taken for; ``"?"`` if that is not known.
    reason : str
        Why.
    rows : int, optional
        Number of rows that hold it.

    Examples
    --------
    >>> from skanchor.io import Decision
    >>> Decision("?", "a word of no table", 12).is_open
    True
    """

    meaning: Any
    reason: str = "by the mapping"
    rows: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether the meaning is not known."""
        return self.meaning == UNCLEAR


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
    names = dict.fromkeys(v for n in columns.named(*_MODELS) for v in columns.values(n))
    twins = {v: columns.models.get(v.casefold(), v) for v in names}
    twins = {v: first for v, first in twins.items() if v != first}
    notes = [f"{v!r} may be {first!r}, or a model of its own." for v, first in
             twins.items()]  # fmt: skip
    return {
        "layout": columns.layout,
        "columns": {name: columns.decisions[name] for name in table.frame.columns},
        "outcomes": outcomes.decisions,
        "judges": _judges(columns, human),
        "models": dict.fromkeys(twins, UNCLEAR),
        "format": table.format,
        "source": table.source,
        "notes": (*outcomes.notes, *notes),
    }


# ----------------------------------------------------------------------------- columns
class Columns:
    """Decisions about columns, made step by step."""

    def __init__(self, table: Table):
        self.table, self.frame = table, table.frame
        self.decisions: dict[str, Decision] = {}
        self.open_outcomes: list[str] = []  # columns that may hold outcomes
        self.layout = "pairs"
        self.has_sides = True

    def find(self) -> None:
        """Decide all columns, in the order in which one follows from another."""
        for role in ("model_a", "model_b", "judge", "rater", "prompt_id",
                     "shown_first"):  # fmt: skip
            # Without judges, raters are asked about: they may be people or not.
            if role != "rater" or self.named("judge"):
                self._find_standard(role)
        self._find_judges()
        if self._find_two_models():
            self._find_standard("winner")
            steps = [self._as_counts, self._as_judges, self._as_pairs, self._as_scores,
                     self._as_anything]  # fmt: skip
        else:
            steps = [self._as_winner_and_loser, self._as_battles, self._as_ratings]
        if not any(step() for step in steps):
            names = [name for name in self.frame.columns if name != FILE][:20]
            raise BattlesError(
                f"{self.table.files}: no columns are known to hold two models and who "
                f"won. Its columns are {names}. If their names are unusual, give "
                "--columns NAME=ROLE; the page 'Reshape your file' has shapes that are "
                "read."
            )
        for name in self.free():
            is_model = words.is_in_role(words.side_of(name)[0], "model _")
            labels = self.few(name) if is_model else {}
            if labels and all(label.casefold() in self.models for label in labels):
                why = "names the models once more: model_a, model_b, or ignored"
                self.decide(UNCLEAR, why, name)
        self._find_prompts_and_features()
        self.decide("keep", "a further column", *self.free())

    # ------------------------------------------------------------------------- helpers
    def decide(self, role: str, reason: str, *names: str) -> None:
        """Decide columns, or leave them open."""
        for name in names:
            self.decisions[name] = Decision(role, reason)

    def ask_outcomes(self, *names: str) -> None:
        """Leave columns open that may hold outcomes."""
        self.decide(UNCLEAR, _ASKS_WINNER, *names)
        self.open_outcomes += names

    def free(self) -> list[str]:
        """Columns that are not decided."""
        return [name for name in self.frame.columns if name not in self.decisions]

    def named(self, *roles: str) -> list[str]:
        """Columns of roles."""
        return [n for n, one in self.decisions.items() if one.meaning in roles]

    def called(self, role: str) -> list[str]:
        """Free columns whose names may have a role, the usual names first."""
        return words.names_in_role(self.free(), role)

    def first(self, role: str) -> str:
        """The column of a role, or else the first one that may have it, if any."""
        return next(iter(self.named(role) or self.called(role)), "")

    def sides(self, kind: str) -> dict[str, str]:
        """The two free columns of a kind by their role; those but of models numbers."""
        pairs: dict[str, dict[str, str]] = {}
        for name in self.free():
            pattern, side = words.side_of(name)
            if words.is_in_role(pattern, f"{kind} _"):
                pairs.setdefault(pattern, {}).setdefault(f"{kind}_{side}", name)
        both = next((pair for pair in pairs.values() if len(pair) == 2), {})
        fits = kind == "model" or all(map(self.is_number, both.values()))
        return both if fits else {}

    def decide_sides(self, kind: str, sides: dict[str, str]) -> bool:
        """Decide the two columns of a kind, if there are such."""
        for role, name in sides.items():
            self.decide(role, f"a name of a {kind} of a side", name)
        return bool(sides)

    def values(self, name: str) -> dict[str, int]:
        """Distinct values of a column and their rows, in the order of the table."""
        codes, labels = pd.factorize(self.frame[name])
        n_rows = np.bincount(codes + 1, minlength=len(labels) + 1).tolist()
        is_judge = self.decisions.get(name, [""])[0] == "judge"
        key = words.value_key if is_judge else outcome_key
        counts: Counter[str] = Counter({"": n_rows[0]} if n_rows[0] else {})
        for label, n in zip(labels, n_rows[1:], strict=True):
            counts[key(label)] += n
        return counts

    def few(self, name: str) -> dict[str, int]:
        """Values of a column that has few; none of others."""
        if self.frame[name].head(_HEAD).nunique() > _FEW:
            return {}
        values = self.values(name)
        return values if len(values) <= _FEW else {}

    def is_number(self, name: str) -> bool:
        """Whether the first cells of a column are numbers."""
        head = self.frame[name].head(_HEAD).dropna().astype("str").str.strip()
        head = head[head.ne("")].str.replace(",", ".", regex=False)
        return len(head) > 0 and bool(
            pd.to_numeric(head, errors="coerce").notna().all()
        )

    @cached_property
    def models(self) -> dict[str, str]:
        """Names of the models as they are written, by the names without case."""
        names: dict[str, str] = {}
        for column in self.named(*_MODELS):
            for label in self.values(column):
                names.setdefault(label.casefold(), label)
        names.pop("", None)
        return names

    def is_verdict(self, name: str) -> bool:
        """Whether a column holds outcomes in words, of which one is a side."""
        outcomes = [words.outcome_of(value) for value in self.few(name) if value]
        meanings = {one[0] for one in outcomes if one and one[0] != FAILED}
        sides = meanings - {TIE, words.BAD}
        return None not in outcomes and len(meanings) > 1 and bool(sides)

    def holds_outcomes(self, name: str) -> bool:
        """Whether a column holds outcomes in words, or as names of the models."""
        if self.is_verdict(name):
            return True
        if self.frame[name].head(_HEAD).nunique() > 200:
            return False
        values = [value for value in self.values(name) if value]
        models = [value for value in values if value.casefold() in self.models]
        return len(models) > 1 and all(
            value in models or words.outcome_of(value) for value in values
        )

    def kinds(self, name: str) -> dict[str, str]:
        """What each cell means, if all of a column say people or judge."""
        # Of other columns, true and false or numbers do not say who decided.
        is_flag = words.is_in_role(name_key(name), "kind")
        values = {value: name_key(value) for value in self.few(name)}
        is_kind = all(key in _KINDS and (is_flag or key not in _FLAGS)
                      for key in values.values())  # fmt: skip
        return {v: _KINDS[key] for v, key in values.items()} if is_kind else {}

    # ---------------------------------------------------------------------------- steps
    def set_aside(self) -> None:
        """Lists, objects and long texts are no names, outcomes or labels."""
        nested = (list, dict, tuple, set, np.ndarray)
        for name in self.free():
            column = self.frame[name]
            if column.dtype == object and any(isinstance(c, nested) for c in column):
                self.decide("ignored", "lists or objects", name)
            elif column.dtype == object or column.dtype == "str":
                head = [cell for cell in column.head(_HEAD) if isinstance(cell, str)]
                long = [cell for cell in head if len(cell) > _LONG or "\n" in cell]
                if 10 * len(long) > len(head):
                    self.decide("keep", "long texts, no labels", name)

    def _find_standard(self, role: str) -> None:
        """The column with the standard name of a role."""
        names = [n for n in self.free() if n.strip().casefold() == role]
        self.decide(role, "the standard name", *names[:1])

    def _find_judges(self) -> None:
        """Columns of judges and raters, or one that says whether people decided."""
        names = [name for name in self.called("judge") if not self.is_verdict(name)]
        kinds = [name for name in self.called("kind") if self.kinds(name)]
        judge = self.named("judge")
        if judge and self.kinds(judge[0]) and names:
            # Judges of one kind would be one judge.
            self.decide(UNCLEAR, f"names who decided, as {judge[0]!r} does: judge, "
                        "rater, or ignored", *names)  # fmt: skip
        elif not judge and not names:
            self.decide("judge", "says whether people or a judge decided", *kinds[:1])
        else:
            self.decide(UNCLEAR, "says who decided, as another column does: judge, or "
                        "ignored", *kinds)  # fmt: skip
            for name in names:
                role = "rater" if self.named("judge") else "judge"
                role = "keep" if self.named(role) else role
                self.decide(role, "a name of who decided", name)
        if FILE in self.free():
            why = "the name of the file: no column says who decided"
            self.decide("judge", why, FILE)

    def _find_two_models(self) -> bool:
        """The two columns of models, or one and its opponent."""
        is_given = bool(self.named("model_a") and self.named("model_b"))
        if is_given or self.decide_sides("model", self.sides("model")):
            return True
        model, opponent = self.called("model"), self.called("opponent")
        if not (model and opponent) or self.named("model_a"):
            return bool(self.named("model_a") and self.named("model_b"))
        self.decide("model_a", "a name of models", model[0])
        self.decide("model_b", "a name of models", opponent[0])
        self.has_sides = False
        return True

    def _as_counts(self) -> bool:
        """Wins of either side, or wins and losses of the first."""
        wins, votes = self.sides("wins"), self.sides("votes")
        won, lost = self.called("wins"), self.called("losses")
        if not wins and won and lost:
            wins = {"wins_a": won[0], "wins_b": lost[0]}
        if self.named("winner") or not (wins or votes):
            return False
        self.layout = "counts"
        if not self.decide_sides("win", wins):
            self.decide(UNCLEAR, "may count votes (wins_a, wins_b), or the larger "
                        "number wins (score_a, score_b)", *votes.values())  # fmt: skip
        self.decide("ties", "a name of a number of ties", *self.called("tie")[:1])
        counts = self.frame[self.named("wins_a", "wins_b", "ties")]
        total = counts.apply(pd.to_numeric, errors="coerce").sum(axis=1)
        self._find_prompts_and_features()
        for name in filter(self.is_number, self.free()):
            if pd.to_numeric(self.frame[name], errors="coerce").eq(total).all():
                self.decide("ignored", "is the sum of the counts", name)
            else:
                why = "may count comparisons: ties, ignored, or keep"
                self.decide(UNCLEAR, why, name)
        return True

    def _as_judges(self) -> bool:
        """Several columns of outcomes, each named after a judge."""
        names = by_name = self.named("verdict")
        if not by_name and not self.named(*_OUTCOMES):
            names = [name for name in self.free() if self._is_of_judge(name)]
            by_name = [name for name in names if words.who_is(judge_name(name))]
            has_judge = any(name != FILE for name in self.named("judge"))
            by_name = [] if len(by_name) < len(names) and has_judge else by_name
        if not by_name or len(names) < 2:
            return False
        self.layout = "judges"
        # Two columns of a judge may be about two orders.
        of_order = [n for n in names if name_key(n).split()[-1] in ("ab", "ba")]
        why = "outcomes by the judge of its name"
        self.decide("verdict", why, *(n for n in names if n not in of_order))
        self.ask_outcomes(*of_order)
        if FILE in self.decisions:
            self.decide("ignored", "columns are named after judges", FILE)
        return True

    def _is_of_judge(self, name: str) -> bool:
        """Whether a column holds outcomes of the judge that it is named after."""
        if self.holds_outcomes(name):
            return True
        values = [value for value in self.few(name) if value]
        are_numbers = all(number_of(value) is not None for value in values)
        is_judge = bool(words.who_is(judge_name(name)))
        return is_judge and 0 < len(values) < 6 and are_numbers

    def _as_pairs(self) -> bool:
        """One outcome in each row."""
        if not self.named("winner", "loser", "winner_swapped"):
            by_value = [name for name in self.free() if self.holds_outcomes(name)]
            for role in ("winner", "loser"):
                if not self.named("winner") and self.called(role):
                    self.decide(role, f"a name of the {role}", self.called(role)[0])
            if not self.named("winner", "loser"):
                if not by_value:
                    return False
                if len(by_value) == 1:
                    self.decide("winner", "its values are outcomes", *by_value)
        for name in self.free():
            turns = [role for role in _ASKS_TURN if name in self.called(role)]
            if turns and self.few(name):
                self.decide(UNCLEAR, _ASKS_TURN[turns[0]], name)
            elif self.holds_outcomes(name):
                self.ask_outcomes(name)
        return True

    def _as_scores(self) -> bool:
        """A number for each side: the larger score wins, or the smaller rank."""
        for kind in ("score", "rank"):
            if self.decide_sides(kind, self.sides(kind)):
                self.layout = "scores"
        return self.layout == "scores"

    def _as_anything(self) -> bool:
        """Columns that may hold the outcome, by the number of their values."""
        self._find_prompts_and_features()
        names = []
        for name in self.free():
            n_values = self.frame[name].nunique()
            if n_values > _SCALE and self.is_number(name):
                numbers = pd.to_numeric(self.frame[name], errors="coerce").dropna()
                names += [name] * bool((numbers.between(0, 1) | numbers.eq(-1)).all())
            elif n_values > 1 and self.few(name):
                names.append(name)
        self.ask_outcomes(*names)
        return 0 < len(names) < 6

    def _as_winner_and_loser(self) -> bool:
        """Names of the models that won and lost."""
        better, worse = self.first("better"), self.first("worse") or self.first("loser")
        if not (better and worse and {*self.values(better)} & {*self.values(worse)}):
            return False
        self.layout = "winner and loser"
        self.decide("better", "a name of the model that won", better)
        self.decide("worse", "a name of the model that lost", worse)
        self.decide(UNCLEAR, _ASKS_TURN["tie"], *self.called("tie"))
        return True

    def _as_battles(self) -> bool:
        """A row for each model and battle."""
        names = {role: self.first(role) for role in ("battle", "model", "result")}
        if not all(names.values()):
            return False
        self.layout = "battles"
        for role, name in names.items():
            self.decide(role, "rows of one battle are compared", name)
        return True

    def _as_ratings(self) -> bool:
        """A row for each response, with its score, or with one for each judge."""
        model, prompt = self.first("model"), self.first("prompt_id")
        scores = self.named("score", "rank") or self.called("score")[:1]
        if not scores:
            scores = [name for name in self.free() if words.who_is(judge_name(name))]
            scores = list(filter(self.is_number, scores))
        if not (model and prompt and scores):
            return False
        self.layout = "ratings"
        self.decide("model", "a name of models", model)
        self.decide("prompt_id", "ratings of one prompt are compared", prompt)
        new = [name for name in scores if name not in self.decisions]
        self.decide("score", "a higher score is better", *new)
        if len(scores) > 1 and FILE in self.decisions:
            self.decide("ignored", "columns are named after judges", FILE)
        return True

    def _find_prompts_and_features(self) -> None:
        """The column of prompts; pairs of numeric columns, which get standard names."""
        if not self.named("prompt_id"):
            why = "rows of one prompt depend on each other"
            self.decide("prompt_id", why, *self.called("prompt_id")[:1])
        pairs: dict[str, dict[str, str]] = {}
        for name in self.free():
            pattern, side = words.side_of(name)
            if pattern.strip("_ ") and self.is_number(name):
                pairs.setdefault(pattern, {})[side] = name
        for pattern, sides in pairs.items():
            stem = "_".join(pattern.replace("_", " ").split())
            for side, name in sides.items() if len(sides) == 2 else ():
                is_standard = name.endswith(("_a", "_b"))
                role = "keep" if is_standard else f"keep as {stem}_{side}"
                self.decide(role, "a feature of either side", name)


def judge_name(column: str) -> str:
    """Name of a judge in the name of a column, without words of outcomes."""
    key = name_key(column).split()
    telling = [w for w in key if w != "by" and not words.is_in_role(w, "winner")]
    return " ".join(telling or key)


# ---------------------------------------------------------------------------- outcomes
class Outcomes:
    """Decisions about all distinct outcomes."""

    def __init__(self, columns: Columns):
        self.columns = columns
        self.names = [*columns.named(*_OUTCOMES), *columns.open_outcomes]
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
            if len(numbers) > _SCALE:
                many += map(float, numbers)
                values = {v: n for v, n in values.items() if v not in numbers}
            rows.update(values)
        if layout == "judges" or len(self.columns.named(*_OUTCOMES)) > 1:
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
        if len(unknown) > _FEW:
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
        result = _RESULTS.get(name_key(value)) if value else None
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
    is_wide = columns.layout == "judges"
    judge = columns.named("judge")
    of_judges = columns.named("verdict" if is_wide else "score")
    of_judges += columns.open_outcomes if is_wide else []
    if is_wide or len(of_judges) > 1:
        rows = dict.fromkeys(of_judges)
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
    if len(open_labels) > _FEW:
        total = sum(decisions.pop(label).rows or 0 for label in open_labels)
        why = f"{len(open_labels)} labels, such as {open_labels[0]!r}: people or judge"
        decisions["*"] = Decision(UNCLEAR, why, total)
    return decisions


def _who(columns: Columns, label: str, is_file: bool) -> tuple[Any, str]:
    """Who a label is, and the reason."""
    key = name_key(judge_name(label) if label in columns.frame else label)
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
