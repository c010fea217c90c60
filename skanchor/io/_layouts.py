"""Tables of every layout become comparisons: one row each, with standard names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from skanchor.exceptions import DataWarning
from skanchor.io._columns import DROPPED, VALUES, Columns, as_text, relabelled
from skanchor.io._files import numbers_of
from skanchor.io._ratings import paired
from skanchor.io._tables import Table
from skanchor.io._tools import without_failures
from skanchor.io._words import value_key
from skanchor.warning_log import warn

Built = tuple[pd.DataFrame, pd.Series, pd.Series | None]

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

_FIRST = ("prompt_id", "model_a", "model_b", "judge", "rater")
_CODED = ("model_a", "model_b", "judge", "winner")
"""Columns of few labels in many rows, which may stay categories."""


def build(table: Table, mapping: Any) -> Built:
    """Comparisons of a table, as a mapping without anything unclear says."""
    columns = Columns(table, mapping)
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
    if "judge" in found and (found["judge"] == DROPPED).any():
        found = found[found["judge"] != DROPPED].reset_index(drop=True)
    if found["winner"].isna().any():
        found = without_failures(found, table.files)
    if not len(found):
        raise columns.error("it holds no comparisons.")
    for name, column in _retyped(found, table.is_text):
        found[name] = column
    first = [name for name in _FIRST if name in found]
    found = found[[*first, *(name for name in found.columns if name not in first)]]
    roles = {
        n: str(d.meaning).removeprefix("keep as ") for n, d in mapping.columns.items()
    }
    found.attrs["renamed"] = {n: r for n, r in roles.items() if r in found and r != n}
    y = found.pop("winner")
    counts = found["count"] if layout == "counts" or table.counted else None
    return found, y, counts


def _turned(outcomes: pd.Series) -> pd.Series:
    """Outcomes about the other side."""
    if pd.api.types.is_numeric_dtype(outcomes):
        return 1.0 - outcomes
    swap = {"model_a": "model_b", "model_b": "model_a"}
    return relabelled(outcomes, lambda one: swap.get(one, one))


def _stacked(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Several verdicts on each row below each other, in one group."""
    if len(parts) == 1:
        return parts[0].reset_index(drop=True)
    numeric = [pd.api.types.is_numeric_dtype(part["winner"]) for part in parts]
    if any(numeric) and not all(numeric):
        parts = [part.assign(winner=part["winner"].map(lambda w: VALUES.get(w, w)))
                 for part in parts]  # fmt: skip
    parts = [
        part if "prompt_id" in part
        else part.assign(prompt_id=[f"row-{n}" for n in part.index])
        for part in parts
    ]  # fmt: skip
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)


# ---------------------------------------------------------------------------- builders
def _two(columns: Columns, judge: str | None = None) -> pd.DataFrame:
    """Both models of each row, and what is common to all layouts."""
    found = {
        **columns.common(judge),
        "model_a": columns.model("model_a"),
        "model_b": columns.model("model_b"),
    }
    return pd.DataFrame(found, index=columns.frame.index)


def _pairs(columns: Columns) -> pd.DataFrame:
    rows = _two(columns)
    a, b = rows["model_a"], rows["model_b"]
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
        won = columns.verdicts(columns.frame[name] if name else columns.get(role), a, b)
        won = won if role == "winner" else _turned(won)
        if columns.named("swapped"):
            won = won.where(~columns.flags("swapped"), _turned(won))
        if columns.named("tie"):
            tie = 0.5 if pd.api.types.is_numeric_dtype(won) else "tie"
            won = won.mask(columns.flags("tie"), tie)
        part = rows.assign(winner=won)
        if columns.named("winner_swapped"):
            part["shown_first"] = "model_b" if role == "winner_swapped" else "model_a"
        parts.append(part)
    return _stacked(parts)


def _winner_and_loser(columns: Columns) -> pd.DataFrame:
    found = {
        # The winner is named first, which says nothing about the order shown.
        "shown_first": None,
        **columns.common(),
        "model_a": columns.model("better"),
        "model_b": columns.model("worse"),
    }
    frame = pd.DataFrame(found, index=columns.frame.index).assign(winner="model_a")
    if columns.named("tie"):
        frame.loc[columns.flags("tie"), "winner"] = "tie"
    return frame


def _counts(columns: Columns) -> pd.DataFrame:
    rows = _two(columns)
    parts = []
    for role, won in (("wins_a", "model_a"), ("wins_b", "model_b"), ("ties", "tie")):
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


