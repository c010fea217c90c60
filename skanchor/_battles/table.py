"""Tables of battles as users have them: opened, renamed and split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd
from narwhals.exceptions import DuplicateError
from scipy.sparse import issparse

from skanchor._battles.features import declared, feature_kind, stems_of
from skanchor.exceptions import BattlesError

HUMAN = "human"
"""Label of the rows that carry human votes in the ``judge`` column."""


def split_table(
    table: Any,
    *,
    columns: dict[str, str] | None = None,
    human: Any = HUMAN,
    judges: Any = None,
    without: Any = None,
    pool: str | None = None,
    outcome: str = "winner",
    features: Iterable[str] | None = None,
    drop_features: Iterable[str] | None = None,
) -> tuple[Any, Any]:
    """Split a table with standard names into ``X`` and ``y``.

    This is `skanchor.split_battles` without its recognition of other names and values.

    Parameters
    ----------
    table, columns, human, judges, without, pool, outcome, features, drop_features
        As in :func:`skanchor.split_battles`.

    Returns
    -------
    X : table
        The table without its outcome column, of the same type as ``table``.
    y : series
        The outcomes.

    Raises
    ------
    BattlesError
        If a column, a feature pair or a human label is missing.
    """
    frame = as_frame(table)
    if frame is None:
        raise TypeError(
            "split_battles needs a pandas, polars or pyarrow table, got "
            f"{type(table).__name__}."
        )
    renames = dict(columns or {})
    require_columns(frame.columns, renames)
    # A column that already has the new name of another one is dropped. If it is itself
    # renamed, it stays.
    taken = set(renames.values()) - set(renames)
    frame = frame.drop([name for name in frame.columns if name in taken])
    frame = frame.rename(renames)
    require_columns(frame.columns, [outcome, "model_a", "model_b"])
    others = listed(human) != [HUMAN]
    if judges is not None and others:
        raise BattlesError("Give either the human labels or the judges, not both.")
    if others or any(given is not None for given in (without, judges, pool)):
        require_columns(frame.columns, ["judge"])
        frame = _with_judges(frame, human, judges, without, pool)
    if features is not None or drop_features is not None:
        frame = _with_features(frame, features, drop_features)
    return frame.drop(outcome).to_native(), frame[outcome].to_native()


def require_columns(present: Iterable[str], wanted: Iterable[str]) -> None:
    """Raise if a table lacks one of the wanted columns, or a name is no text."""
    present = list(present)
    other = [name for name in present if not isinstance(name, str)]
    if other:
        raise BattlesError(
            f"The name of column {other[0]!r} is no text; rename it, or all with "
            "table.columns = table.columns.map(str)."
        )
    missing = [name for name in wanted if name not in present]
    if missing:
        raise BattlesError(
            f"The battles table lacks the columns {missing}; it has {present[:20]}. "
            "Rename columns with columns={'given': 'standard'}.",
        )


def as_frame(table: Any) -> nw.DataFrame[Any] | None:
    """Wrap a pandas, polars or pyarrow table in narwhals; None for other objects."""
    rows_are_dicts = isinstance(table, (list, tuple)) and isinstance(
        next(iter(table), None), Mapping
    )
    # Some sparse matrices are dicts; check_array raises for them later.
    if rows_are_dicts or (isinstance(table, Mapping) and not issparse(table)):
        kind = type(table).__name__ + (" of dicts" if rows_are_dicts else "")
        raise TypeError(
            f"Battles were given as a {kind}; make them a table with "
            "pandas.DataFrame(X)."
        )
    try:
        frame = nw.from_native(table, pass_through=True)
    except DuplicateError:
        names = list(getattr(table, "column_names", None) or table.columns)
        twice = sorted({str(name) for name in names if names.count(name) > 1})
        raise BattlesError(
            f"The columns {twice} occur more than once; rename or drop the copies."
        ) from None
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"A lazy table ({type(table).__name__}) has no rows yet; collect it first."
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def as_text(name: str) -> nw.Expr:
    """Return a column as text, in which what is missing stays missing."""
    column = nw.col(name)
    # Before its third version pandas makes the text "None" of a missing object.
    return nw.when(~column.is_null()).then(column.cast(nw.String))


def listed(labels: Any) -> list[Any]:
    """Return one label, or several, as a list."""
    return list(labels) if pd.api.types.is_list_like(labels) else [labels]


def people_among(labels: list[Any], human: Any, judges: Any) -> list[Any]:
    """List those labels of the judge column that stand for people.

    Parameters
    ----------
    labels : list of labels
        All labels that the column holds.
    human : label or list of labels
        Labels of people, or patterns of labels such as ``"expert_*"``.
    judges : label, list of labels or None
        Labels or patterns of LLM judges; all other labels are then people's. If given,
        ``human`` is not read.

    Returns
    -------
    list of labels

    Raises
    ------
    BattlesError
        If a label occurs in no row, if no row is by a person, or if the label "human"
        occurs without being among the labels of people.
    """
    if judges is not None:
        models = _matching(labels, judges, "judges")
        people = [label for label in labels if label not in models]
        if not people:
            raise BattlesError(
                f"The judges {models} are all that column 'judge' holds, so no row is "
                "by a human."
            )
        return people
    people = _matching(labels, human, "human labels")
    # Rows of people get the label "human", so no judge may have it already.
    if HUMAN in labels and HUMAN not in people:
        raise BattlesError(
            f"Column 'judge' holds {HUMAN!r} beside the human labels {people}; name it "
            "among them, or rename that judge first."
        )
    return people


def _matching(labels: list[Any], wanted: Any, what: str) -> list[Any]:
    """Labels that equal or match a wanted one; raise if one matches none."""

    def matches(label: Any, pattern: Any) -> bool:
        texts = isinstance(label, str) and isinstance(pattern, str)
        return bool(label == pattern) or (texts and fnmatchcase(label, pattern))

    wanted = list(dict.fromkeys(listed(wanted)))
    absent = [one for one in wanted if not any(matches(x, one) for x in labels)]
    if absent or not wanted:
        raise BattlesError(
            f"No row of column 'judge' holds the {what} {absent}; it holds "
            f"{labels[:10]}."
        )
    return [label for label in labels if any(matches(label, one) for one in wanted)]


def _with_judges(
    frame: nw.DataFrame[Any], human: Any, judges: Any, without: Any, pool: Any
) -> nw.DataFrame[Any]:
    """Drop judges, name people "human", give all judges one name, as a user asks.

    Where people have several labels, these become the column ``rater``.
    """

    def labels() -> list[Any]:
        return [x for x in frame["judge"].unique().to_list() if x is not None]

    judge = as_text("judge")
    if without is not None:
        dropped = _matching(labels(), without, "judges to drop")
        frame = frame.filter(~nw.col("judge").is_in(dropped))
    if judges is not None or listed(human) != [HUMAN]:
        people = people_among(labels(), human, judges)
        is_person = nw.col("judge").is_in(people)
        columns = {"judge": nw.when(is_person).then(nw.lit(HUMAN)).otherwise(judge)}
        if len(people) > 1 and "rater" not in frame.columns:
            columns["rater"] = nw.when(is_person).then(judge)
        frame = frame.with_columns(**columns)
    if pool is not None:
        if not isinstance(pool, str) or pool.strip().casefold() in ("", HUMAN):
            raise BattlesError(
                f"pool is the name that all judges get, such as 'judges', got {pool!r}."
            )
        is_judge = (judge != HUMAN) & ~judge.is_null()
        one = nw.when(is_judge).then(nw.lit(pool)).otherwise(judge)
        frame = frame.with_columns(judge=one)
    return frame


def _with_features(
    frame: nw.DataFrame[Any], features: Any, drop_features: Any
) -> nw.DataFrame[Any]:
    """Keep the pairs of columns that the user has chosen as features.

    A chosen pair whose name suggests the outcome is renamed to ``feature_<name>``, so
    that estimators use it. Pairs of text stay: they are never features, but texts may
    be needed.
    """
    if features is not None and drop_features is not None:
        raise BattlesError("Give the features to use or those to drop, not both.")
    pairs, half = stems_of(frame)
    chosen = list(
        dict.fromkeys(listed(features if drop_features is None else drop_features))
    )
    absent = [name for name in chosen if name not in pairs]
    if absent:
        raise BattlesError(
            f"There are no columns <name>_a and <name>_b for the features {absent}; "
            f"there are for {pairs[:20]}."
        )

    def both(names: Iterable[str]) -> list[str]:
        return [name + side for name in names for side in ("_a", "_b")]

    if drop_features is not None:
        return frame.drop(both(chosen))
    texts = {name for name in pairs if feature_kind(frame[f"{name}_a"]) == "text"}
    for name in chosen:
        if name in texts:
            raise BattlesError(
                f"Columns {name}_a and {name}_b hold text, not numbers; "
                "skanchor.features makes features of it."
            )
    # Half pairs are dropped with the others; otherwise they would be refused later.
    others = [name for name in pairs if name not in chosen and name not in texts]
    renames = zip(both(chosen), both(map(declared, chosen)), strict=True)
    return frame.drop(both(others) + half).rename(dict(renames))
