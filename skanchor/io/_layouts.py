"""Tables of every layout become comparisons: one row each, with standard names."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from skanchor.exceptions import BattlesError
from skanchor.io import _words as words
from skanchor.io._files import numbers_of
from skanchor.io._roles import KINDS
from skanchor.io._tables import FILE, Table, as_text, constant, relabelled
from skanchor.io._tools import paired, without_failures
from skanchor.io._words import LAYOUTS, TIE, A, B, number_of, outcome_key, value_key

Built = tuple[pd.DataFrame, pd.Series, pd.Series | None]

_FIRST = ("prompt_id", "model_a", "model_b", "judge", "rater")
# Columns of few labels in many rows, which may stay categories.
_CODED = ("model_a", "model_b", "judge", "winner")
_DROPPED = "\0dropped"  # the label of judges whose rows are left out
_VALUES: dict[Any, Any] = {A: 1.0, B: 0.0, TIE: 0.5, "both_bad": 0.5}
_LABELS = {"win": A, "loss": B, "failed": None}
_FLAGS = words.words_of(words.FLAGS)


def build(table: Table, mapping: Any) -> Built:
    """Comparisons of a table, as a mapping without anything unclear says."""
    columns = _Columns(table, mapping)
    lacking = {
        layout: [r for r in roles if not any(map(columns.named, r.split("|")))]
        for layout, roles in LAYOUTS.items()
    }
    layout = mapping.layout
    if lacking[layout]:
        # The roles of an edited mapping say more than what was proposed.
        fits = [name for name, roles in lacking.items() if not roles]
        if not fits:
            needed = " or ".join(map(repr, lacking[layout][0].split("|")))
            raise columns.error(
                f"the layout {layout!r} needs a column with the role {needed}."
            )
        layout = fits[-1]
    found = _BUILDERS[layout](columns)
    if "judge" in found and (found["judge"] == _DROPPED).any():
        found = found[found["judge"] != _DROPPED].reset_index(drop=True)
    found = without_failures(found, table.files) if len(found) else found
    if not len(found):
        raise columns.error("it holds no comparisons.")
    for name in [name for name in found.columns if name not in _CODED]:
        found[name] = _retyped(as_text(found[name]), name, table.is_text)
    first = [name for name in _FIRST if name in found]
    found = found[[*first, *(name for name in found.columns if name not in first)]]
    roles = {
        n: str(d.meaning).removeprefix("keep as ") for n, d in mapping.columns.items()
    }
    found.attrs["renamed"] = {n: r for n, r in roles.items() if r in found and r != n}
    y = found.pop("winner")
    counted = layout == "counts" or table.counted
    return found, y, found["count"] if counted else None


# ------------------------------------------------------------------------------ columns
class _Columns:
    """Columns of a table by the roles that a mapping gives them."""

    def __init__(self, table: Table, mapping: Any):
        self.table, self.mapping, self.frame = table, mapping, table.frame
        if FILE in mapping.columns and FILE not in self.frame:
            self.frame = self.frame.assign(**{FILE: table.stem})
        self.roles: dict[str, list[str]] = {}
        for name, one in mapping.columns.items():
            if name in self.frame:
                self.roles.setdefault(str(one.meaning), []).append(name)

    def error(self, what: str) -> BattlesError:
        """Error about the table."""
        return BattlesError(f"{self.table.files}: {what}")

    def named(self, role: str) -> list[str]:
        """Names of the columns of a role."""
        return self.roles.get(role, [])

    def filled(self, name: str) -> pd.Series:
        """Which cells of a column are not empty."""
        return self.frame[name].notna() & self.frame[name].ne("")

    def overlap(self, names: list[str]) -> bool:
        """Whether two columns are filled in the same row."""
        filled = [self.filled(name).to_numpy() for name in names]
        return len(names) > 1 and bool((np.sum(filled, axis=0) > 1).any())

    def get(self, role: str) -> pd.Series:
        """Column of a role; of several, as of several files, the one that is filled."""
        first, *others = self.named(role)
        if self.overlap([first, *others]):
            names = " and ".join(map(repr, [first, *others]))
            raise self.error(f"columns {names} are both {role}; keep one.")
        column = self.frame[first]
        for name in others:
            filled = column.notna() & column.ne("")
            column = column.astype(object).where(filled, self.frame[name])
        return column

    def model(self, role: str) -> pd.Series:
        """Column of models, without blanks around their names."""
        names = self.mapping.models
        return relabelled(self.get(role), lambda one: names.get(one, one))

    def common(self, judge: str | None = None) -> dict[str, Any]:
        """Judges, raters, prompts, orders shown and further columns.

        ``judge`` is the column whose name is the judge of all rows.
        """
        found: dict[str, Any] = {}
        if judge is None and not self.named("judge"):
            raise self.error(
                f"no column has the role 'judge'; give it to {FILE!r} if the name of "
                "the file says who decided."
            )
        label = self.get("judge") if judge is None else pd.Series(
            constant(judge, len(self.frame)), index=self.frame.index)  # fmt: skip
        found["judge"] = relabelled(label, self._who)
        if self.named("kind"):
            people = [kind == "people" for kind in self.meanings("kind", KINDS)]
            found["judge"] = found["judge"].astype(object).mask(people, "human")
        human = found["judge"] == "human"
        if FILE not in self.named("judge") and label[human].nunique() > 1:
            found["rater"] = label.astype(object).where(human)
        for role in ("rater", "prompt_id", "shown_first"):
            if self.named(role):
                found[role] = self.get(role)
        if self.named("swapped_order"):
            found["shown_first"] = np.where(self.flags("swapped_order"), B, A)
        for name, one in self.mapping.columns.items():
            if str(one.meaning).startswith("keep"):
                new = str(one.meaning).removeprefix("keep").removeprefix(" as ")
                found[new or name] = self.frame[name]
        return found

    def _who(self, label: str) -> str:
        """Label of a judge in standard form."""
        judges = self.mapping.judges
        patterns = (one for key, one in judges.items() if fnmatchcase(label, key))
        one = judges.get(label) or next(patterns, None)
        if one is None:
            raise self.error(
                f"the mapping does not say whether the judge {label!r} is a person or "
                "a judge; add it to [judges]."
            )
        known = {"people": "human", "drop": _DROPPED, "judge": label}
        return known.get(one.meaning, str(one.meaning).removeprefix("judge: "))

    def flags(self, role: str) -> NDArray[np.bool_]:
        """Which cells of the column of a role say yes."""
        return self.meanings(role, _FLAGS).astype(bool)

    def meanings(self, role: str, known: dict[str, Any]) -> NDArray[Any]:
        """What the cells of the column of a role mean."""
        codes, labels = pd.factorize(self.get(role), use_na_sentinel=False)
        keys = [words.name_key(value_key(label)) for label in labels]
        odd = [key for key in keys if key not in known]
        if odd:
            raise self.error(
                f"column {self.named(role)[0]!r} should say {role}, and holds "
                f"{odd[0]!r}; it may hold {', '.join(map(repr, known))}."
            )
        return np.array([known[key] for key in keys], dtype=object)[codes]

    def numbers(self, name: str) -> pd.Series:
        """Numbers of a column; NaN where a cell is empty."""
        column = self.frame[name]
        is_text = pd.api.types.is_string_dtype(column)
        numbers = numbers_of(column) if is_text else pd.to_numeric(
            column, errors="coerce")  # fmt: skip
        if numbers is None or (numbers.isna() & self.filled(name)).any():
            raise self.error(f"column {name!r} should hold numbers, and does not.")
        return numbers.astype(float)

    # ------------------------------------------------------------------------ outcomes
    def verdicts(self, column: pd.Series, a: Any = None, b: Any = None) -> pd.Series:
        """Outcomes of a column as labels or numbers; null where there is no verdict."""
        codes, labels = pd.factorize(column)
        meanings = [self._meaning(outcome_key(label), column) for label in labels]
        # The last one is that of empty cells, whose code is -1.
        meanings.append(self._meaning("", column) if (codes < 0).any() else None)
        graded = any(isinstance(one, float) for one in meanings)
        if meanings == [*labels, None] and not (graded and {*meanings} & {*_VALUES}):
            return column.rename("winner")
        standard = _VALUES if graded else {label: label for label in _VALUES}
        values = [standard.get(m, None if m == "its model" else m) for m in meanings]
        found = np.array(values, dtype=float if graded else object)[codes]
        names = np.array([m == "its model" for m in meanings])[codes]
        if names.any():
            won, first, second = map(_folded, (column, a, b))
            strange = names & (won != first) & (won != second)
            if strange.any() and not self.table.drop_invalid:
                row = int(np.argmax(strange))
                raise self.error(
                    f"the winner {column.iloc[row]!r} of row {row} is not compared "
                    f"there ({strange.sum()} such rows). Correct them, or leave them "
                    "out with drop_invalid."
                )
            found[names & (won == second)] = standard[B]
            found[names & (won == first)] = standard[A]
        series = pd.Series(found, index=column.index, name="winner")
        return series if graded else series.astype("str").where(series.notna())

    def _meaning(self, text: str, column: pd.Series) -> Any:
        """Meaning of an outcome: a number, a standard label, "its model", or None."""
        scale, number = self.mapping.scale, number_of(text)
        if text in self.mapping.outcomes:
            meaning = self.mapping.outcomes[text].meaning
            is_number = isinstance(meaning, (int, float))
            return float(meaning) if is_number else _LABELS.get(meaning, meaning)
        if scale is None or number is None:
            raise self.error(
                f"the mapping does not say what the outcome {text!r} in column "
                f"{column.name!r} means; add it to [outcomes]."
            )
        if "sign" in scale:
            above = 1.0 if scale["sign"] == A else 0.0
            return 0.5 if number == 0.0 else above if number > 0.0 else 1.0 - above
        try:
            low, high = float(scale[B]), float(scale[A])
        except (KeyError, TypeError, ValueError):
            raise self.error(
                "the section [scale] needs the numbers model_a and model_b, or sign = "
                '"model_a".'
            ) from None
        worth = (number - low) / (high - low)
        if not 0.0 <= worth <= 1.0:
            raise self.error(
                f"{text} in column {column.name!r} lies outside the scale from "
                f"{low:g} to {high:g}."
            )
        return worth


def _folded(column: pd.Series) -> NDArray[Any]:
    """Labels without regard to case."""
    codes, labels = pd.factorize(column)
    keys = [outcome_key(label).casefold() for label in labels]
    return np.array([*keys, None], dtype=object)[codes]


# ---------------------------------------------------------------------------- builders
def _two(columns: _Columns, judge: str | None = None) -> pd.DataFrame:
    """Both models of each row, and what is common to all layouts."""
    found = {
        **columns.common(judge),
        "model_a": columns.model("model_a"),
        "model_b": columns.model("model_b"),
    }
    return pd.DataFrame(found, index=columns.frame.index)


def _turned(outcomes: pd.Series) -> pd.Series:
    """Outcomes about the other side."""
    if pd.api.types.is_numeric_dtype(outcomes):
        return 1.0 - outcomes
    swap = {A: B, B: A}
    return relabelled(outcomes, lambda one: swap.get(one, one))


def _stacked(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Several verdicts on each row below each other, in one group."""
    if len(parts) == 1:
        return parts[0].reset_index(drop=True)
    if any(pd.api.types.is_numeric_dtype(part["winner"]) for part in parts):
        parts = [part.assign(winner=part["winner"].map(lambda w: _VALUES.get(w, w)))
                 for part in parts]  # fmt: skip
    if "prompt_id" not in parts[0]:
        parts = [part.assign(prompt_id=[f"row-{n}" for n in part.index])
                 for part in parts]  # fmt: skip
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)


