"""Splitting a table of battles into X and y, whatever the names of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd
import pyarrow as pa

from skanchor._battles import HUMAN, as_frame, split_table
from skanchor._battles.outcomes import WINNER_VALUES
from skanchor._battles.table import as_text, listed, require_columns
from skanchor.exceptions import AssumptionWarning
from skanchor.io._plain_tables import sources
from skanchor.io._plain_tables.plain import read_plain
from skanchor.io._plain_tables.understood import needs_names
from skanchor.io._plain_tables.winners import refuse_losers_as_winners
from skanchor.io.columns import distinct
from skanchor.io.generic import NEEDED, drop_failed
from skanchor.warning_log import warn

Frame = nw.DataFrame[Any]

_TEXTS = (nw.String, nw.Categorical, nw.Enum)
"""Types of columns of text."""


def split_battles(
    table: Any,
    *,
    columns: dict[str, str] | None = None,
    human: Any = HUMAN,
    judges: Any = None,
    without: Any = None,
    pool: str | None = None,
    outcome: str = "winner",
    labels: Mapping[Any, Any] | None = None,
    levels: Mapping[str, float] | None = None,
    ratings: Sequence[str] | None = None,
    drop_invalid: bool = False,
    features: Iterable[str] | None = None,
    drop_features: Iterable[str] | None = None,
) -> tuple[Any, Any]:
    """Split a table of battles into ``X`` and ``y``, whatever its columns are called.

    Names and values that are not standard are read in the one way that fits, as
    `read_battles` does; what is assumed is warned of.

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
        Name of the outcome column. Outcomes of another name are taken as they are.
    labels, levels : mapping, optional
        What outcomes mean, as in :func:`skanchor.read_battles`.
    ratings : sequence of str, optional
        Columns of ratings or verdicts, one for each rater, as there.
    drop_invalid : bool, default=False
        Leave out rows whose outcome is empty, a failed verdict such as ``"error"``, or
        the name of a model that is not compared there; they are counted in a warning.
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
        If a column, a feature pair or a human label is missing, or if the table can be
        read in several ways.

    Warns
    -----
    AssumptionWarning
        If names or values were read in the one way that fits.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor import split_battles
    >>> table = pd.DataFrame({"l": ["x"], "r": ["y"], "winner": ["model_a"]})
    >>> X, y = split_battles(table, columns={"l": "model_a", "r": "model_b"})
    >>> list(X.columns), y.tolist()
    (['model_a', 'model_b'], ['model_a'])
    """
    frame = as_frame(table)
    if frame is None:
        raise TypeError(
            "split_battles needs a pandas, polars or pyarrow table, got "
            f"{type(table).__name__}."
        )
    refuse_losers_as_winners(columns or {}, {**(labels or {}), **(levels or {})})
    frame = _renamed(frame, dict(columns or {}))
    said: list[str] = []
    if outcome == "winner":
        frame, said = _understood(
            frame, labels or {}, levels or {}, ratings, drop_invalid
        )
    told = listed(human) != [HUMAN] or judges is not None
    frame, people, more = _sources(
        frame, told, told or without is not None or pool is not None
    )
    if said or more:
        warn(
            AssumptionWarning(f"{'; '.join([*said, *more])}.", code="table-read-as"),
            stacklevel=2,
        )
    return split_table(
        frame.to_native(),
        human=people or human,
        judges=judges,
        without=without,
        pool=pool,
        outcome=outcome,
        features=features,
        drop_features=drop_features,
    )


def _renamed(frame: Frame, columns: dict[str, str]) -> Frame:
    """Table with the columns renamed; one that has a new name of another is dropped."""
    require_columns(frame.columns, columns)
    # A column that is itself renamed stays.
    taken = set(columns.values()) - set(columns)
    return frame.drop([n for n in frame.columns if n in taken]).rename(columns)


def _understood(
    frame: Frame,
    labels: Mapping[Any, Any],
    levels: Mapping[str, float],
    ratings: Sequence[str] | None,
    drop_invalid: bool,
) -> tuple[Frame, list[str]]:
    """Table with standard names and outcomes, and what was assumed, in words."""
    given = labels or levels or ratings or drop_invalid
    if not given and _is_standard(frame):
        return frame, []
    found = read_plain(
        frame.to_pandas(),
        lambda table: table,
        labels=labels,
        levels=levels,
        ratings=ratings,
        drop_invalid=drop_invalid,
        is_file=False,
    )
    table = drop_failed(found.table, "the table") if drop_invalid else found.table
    backend = frame.implementation
    if backend.is_pandas():
        return nw.from_native(table, eager_only=True), list(found.says)
    rows = pa.Table.from_pandas(table, preserve_index=False)
    return nw.from_arrow(rows, backend=backend), list(found.says)


def _is_standard(frame: Frame) -> bool:
    """Whether a table has standard names, and outcomes that need no reading.

    Outcomes of a mixed type are left to those who encode them.
    """
    names = frame.columns
    if not set(NEEDED) <= set(names) or needs_names(names):
        return False
    outcome = frame["winner"]
    if outcome.dtype.is_numeric():
        # Not-a-number is neither below nor above.
        return not bool(((outcome < 0) | (outcome > 1)).any())
    if isinstance(outcome.dtype, _TEXTS):
        values = _distinct(outcome)
        known = all(value is None or value in WINNER_VALUES for value in values)
        return known or not all(
            isinstance(value, (str, type(None))) for value in values
        )
    return True


def _sources(
    frame: Frame, told: bool, named: bool
) -> tuple[Frame, list[Any] | None, list[str]]:
    """Find the column of judges, and the labels of people in it.

    ``told`` says whether the user has told people from judges, ``named`` whether any
    labels of judges were named. Returns the table, the labels of people if they are not
    "human", and what was assumed, in words.
    """
    said = []
    if "judge" not in frame.columns:
        found = sources.who_columns(frame.columns)
        if not found:
            return frame, None, []
        if len(found) > 1 or not named:
            partial = sources.partial_labels(frame.to_pandas(), found[0])
            labels = _distinct(frame[found[0]])
            raise sources.judge_or_people(found, labels, partial)
        frame = frame.rename({found[0]: "judge"})
        said.append(f"judges are in {found[0]!r}")
    labels = _distinct(frame["judge"])
    if not told:
        frame, joined = _one_spelling(frame, labels)
        if joined:
            labels = _distinct(frame["judge"])
        said += joined
    people = sources.human_like(labels)
    if told or not people or people == [HUMAN]:
        return frame, None, said
    shown = ", ".join(map(repr, people))
    return frame, people, [*said, f"rows of judge {shown} are people's"]


def _distinct(column: nw.Series[Any]) -> list[Any]:
    """Different values of a column, null among them."""
    native = column.to_native()
    if isinstance(native, pd.Series):
        return distinct(native, nulls=True)
    return column.unique(maintain_order=True).to_list()


def _one_spelling(frame: Frame, labels: list[Any]) -> tuple[Frame, list[str]]:
    """Table in which labels of people that differ in case or blanks alone are one.

    The spelling without capitals and blanks around it is kept if it occurs, else the
    first one of the ``labels`` of the judges. Returns the table, and what was assumed,
    in words.
    """
    if not isinstance(frame["judge"].dtype, _TEXTS):
        return frame, []
    alike: dict[str, list[Any]] = {}
    for label in sorted(sources.human_like(labels)):
        alike.setdefault(label.strip().casefold(), []).append(label)
    several = {key: same for key, same in alike.items() if len(same) > 1}
    judge = as_text("judge")
    for key, same in several.items():
        kept = key if key in same else same[0]
        judge = nw.when(judge.is_in(same)).then(nw.lit(kept)).otherwise(judge)
    said = [
        f"{', '.join(map(repr, same))} are one label of people"
        for same in several.values()
    ]
    return (frame.with_columns(judge=judge) if several else frame), said
