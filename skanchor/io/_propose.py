"""A mapping proposed for a table: decided by the tables of words, or left open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping as Dict
from fnmatch import fnmatchcase
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._tables import FILE, Table
from skanchor.io._words import (
    A,
    B,
    BAD,
    FAILED,
    KINDS,
    NO,
    NO_NAMES,
    RESULTS,
    TIE,
    YES,
    has_role,
    name_key,
    outcome_key,
    outcome_of,
    rank_of,
    side_of,
    value_key,
    who_is,
    words_of,
)
from skanchor.io.mapping import UNCLEAR, Decision, Mapping

STANDARD = ("model_a", "model_b", "winner", "judge", "rater", "prompt_id", "shown_first")
_PAIRED = ("model", "wins", "score", "rank", "won", "lost")
_LONG, _FEW, _HEAD = 80, 20, 1000
_RESULT_WORDS = words_of(RESULTS)
_KIND_WORDS = words_of(KINDS)
_SEE = "The page 'Reshape your file' shows shapes that are read."


def propose(
    table: Table,
    columns: Dict[str, str] | None = None,
    labels: Dict[Any, Any] | None = None,
    human: Iterable[str] | None = None,
    drop_invalid: bool = False,
) -> Mapping:
    """Mapping of a table, in which what is given replaces what would be found."""
    return _Proposal(table, columns or {}, labels or {}, human, drop_invalid).made()


class _Proposal:
    """What is found about a table, step by step."""

    def __init__(
        self,
        table: Table,
        given: Dict[str, str],
        labels: Dict[Any, Any],
        human: Iterable[str] | None,
        drop_invalid: bool,
    ):
        self.table, self.frame = table, table.frame
        self.human = [human] if isinstance(human, str) else human and list(human)
        self.drop_invalid = drop_invalid or table.drop_invalid
        self.columns: dict[str, Decision] = {}
        self.outcomes: dict[str, Decision] = {}
        self.judges: dict[str, Decision] = {}
        self.models: dict[str, str] = {}
        self.maybe: list[str] = []  # columns that may hold outcomes
        self.notes: list[str] = []
        self.scale: dict[str, Any] | None = None
        self.layout = ""
        self.labels = {value_key(k).strip(): v for k, v in labels.items()}
        self.sided = True
        lacking = [name for name in given if name not in self.frame]
        if lacking:
            raise BattlesError(
                f"{table.source}: has no column {lacking[0]!r}; its columns are "
                f"{list(self.frame.columns)[:20]}."
            )
        for name, role in given.items():
            self.set(name, role, "as given")

    def made(self) -> Mapping:
        """Find all, in the order in which one thing follows from another."""
        self._set_aside()
        self._find_standard()
        self._find_who()
        self._find_models()
        self._find_layout()
        self._find_others()
        self._find_outcomes()
        self._find_judges()
        self._find_spellings()
        mapping = Mapping(
            self.layout, self.columns, self.outcomes, self.judges, self.models, self.scale,
            self.table.format, self.table.source, tuple(self.notes),
        )  # fmt: skip
        mapping._check(self.table.source)
        return mapping

    # ------------------------------------------------------------------------- helpers
    def set(self, name: str, role: str, reason: str) -> None:
        """Decide a column."""
        self.columns[name] = Decision(role, reason)

    def open(self, name: str, reason: str) -> None:
        """Leave open whether a column holds outcomes."""
        self.set(name, UNCLEAR, reason)
        self.maybe.append(name)

    def free(self) -> list[str]:
        """Columns that are not decided."""
        return [name for name in self.frame.columns if name not in self.columns]

    def named(self, *roles: str) -> list[str]:
        """Columns of some roles."""
        return [n for n, one in self.columns.items() if one.meaning in roles]

    def called(self, role: str) -> list[str]:
        """Free columns whose names may have a role, the usual names first."""
        names = [n for n in self.free() if has_role(name_key(n), role)]
        return sorted(names, key=lambda name: rank_of(name, role))

    def values(self, name: str, key: Any = outcome_key) -> dict[str, int]:
        """Distinct values of a column and their rows, in the order of the table."""
        codes, labels = pd.factorize(self.frame[name])
        n = np.bincount(codes + 1, minlength=len(labels) + 1)
        found: dict[str, int] = {"": int(n[0])} if n[0] else {}
        for label, rows in zip(labels, n[1:], strict=True):
            text = key(label).strip()
            found[text] = found.get(text, 0) + int(rows)
        return found

    def few(self, name: str) -> dict[str, int] | None:
        """Values of a column that has few; None of others."""
        if self.frame[name].head(_HEAD).nunique() > _FEW:
            return None
        found = self.values(name)
        return found if len(found) <= _FEW else None

    def refused(self, what: str) -> BattlesError:
        """Error for a table of no known shape."""
        return BattlesError(
            f"{self.table.source}: {what} Its columns are "
            f"{[n for n in self.frame.columns if n != FILE][:20]}. If their names are "
            f"unusual, give --columns NAME=ROLE. {_SEE}"
        )

    # ---------------------------------------------------------------------------- steps
    def _set_aside(self) -> None:
        """Lists, objects and long texts are no names, outcomes or labels."""
        for name in self.free():
            column = self.frame[name]
            if column.dtype == object and column.map(
                lambda cell: isinstance(cell, (list, dict, tuple, set, np.ndarray))
            ).any():  # fmt: skip
                self.set(name, "ignored", "lists or objects")
            elif column.dtype == object or column.dtype == "str":
                head = column.head(_HEAD).dropna()
                texts = head[[isinstance(cell, str) for cell in head]].astype("str")
                long = texts.str.len().gt(_LONG) | texts.str.contains("\n", regex=False)
                if len(texts) and (long.mean() > 0.1 or texts.str.len().max() > 1000):
                    self.set(name, "keep", "long texts, no labels")

    def _find_standard(self) -> None:
        """Columns with standard names."""
        for name in STANDARD:
            found = [n for n in self.free() if n.strip().casefold() == name]
            # Without judges, raters are asked about: they may be people or not.
            if name == "rater" and not self.named("judge"):
                continue
            if found and not self.named(name):
                self.set(found[0], name, "the standard name")
        if "count" in self.free():
            self.set("count", "keep", "the standard name")

    def _find_models(self) -> None:
        """The two columns of models, or one and its opponent."""
        if self.named("model_a") and self.named("model_b"):
            self.sided = not (self.named("model_a") == ["model"])
            return
        pairs: dict[tuple[str, str], dict[str, str]] = {}
        for name in self.free():
            found = side_of(name)
            for role in _PAIRED if found else ():
                if has_role(found[0], role):
                    pairs.setdefault((role, found[0]), {})[found[1]] = name
        models = [sides for (role, _), sides in pairs.items()
                  if role == "model" and len(sides) == 2]  # fmt: skip
        if models:
            first, *others = models
            self.set(first["a"], "model_a", "a name of models")
            self.set(first["b"], "model_b", "a name of models")
        elif self.called("opponent") and self.called("only model"):
            self.set(self.called("only model")[0], "model_a", "a name of models")
            self.set(self.called("opponent")[0], "model_b", "a name of opponents")
            self.sided = False

    def _find_who(self) -> None:
        """Columns of judges, raters and kinds."""
        # A column of one result for each row may be called as judges are.
        names = [n for n in self.called("judge") if not self._is_verdict(n)]
        kinds = [n for n in self.called("kind") if self._is_kind(n)]
        judge = self.named("judge")
        if judge and names and self._is_kind(judge[0]):
            self.set(judge[0], "kind", "says whether people or a judge decided")
            kinds, judge = [], []
        elif kinds and (judge or names or not self.named("kind")):
            self.set(kinds[0], "kind" if judge or names else "judge",
                     "says whether people or a judge decided")  # fmt: skip
            judge = self.named("judge")
        if not judge and names:
            self.set(names.pop(0), "judge", "a name of judges")
        if self.named("judge") and names and not self.named("rater"):
            self.set(names.pop(0), "rater", "a second name of who decided")
        for name in names:
            self.set(name, "keep", "a further name of who decided")
        if FILE in self.free():
            self.set(FILE, "judge", "the name of the file: no column says who decided")

    def _is_kind(self, name: str) -> bool:
        """Whether all cells say people or judge."""
        found = [*map(name_key, self.few(name) or ())]
        flag = has_role(name_key(name), "kind") and name_key(name) != "judge"
        return bool(found) and all(
            one in _KIND_WORDS and (flag or one not in YES | NO) for one in found
        )

    def _is_verdict(self, name: str) -> bool:
        """Whether a column holds outcomes by its values."""
        found = self.few(name)
        known = [outcome_of(v) for v in found or () if v]
        meanings = {one[0] for one in known if one and one[0] != FAILED}
        sides = meanings - {TIE, BAD}
        return bool(found) and None not in known and len(meanings) > 1 and bool(sides)

    def _find_layout(self) -> None:
        """How rows hold comparisons, and the columns of their outcomes."""
        finders = [self._as_pairs] if self.named("model_a") and self.named("model_b") else [
            self._as_winner_and_loser, self._as_battles, self._as_ratings, self._as_unnamed
        ]  # fmt: skip
        for find in finders:
            if find():
                return
        if self.named("model_a"):
            raise self.refused("no column is known to hold who won.")
        if {"output_1", "output_a", "response_a", "response_1", "response_A"} & {
            *self.frame.columns
        }:
            raise self.refused(
                "it holds pairs of responses, but not the models that gave them."
            )
        raise self.refused("no columns are known to hold two models and who won.")

    def _as_pairs(self) -> bool:
        """Two models in each row: an outcome, counts, verdicts of judges or scores."""
        if self.named("winner", "loser", "winner_swapped"):
            self.layout = "pairs"
            self._open_second_outcomes()
            return True
        if self.named("verdict"):
            self.layout = "judges"
            return True
        return (
            self._as_counts()
            or self._as_judges()
            or self._as_winner()
            or self._as_scores()
            or self._as_candidates()
        )

    def _sides(self, role: str) -> dict[str, str]:
        """Free columns of a role by side."""
        found = {}
        for name in self.free():
            side = side_of(name)
            if side and has_role(side[0], role):
                found.setdefault(side[1], name)
        return found

    def _as_counts(self) -> bool:
        """Wins of either side, or wins and losses of the first."""
        sides = self._sides("wins")
        if len(sides) < 2:
            wins, losses = self.called("only wins"), self.called("losses")
            sides = {"a": wins[0], "b": losses[0]} if wins and losses else {}
        if len(sides) < 2 or not all(self._is_number(n) for n in sides.values()):
            return False
        if self.called("winner") or any("votes" in name_key(n) for n in sides.values()):
            for name in sides.values():
                self.set(name, UNCLEAR, "may count votes: wins_a and wins_b, or score_a "
                         "and score_b where the larger number wins")  # fmt: skip
            self.layout = "counts"
            return True
        self.layout = "counts"
        for side, name in sides.items():
            self.set(name, f"wins_{side}", "counts of wins")
        ties = self.called("tie")
        if ties and self._is_number(ties[0]):
            self.set(ties[0], "ties", "counts of ties")
        for name in self.called("total"):
            parts = [*sides.values(), *self.named("ties")]
            total = sum(pd.to_numeric(self.frame[n], errors="coerce").fillna(0)
                        for n in parts)  # fmt: skip
            same = (pd.to_numeric(self.frame[name], errors="coerce") == total).all()
            self.set(name, "ignored" if same else UNCLEAR,
                     "the sum of the counts" if same else "is not the sum of the counts: "
                     "ignored, or is another column one of ties?")  # fmt: skip
        return True

    def _is_number(self, name: str) -> bool:
        """Whether the first cells of a column are numbers."""
        head = self.frame[name].head(_HEAD)
        head = head[head.notna() & head.astype("str").str.strip().ne("")]
        texts = head.astype("str").str.replace(",", ".", regex=False)
        return len(head) > 0 and bool(pd.to_numeric(texts, errors="coerce").notna().all())

    def _as_judges(self) -> bool:
        """Several columns of outcomes, each named after a judge."""
        wide = [n for n in self.free() if self._holds_outcomes(n)]
        who = [n for n in self.free() if who_is(_judge_name(n)) and self._is_few_numbers(n)]
        names = list(dict.fromkeys([*wide, *who]))
        if len(names) < 2 or any(who_is(_judge_name(n)) is None for n in names) and (
            [n for n in self.named("judge") if n != FILE]
        ):
            return False
        if not any(who_is(_judge_name(n)) for n in names) and len(names) < 3:
            return False
        order = [n for n in names if name_key(n).split()[-1] in ("ab", "ba")]
        for name in names:
            if name in order:
                self.open(name, "a judge's verdict in one of two orders: verdict where "
                          "A is model_a, else turn it round in the file")  # fmt: skip
            else:
                self.set(name, "verdict", "holds outcomes, and is named after a judge")
        if self.columns.get(FILE):
            self.set(FILE, "ignored", "columns are named after judges")
        self.layout = "judges"
        return True

    def _is_few_numbers(self, name: str) -> bool:
        found = self.few(name)
        return bool(found) and len(found) < 6 and all(
            v == "" or _number(v) is not None for v in found
        )  # fmt: skip

    def _holds_outcomes(self, name: str) -> bool:
        """Whether a column holds outcomes: in words, or as names of its models."""
        if self._is_verdict(name):
            return True
        found = self.values(name) if self.frame[name].head(_HEAD).nunique() < 200 else {}
        models = self._models()
        known = [v for v in found if v and v.casefold() in models]
        others = [v for v in found if v and v not in known and not outcome_of(v)]
        return len(known) > 1 and not others

    def _models(self) -> set[str]:
        """Names of the models, without case."""
        names = self.named("model_a", "model_b", "model", "better", "worse")
        return {v.casefold() for name in names for v in self._cached(name) if v}

    def _cached(self, name: str) -> dict[str, int]:
        store = self.__dict__.setdefault("_values_of_models", {})
        if name not in store:
            store[name] = self.values(name)
        return store[name]

    def _as_winner(self) -> bool:
        """One outcome, or the loser's side."""
        winners, losers = self.called("winner"), self.called("loser")
        flags = [(n, role) for role in ("won", "lost") for n in self._sides(role).values()
                 if self._is_flag(n)]  # fmt: skip
        valued = [n for n in self.free() if self._holds_outcomes(n)]
        if not winners and not losers and len(flags) == 1:
            self._of_flag(*flags[0])
            return True
        if not winners and losers:
            self.set(losers[0], "loser", "a name of the losing side")
        elif len(winners) == 1 or (winners and len(valued) < 2):
            self.set(winners[0], "winner", "a name of outcomes")
        elif winners or valued:
            names = winners or valued
            if len(names) == 1:
                self.set(names[0], "winner", "holds words of outcomes")
            for name in names if len(names) > 1 else ():
                self.open(name, "one of several outcomes: winner, winner_swapped if it "
                          "is about a game that showed model_b first, or ignored")  # fmt: skip
        else:
            return False
        self.layout = "pairs"
        self._open_second_outcomes()
        return True

    def _is_flag(self, name: str) -> bool:
        found = self.few(name)
        return bool(found) and all(name_key(v) in YES | NO for v in found)

    def _of_flag(self, name: str, role: str) -> None:
        """A column that says of one side whether it won, or lost."""
        side = side_of(name)
        a_won = (side is not None and side[1] == "a") == (role == "won")
        self.layout = "pairs"
        self.set(name, "winner", "says whether one side " + role)
        for value, n in self.values(name).items():
            yes = name_key(value) in YES
            self.outcomes[value] = Decision(A if yes == a_won else B, f"{name!r}", n)

    def _open_second_outcomes(self) -> None:
        """Leave open what else looks like an outcome, and what could turn it round."""
        for name in self.free():
            if has_role(name_key(name), "swapped") and self.few(name):
                self.set(name, UNCLEAR, "could turn outcomes round: swapped (they are "
                         "about the order shown), swapped_order, or ignored")  # fmt: skip
            elif has_role(name_key(name), "tie") and self.few(name):
                self.set(name, UNCLEAR, "may say which rows are ties: tie, or ignored")
            elif self._holds_outcomes(name):
                self.open(name, "looks like another outcome: winner, or ignored")

    def _as_scores(self) -> bool:
        """A number for each side, of which the larger one, or the smaller rank, wins."""
        for role in ("score", "rank"):
            sides = self._sides(role)
            if len(sides) == 2 and all(map(self._is_number, sides.values())):
                self.layout = "scores"
                for side, name in sides.items():
                    self.set(name, f"{role}_{side}", f"a name of {role}s")
                return True
        return False

    def _as_candidates(self) -> bool:
        """Columns that may hold the outcome, by the number of their values."""
        names = [n for n in self.free() if not has_role(name_key(n), "prompt_id")]
        names = [n for n in names if self.few(n) or self._is_number(n)]
        sides = [s[0] for n in names if (s := side_of(n))]
        names = [n for n in names if not (side_of(n) and sides.count(side_of(n)[0]) > 1)]
        names = [n for n in names if 1 < self.frame[n].nunique()]
        names = [n for n in names if not has_role(name_key(n), "total")]
        if not 0 < len(names) < 6:
            return False
        self.layout = "pairs"
        for name in names:
            self.open(name, "may hold the outcome: winner, loser, or ignored")
        return True

    def _as_winner_and_loser(self) -> bool:
        """Names of the models that won and lost."""
        better = self.called("better") or self.named("winner", "better")
        worse = self.called("loser") or self.named("loser", "worse")
        if not (better and worse):
            return False
        won, lost = self.values(better[0]), self.values(worse[0])
        if not {*won} & {*lost} or len(won) > 1000:
            return False
        self.layout = "winner and loser"
        self.set(better[0], "better", "a name of the model that won")
        self.set(worse[0], "worse", "a name of the model that lost")
        ties = self.called("tie")
        if ties:
            self.set(ties[0], UNCLEAR, "may say which rows are ties: tie, or ignored")
        return True

    def _as_battles(self) -> bool:
        """A row for each model and battle."""
        battle, model = self.named("battle") or self.called("battle"), self._only_model()
        result = self.named("result") or self.called("result") or self.named("winner")
        if not (battle and model and result):
            return False
        self.layout = "battles"
        self.set(battle[0], "battle", "the same for both rows of a battle")
        self.set(model, "model", "a name of models")
        self.set(result[0], "result", "a name of results")
        return True

    def _only_model(self) -> str | None:
        names = self.named("model") or self.called("only model")
        return names[0] if names else None

    def _as_ratings(self) -> bool:
        """A row for each response, with its score, or one for each judge."""
        model = self._only_model()
        prompt = self.named("prompt_id") or self.called("prompt_id")
        scores = self.named("score", "rank") or self.called("only score")
        if model is None or not prompt:
            if model is not None and scores:
                raise self.refused(
                    "it holds a score of each model, and no comparisons of two."
                )
            return False
        wide = [n for n in self.free() if who_is(_judge_name(n)) and self._is_number(n)]
        if not scores and len(wide) < 2:
            return False
        self.layout = "ratings"
        self.set(prompt[0], "prompt_id", "ratings of one prompt are compared")
        self.set(model, "model", "a name of models")
        if self.values(model).keys() == {*list(self.values(model))[:1]}:
            raise self.refused("it holds ratings of one model only.")
        for name in scores[:1] or wide:
            if name not in self.columns:
                self.set(name, "score", "a higher score is better")
        if not scores and self.columns.get(FILE):
            self.set(FILE, "ignored", "columns are named after judges")
        return True

    def _as_unnamed(self) -> bool:
        """Two columns that share their labels, beside an outcome of known name."""
        lists = [n for n, one in self.columns.items() if one.meaning == "ignored"]
        names = [n for n in [*self.named("winner"), *self.free()]
                 if self.frame[n].dtype == "str" and 1 < self.frame[n].nunique() < 500
                 and not self._is_number(n)]  # fmt: skip
        found = [
            (one, two)
            for at, one in enumerate(names)
            for two in names[at + 1 :]
            if 2 * len({*self.values(one)} & {*self.values(two)}) > len(self.values(one))
        ]
        if len(found) != 1 or lists:
            return False
        self.layout = "pairs"
        for name, (role, other) in zip(found[0], _SHARED, strict=True):
            self.set(name, UNCLEAR, f"shares its labels with another column: {role}, or "
                     f"{other} if the other model lost or won against it")  # fmt: skip
        for name in self.called("winner")[:1]:
            self.set(name, "winner", "a name of outcomes")
        return True

    def _find_others(self) -> None:
        """Prompts, pairs of features, and all other columns."""
        if self.named("model_a"):
            again = [n for n in self.free() if (side := side_of(n))
                     and has_role(side[0], "model") and self._same_models(n)]  # fmt: skip
            for name in again:
                self.set(name, UNCLEAR, "names the models once more: are outcomes about "
                         "these? Then say model_a and model_b here")  # fmt: skip
        if not self.named("prompt_id"):
            for name in self.called("prompt_id")[:1]:
                self.set(name, "prompt_id", "rows of one prompt depend on each other")
        pairs: dict[str, dict[str, str]] = {}
        for name in self.free():
            side = side_of(name)
            if side and self._is_number(name):
                pairs.setdefault(side[0], {})[side[1]] = name
        for pattern, sides in pairs.items():
            stem = "_".join(pattern.replace("_", " ").split()) or "feature"
            for side, name in sides.items() if len(sides) == 2 else ():
                new = f"{stem}_{side}"
                keep = "keep" if name == new or name.endswith(("_a", "_b")) else (
                    f"keep as {new}")  # fmt: skip
                self.set(name, keep, "a feature of either side")
        for name in self.free():
            self.set(name, "keep", "a further column")

    def _same_models(self, name: str) -> bool:
        if self.frame[name].head(_HEAD).nunique() > 200:
            return False
        found = [v.casefold() for v in self.values(name) if v]
        return bool(found) and {*found} <= self._models()

    # ------------------------------------------------------------------------- outcomes
    def _find_outcomes(self) -> None:
        """Meaning of every distinct outcome."""
        roles = ("winner", "winner_swapped", "loser", "verdict", "result")
        names = self.named(*roles)
        names += [name for name in self.named(UNCLEAR) if name in self.maybe]
        found: dict[str, int] = {}
        kinds: set[bool] = set()
        for name in names:
            kinds.add(pd.api.types.is_numeric_dtype(self.frame[name]))
            values = self.values(name) if self._listed(name) else self._scaled(name)
            for value, n in values.items():
                found[value] = found.get(value, 0) + n
        if self.layout == "judges" or len(names) > 1 and not self.maybe:
            # An empty cell says that this judge, or another file, did not compare.
            found.pop("", None)
        for value, n in found.items():
            if value not in self.outcomes and value != _NUMBERS:
                meaning, reason = self._meaning(value, names)
                self.outcomes[value] = Decision(meaning, reason, n)
        words = [v for v, one in self.outcomes.items()
                 if one.is_open and v and _number(v) is None]  # fmt: skip
        if len(words) > _FEW:
            raise self.refused(
                f"column {names[0]!r} holds {len(words)} different outcomes of no table, "
                f"such as {words[0][:40]!r}."
            )
        self._code_numbers(found, names)
        self._spread_grades()
        for value, meaning in self.labels.items():
            if value not in self.outcomes and self.scale is None:
                raise BattlesError(
                    f"{self.table.source}: no outcome is {value!r}; the outcomes are "
                    f"{list(self.outcomes)[:20]}."
                )
            if _number(str(meaning)) is not None:
                meaning = float(meaning)
            rows = found.get(value)
            self.outcomes[value] = Decision(meaning, "as given", rows)

    def _listed(self, name: str) -> bool:
        """Whether the outcomes of a column are few, or names."""
        column = self.frame[name]
        return not (
            pd.api.types.is_float_dtype(column) or self._is_number(name)
        ) or column.nunique() <= 7

    def _scaled(self, name: str) -> dict[str, int]:
        """Words among numbers, which are one entry."""
        found: dict[str, int] = {}
        for value, n in self.values(name).items():
            number = _number(value)
            is_word = number is None or (outcome_of(value) or ("",))[0] == FAILED
            key = value if is_word or value == "" else _NUMBERS
            found[key] = found.get(key, 0) + n
        numbers = pd.to_numeric(self.frame[name], errors="coerce")
        failed = self.frame[name].map(outcome_key).isin([*found])
        self.range = (float(numbers[~failed].min()), float(numbers[~failed].max()))
        return found

    def _meaning(self, value: str, names: list[str]) -> tuple[Any, str]:
        """Meaning of an outcome in words, and the reason."""
        key = name_key(value) if value else ""
        if self.layout == "battles":
            worth = _RESULT_WORDS.get(key)
            if worth is None:
                return UNCLEAR, "a word of no table"
            return {1.0: "win", 0.0: "loss", 0.5: "tie"}[worth], "a word of results"
        found = outcome_of(value)
        if found and found[0] == FAILED:
            if self.drop_invalid:
                return FAILED, "no verdict"
            said = "empty cells" if not value else "may be a failed verdict"
            return UNCLEAR, f"{said}: failed, tie, or a side"
        named = value.casefold() in self._models()
        if named and found and found[0] in (A, B, TIE):
            return UNCLEAR, "names a model, and a side"
        if named:
            return "its model", "names a model"
        if _number(value) is not None:
            return UNCLEAR, "a number"
        if not self.sided and (found is None or found[0] in (A, B)):
            worth = _RESULT_WORDS.get(key)
            if worth is None:
                return UNCLEAR, "the columns of models have no sides"
            return {1.0: A, 0.0: B, 0.5: TIE}[worth], "the result of the first model"
        if found is None:
            return UNCLEAR, "a word of no table"
        return found

    def _code_numbers(self, found: Dict[str, int], names: list[str]) -> None:
        """Decide numbers, or list all codings that they may have."""
        numbers = [v for v, one in self.outcomes.items()
                   if _number(v) is not None and one.is_open and v not in self.labels]  # fmt: skip
        values = [float(v) for v in numbers]
        share = names[:1] == ["winner"] or self.table.trusted
        if _NUMBERS in found:
            low, high = self.range
            if share and low >= 0.0 and high <= 1.0:
                self.scale = {"model_a": 1.0, "model_b": 0.0}
                return
            self.scale = {"model_a": UNCLEAR, "model_b": UNCLEAR}
            self.notes += [
                f"Numbers from {low:g} to {high:g} may mean, as [scale]:",
                f"  model_a = {high:g}, model_b = {low:g} (larger ones favour model_a)",
                f"  model_a = {low:g}, model_b = {high:g} (larger ones favour model_b)",
                '  sign = "model_a", or sign = "model_b" (who is favoured above zero)',
            ]
            for given in [self.labels]:
                if {value_key(low), value_key(high)} <= {*given}:
                    self.scale = _ends(low, high, given)
            return
        if not numbers:
            return
        if share and all(0 <= v <= 1 for v in values) and (
            self.table.trusted or any(0 < v < 1 for v in values)
        ):  # fmt: skip
            for text, v in zip(numbers, values, strict=True):
                self._set_outcome(text, v, "a share of model_a, as the standard has it")
        elif {*values} == {1.0, 2.0} and self.sided:
            for text, v in zip(numbers, values, strict=True):
                self._set_outcome(text, A if v == 1.0 else B, "the number of a side")
        else:
            self.notes += _codings(numbers, [v for v in self.outcomes if v == "-1"])

    def _set_outcome(self, value: str, meaning: Any, reason: str) -> None:
        self.outcomes[value] = Decision(meaning, reason, self.outcomes[value].rows)

    def _spread_grades(self) -> None:
        """Without a strong grade, a weak one is a win; beside one, a plain win is weak."""
        worth = {v: one for v, one in self.outcomes.items()
                 if one.reason in ("a graded verdict", "a degree")}  # fmt: skip
        strong = [v for v, one in worth.items() if one.meaning in (0.0, 1.0)]
        degrees = [v for v in strong if worth[v].reason == "a degree"]
        for value, one in self.outcomes.items():
            if one.reason == "a graded verdict" and not strong and one.meaning in (0.75, 0.25):
                self._set_outcome(value, round(one.meaning), "a graded verdict")
            elif degrees and one.meaning in (A, B):
                self._set_outcome(value, 0.75 if one.meaning == A else 0.25,
                                  "weaker than the degree beside it")  # fmt: skip

    def _find_spellings(self) -> None:
        """Leave open whether names of models that differ in case alone are one."""
        alike: dict[str, str] = {}
        for name in self.named("model_a", "model_b", "model", "better", "worse"):
            for label in self._cached(name):
                first = alike.setdefault(label.casefold(), label)
                if first != label:
                    self.models[label] = UNCLEAR
                    self.notes.append(f"{label!r} may be {first!r}, or a model of its own.")

    # --------------------------------------------------------------------------- judges
    def _find_judges(self) -> None:
        """Whether each label of a judge means people or a judge."""
        if self.layout == "judges" or len(self.named("score")) > 1:
            for name in [*self.named("verdict", "score"), *self.maybe]:
                self.judges[name] = self._who(name, _judge_name(name), None)
            return
        found: dict[str, int] = {}
        names = self.named("judge")
        for name in names:
            for label, n in self.values(name, value_key).items():
                found[label] = found.get(label, 0) + n
        found.pop("", None)
        standard = any(n.strip().casefold() == "judge" for n in names) and any(
            name_key(label) in ("human", "humans", "people", "crowd")
            or who_is(label) == "people" for label in found
        )  # fmt: skip
        files = set(map(value_key, self.frame[FILE].unique())) if FILE in names else set()
        for label, n in found.items():
            self.judges[label] = self._who(label, label, n, standard, label in files)
        opened = [label for label, one in self.judges.items() if one.is_open]
        if len(opened) > _FEW:
            for label in opened:
                del self.judges[label]
            rows = sum(found[label] for label in opened)
            self.judges["*"] = Decision(UNCLEAR, f"{len(opened)} labels, such as "
                                        f"{opened[0]!r}: people or judge", rows)  # fmt: skip

    def _who(
        self, label: str, name: str, rows: int | None, standard=False, is_file=False
    ) -> Decision:
        """Who a label is."""
        if self.human is not None:
            is_person = any(fnmatchcase(label, pattern) for pattern in self.human)
            return Decision("people" if is_person else "judge", "as given", rows)
        key = name_key(name)
        if self.table.trusted and not is_file:
            is_person = label == "human"
            return Decision("people" if is_person else "judge", "as the tool has it", rows)
        if is_file and label in self.table.file_judges:
            return Decision("judge", "the name of a file of a judge's tool", rows)
        if is_file and (key in NO_NAMES or label in self.table.file_twice):
            return Decision(UNCLEAR, "the name of a file, which names no judge", rows)
        if self.named("kind") and self._kind_of(label) is not None:
            return Decision(self._kind_of(label), "by the column of kinds", rows)
        found = who_is(name)
        if found:
            return Decision(found, f"a word of {'people' if found == 'people' else 'LLMs'}",
                            rows)  # fmt: skip
        flag = has_role(name_key(self.named("judge")[0]), "kind") if name == label else False
        if key in _KIND_WORDS and (flag or key not in YES | NO):
            return Decision(_KIND_WORDS[name_key(label)], "says who decided", rows)
        if standard and not is_file:
            return Decision("judge", "the standard: all in 'judge' but people", rows)
        if label.casefold() in self._models():
            return Decision("judge", "also a model that is compared", rows)
        return Decision(UNCLEAR, "people, judge, drop, or 'judge: NAME'", rows)

    def _kind_of(self, label: str) -> str | None:
        """People or judge by the column of kinds, None if it differs among rows."""
        kinds = self.frame[self.named("kind")[0]]
        rows = self.frame[self.named("judge")[0]].map(value_key).str.strip() == label
        found = {_KIND_WORDS[name_key(value_key(v))] for v in kinds[rows].unique()}
        return found.pop() if len(found) == 1 else None