def _judges(columns: Columns) -> pd.DataFrame:
    parts = []
    for name in columns.named("verdict"):
        rows = _two(columns, judge=name)[columns.filled(name)]
        column = columns.frame[name][columns.filled(name)]
        won = columns.verdicts(column, rows["model_a"], rows["model_b"])
        parts.append(rows.assign(winner=won))
    return _stacked(parts)


def _battles(columns: Columns) -> pd.DataFrame:
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
    worth = result.map(lambda one: VALUES.get(one, one)).to_numpy(float)
    # Rows of a battle next to each other, in the order of the table.
    at = np.argsort(group.ngroup().to_numpy(), kind="stable").reshape(-1, 2)
    one, two = worth[at[:, 0]], worth[at[:, 1]]
    won = np.where(one > two, "model_a", np.where(one < two, "model_b", "tie"))
    models = frame.pop("model").to_numpy()
    found = frame.iloc[at[:, 0]].reset_index(drop=True)
    return found.assign(
        model_a=models[at[:, 0]], model_b=models[at[:, 1]], shown_first=None,
        winner=pd.Series(won).where(~np.isnan(one - two)),
    )  # fmt: skip


def _ratings(columns: Columns) -> pd.DataFrame:
    """Pair all responses to a prompt that one judge has rated."""
    names = columns.named("score") or columns.named("rank")
    better = 1.0 if columns.named("score") else -1.0
    parts = []
    for name in names:
        found = columns.common(name if len(names) > 1 else None)
        part = pd.DataFrame({**found, "model": columns.model("model")})
        parts.append(part.assign(score=columns.numbers(name) * better))
    rated = pd.concat(parts, ignore_index=True)
    return paired(rated[rated["judge"] != DROPPED], columns.table.files)


def _scores(columns: Columns) -> pd.DataFrame:
    role = "score" if columns.named("score_a") else "rank"
    one, two = (columns.numbers(columns.named(f"{role}_{side}")[0]) for side in "ab")
    gap = (one - two) * (1.0 if role == "score" else -1.0)
    won = pd.Series("tie", index=gap.index).where(gap.notna())
    won = won.mask(gap > 0, "model_a").mask(gap < 0, "model_b")
    return _two(columns).assign(winner=won)


_BUILDERS: dict[str, Callable[[Columns], pd.DataFrame]] = {
    "pairs": _pairs,
    "winner and loser": _winner_and_loser,
    "counts": _counts,
    "judges": _judges,
    "battles": _battles,
    "ratings": _ratings,
    "scores": _scores,
}


# ------------------------------------------------------------------------------- types
def _retyped(frame: pd.DataFrame, is_text: bool) -> Iterator[tuple[str, pd.Series]]:
    """Columns of another type: labels are text, what holds numbers is numeric."""
    for name in [name for name in frame.columns if name not in _CODED]:
        column = as_text(frame[name])
        if name in ("rater", "prompt_id"):
            yield name, _label(column)
        elif is_text and column.dtype == "str":
            yield name, _parsed(column, name)
        elif is_text and column.dtype == object:
            # Numbers of one file beside texts of another one.
            numbers = pd.to_numeric(column, errors="coerce")
            odd = numbers.isna() & column.notna() & column.ne("")
            yield name, column if odd.any() else numbers
        else:
            yield name, column


def _label(column: pd.Series) -> pd.Series:
    """Column of labels as text."""
    if pd.api.types.is_integer_dtype(column):
        texts = pa.array(column).cast(pa.string()).to_pandas()
        return texts.set_axis(column.index)
    if column.dtype != "str":
        return relabelled(column, lambda one: value_key(one) or None)
    # Programs write 17 as 17.0 beside empty cells; in another file it is 17.
    column = column.mask(column == "")
    for labels in (column.head(10).dropna(), column.dropna()):
        if not labels.str.fullmatch(r"\d+\.0").all():
            return column
    return column.str.removesuffix(".0")


def _parsed(column: pd.Series, name: str) -> pd.Series:
    """Column of a text file: numbers, yes or no, or text."""
    numbers = numbers_of(column)
    if numbers is not None:
        return numbers
    known: dict[Any, Any] = {"true": True, "false": False, "": None}
    distinct = column.head(1000).dropna().str.lower().unique()
    if {*distinct} <= {*known} and {*column.dropna().str.lower().unique()} <= {*known}:
        return column.str.lower().map(known)
    if name.endswith(("_a", "_b")) and not name.startswith("response"):
        odd = pd.to_numeric(column, errors="coerce").isna() & column.ne("")
        if odd.mean() < 0.5:
            row = int(np.argmax(odd))
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