def _pairs(columns: _Columns) -> pd.DataFrame:
    rows = _two(columns)
    games = [
        (role, name)
        for role in ("winner", "winner_swapped", "loser")
        for name in columns.named(role)
    ]
    if not columns.overlap([name for _, name in games]):
        # One column, or those of several files, of which one is filled in each row.
        games = [(games[0][0], "")]
    parts = []
    for role, name in games:
        column = columns.frame[name] if name else columns.get(role)
        won = columns.verdicts(column, rows["model_a"], rows["model_b"])
        won = won if role == "winner" else _turned(won)
        if columns.named("swapped"):
            won = won.where(~columns.flags("swapped"), _turned(won))
        if columns.named("tie"):
            tie = 0.5 if pd.api.types.is_numeric_dtype(won) else TIE
            won = won.mask(columns.flags("tie"), tie)
        part = rows.assign(winner=won)
        if columns.named("winner_swapped"):
            part["shown_first"] = B if role == "winner_swapped" else A
        parts.append(part)
    return _stacked(parts)


def _winner_and_loser(columns: _Columns) -> pd.DataFrame:
    found = {
        # The winner is named first, which says nothing about the order shown.
        "shown_first": None,
        **columns.common(),
        "model_a": columns.model("better"),
        "model_b": columns.model("worse"),
    }
    frame = pd.DataFrame(found, index=columns.frame.index).assign(winner=A)
    if columns.named("tie"):
        frame.loc[columns.flags("tie"), "winner"] = TIE
    return frame


