"""Tables of every layout become comparisons: one row each, with standard names."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from skanchor.exceptions import BattlesError
from skanchor.io import _words as words
from skanchor.io._files import numbers_of
from skanchor.io._tables import FILE, Table, as_text, constant, recoded, relabelled
from skanchor.io._tools import paired, without_failures, without_minus_one
from skanchor.io._words import SHARES, TIE, A, B, number_of, outcome_key, value_key

Built = tuple[pd.DataFrame, pd.Series, pd.Series | None]

_FIRST = ("prompt_id", "model_a", "model_b", "judge", "rater")
# Columns of few labels in many rows, which may stay categories.
_CODED = ("model_a", "model_b", "judge", "winner")
_DROPPED = "\0dropped"  # the label of judges whose rows are left out
_FLAGGED = {"swapped": "\0swapped", "tie": "\0tie"}  # what flags say of rows, by role
_ITS_MODEL = "its model"
_VALUES: dict[Any, Any] = {A: 1.0, B: 0.0, TIE: 0.5, "both_bad": 0.5}
_LABELS = {"win": A, "loss": B, "failed": None}
_TURNED = {A: B, B: A}
_FLAGS = words.words_of(words.FLAGS)


def build(table: Table, mapping: Any) -> Built:
    """Comparisons of a table, as a mapping without anything unclear says."""
    rows = Rows(table, mapping)
    fits = fitting(rows.roles)
    if not fits:
        needed, _ = LAYOUTS.get(mapping.layout, LAYOUTS["pairs"])
        raise rows.error(
            f"the layout {mapping.layout!r} needs columns with the roles "
            f"{needed.replace(' ', ', ').replace('|', ' or ')}."
        )
    # The roles of an edited mapping say more than what was proposed.
    layout = mapping.layout if mapping.layout in fits else fits[-1]
    X = LAYOUTS[layout][1](rows)
    won = X["winner"].astype(object) if {*_FLAGGED.values()} & {*X} else X["winner"]
    for role, name in _FLAGGED.items():
        if name in X:
            won = won.mask(X.pop(name), _turned(won) if role == "swapped" else TIE)
    X["winner"] = _as_outcomes(won)
    is_counted = layout == "counts" or bool(rows.named("count"))
    used = X["judge"] != _DROPPED
    used &= X["count"] > 0 if is_counted else True
    X = X if used.all() else X[used].reset_index(drop=True)
    X = without_failures(X, table.files) if len(X) else X
    if not len(X):
        raise rows.error("it holds no comparisons.")
    for name in [name for name in X.columns if name not in _CODED]:
        X[name] = _retyped(as_text(X[name]), name)
    first = [name for name in _FIRST if name in X]
    X = X[[*first, *(name for name in X.columns if name not in first)]]
    roles = {
        n: str(d.meaning).removeprefix("keep as ") for n, d in mapping.columns.items()
    }
    X.attrs["renamed"] = {n: r for n, r in roles.items() if r in X and r != n}
    y = X.pop("winner")
    return X, y, X["count"] if is_counted else None


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

    def flags(self, role: str) -> NDArray[np.bool_]:
        """Which cells of the column of a role say yes."""
        column = recoded(self.get(role), words.label_key).fillna("")
        odd = ~column.isin(_FLAGS)
        if odd.any():
            cell = self.get(role)[odd].iloc[0]
            raise self.error(
                f"column {self.named(role)[0]!r} should say {role}, and holds "
                f"{cell!r}; it may hold {', '.join(map(repr, _FLAGS))}."
            )
        return column.map(_FLAGS).to_numpy(dtype=bool)

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
        for role, name in _FLAGGED.items():
            if self.named(role):
                columns[name] = self.flags(role)
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
        self, column: pd.Series, rows: pd.DataFrame | None = None
    ) -> pd.Series:
        """Standard labels or numbers of a column; null where there is no verdict."""
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
        if meanings == [*labels]:
            return column
        # The last one is that of empty cells, if any, whose code is -1.
        won = np.array(meanings, dtype=object)[codes]
        names = won == _ITS_MODEL
        if names.any() and rows is not None:
            winner, a, b = (
                recoded(one, lambda label: outcome_key(label).casefold()).to_numpy()
                for one in (column, rows["model_a"], rows["model_b"])
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
        number = number_of(text)
        one = self.mapping.outcomes.get(text) or self.mapping.outcomes[SHARES]
        if number is not None and one.meaning in ("share", "share of model_b"):
            if not 0.0 <= number <= 1.0:
                raise self.error(f"{text} in column {column.name!r} is no share.")
            return number if one.meaning == "share" else 1.0 - number
        if isinstance(one.meaning, (int, float)):
            return float(one.meaning)
        return _LABELS.get(one.meaning, one.meaning)


def _filled(column: pd.Series) -> pd.Series:
    """Which cells of a column are not empty."""
    return column.notna() & column.ne("")


def _turned(won: pd.Series) -> pd.Series:
    """Outcomes about the other side."""
    return recoded(
        won, lambda one: 1.0 - one if isinstance(one, float) else _TURNED.get(one, one)
    )


def _as_outcomes(won: pd.Series) -> pd.Series:
    """Outcomes as numbers if any of them is one, or else as labels."""
    if any(isinstance(label, float) for label in pd.factorize(won)[1]):
        return recoded(won, lambda label: _VALUES.get(label, label)).astype(float)
    return relabelled(won, str)


def _stacked(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Several verdicts on each row below each other, in one group."""
    if len(parts) == 1:
        return parts[0].reset_index(drop=True)
    if "prompt_id" not in parts[0]:
        parts = [part.assign(prompt_id=[f"row-{n}" for n in part.index])
                 for part in parts]  # fmt: skip
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)


