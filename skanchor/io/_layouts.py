"""Tables of every layout become comparisons: one row each, with standard names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from skanchor.exceptions import BattlesError, DataWarning
from skanchor.io._files import numbers_of
from skanchor.io._ratings import paired
from skanchor.io._tables import FILE, Table
from skanchor.io._tools import without_failures
from skanchor.io._words import (
    BLANKS,
    KINDS,
    NO,
    YES,
    name_key,
    outcome_key,
    value_key,
    words_of,
)
from skanchor.warning_log import warn

if TYPE_CHECKING:
    from skanchor.io.mapping import Mapping

Built = tuple[pd.DataFrame, pd.Series, pd.Series | None]

ROLES_OF_COLUMNS = {
    "model_a": "a model of each comparison; the side shown first, if no column says",
    "model_b": "the other model",
    "winner": "the outcome; several columns are several verdicts on the same pair",
    "winner_swapped": "the outcome of a second game that showed the models swapped",
    "loser": "the outcome, but about the side that lost",
    "better": "name of the model that won",
    "worse": "name of the model that lost",
    "judge": "who decided",
    "kind": "whether people or a judge decided",
    "rater": "which person decided",
    "verdict": "the outcome by the judge that the column is named after",
    "prompt_id": "rows that depend on each other",
    "battle": "the same for both rows of a comparison",
    "model": "the only model of a row",
    "result": "whether that model won",
    "score": "its score; a higher one is better",
    "rank": "its rank; a lower one is better",
    "score_a": "score of the first model",
    "score_b": "score of the second model",
    "rank_a": "rank of the first model",
    "rank_b": "rank of the second model",
    "wins_a": "comparisons that the first model won",
    "wins_b": "comparisons that the second model won",
    "ties": "comparisons that were ties",
    "tie": "whether the row is a tie, whatever its outcome says",
    "swapped": "whether the outcome is about the swapped order, and is turned round",
    "swapped_order": "whether model_b was shown first; the outcome is about the columns",
    "shown_first": "the side shown first, as model_a or model_b",
    "keep": "a further column: a feature, a context, a text",
    "ignored": "nothing",
    "?": "not known",
}
"""What a column of a mapping may be."""

LAYOUTS = {
    "pairs": ("model_a", "model_b", "winner|winner_swapped|loser"),
    "winner and loser": ("better", "worse"),
    "counts": ("model_a", "model_b", "wins_a", "wins_b"),
    "judges": ("model_a", "model_b", "verdict"),
    "battles": ("battle", "model", "result"),
    "ratings": ("prompt_id", "model", "score|rank"),
    "scores": ("model_a", "model_b", "score_a|rank_a", "score_b|rank_b"),
}
"""Layouts, and the roles that their columns must have; a bar is "or"."""

_VALUES = {"model_a": 1.0, "model_b": 0.0, "tie": 0.5, "both_bad": 0.5}
_RESULTS = {"win": 1.0, "loss": 0.0, "tie": 0.5}
_LABELS = ("model_a", "model_b", "judge", "rater", "prompt_id")


def build(table: Table, mapping: Mapping) -> Built:
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
            raise BattlesError(
                f"{table.source}: the layout {layout!r} needs a column with the role "
                f"{' or '.join(map(repr, lacking[layout][0].split('|')))}."
            )
        layout = fits[-1]
    found = _BUILDERS[layout](columns)
    if "winner" in found and found["winner"].isna().any():
        found = without_failures(found, table.source)
    if not len(found):
        raise BattlesError(f"{table.source}: holds no comparisons.")
    found = _typed(found)
    y = found.pop("winner")
    counted = layout == "counts" or table.counted
    counts = found["count"] if counted else None
    roles = {
        n: str(d.meaning).removeprefix("keep as ") for n, d in mapping.columns.items()
    }
    found.attrs["renamed"] = {n: r for n, r in roles.items() if r in found and r != n}
    return found, y, counts


class _Columns:
    """Columns of a table by their roles."""

    def __init__(self, table: Table, mapping: Mapping):
        self.table, self.mapping, self.frame = table, mapping, table.frame
        if FILE in mapping.columns and FILE not in self.frame:
            self.frame = self.frame.assign(**{FILE: table.stem})
        self.roles: dict[str, list[str]] = {}
        for name, one in mapping.columns.items():
            if name in self.frame:
                self.roles.setdefault(str(one.meaning), []).append(name)

    def named(self, role: str) -> list[str]:
        """Names of the columns of a role."""
        return self.roles.get(role, [])

    def get(self, role: str) -> pd.Series:
        """Column of a role; of several, as of several files, the one that is filled."""
        first, *others = self.named(role)
        column = self.frame[first]
        for name in others:
            filled = column.notna() & column.ne("")
            if (filled & self.frame[name].notna() & self.frame[name].ne("")).any():
                raise BattlesError(
                    f"{self.table.source}: columns {first!r} and {name!r} both are "
                    f"{role}; keep one."
                )
            column = column.astype(object).where(filled, self.frame[name])
        return column

    def kept(self) -> dict[str, pd.Series]:
        """Further columns, under their names or new ones."""
        found = {name: self.frame[name] for name in self.named("keep")}
        for role, names in self.roles.items():
            if role.startswith("keep as "):
                found[role.removeprefix("keep as ")] = self.frame[names[0]]
        return found

    # ------------------------------------------------------------------ models, judges
    def model(self, role: str) -> pd.Series:
        """Column of models, without blanks around their names."""
        names = self.mapping.models

        def name_of(label: Any) -> str | None:
            text = value_key(label).strip(BLANKS)
            return names.get(text, text) or None

        return relabelled(self.get(role), name_of)

    def common(self, judge: pd.Series | str | None = None) -> dict[str, Any]:
        """Judges, raters, prompts, orders shown and further columns."""
        found: dict[str, Any] = {}
        if judge is None and self.named("judge"):
            judge = self.get("judge")
        if judge is None:
            raise BattlesError(
                f"{self.table.source}: no column has the role 'judge'; give it to {FILE} "
                "if the name of the file says who decided."
            )
        found |= self.judged(judge)
        for role in ("rater", "prompt_id"):
            if self.named(role):
                found[role] = self.get(role)
        if self.named("shown_first"):
            found["shown_first"] = self.get("shown_first")
        elif self.named("swapped_order"):
            turned = self.flags("swapped_order")
            found["shown_first"] = np.where(turned, "model_b", "model_a")
        return {**found, **self.kept()}

    def judged(self, judge: pd.Series | str) -> dict[str, Any]:
        """Columns ``judge`` and, where people have names, ``rater``."""
        if isinstance(judge, str):
            judge = pd.Series(pd.Categorical([judge] * len(self.frame)))
            judge.index = self.frame.index
        meant = relabelled(judge, self._who)
        found: dict[str, Any] = {"judge": meant}
        if self.named("kind"):
            kind = relabelled(
                self.get("kind"), lambda cell: _KINDS.get(name_key(value_key(cell)))
            )
            if kind.isna().any():
                row = int(np.argmax(kind.isna()))
                raise BattlesError(
                    f"{self.table.source}: column {self.named('kind')[0]!r} says of row "
                    f"{row} neither people nor a judge."
                )
            found["judge"] = meant.astype(object).mask(kind == "people", "human")
        human = found["judge"] == "human"
        people = judge[human].astype(str).unique()
        if (
            len(people) > 1
            and not self.named("rater")
            and FILE not in self.named("judge")
        ):
            found["rater"] = judge.astype(object).where(human)
        return found

    def _who(self, label: Any) -> str | None:
        """Label of a judge in standard form; None for rows that are dropped."""
        text = value_key(label).strip(BLANKS)
        if not text:
            return None
        judges = self.mapping.judges
        one = judges.get(text) or next(
            (d for key, d in judges.items() if fnmatchcase(text, key)), None
        )
        if one is None:
            raise BattlesError(
                f"{self.table.source}: the mapping does not say whether the judge "
                f"{text!r} is a person or a judge; add it to [judges]."
            )
        if one.meaning == "people":
            return "human"
        if one.meaning == "drop":
            return _DROPPED
        return str(one.meaning).removeprefix("judge: ") if ": " in one.meaning else text

    # ------------------------------------------------------------------------ outcomes
    def flags(self, role: str) -> NDArray[np.bool_]:
        """Whether the column of a role says yes."""
        name = self.named(role)[0]

        def known(cell: Any) -> bool:
            key = name_key(value_key(cell))
            if key not in YES | NO:
                raise BattlesError(
                    f"{self.table.source}: column {name!r} should say yes or no, and "
                    f"holds {cell!r}."
                )
            return key in YES

        codes, labels = pd.factorize(self.get(role))
        return np.array([*map(known, labels), False], dtype=bool)[codes]

    def verdicts(self, column: pd.Series, a: Any = None, b: Any = None) -> pd.Series:
        """Outcomes of a column; null where there is no verdict."""
        if self.mapping.scale:
            numbers = self._scaled(column)
        else:
            numbers = pd.Series(np.nan, index=column.index)
        codes, labels = pd.factorize(column)
        meanings = [self._meaning(one, column, codes, at) for at, one in
                    enumerate([*labels, None]) if at < len(labels) or (codes < 0).any()]  # fmt: skip
        if len(meanings) == len(labels):
            meanings.append("failed")
        scaled = numbers.notna().any()
        names = np.array([m == "its model" for m in meanings])[codes]
        graded = scaled or any(isinstance(m, float) for m in meanings)
        known = [_VALUES.get(m, m if isinstance(m, float) else np.nan) if graded
                 else (m if m in _VALUES else None) for m in meanings]  # fmt: skip
        kind = float if graded else object
        values = np.array(known, dtype=kind)[codes]
        if names.any():
            values = self._by_name(values, names, column, a, b, graded)
        if not graded and self._unchanged(labels, meanings, column):
            return column.rename("winner")
        if scaled:
            values = np.where(numbers.notna(), numbers, values)
        found = pd.Series(values, index=column.index, name="winner")
        return found if graded else found.astype("str").where(found.notna())

    @staticmethod
    def _unchanged(labels: Any, meanings: list[Any], column: pd.Series) -> bool:
        """Whether the column is in standard form."""
        return list(labels) == meanings[:-1] and not column.isna().any()

    def _meaning(self, label: Any, column: pd.Series, codes: Any, at: int) -> Any:
        """Meaning of an outcome, as a number, a standard label or "failed"."""
        text = outcome_key(label)
        one = self.mapping.outcomes.get(text)
        if one is None:
            if self.mapping.scale and _number(text) is not None:
                return "failed"
            row = int(np.argmax(codes == (at if label is not None else -1)))
            raise BattlesError(
                f"{self.table.source}: the mapping does not say what the outcome "
                f"{text!r} of row {row} in column {column.name!r} means; add it to "
                "[outcomes]."
            )
        meaning = one.meaning
        if isinstance(meaning, (int, float)):
            return float(meaning)
        return {"win": "model_a", "loss": "model_b"}.get(meaning, meaning)

    def _by_name(
        self, values: Any, names: Any, column: pd.Series, a: Any, b: Any, graded: bool
    ) -> Any:
        """Outcomes that are names of models."""

        def folded(of: pd.Series) -> NDArray[Any]:
            codes, labels = pd.factorize(of)
            keys = [outcome_key(one).casefold() for one in labels]
            return np.array([*keys, None], dtype=object)[codes]

        won = folded(column)
        first, second = won == folded(a), won == folded(b)
        strange = names & ~first & ~second
        if strange.any() and not self.table.drop_invalid:
            row = int(np.argmax(strange))
            raise BattlesError(
                f"{self.table.source}: the winner {column.iloc[row]!r} of row {row} is "
                f"not compared there ({strange.sum()} such rows). Correct them, or leave "
                "them out with drop_invalid."
            )
        sides = (1.0, 0.0) if graded else ("model_a", "model_b")
        values[names & second] = sides[1]
        values[names & first] = sides[0]
        return values

    def _scaled(self, column: pd.Series) -> pd.Series:
        """Preferences of numbers on a scale; NaN where a word stands."""
        scale = self.mapping.scale or {}
        texts = pd.Series([*map(outcome_key, column)], index=column.index)
        numbers = pd.to_numeric(texts, errors="coerce").astype(float)
        told = texts.isin([*self.mapping.outcomes])
        numbers = numbers.mask(told)
        if "sign" in scale:
            sign = np.sign(numbers) * (1.0 if scale["sign"] == "model_a" else -1.0)
            return 0.5 + sign / 2.0
        try:
            low, high = float(scale["model_b"]), float(scale["model_a"])
        except (KeyError, TypeError, ValueError):
            raise BattlesError(
                f"{self.table.source}: [scale] needs the numbers model_a and model_b, "
                'or sign = "model_a".'
            ) from None
        worth = (numbers - low) / (high - low)
        if (worth.lt(0.0) | worth.gt(1.0)).any():
            row = int(np.argmax(worth.lt(0.0) | worth.gt(1.0)))
            raise BattlesError(
                f"{self.table.source}: {column.iloc[row]!r} in row {row} lies outside "
                f"the scale from {low:g} to {high:g}."
            )
        return worth


_CODED = ("model_a", "model_b", "judge", "winner")
"""Columns of few labels in many rows, which may stay categories."""

_DROPPED = "\0dropped"
_KINDS = words_of(KINDS)


def _number(text: str) -> float | None:
    """Number of a text, if it is one."""
    try:
        return float(text)
    except ValueError:
        return None


def relabelled(column: pd.Series, new: Callable[[Any], Any]) -> pd.Series:
    """Column with other labels; unchanged if all labels are text already."""
    codes, labels = pd.factorize(column)
    found = [new(label) for label in labels]
    if found == list(labels):
        return column
    if isinstance(column.dtype, pd.CategoricalDtype):
        distinct = list(dict.fromkeys(one for one in found if one is not None))
        at = {label: n for n, label in enumerate(distinct)}
        to = np.array([*(at.get(one, -1) for one in found), -1])
        made = pd.Categorical.from_codes(to[codes], distinct)
        return pd.Series(made, index=column.index, name=column.name)
    texts = pd.array(found, dtype="str").take(codes, allow_fill=True)
    return pd.Series(texts, index=column.index, name=column.name)


def as_text(column: pd.Series) -> pd.Series:
    """Column of text instead of categories."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column
    labels = pd.array(list(column.cat.categories), dtype="str")
    texts = labels.take(column.cat.codes.to_numpy(), allow_fill=True)
    return pd.Series(texts, index=column.index, name=column.name)


