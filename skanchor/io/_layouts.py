"""Tables of every layout become comparisons: one row each, with standard names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from skanchor.exceptions import BattlesError, DataWarning
from skanchor.io import _words as words
from skanchor.io._files import numbers_of
from skanchor.io._tables import FILE, Table, as_text, constant, recoded, relabelled
from skanchor.io._words import BAD, SHARES, TIE, A, B, number_of, outcome_key, value_key
from skanchor.warning_log import warn

Built = tuple[pd.DataFrame, pd.Series, pd.Series | None]

_FIRST = ("prompt_id", "model_a", "model_b", "judge", "rater")
# Columns of few labels in many rows, which may stay categories.
_CODED = ("model_a", "model_b", "judge", "winner")
_OUTCOMES = ("winner", "winner_swapped", "loser", "verdict")
_DROPPED = "\0dropped"  # the label of judges whose rows are left out
_ITS_MODEL = "its model"
_VALUES: dict[Any, Any] = {A: 1.0, B: 0.0, TIE: 0.5, BAD: 0.5}
_LABELS = {"win": A, "loss": B, "failed": None}
_FLAGS = words.words_of(words.FLAGS)


def build(table: Table, mapping: Any) -> Built:
    """Comparisons of a table, as a mapping without anything unclear says."""
    rows = Rows(table, mapping)
    layout = rows.layout()
    X = LAYOUTS[layout][2](rows)
    is_counted = layout == "counts" or bool(rows.named("count"))
    used = X["judge"] != _DROPPED
    used &= X["count"] > 0 if is_counted else True
    X = X if used.all() else X[used].reset_index(drop=True)
    X = without_failures(X, table.files) if len(X) else X
    if not len(X):
        raise rows.error("it holds no comparisons.")
    roles = {n: role.removeprefix("keep as ") for role in rows.roles
             for n in rows.named(role)}  # fmt: skip
    renamed = {name: role for name, role in roles.items() if role in X and role != name}
    y = X.pop("winner")
    labels = pd.factorize(y)[1]
    if any(isinstance(label, float) for label in labels):
        # A number does not say that both were bad.
        X = X.assign(both_bad=y == BAD) if BAD in labels else X
        y = recoded(y, lambda label: _VALUES.get(label, label)).astype(float)
    else:
        y = relabelled(y, str)
    for name in X.columns.difference([*_CODED], sort=False):
        X[name] = _retyped(as_text(X[name]), name)
    first = [name for name in _FIRST if name in X]
    X = X[[*first, *X.columns.difference(first, sort=False)]]
    X.attrs["renamed"] = renamed
    return X, y, X["count"] if is_counted else None


def without_failures(
    table: pd.DataFrame, where: str, of: str = "winner"
) -> pd.DataFrame:
    """Leave out rows without a verdict, and count them by judge and model."""
    failed = table[of].isna()
    if not failed.any():
        return table
    if failed.all():
        raise BattlesError(f"{where}: none of its {len(table)} rows holds a verdict.")
    lost = table[failed]
    models = lost[lost.columns.intersection(["model_a", "model_b", "model"])]
    judges, players = Counter(lost["judge"]), Counter(models.to_numpy().ravel("F"))
    by_judge, by_model = (
        ", ".join(f"{label!r} {n}" for label, n in count.most_common(5))
        for count in (judges, players)
    )
    text = (
        f"{where}: {len(lost)} of {len(table)} rows hold no verdict and are left out: "
        f"by judge {by_judge}; by model {by_model}."
    )
    subject = dict.fromkeys([*judges, *players])
    warn(DataWarning(text, code="failed-verdicts", subject=subject), stacklevel=5)
    return table[~failed].reset_index(drop=True)


# -------------------------------------------------------------------- columns by roles
class Rows:
    """Columns of a table by the roles that a mapping gives them."""

    def __init__(self, table: Table, mapping: Any):
        self.table, self.mapping, self.frame = table, mapping, table.frame
        self.of_file = f" of {mapping.path}" * bool(mapping.path)
        self.roles: dict[str, list[str]] = {}
        for name, one in mapping.columns.items():
            if name in self.frame:
                self.roles.setdefault(str(one.meaning), []).append(name)

    def layout(self) -> str:
        """The layout that the roles have; each role must be of use there."""
        fits = fitting(self.roles)
        if not fits:
            needed = LAYOUTS.get(self.mapping.layout, LAYOUTS["pairs"])[0]
            raise self.error(
                f"the layout {self.mapping.layout!r} needs columns with the roles "
                f"{needed.replace(' ', ', ').replace('|', ' or ')}."
            )
        # The roles of an edited mapping say more than what was proposed.
        layout = self.mapping.layout if self.mapping.layout in fits else fits[-1]
        needed, more, _ = LAYOUTS[layout]
        of_use = {"judge", "rater", "prompt_id", "ignored", *more.split()}
        of_use |= {*needed.replace("|", " ").split()}
        if self.named("winner_swapped"):
            of_use -= {"shown_first", "swapped_order"}
        for role, (name, *_) in self.roles.items():
            if role not in of_use and not role.startswith("keep"):
                raise self.error(
                    f"column {name!r} is {role}, which is of no use in the layout "
                    f"{layout!r}; make it keep or ignored in [columns]{self.of_file}."
                )
        return layout

    def error(self, text: str) -> BattlesError:
        """Error about the table."""
        return BattlesError(f"{self.table.files}: {text}")

    def named(self, role: str) -> list[str]:
        """Names of the columns of a role."""
        return self.roles.get(role, [])

    def get(self, role: str) -> pd.Series:
        """Column of a role; of several, as of several files, the one that is filled."""
        # The name of a file says who decided where no other column does.
        names = sorted(self.named(role), key=FILE.__eq__)
        column = self.frame[names[0]]
        for name in names[1:]:
            filled, other = _filled(column), self.frame[name]
            if name != FILE and (filled & _filled(other)).any():
                both = " and ".join(map(repr, names))
                raise self.error(f"columns {both} are both {role}; keep one.")
            column = column.astype(object).where(filled, other)
        return column

    def numbers(self, role: str) -> pd.Series:
        """Numbers of the column of a role; NaN where a cell is empty."""
        column = self.get(role)
        numbers = numbers_of(column)
        if numbers is None:
            raise self.error(
                f"column {column.name!r} should hold numbers, and does not."
            )
        return numbers.astype(float)

    def counts(self, role: str) -> pd.Series:
        """Numbers of comparisons; zero where a cell is empty."""
        numbers = self.numbers(role).fillna(0.0)
        odd = ~np.isfinite(numbers) | (numbers < 0) | (numbers != numbers.round())
        if odd.any():
            row = int(np.argmax(odd))
            raise self.error(
                f"column {self.named(role)[0]!r} holds {numbers.iloc[row]:g} in row "
                f"{row}, which is no number of comparisons."
            )
        return numbers.astype(np.int64)

    def worth(self, side: str = "") -> pd.Series:
        """Scores, or ranks with a minus, of which a larger one is better."""
        sides = "", "_a", "_b"
        kinds = [k for k in ("score", "rank") if any(self.named(k + s) for s in sides)]
        if len(kinds) > 1:
            raise self.error("it has scores and ranks; keep one of the two.")
        score = self.numbers(kinds[0] + side)
        # -1 marks a failed verdict where no other score is negative.
        failed = score == -1.0
        if (score[~failed].dropna() >= 0.0).all():
            score = score.mask(failed)
        return score if kinds == ["score"] else -score

    def flags(self, role: str) -> pd.Series:
        """Which cells of the column of a role say yes; none if there is no column."""
        if not self.named(role):
            return pd.Series(False, self.frame.index)
        column = recoded(self.get(role), words.label_key).fillna("")
        odd = ~column.isin(_FLAGS)
        if odd.any():
            cell = self.get(role)[odd].iloc[0]
            raise self.error(
                f"column {self.named(role)[0]!r} should say {role}, and holds "
                f"{cell!r}; it may hold {', '.join(map(repr, _FLAGS))}."
            )
        return column.map(_FLAGS).astype(bool)

    def standard(self, *models: str, judge: str | None = None) -> pd.DataFrame:
        """Judges, raters, prompts, orders shown, further columns, and models by role.

        ``judge`` is the column whose name is the judge of all rows.
        """
        if judge is None and not self.named("judge"):
            raise self.error(
                f"no column has the role 'judge'; give it to {FILE!r} if the name of "
                "the file says who decided."
            )
        label = self.get("judge") if judge is None else pd.Series(
            constant(judge, len(self.frame)), index=self.frame.index)  # fmt: skip
        columns: dict[str, Any] = {"judge": relabelled(label, self._judge)}
        human = columns["judge"] == "human"
        if FILE not in self.named("judge") and label[human].nunique() > 1:
            columns["rater"] = label.astype(object).where(human)
        for role in ("rater", "prompt_id", "shown_first"):
            if self.named(role):
                columns[role] = self.get(role)
        if self.named("swapped_order"):
            columns["shown_first"] = np.where(self.flags("swapped_order"), B, A)
        if self.named("count"):
            columns["count"] = self.counts("count")
        for name, one in self.mapping.columns.items():
            if str(one.meaning).startswith("keep"):
                new = str(one.meaning).removeprefix("keep").removeprefix(" as ")
                columns[new or name] = self.frame[name]
        names = {name: one.meaning for name, one in self.mapping.models.items()}
        for role in models:
            columns[role] = relabelled(self.get(role), lambda v: names.get(v, v))
        return pd.DataFrame(columns, index=self.frame.index)

    def _judge(self, label: str) -> str:
        """Label of a judge in standard form."""
        judges = self.mapping.judges
        patterns = (one for key, one in judges.items() if fnmatchcase(label, key))
        one = judges.get(label) or next(patterns, None)
        if one is None:
            raise self.error(
                f"the mapping does not say whether the judge {label!r} is a person or "
                f"a judge; add it to [judges]{self.of_file}."
            )
        labels = {"people": "human", "drop": _DROPPED, "judge": label}
        return labels.get(one.meaning, str(one.meaning).removeprefix("judge: "))

    def outcomes(
        self, column: pd.Series, part: pd.DataFrame, is_swapped: pd.Series
    ) -> pd.Series:
        """Standard labels or numbers of a column; null where there is no verdict.

        Sides and numbers of swapped rows are about the other order. Names of models are
        not, and must be those of ``part``.
        """
        outcomes = self.mapping.outcomes
        codes, labels = pd.factorize(column)
        texts = [*map(outcome_key, labels), *[""] * bool((codes < 0).any())]
        absent = [text for text in texts if text not in outcomes
                  and (SHARES not in outcomes or number_of(text) is None)]  # fmt: skip
        if absent:
            raise self.error(
                f"the mapping does not say the meaning of outcome "
                f"{', '.join(map(repr, absent[:20]))} in column {column.name!r}; add "
                f"it to [outcomes]{self.of_file}."
            )
        meanings = [self._meaning(text, column) for text in texts]
        if meanings == [*labels] and not is_swapped.any():
            return column
        # The last one is that of empty cells, if any, whose code is -1.
        won = np.array(meanings, dtype=object)[codes]
        if is_swapped.any():
            turned = np.array([*map(_turned, meanings)], dtype=object)[codes]
            won = np.where(is_swapped[column.index], turned, won)
        names = won == _ITS_MODEL
        if names.any() and "model_a" not in part:
            raise self.error(
                f"outcomes in column {column.name!r} name models; write win or loss."
            )
        if names.any():
            winner, a, b = (
                recoded(one, lambda label: outcome_key(label).casefold()).to_numpy()
                for one in (column, part["model_a"], part["model_b"])
            )
            won[names] = None
            won[names & (winner == b)] = B
            won[names & (winner == a)] = A
            absent_rows = names & (winner != a) & (winner != b)
            if absent_rows.any() and not self.table.drop_invalid:
                row = int(np.argmax(absent_rows))
                raise self.error(
                    f"the winner {column.iloc[row]!r} of row {row} is not compared "
                    f"there ({absent_rows.sum()} such rows). Correct them, or leave "
                    "them out with drop_invalid (--drop-invalid)."
                )
        return pd.Series(won, index=column.index, name="winner")

    def _meaning(self, text: str, column: pd.Series) -> Any:
        """Meaning of an outcome: a number, a standard label, "its model", or None."""
        number, outcomes = number_of(text), self.mapping.outcomes
        meaning = outcomes.get(text, outcomes.get(SHARES)).meaning
        if number is not None and meaning in ("share", "share of model_b"):
            if not 0.0 <= number <= 1.0:
                raise self.error(f"{text} in column {column.name!r} is no share.")
            return number if meaning == "share" else 1.0 - number
        is_number = isinstance(meaning, (int, float))
        return float(meaning) if is_number else _LABELS.get(meaning, meaning)


def _filled(column: pd.Series) -> pd.Series:
    """Which cells of a column are not empty."""
    return column.notna() & column.ne("")


def _turned(one: Any) -> Any:
    """Outcome about the other side."""
    return 1.0 - one if isinstance(one, float) else {A: B, B: A}.get(one, one)


def _winners(one: Any, two: Any) -> Any:
    """Which of two numbers is larger; null where one is missing."""
    won = np.select([one > two, one < two, one == two], [A, B, TIE], "")
    return pd.Series(won).mask(won == "").to_numpy()


# ----------------------------------------------------------------------------- layouts
def _pairs(rows: Rows) -> pd.DataFrame:
    columns = [(name, role) for name in rows.frame for role in _OUTCOMES
               if name in rows.named(role)]  # fmt: skip
    is_swapped, is_tie = rows.flags("swapped"), rows.flags("tie")
    parts = []
    for name, role in columns:
        judge, column = (name if role == "verdict" else None), rows.frame[name]
        part = rows.standard("model_a", "model_b", judge=judge)
        if len(columns) > 1 or judge:
            # As in columns of several files, an empty cell is no verdict.
            part, column = part[_filled(column)], column[_filled(column)]
        won = rows.outcomes(column, part, is_swapped ^ (role == "winner_swapped"))
        won = recoded(won, _turned) if role == "loser" else won
        part["winner"] = won.mask(is_tie[won.index], TIE) if is_tie.any() else won
        if rows.named("winner_swapped"):
            part["shown_first"] = B if role == "winner_swapped" else A
        parts.append(part)
    if len(parts) == 1:
        return parts[0].reset_index(drop=True)
    # Several verdicts on a row are in one group.
    if "prompt_id" not in parts[0]:
        parts = [part.assign(prompt_id=[f"row-{n}" for n in part.index])
                 for part in parts]  # fmt: skip
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)


def _winner_and_loser(rows: Rows) -> pd.DataFrame:
    X = rows.standard("better", "worse")
    X = X.rename(columns={"better": "model_a", "worse": "model_b"})
    if "shown_first" not in X:
        # The winner is named first, which says nothing about the order shown.
        X["shown_first"] = None
    return X.assign(winner=np.where(rows.flags("tie"), TIE, A))


def _counts(rows: Rows) -> pd.DataFrame:
    standard = rows.standard("model_a", "model_b")
    parts = [
        standard.assign(winner=won, count=rows.counts(role))
        for role, won in (("wins_a", A), ("wins_b", B), ("ties", TIE))
        if rows.named(role)
    ]
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)


def _battles(rows: Rows) -> pd.DataFrame:
    """Pair the two rows of each battle, and never rows of different ones."""
    X = rows.standard("model")
    battle = rows.get("battle").map(value_key)
    keys = pd.DataFrame({"battle": battle, "judge": X["judge"].astype(object)})
    group = keys.groupby(["battle", "judge"], sort=False, dropna=False)
    size = group["battle"].transform("size")
    if (size != 2).any():
        row = int(np.argmax(size != 2))
        raise rows.error(
            f"Rows that are not one of two rows of a battle: {(size != 2).sum()}; "
            f"battle {battle.iloc[row]!r} has {size.iloc[row]}."
        )
    result = rows.outcomes(rows.get("result"), X, rows.flags("swapped"))
    worth = result.astype(object).map(lambda one: _VALUES.get(one, one)).to_numpy(float)
    # Rows of a battle next to each other, in the order of the table.
    at = np.argsort(group.ngroup().to_numpy(), kind="stable").reshape(-1, 2)
    both = (worth[at] == 1.0).all(axis=1)
    if both.any():
        # That neither has won may be the mark of a tie.
        raise rows.error(
            f"both models have won in {both.sum()} battles, the first is "
            f"{battle.iloc[at[np.argmax(both), 0]]!r}. Correct the results, or say "
            "that they are ties."
        )
    one, two = at.T
    models = X.pop("model").to_numpy()
    return X.iloc[one].reset_index(drop=True).assign(
        model_a=models[one], model_b=models[two], shown_first=None,
        winner=_winners(worth[one], worth[two]),
    )  # fmt: skip


def _ratings(rows: Rows) -> pd.DataFrame:
    """Pair all responses to a prompt that one judge has rated."""
    rated, where = rows.standard("model").assign(score=rows.worth()), rows.table.files
    rated = without_failures(rated[rated["judge"] != _DROPPED], where, "score")
    rated = rated.assign(at=np.arange(len(rated)))
    keys = [n for n in ("prompt_id", "judge", "rater", "turn") if n in rated]
    sides = ["model", "score", "at", *(n for n in ("response", "output") if n in rated)]
    pairs = rated.merge(rated[[*keys, *sides]], on=keys, suffixes=("_a", "_b"))
    once = (pairs["at_a"] < pairs["at_b"]) & (pairs["model_a"] != pairs["model_b"])
    pairs = pairs[once]
    if not len(pairs):
        raise rows.error(
            "no two ratings can be compared: none are of two models by the same "
            f"{' and '.join(keys)}."
        )
    n_lone = len(rated) - len({*pairs["at_a"], *pairs["at_b"]})
    if n_lone:
        text = f"{where}: {n_lone} of {len(rated)} ratings are compared with no other."
        warn(DataWarning(text, code="lone-ratings"), stacklevel=5)
    won = _winners(pairs["score_a"].to_numpy(), pairs["score_b"].to_numpy())
    pairs = pairs.drop(columns=["at_a", "at_b", "score_a", "score_b"])
    return pairs.assign(winner=won, shown_first=None).reset_index(drop=True)


def _scores(rows: Rows) -> pd.DataFrame:
    X = rows.standard("model_a", "model_b")
    won = pd.Series(_winners(rows.worth("_a"), rows.worth("_b")), X.index)
    won = won.mask(rows.flags("swapped"), recoded(won, _turned))
    return X.assign(winner=won.mask(rows.flags("tie"), TIE))


_SHOWN = "shown_first swapped swapped_order tie count"
LAYOUTS = {
    "pairs": ("model_a model_b winner|winner_swapped|loser", f"{_SHOWN} verdict",
              _pairs),
    "winner and loser": ("better worse", "shown_first tie count", _winner_and_loser),
    "counts": ("model_a model_b wins_a wins_b", "ties shown_first swapped_order",
               _counts),
    "judges": ("model_a model_b verdict", f"{_SHOWN} winner winner_swapped loser",
               _pairs),
    "battles": ("battle model result", "", _battles),
    "ratings": ("prompt_id model score|rank", "", _ratings),
    "scores": ("model_a model_b score_a|rank_a score_b|rank_b", _SHOWN, _scores),
}  # fmt: skip
"""How rows hold comparisons: the roles that columns must have, a bar being "or", others
that are of use, and what makes comparisons of them."""


def fitting(roles: Iterable[str]) -> list[str]:
    """Layouts that columns of some roles have."""
    there = {*roles}
    return [name for name, (needs, *_) in LAYOUTS.items()
            if all(there & {*need.split("|")} for need in needs.split())]  # fmt: skip


# ------------------------------------------------------------------------------- types
def _retyped(column: pd.Series, name: str) -> pd.Series:
    """Column of another type: labels are text, what holds numbers is numeric."""
    if name in ("rater", "prompt_id"):
        if pd.api.types.is_integer_dtype(column):
            return pa.array(column).cast(pa.string()).to_pandas()
        if column.dtype != "str":
            return relabelled(column, str)
        # Programs write 17 as 17.0 beside empty cells; in another file it is 17.
        column = column.mask(column == "")
        for labels in (column.head(10).dropna(), column.dropna()):
            if not labels.str.fullmatch(r"\d+\.0").all():
                return column
        return column.str.removesuffix(".0")
    if column.dtype not in (object, "str"):
        return column
    numbers = numbers_of(column)
    if column.dtype == object or numbers is not None:
        return column if numbers is None else numbers
    flags = {"true": True, "false": False, "": None}
    for labels in (column.head(1000), column):
        if not labels.dropna().str.lower().isin(flags).all():
            return column.mask(column == "")
    return column.str.lower().map(flags)