def _winners(one: Any, two: Any) -> Any:
    """Which of two numbers is larger; null where one is missing."""
    won = np.select([one > two, one < two, one == two], [A, B, TIE], "")
    return pd.Series(won).mask(won == "").to_numpy()


# ----------------------------------------------------------------------------- layouts
def _pairs(rows: Rows) -> pd.DataFrame:
    roles = ("winner", "winner_swapped", "loser", "verdict")
    columns = [(role, name) for role in roles for name in rows.named(role)]
    parts = []
    for role, name in columns:
        judge = name if role == "verdict" else None
        part, column = (
            rows.standard("model_a", "model_b", judge=judge),
            rows.frame[name],
        )
        if len(columns) > 1 or judge:
            # As in columns of several files, an empty cell is no verdict.
            part, column = part[_filled(column)], column[_filled(column)]
        won = rows.outcomes(column, part)
        won = won if role in ("winner", "verdict") else _turned(won)
        part = part.assign(winner=won)
        if rows.named("winner_swapped"):
            part["shown_first"] = B if role == "winner_swapped" else A
        parts.append(part)
    return _stacked(parts)


def _winner_and_loser(rows: Rows) -> pd.DataFrame:
    X = rows.standard("better", "worse")
    X = X.rename(columns={"better": "model_a", "worse": "model_b"}).assign(winner=A)
    if "shown_first" not in X:
        # The winner is named first, which says nothing about the order shown.
        X["shown_first"] = None
    return X


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
    result = rows.outcomes(rows.get("result")).astype(object)
    worth = result.map(lambda one: _VALUES.get(one, one)).to_numpy(float)
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
    models = X.pop("model").to_numpy()
    return X.iloc[at[:, 0]].reset_index(drop=True).assign(
        model_a=models[at[:, 0]], model_b=models[at[:, 1]], shown_first=None,
        winner=_winners(worth[at[:, 0]], worth[at[:, 1]]),
    )  # fmt: skip


def _ratings(rows: Rows) -> pd.DataFrame:
    """Pair all responses to a prompt that one judge has rated."""
    is_score = bool(rows.named("score"))
    score = without_minus_one(rows.numbers("score" if is_score else "rank"))
    rated = rows.standard("model").assign(score=score if is_score else -score)
    rated = without_failures(rated[rated["judge"] != _DROPPED], rows.table.files)
    return paired(rated, rows.table.files)


def _scores(rows: Rows) -> pd.DataFrame:
    kind, sign = ("score", 1.0) if rows.named("score_a") else ("rank", -1.0)
    one, two = (
        without_minus_one(rows.numbers(f"{kind}_{side}")) * sign for side in "ab"
    )
    return rows.standard("model_a", "model_b").assign(winner=_winners(one, two))


LAYOUTS = {
    "pairs": ("model_a model_b winner|winner_swapped|loser", _pairs),
    "winner and loser": ("better worse", _winner_and_loser),
    "counts": ("model_a model_b wins_a wins_b", _counts),
    "judges": ("model_a model_b verdict", _pairs),
    "battles": ("battle model result", _battles),
    "ratings": ("prompt_id model score|rank", _ratings),
    "scores": ("model_a model_b score_a|rank_a score_b|rank_b", _scores),
}
"""How rows hold comparisons: the roles that columns must have, a bar being "or", and
what makes comparisons of them."""


def fitting(roles: Iterable[str]) -> list[str]:
    """Layouts that columns of some roles have."""
    there = {*roles}
    return [name for name, (needs, _) in LAYOUTS.items()
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
    if numbers is not None or column.dtype == object:
        return column if numbers is None else numbers
    flags = {"true": True, "false": False, "": None}
    for labels in (column.head(1000), column):
        if not labels.dropna().str.lower().isin(flags).all():
            return column.mask(column == "")
    return column.str.lower().map(flags)