def turned(outcomes: pd.Series, rows: Any = None) -> pd.Series:
    """Outcomes about the other side, in all rows or some."""
    if pd.api.types.is_numeric_dtype(outcomes):
        other = 1.0 - outcomes
    else:
        swap = {"model_a": "model_b", "model_b": "model_a"}
        other = outcomes.map(lambda one: swap.get(one, one), na_action="ignore")
    return other if rows is None else outcomes.where(~rows, other)


# ----------------------------------------------------------------------------- builders
def _pairs(columns: _Columns) -> pd.DataFrame:
    a, b = columns.model("model_a"), columns.model("model_b")
    common = {**columns.common(), "model_a": a, "model_b": b}
    games = [
        (role, name)
        for role in ("winner", "winner_swapped", "loser")
        for name in columns.named(role)
    ]
    apart = not _overlap(columns, [name for _, name in games])
    if apart:
        # Columns of several files, of which one is filled in each row.
        games = [(games[0][0], "")]
    parts = []
    for role, name in games:
        column = columns.get(role) if apart else columns.frame[name]
        won = columns.verdicts(column, a, b)
        won = turned(won) if role in ("loser", "winner_swapped") else won
        if columns.named("swapped"):
            won = turned(won, columns.flags("swapped"))
        if columns.named("tie"):
            flags = columns.flags("tie")
            tie = 0.5 if pd.api.types.is_numeric_dtype(won) else "tie"
            won = won.mask(flags, tie)
        part = pd.DataFrame({**common, "winner": won}, index=columns.frame.index)
        if columns.named("winner_swapped"):
            part["shown_first"] = "model_b" if role == "winner_swapped" else "model_a"
        parts.append(part)
    return _stacked(parts)


