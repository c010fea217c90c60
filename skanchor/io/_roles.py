"""Roles of columns, decided by their names and values, or left open."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io import _words as words
from skanchor.io._tables import FILE, Table
from skanchor.io._words import FAILED, name_key, outcome_key, value_key

UNCLEAR = "?"
"""In place of a meaning that is not known."""

OUTCOMES = ("winner", "winner_swapped", "loser", "verdict", "result")
"""Roles of columns that hold outcomes."""

MODELS = ("model_a", "model_b", "model", "better", "worse")
"""Roles of columns that hold names of models."""

FEW = 20
"""Most values of a column that has few."""

KINDS = words.words_of(words.KINDS)
_FLAGS = words.words_of(words.FLAGS)
_LONG, _HEAD = 80, 1000
_WHY = {
    "winner": "winner, winner_swapped if it is about a game that showed model_b first, "
    "loser, verdict if its name is that of a judge, or ignored",
    "swapped": "could turn outcomes round: swapped if they are about the order shown, "
    "swapped_order if about the columns, or ignored",
    "tie": "may say which rows are ties: tie, or ignored",
    "votes": "may count votes (wins_a, wins_b), or the larger number wins (score_a, "
    "score_b)",
    "count": "may count comparisons: ties, ignored, or keep",
    "model": "names the models once more: model_a, model_b, or ignored",
    "unnamed": "shares its labels with another column: model_a, model_b, better, or "
    "worse",
    "judge": "a name of who decided",
    "one": "a name of models",
    "number": "a name of {}s",
    "verdict": "outcomes by the judge of its name",
    "battle": "rows of one battle are compared",
    "prompt": "rows of one prompt depend on each other",
}


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


class RoleFinder:
    """Roles of columns, found step by step."""

    def __init__(self, table: Table):
        self.table, self.frame = table, table.frame
        self.columns: dict[str, Decision] = {}
        self.open_outcomes: list[str] = []  # columns that may hold outcomes
        self.layout = "pairs"
        self.has_sides = True

    def find(self) -> None:
        """Find all roles, in the order in which one follows from another."""
        self.set_aside()
        self._find_standard("model_a", "model_b", "judge", "rater", "prompt_id",
                            "shown_first")  # fmt: skip
        self._find_who()
        self._find_models()
        if self.named("model_a") and self.named("model_b"):
            self._find_standard("winner")
            finders = [self._as_counts, self._as_judges, self._as_pairs,
                       self._as_scores, self._as_candidates]  # fmt: skip
        else:
            finders = [self._as_winner_and_loser, self._as_battles, self._as_ratings,
                       self._as_unnamed]  # fmt: skip
        if not any(find() for find in finders):
            names = [name for name in self.frame.columns if name != FILE][:20]
            raise BattlesError(
                f"{self.table.files}: no columns are known to hold two models and who "
                f"won. Its columns are {names}. If their names are unusual, give "
                "--columns NAME=ROLE; the page 'Reshape your file' has shapes that are "
                "read."
            )
        self._find_others()

    # ------------------------------------------------------------------------- helpers
    def set(self, name: str, role: str, reason: str) -> None:
        """Decide a column."""
        self.columns[name] = Decision(role, reason)

    def ask(self, name: str, about: str) -> None:
        """Leave a column open."""
        self.set(name, UNCLEAR, _WHY[about])
        self.open_outcomes += [name] * (about == "winner")

    def free(self) -> list[str]:
        """Columns that are not decided."""
        return [name for name in self.frame.columns if name not in self.columns]

    def named(self, *roles: str) -> list[str]:
        """Columns of some roles."""
        return [n for n, one in self.columns.items() if one.meaning in roles]

    def called(self, role: str) -> list[str]:
        """Free columns whose names may have a role, the usual names first."""
        return words.names_in_role(self.free(), role)

    def first(self, role: str) -> str:
        """The column of a role, or else the first one that may have it, if any."""
        return next(iter(self.named(role) or self.called(role)), "")

    def sides(self, role: str, numeric: bool = False) -> dict[str, str]:
        """The two free columns of a role by their side, or nothing."""
        found: dict[str, dict[str, str]] = {}
        for name in self.free():
            pattern, side = words.side_of(name)
            if words.rank_in_role(pattern, role) is not None:
                found.setdefault(pattern, {}).setdefault(side, name)
        both = [sides for sides in found.values() if len(sides) == 2]
        fits = both and (not numeric or all(map(self.is_number, both[0].values())))
        return both[0] if fits else {}

    def values(self, name: str) -> dict[str, int]:
        """Distinct values of a column and their rows, in the order of the table."""
        codes, labels = pd.factorize(self.frame[name])
        n = np.bincount(codes + 1, minlength=len(labels) + 1)
        found: dict[str, int] = {"": int(n[0])} if n[0] else {}
        key = value_key if self.columns.get(name, [""])[0] == "judge" else outcome_key
        for label, rows in zip(labels, n[1:], strict=True):
            found[key(label)] = found.get(key(label), 0) + int(rows)
        return found

    def few(self, name: str) -> dict[str, int]:
        """Values of a column that has few; none of others."""
        if self.frame[name].head(_HEAD).nunique() > FEW:
            return {}
        found = self.values(name)
        return found if len(found) <= FEW else {}

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
        found: dict[str, str] = {}
        for name in self.named(*MODELS):
            for label in self.values(name):
                found.setdefault(label.casefold(), label)
        found.pop("", None)
        return found

    def is_verdict(self, name: str) -> bool:
        """Whether a column holds outcomes in words, of which one is a side."""
        known = [words.outcome_of(value) for value in self.few(name) if value]
        meanings = {one[0] for one in known if one and one[0] != FAILED}
        sides = meanings - {words.TIE, words.BAD}
        return None not in known and len(meanings) > 1 and bool(sides)

    def holds_outcomes(self, name: str) -> bool:
        """Whether a column holds outcomes in words, or as names of the models."""
        if self.is_verdict(name):
            return True
        if self.frame[name].head(_HEAD).nunique() > 200:
            return False
        found = [value for value in self.values(name) if value]
        names = [value for value in found if value.casefold() in self.models]
        others = [v for v in found if v not in names and not words.outcome_of(v)]
        return len(names) > 1 and not others

    def is_kind(self, name: str) -> bool:
        """Whether all cells say people or judge."""
        found = [*map(name_key, self.few(name))]
        flags = words.rank_in_role(name_key(name), "kind") is not None
        return bool(found) and all(
            one in KINDS and (flags or one not in _FLAGS) for one in found
        )

    # ---------------------------------------------------------------------------- steps
    def set_aside(self) -> None:
        """Lists, objects and long texts are no names, outcomes or labels."""
        nested = (list, dict, tuple, set, np.ndarray)
        for name in self.free():
            column = self.frame[name]
            if column.dtype == object and any(isinstance(c, nested) for c in column):
                self.set(name, "ignored", "lists or objects")
            elif column.dtype == object or column.dtype == "str":
                head = [cell for cell in column.head(_HEAD) if isinstance(cell, str)]
                long = [cell for cell in head if len(cell) > _LONG or "\n" in cell]
                if 10 * len(long) > len(head):
                    self.set(name, "keep", "long texts, no labels")

    def _find_standard(self, *roles: str) -> None:
        """Columns with standard names."""
        for role in roles:
            found = [n for n in self.free() if n.strip().casefold() == role]
            # Without judges, raters are asked about: they may be people or not.
            if found and not (role == "rater" and not self.named("judge")):
                self.set(found[0], role, "the standard name")

    def _find_who(self) -> None:
        """Columns of judges, raters and kinds of judges."""
        names = [name for name in self.called("judge") if not self.is_verdict(name)]
        kinds = [name for name in self.called("kind") if self.is_kind(name)]
        judge = self.named("judge")
        if judge and names and self.is_kind(judge[0]):
            kinds, judge = judge, []
        if kinds:
            role = "kind" if judge or names else "judge"
            self.set(kinds[0], role, "says whether people or a judge decided")
        for name in names:
            role = "rater" if self.named("judge") else "judge"
            self.set(name, "keep" if self.named(role) else role, _WHY["judge"])
        if FILE in self.free():
            why = "the name of the file: no column says who decided"
            self.set(FILE, "judge", why)

    def _find_models(self) -> None:
        """The two columns of models, or one and its opponent."""
        if self.named("model_a") and self.named("model_b"):
            return
        for side, name in self.sides("model _").items():
            self.set(name, f"model_{side}", _WHY["one"])
        one, other = self.called("model"), self.called("opponent")
        if one and other and not self.named("model_a"):
            self.set(one[0], "model_a", _WHY["one"])
            self.set(other[0], "model_b", _WHY["one"])
            self.has_sides = False

    def _as_counts(self) -> bool:
        """Wins of either side, or wins and losses of the first."""
        counts, votes = self.sides("wins _", True), self.sides("votes _", True)
        wins, losses = self.called("wins"), self.called("losses")
        if not counts and wins and losses:
            counts = {"a": wins[0], "b": losses[0]}
        if self.named("winner") or not (counts or votes):
            return False
        self.layout = "counts"
        for side, name in counts.items():
            self.set(name, f"wins_{side}", _WHY["number"].format("win"))
        for name in {} if counts else votes.values():
            self.ask(name, "votes")
        for name in self.called("tie")[:1]:
            self.set(name, "ties", _WHY["number"].format("tie"))
        named = self.frame[self.named("wins_a", "wins_b", "ties")]
        total = named.apply(pd.to_numeric, errors="coerce").sum(axis=1)
        self._find_prompts()
        self._find_features()
        for name in filter(self.is_number, self.free()):
            if pd.to_numeric(self.frame[name], errors="coerce").eq(total).all():
                self.set(name, "ignored", "is the sum of the counts")
            else:
                self.ask(name, "count")
        return True

    def _as_judges(self) -> bool:
        """Several columns of outcomes, each named after a judge."""
        names = known = self.named("verdict")
        if not known and not self.named(*OUTCOMES):
            names = [name for name in self.free() if self._is_judged(name)]
            known = [name for name in names if words.who_is(judge_name(name))]
            has_judge = any(name != FILE for name in self.named("judge"))
            known = [] if len(known) < len(names) and has_judge else known
        if not known or len(names) < 2:
            return False
        self.layout = "judges"
        for name in names:
            # Two columns of a judge may be about two orders.
            if name_key(name).split()[-1] in ("ab", "ba"):
                self.ask(name, "winner")
            else:
                self.set(name, "verdict", _WHY["verdict"])
        if FILE in self.columns:
            self.set(FILE, "ignored", "columns are named after judges")
        return True

    def _is_judged(self, name: str) -> bool:
        """Whether a column holds outcomes of the judge that it is named after."""
        if self.holds_outcomes(name):
            return True
        found = [value for value in self.few(name) if value]
        numbers = all(words.number_of(value) is not None for value in found)
        return bool(words.who_is(judge_name(name))) and 0 < len(found) < 6 and numbers

    def _as_pairs(self) -> bool:
        """One outcome in each row."""
        if not self.named("winner", "loser", "winner_swapped"):
            valued = [name for name in self.free() if self.holds_outcomes(name)]
            for role in ("winner", "loser"):
                if not self.named("winner") and self.called(role):
                    self.set(self.called(role)[0], role, f"a name of the {role}")
            if not self.named("winner", "loser"):
                if not valued:
                    return False
                if len(valued) == 1:
                    self.set(valued[0], "winner", "its values are outcomes")
        for name in self.free():
            turns = [role for role in ("swapped", "tie") if name in self.called(role)]
            if turns and self.few(name):
                self.ask(name, turns[0])
            elif self.holds_outcomes(name):
                self.ask(name, "winner")
        return True

    def _as_scores(self) -> bool:
        """A number for each side: the larger score wins, or the smaller rank."""
        for role in ("score", "rank"):
            for side, name in self.sides(f"{role} _", True).items():
                self.layout = "scores"
                self.set(name, f"{role}_{side}", _WHY["number"].format(role))
        return self.layout == "scores"

    def _as_candidates(self) -> bool:
        """Columns that may hold the outcome, by the number of their values."""
        self._find_prompts()
        self._find_features()
        names = [
            name
            for name in self.free()
            if (self.few(name) or self.is_number(name))
            and self.frame[name].nunique() > 1
        ]
        for name in names:
            self.ask(name, "winner")
        return 0 < len(names) < 6

    def _as_winner_and_loser(self) -> bool:
        """Names of the models that won and lost."""
        better, worse = self.first("better"), self.first("worse") or self.first("loser")
        if not (better and worse and {*self.values(better)} & {*self.values(worse)}):
            return False
        self.layout = "winner and loser"
        self.set(better, "better", "a name of the model that won")
        self.set(worse, "worse", "a name of the model that lost")
        for name in self.called("tie"):
            self.ask(name, "tie")
        return True

    def _as_battles(self) -> bool:
        """A row for each model and battle."""
        found = {role: self.first(role) for role in ("battle", "model", "result")}
        if not all(found.values()):
            return False
        self.layout = "battles"
        for role, name in found.items():
            self.set(name, role, _WHY["battle"])
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
        self.set(model, "model", _WHY["one"])
        self.set(prompt, "prompt_id", "ratings of one prompt are compared")
        for name in scores:
            if name not in self.columns:
                self.set(name, "score", "a higher score is better")
        if len(scores) > 1 and FILE in self.columns:
            self.set(FILE, "ignored", "columns are named after judges")
        return True

    def _as_unnamed(self) -> bool:
        """The only two columns of text that share their labels."""
        values = {
            name: {*self.values(name)}
            for name in self.free()
            if self.frame[name].dtype == "str"
            and 1 < self.frame[name].nunique() < 500
            and not self.is_number(name)
        }
        found = [
            (one, two)
            for one, two in combinations(values, 2)
            if 2 * len(values[one] & values[two]) > len(values[one])
        ]
        if len(found) != 1 or self.named("ignored"):
            return False
        for name in found[0]:
            self.ask(name, "unnamed")
        for name in self.called("winner")[:1]:
            self.set(name, "winner", "a name of outcomes")
        return True

    # --------------------------------------------------------------------------- others
    def _find_others(self) -> None:
        """Prompts, pairs of features, and all other columns."""
        for name in self.free():
            is_model = words.rank_in_role(words.side_of(name)[0], "model _") is not None
            labels = self.few(name) if is_model else {}
            if labels and all(label.casefold() in self.models for label in labels):
                self.ask(name, "model")
        self._find_prompts()
        self._find_features()
        for name in self.free():
            self.set(name, "keep", "a further column")

    def _find_prompts(self) -> None:
        """The column of prompts."""
        if not self.named("prompt_id"):
            for name in self.called("prompt_id")[:1]:
                self.set(name, "prompt_id", _WHY["prompt"])

    def _find_features(self) -> None:
        """Pairs of numeric columns, which get standard names."""
        pairs: dict[str, dict[str, str]] = {}
        for name in self.free():
            pattern, side = words.side_of(name)
            if pattern and self.is_number(name):
                pairs.setdefault(pattern, {})[side] = name
        for pattern, sides in pairs.items():
            stem = "_".join(pattern.replace("_", " ").split())
            for side, name in sides.items() if len(sides) == 2 and stem else ():
                as_is = name.endswith(("_a", "_b"))
                role = "keep" if as_is else f"keep as {stem}_{side}"
                self.set(name, role, "a feature of either side")


def judge_name(column: str) -> str:
    """Name of a judge in the name of a column, without words of outcomes."""
    found = name_key(column).split()
    rest = [word for word in found if word != "by"
            and words.rank_in_role(word, "winner") is None]  # fmt: skip
    return " ".join(rest or found)
