"""Roles of columns, decided by their names and values, or left open."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io import _words as words
from skanchor.io._decision import UNCLEAR, Decision
from skanchor.io._tables import FILE, Table
from skanchor.io._words import FAILED, TIE, A, B, has_role, name_key, outcome_key

STANDARD = ("model_a", "model_b", "winner", "judge", "rater", "prompt_id")
OUTCOMES = ("winner", "winner_swapped", "loser", "verdict", "result")
"""Roles of columns that hold outcomes."""

FEW = 20
"""Most values of a column that has few."""

KIND_WORDS = words.words_of(words.KINDS)
_LONG, _HEAD = 80, 1000
_FLAGS = words.YES | words.NO
_WHY = {
    "winner": "winner, winner_swapped if it is about a game that showed model_b first, "
    "loser, or ignored",
    "swapped": "could turn outcomes round: swapped if they are about the order shown, "
    "swapped_order if about the columns, or ignored",
    "tie": "may say which rows are ties: tie, or ignored",
    "votes": "may count votes (wins_a, wins_b), or the larger number wins (score_a, "
    "score_b)",
}


class RoleFinder:
    """Roles of columns, found step by step."""

    def __init__(self, table: Table):
        self.table, self.frame = table, table.frame
        self.columns: dict[str, Decision] = {}
        self.outcomes: dict[str, Decision] = {}  # those that a name decides
        self.open_outcomes: list[str] = []  # columns that may hold outcomes
        self.layout = ""
        self.has_sides = True

    def find(self) -> None:
        """Find all roles, in the order in which one follows from another."""
        self._set_aside()
        self._find_standard()
        self._find_who()
        self._find_models()
        self._find_layout()
        self._find_others()

    # ------------------------------------------------------------------------- helpers
    def set(self, name: str, role: str, reason: str) -> None:
        """Decide a column, or leave it open."""
        self.columns[name] = Decision(role, reason)
        if role == UNCLEAR and reason == _WHY["winner"]:
            self.open_outcomes.append(name)

    def free(self) -> list[str]:
        """Columns that are not decided."""
        return [name for name in self.frame.columns if name not in self.columns]

    def named(self, *roles: str) -> list[str]:
        """Columns of some roles."""
        return [n for n, one in self.columns.items() if one.meaning in roles]

    def called(self, role: str) -> list[str]:
        """Free columns whose names may have a role, the usual names first."""
        names = [name for name in self.free() if has_role(name_key(name), role)]
        return sorted(names, key=lambda name: words.rank_of(name, role))

    def sides(self, role: str) -> dict[str, str]:
        """Free columns of a role by their side."""
        found: dict[str, str] = {}
        patterns: set[str] = set()
        for name in self.free():
            pattern, side = words.side_of(name)
            if has_role(pattern, role) and patterns <= {pattern}:
                patterns.add(pattern)
                found.setdefault(side, name)
        return found

    def values(self, name: str, key: Any = outcome_key) -> dict[str, int]:
        """Distinct values of a column and their rows, in the order of the table."""
        codes, labels = pd.factorize(self.frame[name])
        n = np.bincount(codes + 1, minlength=len(labels) + 1)
        found: dict[str, int] = {"": int(n[0])} if n[0] else {}
        for label, rows in zip(labels, n[1:], strict=True):
            text = key(label).strip(words.BLANKS)
            found[text] = found.get(text, 0) + int(rows)
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
        names = self.named("model_a", "model_b", "model", "better", "worse")
        labels = (label for name in names for label in self.values(name) if label)
        found: dict[str, str] = {}
        for label in labels:
            found.setdefault(label.casefold(), label)
        return found

    def is_verdict(self, name: str) -> bool:
        """Whether a column holds outcomes in words, of which one is a side."""
        known = [words.outcome_of(value) for value in self.few(name) if value]
        meanings = {one[0] for one in known if one and one[0] != FAILED}
        sides = meanings - {TIE, words.BAD}
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

    def refused(self, what: str) -> BattlesError:
        """Error for a table of no known shape."""
        names = [name for name in self.frame.columns if name != FILE][:20]
        return BattlesError(
            f"{self.table.files}: {what} Its columns are {names}. If their names are "
            "unusual, give --columns NAME=ROLE; the page 'Reshape your file' has "
            "shapes that are read."
        )

    # ---------------------------------------------------------------------------- steps
    def _set_aside(self) -> None:
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

    def _find_standard(self) -> None:
        """Columns with standard names."""
        for name in (*STANDARD, "shown_first"):
            found = [n for n in self.free() if n.strip().casefold() == name]
            # Without judges, raters are asked about: they may be people or not.
            if found and not (name == "rater" and not self.named("judge")):
                self.set(found[0], name, "the standard name")
        if "count" in self.free():
            self.set("count", "keep", "the standard name")

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
            self.set(
                name, "keep" if self.named(role) else role, "a name of who decided"
            )
        if FILE in self.free():
            why = "the name of the file: no column says who decided"
            self.set(FILE, "judge", why)

    def is_kind(self, name: str) -> bool:
        """Whether all cells say people or judge."""
        found = [*map(name_key, self.few(name))]
        flags = has_role(name_key(name), "kind")
        return bool(found) and all(
            one in KIND_WORDS and (flags or one not in _FLAGS) for one in found
        )

    def _find_models(self) -> None:
        """The two columns of models, or one and its opponent."""
        if self.named("model_a") and self.named("model_b"):
            return
        sides = self.sides("model")
        if len(sides) == 2:
            for side, name in sides.items():
                self.set(name, f"model_{side}", "a name of models")
        elif self.called("opponent") and self.called("only model"):
            self.set(self.called("only model")[0], "model_a", "a name of models")
            self.set(self.called("opponent")[0], "model_b", "a name of opponents")
            self.has_sides = False

    def _find_layout(self) -> None:
        """How rows hold comparisons, and the columns of their outcomes."""
        if self.named("model_a") and self.named("model_b"):
            finders = [
                self._as_counts,
                self._as_judges,
                self._as_pairs,
                self._as_scores,
            ]
            finders.append(self._as_candidates)
        else:
            finders = [self._as_winner_and_loser, self._as_battles, self._as_ratings]
            finders.append(self._as_unnamed)
        if any(find() for find in finders):
            return
        if self.named("model_a"):
            raise self.refused("no column is known to hold who won.")
        if any(name.startswith(("response", "output")) for name in self.frame.columns):
            raise self.refused("it holds responses, but not the models that gave them.")
        raise self.refused("no columns are known to hold two models and who won.")

    def _as_counts(self) -> bool:
        """Wins of either side, or wins and losses of the first."""
        sides = self.sides("wins")
        if len(sides) < 2 and self.called("only wins") and self.called("losses"):
            sides = {"a": self.called("only wins")[0], "b": self.called("losses")[0]}
        if self.named("winner") or len(sides) < 2:
            return False
        if not all(map(self.is_number, sides.values())):
            return False
        self.layout = "counts"
        if any("votes" in name_key(name) for name in sides.values()):
            for name in sides.values():
                self.set(name, UNCLEAR, _WHY["votes"])
            return True
        for side, name in sides.items():
            self.set(name, f"wins_{side}", "counts of wins")
        for name in [name for name in self.called("tie") if self.is_number(name)][:1]:
            self.set(name, "ties", "counts of ties")
        counted = self.frame[self.named("wins_a", "wins_b", "ties")]
        total = counted.apply(pd.to_numeric, errors="coerce").sum(axis=1)
        for name in self.called("total"):
            same = pd.to_numeric(self.frame[name], errors="coerce").eq(total).all()
            role = "ignored" if same else UNCLEAR
            self.set(name, role, f"is {'' if same else 'not '}the sum of the counts")
        return True

    def _as_judges(self) -> bool:
        """Several columns of outcomes, each named after a judge."""
        if self.named(*OUTCOMES):
            return False
        names = [name for name in self.free() if self._is_judged(name)]
        known = [name for name in names if words.who_is(judge_name(name))]
        has_judge = any(name != FILE for name in self.named("judge"))
        if len(names) < 2 or (len(known) < len(names) and has_judge):
            return False
        if not known and len(names) < 3:
            return False
        self.layout = "judges"
        for name in names:
            # Two columns of a judge may be about two orders.
            in_order = name_key(name).split()[-1] in ("ab", "ba")
            role, why = ("verdict", "outcomes by the judge of its name")
            self.set(
                name, UNCLEAR if in_order else role, _WHY["winner"] if in_order else why
            )
        if FILE in self.columns:
            self.set(FILE, "ignored", "columns are named after judges")
        return True

    def _is_judged(self, name: str) -> bool:
        """Whether a column holds outcomes of the judge that it is named after."""
        if self.holds_outcomes(name):
            return True
        found = self.few(name)
        numbers = all(
            value == "" or words.number_of(value) is not None for value in found
        )
        return bool(words.who_is(judge_name(name))) and 0 < len(found) < 6 and numbers

    def _as_pairs(self) -> bool:
        """One outcome in each row."""
        if not self.named("winner", "loser", "winner_swapped"):
            winners = self.called("winner")
            valued = [name for name in self.free() if self.holds_outcomes(name)]
            losers = [] if winners else self.called("loser")
            names = losers or winners[:1] if len(valued) < 2 else winners or valued
            names = names or valued
            if len(names) == 1:
                role = "loser" if losers else "winner"
                self.set(names[0], role, f"a name of the {role}, or its values")
            for name in names if len(names) > 1 else ():
                self.set(name, UNCLEAR, _WHY["winner"])
            if not names and not self._is_flagged():
                return False
        self.layout = "pairs"
        for name in self.free():
            key = name_key(name)
            if has_role(key, "swapped") and self.few(name):
                self.set(name, UNCLEAR, _WHY["swapped"])
            elif has_role(key, "tie") and self.few(name):
                self.set(name, UNCLEAR, _WHY["tie"])
            elif self.holds_outcomes(name):
                self.set(name, UNCLEAR, _WHY["winner"])
        return True

    def _is_flagged(self) -> bool:
        """Whether one column says of one side whether it won, or lost."""
        flags = [
            (name, (side == "a") == (role == "won"))
            for role in ("won", "lost")
            for side, name in self.sides(role).items()
            if self.few(name)
            and all(name_key(value) in _FLAGS for value in self.few(name))
        ]
        if len(flags) != 1:
            return False
        ((name, a_won),) = flags
        self.set(name, "winner", "says of one side whether it won")
        for value, rows in self.values(name).items():
            meaning = A if a_won == (name_key(value) in words.YES) else B
            self.outcomes[value] = Decision(meaning, f"by the name {name!r}", rows)
        return True

    def _as_scores(self) -> bool:
        """A number for each side: the larger score wins, or the smaller rank."""
        for role in ("score", "rank"):
            sides = self.sides(role)
            if len(sides) == 2 and all(map(self.is_number, sides.values())):
                self.layout = "scores"
                for side, name in sides.items():
                    self.set(name, f"{role}_{side}", f"a name of {role}s")
                return True
        return False

    def _as_candidates(self) -> bool:
        """Columns that may hold the outcome, by the number of their values."""
        patterns = [words.side_of(name)[0] for name in self.free()]
        names = [
            name
            for name in self.free()
            if (self.few(name) or self.is_number(name))
            and patterns.count(words.side_of(name)[0] or name) < 2
            and not any(has_role(name_key(name), r) for r in ("prompt_id", "total"))
            and self.frame[name].nunique() > 1
        ]
        self.layout = "pairs"
        for name in names:
            self.set(name, UNCLEAR, _WHY["winner"])
        return 0 < len(names) < 6

    def _as_winner_and_loser(self) -> bool:
        """Names of the models that won and lost."""
        better = self.named("better") or self.called("better") or self.named("winner")
        worse = self.named("worse") or self.called("loser")
        if not (
            better and worse and {*self.values(better[0])} & {*self.values(worse[0])}
        ):
            return False
        self.layout = "winner and loser"
        self.set(better[0], "better", "a name of the model that won")
        self.set(worse[0], "worse", "a name of the model that lost")
        for name in self.called("tie"):
            self.set(name, UNCLEAR, _WHY["tie"])
        return True

    def _as_battles(self) -> bool:
        """A row for each model and battle."""
        found = {
            "battle": self.named("battle") or self.called("battle"),
            "model": self.named("model") or self.called("only model"),
            "result": self.named("result")
            or self.called("result")
            or self.named("winner"),
        }
        if not all(found.values()):
            return False
        self.layout = "battles"
        for role, names in found.items():
            self.set(names[0], role, "rows of one battle are compared")
        return True

    def _as_ratings(self) -> bool:
        """A row for each response, with its score, or with one for each judge."""
        model = self.named("model") or self.called("only model")
        prompt = self.named("prompt_id") or self.called("prompt_id")
        scores = self.named("score", "rank") or self.called("only score")[:1]
        if not model or not (prompt or scores):
            return False
        if not prompt:
            raise self.refused("it holds a score of each model, and no comparisons.")
        if not scores:
            scores = [
                name
                for name in self.free()
                if words.who_is(judge_name(name)) and self.is_number(name)
            ]
        if not scores:
            return False
        if len(self.values(model[0])) < 2:
            raise self.refused("it holds ratings of one model only.")
        self.layout = "ratings"
        self.set(model[0], "model", "a name of models")
        self.set(prompt[0], "prompt_id", "ratings of one prompt are compared")
        for name in scores:
            if name not in self.columns:
                self.set(name, "score", "a higher score is better")
        if len(scores) > 1 and FILE in self.columns:
            self.set(FILE, "ignored", "columns are named after judges")
        return True

    def _as_unnamed(self) -> bool:
        """The only two columns of text that share their labels."""
        names = [
            name
            for name in [*self.named("winner"), *self.free()]
            if self.frame[name].dtype == "str"
            and 1 < self.frame[name].nunique() < 500
            and not self.is_number(name)
        ]
        values = {name: {*self.values(name)} for name in names}
        found = [
            (one, two)
            for at, one in enumerate(names)
            for two in names[at + 1 :]
            if 2 * len(values[one] & values[two]) > len(values[one])
        ]
        if len(found) != 1 or self.named("ignored"):
            return False
        self.layout = "pairs"
        for name, role in zip(found[0], ("model_a, or better", "model_b, or worse"),
                              strict=True):  # fmt: skip
            self.set(name, UNCLEAR, f"shares its labels with another column: {role}?")
        for name in self.called("winner")[:1]:
            self.set(name, "winner", "a name of outcomes")
        return True

    def _find_others(self) -> None:
        """Prompts, pairs of features, and all other columns."""
        for name in self.free():
            labels = self.few(name) if has_role(words.side_of(name)[0], "model") else {}
            if labels and all(label.casefold() in self.models for label in labels):
                self.set(name, UNCLEAR, "names the models once more: model_a, model_b?")
        if not self.named("prompt_id"):
            for name in self.called("prompt_id")[:1]:
                self.set(name, "prompt_id", "rows of one prompt depend on each other")
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
        for name in self.free():
            self.set(name, "keep", "a further column")


def judge_name(column: str) -> str:
    """Name of a judge in the name of a column, without words of outcomes."""
    found = name_key(column).split()
    rest = [word for word in found if not has_role(word, "winner") and word != "by"]
    return " ".join(rest or found)
