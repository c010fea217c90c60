"""Splitting a table of battles with standard names into X and y."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from skanchor._battles import HUMAN, split_table
from skanchor.exceptions import BattlesError
from skanchor.io._words import name_key

_WHO = ("judge", "judge name", "judge model", "evaluator", "grader", "annotator")


def split_battles(
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
    """Split a table of battles with standard names into ``X`` and ``y``.

    Other names and values are read by :class:`skanchor.io.Mapping`.

    Parameters
    ----------
    table : pandas, polars or pyarrow table
        One row per comparison.
    columns : dict, optional
        Renames, from the table's name to the standard one, such as
        ``{"left": "model_a", "verdict": "winner"}``.
    human : label or list of labels, default="human"
        Label of the human rows in the judge column; it is replaced by ``"human"``. A
        text may be a pattern, such as ``"expert_*"``. If several labels match, they
        are stored in a column ``rater``, unless the table has that column.
    judges : label or list of labels, optional
        Instead of ``human``: the labels, or patterns, of the LLM judges. All other rows
        are human.
    without : label or list of labels, optional
        Judges, or patterns of their labels, whose rows are left out.
    pool : str, optional
        One name for all judges, which are then fitted as one. This suits judges that
        are alike, such as seeds or prompts of one model, or that have few rows each,
        and that see new and historical models in the same shares.
    outcome : str, default="winner"
        Name of the outcome column.
    features : list of str, optional
        Names of the feature pairs to use, without ``_a`` and ``_b``; other pairs of
        numbers are dropped. None means all pairs, except those whose names suggest the
        outcome (``score``, ``rating``, ``votes``, ids, ...). If such a pair is named
        here, it is renamed to ``feature_<name>``, and every estimator uses it.
    drop_features : list of str, optional
        Names of the feature pairs not to use, instead of `features`.

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

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor import split_battles
    >>> table = pd.DataFrame({"l": ["x"], "r": ["y"], "winner": ["model_a"]})
    >>> X, y = split_battles(table, columns={"l": "model_a", "r": "model_b"})
    >>> list(X.columns), y.tolist()
    (['model_a', 'model_b'], ['model_a'])
    """
    names = [str(name) for name in getattr(table, "columns", ())]
    names = list(getattr(table, "column_names", names))
    given = {(columns or {}).get(name, name) for name in names}
    asked = [name for name in names if name_key(name) in _WHO and name in given]
    if asked and "judge" not in given:
        raise BattlesError(
            f"There is no column 'judge', so that all rows would be people's, and "
            f"{asked[0]!r} may say who decided. If it does, give "
            f"columns={{{asked[0]!r}: 'judge'}}; else rename it."
        )
    return split_table(
        table,
        columns=columns,
        human=human,
        judges=judges,
        without=without,
        pool=pool,
        outcome=outcome,
        features=features,
        drop_features=drop_features,
    )
