"""Tables of battles: opened, split as a user asks, and encoded as columns of codes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.exceptions import DuplicateError

from skanchor._battles.features import (
    declared,
    feature_block,
    feature_kind,
    feature_stems,
    sides_of,
    stems_of,
    without_declaration,
)
from skanchor._battles.labels import HUMAN, code_ids, factorize, sorted_labels
from skanchor._battles.rows import constant
from skanchor._checks import check_unmasked
from skanchor.exceptions import BattlesError

_NAMES_OF_JUDGES = frozenset(
    ("judge", "judge name", "judge model", "evaluator", "grader", "annotator")
)
"""Names of columns that may say who decided, without signs and case."""

_SIDES = {"model_a": 1.0, "model_b": -1.0}
"""Display order that a value of ``shown_first`` means."""


def as_frame(table: Any) -> nw.DataFrame[Any] | None:
    """Wrap a pandas, polars or pyarrow table in narwhals; None for other objects."""
    first = table[0] if isinstance(table, (list, tuple)) and len(table) else table
    if type(first) is dict:  # a sparse matrix may be a kind of dictionary
        raise TypeError("Battles are a table: make one with pandas.DataFrame(X).")
    try:
        frame = nw.from_native(table, pass_through=True)
    except DuplicateError as error:
        raise BattlesError(f"{error}. Rename or drop the copies.") from None
    if isinstance(frame, nw.LazyFrame):
        kind = type(table).__name__
        raise TypeError(f"A lazy table ({kind}) has no rows yet; collect it first.")
    return frame if isinstance(frame, nw.DataFrame) else None


def require_columns(present: Iterable[Any], wanted: Iterable[str]) -> None:
    """Raise if a table lacks one of the wanted columns, or a name is no text."""
    present = list(present)
    for name in present:
        if not isinstance(name, str):
            raise BattlesError(f"The name of column {name!r} is no text; rename it.")
    missing = [name for name in wanted if name not in present]
    if missing:
        raise BattlesError(
            f"The battles table lacks the columns {missing}; it has {present[:20]}. "
            "Rename columns with columns={'given': 'standard'}."
        )


# --------------------------------------------------------------------------- encoding
def is_named(table: Any) -> bool:
    """Whether a table is no bare array, with or without headers of its own."""
    frame = as_frame(table)
    return frame is not None and bool(
        {"model_a", "model_b", "judge"} & {*frame.columns}
    )


def encode(table: Any) -> dict[str, Any]:
    """Return the columns of :class:`Comparisons` from a table or a bare array.

    Raises
    ------
    BattlesError
        If columns are missing or duplicated, a feature column lacks its other side,
        or ids are null.
    """
    frame = as_frame(table)
    if frame is None or not is_named(frame):
        return _encode_by_place(table, frame)
    require_columns(frame.columns, _SIDES)
    stems = feature_stems(frame)
    encoded = _encode_sides([frame[name] for name in _SIDES], _SIDES)
    if "judge" in frame.columns:
        codes, labels = code_ids(frame["judge"], "judge")
        # The label "human" is a text, which other types of labels never equal.
        is_judge = np.array([label != HUMAN for label in labels], dtype=bool)
        encoded["judges"], (places,) = sorted_labels([labels[is_judge]], "judge")
        code_of = np.full(len(labels), -1)
        code_of[is_judge] = places
        encoded["judge"] = code_of.take(codes)
    if "shown_first" in frame.columns:
        codes, values = factorize(frame["shown_first"], "Column 'shown_first'")
        unknown = [value for value in values if value not in _SIDES]
        if unknown:
            raise BattlesError(
                f"Column 'shown_first' holds {unknown[:5]}; use {[*_SIDES]} or null."
            )
        # Code -1, of a null, picks the zero at the end.
        signs = np.array([*(_SIDES[value] for value in values), 0.0])
        encoded["order"] = signs.take(codes)
    for name, side in (("features_left", "_a"), ("features_right", "_b")):
        pairs = [stem + side for stem in stems]
        encoded[name] = feature_block([frame[one] for one in pairs], pairs, len(frame))
    return encoded | {"feature_names": tuple(map(without_declaration, stems))}


def _encode_sides(columns: list[Any], names: Iterable[str]) -> dict[str, Any]:
    """Columns of votes in which the left model was shown first."""
    (left, first), (right, second) = map(code_ids, columns, names)
    models, places = sorted_labels([first, second], "models")
    left, right = (
        # Codes that stay need no look-up.
        code if np.array_equal(place, np.arange(len(place))) else place.take(code)
        for code, place in zip((left, right), places, strict=True)
    )
    return {
        "models": models,
        "judges": np.array([], dtype=object),
        "left": left,
        "right": right,
        "judge": constant(-1, len(left)),
        "order": constant(1.0, len(left)),
    }


def _encode_by_place(table: Any, frame: nw.DataFrame[Any] | None) -> dict[str, Any]:
    """Encode columns by position: two ids, then features; all rows are human."""
    if frame is None:
        from sklearn.utils import check_array

        check_unmasked("X", table)
        columns = list(check_array(table, dtype=None, ensure_all_finite=False).T)
        names = ["column 0", "column 1", *(f"x{k}" for k in range(len(columns) - 2))]
    else:
        # By place, as names may be numbers, which would stand for rows.
        columns = [frame[:, at] for at in range(len(frame.columns))]
        names = list(map(str, frame.columns))
    if len(columns) < 2:
        raise BattlesError(
            f"Found array with {len(columns)} feature(s) while a minimum of 2 is "
            "required: two model ids, then features."
        )
    block = feature_block(columns[2:], names[2:], len(columns[0]))
    # A bare array has one feature value per battle. It is the contrast of the two
    # sides: the second side has zeros.
    return _encode_sides(columns[:2], names[:2]) | {
        "features_left": block,
        "features_right": np.zeros_like(block),
        "feature_names": tuple(names[2:]),
        "named": False,
    }


# -------------------------------------------------------------------------- splitting
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
    frame = as_frame(table)
    if frame is None:
        raise TypeError(
            "split_battles needs a pandas, polars or pyarrow table, got "
            f"{type(table).__name__}."
        )
    renames = dict(columns or {})
    require_columns(frame.columns, renames)
    names = [renames.get(name, name) for name in frame.columns]
    for name in names if "judge" not in names else ():
        if re.sub(r"[\W_]+", " ", name).strip().casefold() in _NAMES_OF_JUDGES:
            raise BattlesError(
                "There is no column 'judge', so that all rows would be people's, and "
                f"{name!r} may say who decided. If it does, give "
                f"columns={{{name!r}: 'judge'}}; else rename it."
            )
    # A column that already has the new name of another one is dropped. If it is itself
    # renamed, it stays.
    taken = set(renames.values()) - set(renames)
    frame = frame.drop([name for name in frame.columns if name in taken])
    frame = frame.rename(renames)
    require_columns(frame.columns, [outcome, "model_a", "model_b"])
    frame = _with_judges(frame, human, judges, without, pool)
    frame = _with_features(frame, features, drop_features)
    return frame.drop(outcome).to_native(), frame[outcome].to_native()


def _listed(labels: Any) -> list[Any]:
    """Return one label, or several, as a list of different ones."""
    several = labels if pd.api.types.is_list_like(labels) else [labels]
    return list(dict.fromkeys(several))


def _matching(labels: list[Any], wanted: Any, what: str) -> list[Any]:
    """Labels of judges that equal or match a wanted one; raise if one matches none."""
    matching = []
    for pattern in _listed(wanted) or [None]:
        matches = [
            label
            for label in labels
            if label == pattern
            or (isinstance(label, str) and fnmatchcase(label, str(pattern)))
        ]
        if not matches:
            raise BattlesError(
                f"No row of column 'judge' holds the {what} {[pattern]}; it holds "
                f"{labels[:10]}."
            )
        matching += matches
    return matching


def _with_judges(
    frame: nw.DataFrame[Any], human: Any, judges: Any, without: Any, pool: Any
) -> nw.DataFrame[Any]:
    """Name people "human" and judges by one name; several labels of people are raters.

    What is missing stays missing.
    """
    is_default = _listed(human) == [HUMAN]
    if is_default and judges is None and without is None and pool is None:
        return frame
    if not is_default and judges is not None:
        raise BattlesError("Give either the human labels or the judges, not both.")
    require_columns(frame.columns, ["judge"])
    labels = frame["judge"].drop_nulls().unique().to_list()
    if without is not None:
        dropped = _matching(labels, without, "judges to drop")
        frame = frame.filter(~nw.col("judge").is_in(dropped))
        labels = [label for label in labels if label not in dropped]
    people = [HUMAN] if is_default else _matching(labels, human, "human labels")
    if judges is not None:
        others = _matching(labels, judges, "judges")
        people = [label for label in labels if label not in others]
    # Rows of people get the label "human", so no judge may have it already.
    if not people or (HUMAN in labels and HUMAN not in people):
        raise BattlesError(
            f"Of the labels of column 'judge', {labels[:10]}, people have {people}. "
            f"Name those of people, with {HUMAN!r} among them, or rename that judge."
        )
    if str(pool).strip().casefold() in ("", HUMAN):
        raise BattlesError(f"pool is the name of all judges, but got {pool!r}.")
    # Before its third version pandas makes the text "None" of a missing object.
    is_known, text = ~nw.col("judge").is_null(), nw.col("judge").cast(nw.String)
    is_person = nw.col("judge").is_in(people)
    judge = nw.when(is_known).then(text if pool is None else nw.lit(str(pool)))
    columns = {"judge": nw.when(is_person).then(nw.lit(HUMAN)).otherwise(judge)}
    if len(people) > 1 and "rater" not in frame.columns:
        columns["rater"] = nw.when(is_person).then(text)
    return frame.with_columns(**columns)


def _with_features(
    frame: nw.DataFrame[Any], features: Any, drop_features: Any
) -> nw.DataFrame[Any]:
    """Keep the pairs of columns that the user has chosen as features.

    A chosen pair whose name suggests the outcome is renamed to ``feature_<name>``, so
    that estimators use it. Pairs of text stay: they are never features, but texts may
    be needed.
    """
    if features is None and drop_features is None:
        return frame
    if features is not None and drop_features is not None:
        raise BattlesError("Give the features to use or those to drop, not both.")
    pairs, half = stems_of(frame)
    chosen = _listed(features if drop_features is None else drop_features)
    absent = [name for name in chosen if name not in pairs]
    if absent:
        raise BattlesError(
            f"There are no columns <name>_a and <name>_b for the features {absent}; "
            f"there are for {pairs[:20]}."
        )
    if drop_features is not None:
        return frame.drop(sides_of(chosen))
    texts = [name for name in pairs if feature_kind(frame[f"{name}_a"]) == "text"]
    for name in set(chosen) & set(texts):
        raise BattlesError(
            f"Columns {name}_a and {name}_b hold text, not numbers; "
            "skanchor.features makes features of it."
        )
    # Half pairs are dropped with the others; otherwise they would be refused later.
    others = [name for name in pairs if name not in chosen and name not in texts]
    renames = zip(sides_of(chosen), sides_of(map(declared, chosen)), strict=True)
    return frame.drop(sides_of(others) + half).rename(dict(renames))