def _counts(columns: _Columns) -> pd.DataFrame:
    rows = _two(columns)
    parts = []
    for role, won in (("wins_a", A), ("wins_b", B), ("ties", TIE)):
        for name in columns.named(role)[:1]:
            numbers = columns.numbers(name).fillna(0.0)
            odd = ~np.isfinite(numbers) | (numbers < 0) | (numbers != numbers.round())
            if odd.any():
                row = int(np.argmax(odd))
                raise columns.error(
                    f"column {name!r} holds {numbers.iloc[row]:g} in row {row}, which "
                    "is no number of comparisons."
                )
            parts.append(rows.assign(winner=won, count=numbers.astype(np.int64)))
    whole = pd.concat(parts).sort_index(kind="stable")
    return whole[whole["count"] > 0].reset_index(drop=True)


def _judges(columns: _Columns) -> pd.DataFrame:
    parts = []
    for name in columns.named("verdict"):
        rows = _two(columns, judge=name)[columns.filled(name)]
        column = columns.frame[name][columns.filled(name)]
        won = columns.verdicts(column, rows["model_a"], rows["model_b"])
        parts.append(rows.assign(winner=won))
    return _stacked(parts)


def _battles(columns: _Columns) -> pd.DataFrame:
    """Pair the two rows of each battle, and never rows of different ones."""
    frame = pd.DataFrame({**columns.common(), "model": columns.model("model")})
    battle = columns.get("battle").map(value_key)
    keys = pd.DataFrame({"battle": battle, "judge": frame["judge"].astype(object)})
    group = keys.groupby(["battle", "judge"], sort=False, dropna=False)
    size = group["battle"].transform("size")
    if (size != 2).any():
        row = int(np.argmax(size != 2))
        raise columns.error(
            f"{(size != 2).sum()} rows are not one of two rows of a battle; battle "
            f"{battle.iloc[row]!r} has {size.iloc[row]}."
        )
    result = columns.verdicts(columns.get("result"))
    worth = result.map(lambda one: _VALUES.get(one, one)).to_numpy(float)
    # Rows of a battle next to each other, in the order of the table.
    at = np.argsort(group.ngroup().to_numpy(), kind="stable").reshape(-1, 2)
    one, two = worth[at[:, 0]], worth[at[:, 1]]
    won = pd.Series(np.select([one > two, one < two, one == two], [A, B, TIE], ""))
    models = frame.pop("model").to_numpy()
    found = frame.iloc[at[:, 0]].reset_index(drop=True)
    return found.assign(
        model_a=models[at[:, 0]], model_b=models[at[:, 1]], shown_first=None,
        winner=won.mask(won == ""),
    )  # fmt: skip