_NUMBERS = "\0numbers"
_SHARED = (("model_a", "better"), ("model_b", "worse"))


def _judge_name(column: str) -> str:
    """Name of a judge in the name of a column, without words of outcomes."""
    words = name_key(column).split()
    rest = [w for w in words if w not in ("verdict", "vote", "winner", "pref", "preference",
                                          "judgment", "choice", "pick", "by", "of")]  # fmt: skip
    return " ".join(rest or words)


def _number(text: str) -> float | None:
    """Number of a text, if it is one."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if np.isfinite(found) else None


def _ends(low: float, high: float, given: Dict[str, Any]) -> dict[str, Any]:
    """Scale by the meanings of its two ends."""
    first = given[value_key(high)]
    favours_a = first in (A, 1, 1.0, "1", "1.0")
    return {A: high, B: low} if favours_a else {A: low, B: high}


def _codings(numbers: list[str], failed: list[str]) -> list[str]:
    """Every coding that a few numbers may have."""
    ordered = sorted(numbers, key=float)
    plain = [v for v in ordered if v not in failed]
    found: list[dict[str, str]] = []
    for values in ([ordered, plain] if failed else [ordered]):
        if len(values) == 2:
            found += [dict(zip(values, order, strict=True)) for order in ((A, B), (B, A))]
        elif len(values) == 3:
            found += [dict(zip(values, order, strict=True))
                      for order in permutations((A, B, TIE))]  # fmt: skip
        elif values:
            even = [n / (len(values) - 1) for n in range(len(values))]
            found += [
                {v: f"{w:.3g}" for v, w in zip(values, worth, strict=True)}
                for worth in (even, even[::-1])
            ]
        if failed and values is plain:
            found = [{**one, **dict.fromkeys(failed, FAILED)} if one.keys() == {*plain}
                     else one for one in found]  # fmt: skip
    lines = [", ".join(f"{k} = {v}" for k, v in one.items()) for one in found]
    return [f"The numbers {', '.join(ordered)} may mean:", *(f"  {n}" for n in lines)]

