"""Tables of battles as users have them: opened, renamed and split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import narwhals.stable.v2 as nw
from narwhals.exceptions import DuplicateError
from scipy.sparse import issparse

from skanchor._battles.choice import choose_features
from skanchor._battles.people import (
    HUMAN,
    drop_judges,
    human_labels,
    listed,
    mark_people,
    pool_judges,
)
from skanchor.exceptions import BattlesError


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
    given = listed(human) != [HUMAN]
    if judges is not None and given:
        raise BattlesError("Give either the human labels or the judges, not both.")
    asked = (without, judges, pool)
    if given or any(one is not None for one in asked):
        require_columns(frame.columns, ["judge"])
    if without is not None:
        frame = drop_judges(frame, without)
    if judges is not None or given:
        frame = mark_people(frame, human_labels(frame, human, judges))
    if pool is not None:
        frame = pool_judges(frame, pool)
    frame = choose_features(frame, features, drop_features)
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
