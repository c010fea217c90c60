"""Roles of columns, decided by their names and values, or left open."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skanchor.io import _words as words
from skanchor.io._tables import FILE, Table
from skanchor.io._words import FAILED, ROLES, TIE, UNCLEAR, name_key, outcome_key

OUTCOMES = ("winner", "winner_swapped", "loser", "verdict", "result")
"""Roles of columns that hold outcomes."""

MODELS = ("model_a", "model_b", "model", "better", "worse")
"""Roles of columns that hold names of models."""

FEW, SCALE = 20, 7
"""Most values of a column that has few; numbers above which outcomes are a scale."""

_LONG, _HEAD = 80, 1000  # letters of a long text; rows that are looked at first
_ONE_MODEL = (
    ("winner and loser", "better worse"),
    ("battles", "battle model result"),
    ("ratings", "model prompt_id score"),
    ("ratings", "model prompt_id rank"),
)
"""Layouts without two columns of models, and the roles that they need."""

_STANDARD, _USUAL = "the standard name", "a usual name"
_ASKS_WINNER = (
    "winner, winner_swapped if it is about a game that showed model_b first, loser, "
    "verdict if its name is that of a judge, score_a or score_b, or ignored"
)
_ASKS_TURN = {
    "swapped": "could turn outcomes round: swapped if they are about the order shown, "
    "swapped_order if about the columns, or ignored",
    "tie": "may say which rows are ties: tie, or ignored",
}
_ASKS_VOTES = "wins_a, wins_b if they count votes; score_a, score_b if the larger wins"
_ASKS_WHO = "may say who decided: judge, rater, or ignored"
_ASKS_MODEL = "names the models once more: model_a, model_b, or ignored"

_KINDS = words.words_of(words.KINDS)
_FLAGS = words.words_of(words.FLAGS)


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


class Columns:
    """Decisions about columns, made step by step."""

    def __init__(self, table: Table):
        self.table, self.frame = table, table.frame
        self.decisions: dict[str, Decision] = {}
        self.open_outcomes: list[str] = []  # columns that may hold outcomes
        self.layout = "pairs"
        self.has_sides = True

    # ------------------------------------------------------------------------- helpers
    def decide(self, role: str, reason: str, *names: str) -> None:
        """Decide columns, or leave them open."""
        self.decisions |= dict.fromkeys(names, Decision(role, reason))

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

    def sides(self) -> dict[str, dict[str, str]]:
        """Free columns whose names differ in the side alone, by pattern and side."""
        pairs: dict[str, dict[str, str]] = {}
        for name in self.free():
            pattern, side = words.side_of(name)
            pairs.setdefault(pattern, {}).setdefault(side, name)
        return {pattern: pair for pattern, pair in pairs.items() if len(pair) == 2}

    def take(self, roles: str, usual: str = "") -> bool:
        """Decide a column for each of some roles, if all of them have one."""
        names = {}
        for role, word in zip(roles.split(), (usual or roles).split(), strict=True):
            names[role] = self.named(role) or self._with_side(word) or self.called(word)
        if not all(names.values()):
            return False
        for role, (name, *_) in names.items():
            if name not in self.decisions:
                self.decide(role, _USUAL, name)
        return True

    def _with_side(self, role: str) -> list[str]:
        """Columns of one side of a kind; those but of models must hold numbers."""
        kind, _, side = role.rpartition("_")
        if f"{kind} _" not in ROLES or self.named(f"{kind}_a", f"{kind}_b"):
            return []
        return [
            pair[side]
            for pattern, pair in self.sides().items()
            if words.is_in_role(pattern, f"{kind} _")
            and (kind == "model" or all(map(self.is_number, pair.values())))
        ]

    def values(self, name: str) -> dict[str, int]:
        """Distinct values of a column and their rows, in the order of the table."""
        codes, labels = pd.factorize(self.frame[name])
        n_rows = np.bincount(codes + 1, minlength=len(labels) + 1).tolist()
        is_judge = name in self.named("judge")
        key = words.value_key if is_judge else outcome_key
        counts: Counter[str] = Counter({"": n_rows[0]} if n_rows[0] else {})
        for label, n in zip(labels, n_rows[1:], strict=True):
            counts[key(label)] += n
        return counts

    def few(self, name: str) -> dict[str, int]:
        """Values of a column that has few; none of others."""
        if self.frame[name].head(_HEAD).nunique() > FEW:
            return {}
        values = self.values(name)
        return values if len(values) <= FEW else {}

    def is_number(self, name: str) -> bool:
        """Whether the first cells of a column are numbers."""
        head = self.frame[name].head(_HEAD).dropna().astype("str").str.strip()
        head = head[head.ne("")].str.replace(",", ".", regex=False)
        numbers = pd.to_numeric(head, errors="coerce")
        return len(head) > 0 and bool(numbers.notna().all())

    @cached_property
    def models(self) -> dict[str, str]:
        """Names of the models as they are written, by the names without case."""
        labels = [v for name in self.named(*MODELS) for v in self.values(name) if v]
        return {label.casefold(): label for label in reversed(labels)}

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
        values = {value: words.label_key(value) for value in self.few(name)}
        is_kind = all(key in _KINDS and (is_flag or key not in _FLAGS)
                      for key in values.values())  # fmt: skip
        return {v: _KINDS[key] for v, key in values.items()} if is_kind else {}

    # ---------------------------------------------------------------------------- steps
    def set_aside(self) -> None:
        """Lists, objects and long texts are no names, outcomes or labels."""
        nested = (list, dict, tuple, set, np.ndarray)
        for name in self.free():
            column = self.frame[name]
            if column.dtype not in (object, "str"):
                continue
            if column.dtype == object and any(isinstance(c, nested) for c in column):
                self.decide("ignored", "lists or objects", name)
                continue
            head = [cell for cell in column.head(_HEAD) if isinstance(cell, str)]
            long = [cell for cell in head if len(cell) > _LONG or "\n" in cell]
            if 10 * len(long) > len(head):
                self.decide("keep", "long texts, no labels", name)

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
            steps = (self._as_counts, self._as_judges, self._as_pairs,
                     self._as_scores, self._as_anything)  # fmt: skip
            is_known = any(step() for step in steps)
        else:
            is_known = self._as_one_model()
        if not is_known:
            self.layout = UNCLEAR
            self.decide(UNCLEAR, "no layout is known", *self.free())
        if self.layout in ("battles", "ratings"):
            why = "rows have one model, whatever was shown first"
            self.decide("ignored", why, *self.named("shown_first"))
        has_judge = self.layout == "judges" or self.has_judge
        for name in self.free():
            labels = [label for label in self.few(name) if label]
            is_model = words.is_in_role(words.side_of(name)[0], "model _")
            if not labels:
                continue
            if is_model and all(label.casefold() in self.models for label in labels):
                self.decide(UNCLEAR, _ASKS_MODEL, name)
            elif not has_judge:
                if all(words.who_is(words.label_key(label)) for label in labels):
                    self.decide(UNCLEAR, _ASKS_WHO, name)
        self._find_prompts_and_features()
        self.decide("keep", "a further column", *self.free())

    @property
    def has_judge(self) -> bool:
        """Whether a column of the table says who decided."""
        return any(name != FILE for name in self.named("judge"))

    def _find_standard(self, role: str) -> None:
        """The column with the standard name of a role."""
        names = [n for n in self.free() if n.strip().casefold() == role]
        self.decide(role, _STANDARD, *names[:1])

    def _find_judges(self) -> None:
        """Columns of judges and raters, or one that says whether people decided."""
        names = [name for name in self.called("judge") if not self.is_verdict(name)]
        kinds = [name for name in self.called("kind") if self.kinds(name)]
        if not self.named("judge"):
            self.decide("judge", _USUAL, *(names or kinds)[:1])
        judge = self.named("judge")
        if judge and "judge" in self.kinds(judge[0]).values():
            # Judges of one kind would be one judge.
            kinds, names = [*kinds, *names], []
        self.decide(UNCLEAR, _ASKS_WHO, *(n for n in kinds if n not in judge))
        for name in [name for name in names if name in self.free()]:
            self.decide("keep" if self.named("rater") else "rater", _USUAL, name)
        if FILE not in self.free():
            return
        filled = self.frame[judge].replace("", None).notna().any(axis=1)
        self.decide("judge", "the name of the file: no column says who decided", FILE)
        if filled[self.frame[FILE].notna()].all():
            self.decide("ignored", "another column says who decided", FILE)

    def _find_two_models(self) -> bool:
        """The two columns of models, or one and its opponent."""
        if self.take("model_a model_b"):
            return True
        if self.named("model_a", "model_b"):
            return False
        self.has_sides = not self.take("model_a model_b", "model opponent")
        return not self.has_sides

    def _as_one_model(self) -> bool:
        """Names of winner and loser, a row for each model and battle, or ratings."""
        for layout, roles in _ONE_MODEL:
            if layout == "winner and loser":
                # Outcomes beside a loser are no names.
                names = [self.named(role) or self.called(role)[:1]
                         for role in roles.split()]  # fmt: skip
                better, worse = ({v for n in one for v in self.values(n)}
                                 for one in names)  # fmt: skip
                if not better & worse:
                    continue
            if self.take(roles):
                self.layout = layout
                if layout == "winner and loser":
                    self.decide(UNCLEAR, _ASKS_TURN["tie"], *self.called("tie"))
                return True
        return False

    def _as_counts(self) -> bool:
        """Wins of either side, or wins and losses of the first."""
        if self.named("winner") or not (
            self.take("wins_a wins_b") or self.take("wins_a wins_b", "wins losses")
        ):
            return False
        self.layout = "counts"
        self.decide("ties", _USUAL, *self.called("tie")[:1])
        counts = self.frame[self.named("wins_a", "wins_b", "ties")]
        total = counts.apply(pd.to_numeric, errors="coerce").sum(axis=1)
        self._find_prompts_and_features()
        for name in filter(self.is_number, self.free()):
            why = "may count comparisons: ties, ignored, or keep"
            self.decide(UNCLEAR, why, name)
            if pd.to_numeric(self.frame[name], errors="coerce").eq(total).all():
                self.decide("ignored", "is the sum of the counts", name)
        return True

    def _as_judges(self) -> bool:
        """Several columns of outcomes, each named after a judge."""
        names = by_name = self.named("verdict")
        if not by_name and not self.named(*OUTCOMES):
            names = list(filter(self.holds_outcomes, self.free()))
            by_name = [name for name in names if words.who_is(judge_name(name))]
            by_name = [] if len(by_name) < len(names) and self.has_judge else by_name
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
        self._ask_turns()
        return True

    def _ask_turns(self) -> None:
        """Leave columns open that could turn outcomes round."""
        for role, why in _ASKS_TURN.items():
            self.decide(UNCLEAR, why, *filter(self.few, self.called(role)))

    def _as_pairs(self) -> bool:
        """One outcome in each row."""
        if not self.named("winner", "loser", "winner_swapped"):
            by_value = any(map(self.holds_outcomes, self.free()))
            role = "winner" if self.called("winner") else "loser"
            self.decide(role, _USUAL, *self.called(role)[:1])
            if not self.named(role) and not by_value:
                return False
        self._ask_turns()
        self.ask_outcomes(*filter(self.holds_outcomes, self.free()))
        return True

    def _as_scores(self) -> bool:
        """A number for each side: the larger score wins, or the smaller rank."""
        if not self.take("score_a score_b") and not self.take("rank_a rank_b"):
            return False
        self.layout = "scores"
        self._ask_turns()
        return True

    def _as_anything(self) -> bool:
        """Columns that may hold the outcome, by the number of their values."""
        if self.take("votes_a votes_b"):
            self.decide(UNCLEAR, _ASKS_VOTES, *self.named("votes_a", "votes_b"))
            return True
        self._find_prompts_and_features()
        names = []
        for name in self.free():
            n_values = self.frame[name].nunique()
            if n_values > SCALE and self.is_number(name):
                numbers = pd.to_numeric(self.frame[name], errors="coerce").dropna()
                names += [name] * bool((numbers.between(0, 1) | numbers.eq(-1)).all())
            elif n_values > 1 and self.few(name):
                names.append(name)
        self.ask_outcomes(*names)
        return 0 < len(names) < 6

    def _find_prompts_and_features(self) -> None:
        """The column of prompts; pairs of numeric columns, which get standard names."""
        self.take("prompt_id")
        for pattern, pair in self.sides().items():
            stem = "_".join(pattern.replace("_", " ").split())
            if not stem or not all(map(self.is_number, pair.values())):
                continue
            for side, name in pair.items():
                is_standard = name.endswith(("_a", "_b"))
                role = "keep" if is_standard else f"keep as {stem}_{side}"
                self.decide(role, "a feature of either side", name)


def judge_name(column: str) -> str:
    """Name of a judge in the name of a column, without words of outcomes."""
    key = name_key(column).split()
    telling = [w for w in key if w != "by" and not words.is_in_role(w, "winner")]
    return " ".join(telling or key)