def _overlap(columns: _Columns, names: list[str]) -> bool:
    """Whether two columns are filled in the same row."""
    filled = sum(
        (columns.frame[name].notna() & columns.frame[name].ne("")).astype(int)
        for name in names
    )
    return len(names) > 1 and bool((filled > 1).any())


def _stacked(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Several verdicts on each row below each other, in one group."""
    if len(parts) == 1:
        return _without_dropped(parts[0])
    parts = [
        part if "prompt_id" in part
        else part.assign(prompt_id=[f"row-{n}" for n in range(len(part))])
        for part in parts
    ]  # fmt: skip
    whole = pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)
    return _without_dropped(whole)


def _without_dropped(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows whose judge is not left out."""
    if "judge" not in frame:
        return frame
    dropped = frame["judge"] == _DROPPED
    return frame[~dropped].reset_index(drop=True) if dropped.any() else frame


def _winner_and_loser(columns: _Columns) -> pd.DataFrame:
    found = {**columns.common(), "model_a": columns.model("better"),
             "model_b": columns.model("worse")}  # fmt: skip
    frame = pd.DataFrame(found, index=columns.frame.index).assign(winner="model_a")
    # The winner is named first, which says nothing about the order shown.
    if "shown_first" not in frame:
        frame["shown_first"] = None
    if columns.named("tie"):
        frame.loc[columns.flags("tie"), "winner"] = "tie"
    return _without_dropped(frame)


def _counts(columns: _Columns) -> pd.DataFrame:
    common = {**columns.common(), "model_a": columns.model("model_a"),
              "model_b": columns.model("model_b")}  # fmt: skip
    common.pop("count", None)
    parts = []
    for role, won in (("wins_a", "model_a"), ("wins_b", "model_b"), ("ties", "tie")):
        if columns.named(role):
            n = _whole(columns, role)
            parts.append(pd.DataFrame(common).assign(winner=won, count=n))
    whole = pd.concat(parts).sort_index(kind="stable")
    whole = whole[whole["count"] > 0].reset_index(drop=True)
    return _without_dropped(whole)


def _numeric(columns: _Columns, name: str) -> pd.Series:
    """Numbers of a column."""
    column = columns.frame[name]
    numbers = column if not pd.api.types.is_string_dtype(column) else numbers_of(column)
    if numbers is not None and not pd.api.types.is_numeric_dtype(numbers):
        numbers = pd.to_numeric(numbers, errors="coerce").where(column.notna())
    if numbers is None or numbers.isna().ne(column.isna() | column.eq("")).any():
        raise BattlesError(
            f"{columns.table.source}: column {name!r} should hold numbers, and does not."
        )
    return numbers.astype(float)


def _whole(columns: _Columns, role: str) -> pd.Series:
    """Numbers of comparisons; an empty cell counts as zero."""
    numbers = _numeric(columns, columns.named(role)[0]).fillna(0.0)
    odd = ~np.isfinite(numbers) | (numbers < 0) | (numbers != numbers.round())
    if odd.any():
        row = int(np.argmax(odd))
        raise BattlesError(
            f"{columns.table.source}: column {columns.named(role)[0]!r} holds "
            f"{numbers.iloc[row]:g} in row {row}, which is no number of comparisons."
        )
    return numbers.astype(np.int64)


def _judges(columns: _Columns) -> pd.DataFrame:
    a, b = columns.model("model_a"), columns.model("model_b")
    parts = []
    for name in columns.named("verdict"):
        column = columns.frame[name]
        judged = column.notna() & column.astype(object).ne("")
        won = columns.verdicts(column[judged], a[judged], b[judged])
        common = {**columns.common(name), "model_a": a, "model_b": b}
        parts.append(pd.DataFrame(common)[judged].assign(winner=won))
    numeric = [pd.api.types.is_numeric_dtype(part["winner"]) for part in parts]
    if any(numeric) and not all(numeric):
        parts = [
            part if done else part.assign(winner=part["winner"].map(_VALUES))
            for part, done in zip(parts, numeric, strict=True)
        ]
    whole = [part if "prompt_id" in part
             else part.assign(prompt_id=[f"row-{n}" for n in part.index])
             for part in parts]  # fmt: skip
    return _stacked(whole)


def _battles(columns: _Columns) -> pd.DataFrame:
    """Pair the two rows of each battle, and never rows of different ones."""
    frame = pd.DataFrame({**columns.common(), "model": columns.model("model")})
    keys = pd.DataFrame({"battle": columns.get("battle").map(value_key)})
    keys["judge"] = frame["judge"].astype(object) if "judge" in frame else ""
    size = keys.groupby(["battle", "judge"])["battle"].transform("size")
    if (size != 2).any():
        row = int(np.argmax(size != 2))
        raise BattlesError(
            f"{columns.table.source}: {(size != 2).sum()} rows are not one of two rows "
            f"of a battle; battle {keys['battle'].iloc[row]!r} has {size.iloc[row]}."
        )
    result = columns.verdicts(columns.get("result"))
    if not pd.api.types.is_numeric_dtype(result):
        result = result.map(_VALUES)
    place = keys.groupby(["battle", "judge"]).cumcount()
    first = pd.Index(np.flatnonzero(place == 0))
    second = keys.assign(at=range(len(keys)))[place == 1].set_index(["battle", "judge"])
    at = second["at"].reindex(pd.MultiIndex.from_frame(keys.iloc[first])).to_numpy()
    one, two = result.to_numpy()[first], result.to_numpy()[at]
    found = frame.iloc[first].drop(columns="model").reset_index(drop=True)
    found["model_a"] = frame["model"].to_numpy()[first]
    found["model_b"] = frame["model"].to_numpy()[at]
    found["winner"] = np.select(
        [one > two, one < two, one == two], ["model_a", "model_b", "tie"], None
    )
    found["shown_first"] = None
    return _without_dropped(found)


def _ratings(columns: _Columns) -> pd.DataFrame:
    """Pair all responses to a prompt that one judge has rated."""
    names = columns.named("score") or columns.named("rank")
    better = 1.0 if columns.named("score") else -1.0
    model = columns.model("model")
    parts = []
    for name in names:
        judge = name if len(names) > 1 else None
        part = pd.DataFrame({**columns.common(judge), "model": model})
        parts.append(part.assign(score=_numeric(columns, name) * better))
    rated = _without_dropped(pd.concat(parts, ignore_index=True))
    return paired(rated, columns.table.source)


def _scores(columns: _Columns) -> pd.DataFrame:
    role = "score" if columns.named("score_a") else "rank"
    one, two = (_numeric(columns, columns.named(f"{role}_{s}")[0]) for s in "ab")
    gap = (one - two) * (1.0 if role == "score" else -1.0)
    won = pd.Series("tie", index=gap.index).where(gap.notna())
    won = won.mask(gap > 0, "model_a").mask(gap < 0, "model_b")
    found = {**columns.common(), "model_a": columns.model("model_a"),
             "model_b": columns.model("model_b"), "winner": won}  # fmt: skip
    return _without_dropped(pd.DataFrame(found))


_BUILDERS: dict[str, Callable[[_Columns], pd.DataFrame]] = {
    "pairs": _pairs,
    "winner and loser": _winner_and_loser,
    "counts": _counts,
    "judges": _judges,
    "battles": _battles,
    "ratings": _ratings,
    "scores": _scores,
}


# -------------------------------------------------------------------------------- types
def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Labels are text, other columns of a text file that hold numbers are numbers."""
    for name, column in _changed(frame):
        frame[name] = column
    first = [
        n for n in ("prompt_id", "model_a", "model_b", "judge", "rater") if n in frame
    ]
    return frame[[*first, *(n for n in frame.columns if n not in first)]]


def _changed(frame: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """Columns of another type."""
    for name in frame.columns:
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype) and name not in _CODED:
            column = as_text(column)
            yield name, column
        is_text = column.dtype == "str"
        if name in ("rater", "prompt_id"):
            if pd.api.types.is_integer_dtype(column):
                column = (
                    pa.array(column)
                    .cast(pa.string())
                    .to_pandas()
                    .set_axis(column.index)
                )
            elif not is_text:
                column = relabelled(column, lambda one: value_key(one) or None)
            elif is_text:
                column = column.mask(column == "")
                # Programs write 17 as 17.0 beside empty cells.
                if column.head(10).dropna().str.fullmatch(r"\d+\.0").all() and (
                    column.dropna().str.fullmatch(r"\d+\.0").all()
                ):
                    column = column.str.removesuffix(".0")
            yield name, column
        elif is_text and name not in _CODED:
            yield name, _parsed(column, name)


def _parsed(column: pd.Series, name: str) -> pd.Series:
    """Column of a text file: numbers, yes or no, or text."""
    numbers = numbers_of(column)
    if numbers is not None:
        return numbers
    distinct = column.unique()
    known = {"true": True, "false": False, "": None}
    if len(distinct) < 4 and all(str(one).lower() in known for one in distinct):
        return column.str.lower().map(known)
    if name.endswith(("_a", "_b")) and name not in ("response_a", "response_b"):
        parsed = pd.to_numeric(column, errors="coerce")
        if parsed.notna().mean() > 0.5:
            row = int(np.argmax(parsed.isna() & column.ne("")))
            warn(
                DataWarning(
                    f"Column {name!r} is taken as text, not as a feature: row {row} "
                    f"holds {column.iloc[row]!r}.",
                    code="text-feature",
                    subject=[name],
                ),
                stacklevel=4,
            )
    return column.mask(column == "")