def _ratings(columns: _Columns) -> pd.DataFrame:
    """Pair all responses to a prompt that one judge has rated."""
    names = columns.named("score") or columns.named("rank")
    better = 1.0 if columns.named("score") else -1.0
    parts = []
    for name in names:
        found = columns.common(name if len(names) > 1 else None)
        part = pd.DataFrame({**found, "model": columns.model("model")})
        parts.append(part.assign(score=columns.numbers(name) * better))
    rated = pd.concat(parts, ignore_index=True)
    return paired(rated[rated["judge"] != _DROPPED], columns.table.files)


def _scores(columns: _Columns) -> pd.DataFrame:
    role = "score" if columns.named("score_a") else "rank"
    one, two = (columns.numbers(columns.named(f"{role}_{side}")[0]) for side in "ab")
    gap = (one - two) * (1.0 if role == "score" else -1.0)
    won = pd.Series(np.select([gap > 0, gap < 0, gap == 0], [A, B, TIE], ""))
    return _two(columns).assign(winner=won.mask(won == "").set_axis(gap.index))


_BUILDERS: dict[str, Callable[[_Columns], pd.DataFrame]] = {
    "pairs": _pairs,
    "winner and loser": _winner_and_loser,
    "counts": _counts,
    "judges": _judges,
    "battles": _battles,
    "ratings": _ratings,
    "scores": _scores,
}


# ------------------------------------------------------------------------------- types
def _retyped(column: pd.Series, name: str, is_text: bool) -> pd.Series:
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
    if is_text and column.dtype == object:
        # Numbers of one file beside texts of another one.
        numbers = pd.to_numeric(column, errors="coerce")
        odd = numbers.isna() & column.notna() & column.ne("")
        return column if odd.any() else numbers
    if not is_text or column.dtype != "str":
        return column
    parsed = numbers_of(column)
    if parsed is not None:
        return parsed
    flags = {"true": True, "false": False, "": None}
    for labels in (column.head(1000), column):
        if not labels.dropna().str.lower().isin(flags).all():
            return column.mask(column == "")
    return column.str.lower().map(flags)
