"""Encoding of a battles table, or of a bare array, as plain columns of codes."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from skanchor._battles.columns import constant, look_up
from skanchor._battles.features import (
    as_float,
    feature_blocks,
    feature_stems,
    without_declaration,
)
from skanchor._battles.labels import (
    argsort_labels,
    code_ids,
    factorize,
    merge_labels,
    to_numpy,
)
from skanchor._battles.table import HUMAN, as_frame, require_columns
from skanchor._checks import check_unmasked
from skanchor._typing import Array
from skanchor.exceptions import BattlesError

_SIDES = {"model_a": 1.0, "model_b": -1.0}
"""Display order that a value of ``shown_first`` means."""


def encode(table: Any) -> dict[str, Any]:
    """Return the columns of :class:`Comparisons` from a table or a bare array.

    Raises
    ------
    BattlesError
        If columns are missing or duplicated, a feature column lacks its other side,
        or ids are null.
    """
    frame = as_frame(table)
    if frame is None:
        from sklearn.utils import check_array

        check_unmasked("X", table)
        values = check_array(table, dtype=None, ensure_all_finite=False)
        if values.shape[1] < 2:
            raise BattlesError(
                f"Found array with {values.shape[1]} feature(s) (shape={values.shape}) "
                "while a minimum of 2 is required: two model ids, then features."
            )
        return _from_columns(list(values.T), ())
    names = list(frame.columns)
    if not has_standard_names(frame) and len(names) >= 2:
        # By place, as names may be numbers, which would stand for rows.
        unnamed = [to_numpy(frame[:, at]) for at in range(len(names))]
        return _from_columns(unnamed, tuple(map(str, names)))
    require_columns(names, ["model_a", "model_b"])
    stems = feature_stems(frame)
    models, (left, right) = merge_labels(
        [code_ids(frame[name], name) for name in ("model_a", "model_b")]
    )
    columns = _votes(models, left, right)
    if "judge" in names:
        columns["judges"], columns["judge"] = _judges(frame["judge"])
    if "shown_first" in names:
        columns["order"] = _display_order(frame["shown_first"])
    columns["features_left"], columns["features_right"] = feature_blocks(frame, stems)
    columns["feature_names"] = tuple(map(without_declaration, stems))
    return columns


def _votes(models: NDArray[Any], left: Any, right: Any) -> dict[str, Any]:
    """Columns of votes in which the left model was shown first."""
    return {
        "models": models,
        "judges": np.array([], dtype=object),
        "left": left,
        "right": right,
        "judge": constant(-1, len(left)),
        "order": constant(1.0, len(left)),
    }


def is_named(table: Any) -> bool:
    """Whether a table names its columns, rather than being a bare array."""
    frame = as_frame(table)
    return frame is not None and has_standard_names(frame)


def has_standard_names(frame: nw.DataFrame[Any]) -> bool:
    """Whether a frame is a battles table, not a bare array with headers."""
    return bool({"model_a", "model_b", "judge"} & set(frame.columns))


def _judges(column: nw.Series[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Sorted labels of the judges, and the judge code of each row; -1 is human."""
    codes, labels = code_ids(column, "judge")
    # `position` maps a code of the column to the code of a judge in sorted order. It is
    # -1 for the label "human", a text, which other types of labels never equal.
    is_judge = np.array([label != HUMAN for label in labels], dtype=bool)
    judges, position = labels[is_judge], np.full(len(labels), -1)
    order = argsort_labels(judges, "judge")
    position[np.flatnonzero(is_judge)[order]] = np.arange(len(judges))
    return judges[order], look_up(position, codes)


def _from_columns(columns: list[NDArray[Any]], names: tuple[str, ...]) -> Any:
    """Encode columns by position: two ids, then features; all rows are human."""
    n_rows = len(columns[0])
    if n_rows == 0:
        raise BattlesError("Found array with 0 sample(s); give at least one battle.")
    shown = names or tuple(f"column {i}" for i in range(len(columns)))
    models, (left, right) = merge_labels(list(map(code_ids, columns[:2], shown)))
    features = list(map(as_float, columns[2:], shown[2:]))
    block = np.column_stack(features) if features else np.empty((n_rows, 0))
    votes = _votes(models, left, right)
    # A bare array has one feature value per battle. It is the contrast of the two
    # sides: the second side has zeros.
    votes["features_left"], votes["features_right"] = block, np.zeros_like(block)
    default = tuple(f"x{i}" for i in range(block.shape[1]))
    return votes | {"feature_names": names[2:] or default, "named": False}


def _display_order(column: nw.Series[Any]) -> Array:
    """Display order +1, -1, or 0 (null), of each row from a column "shown_first"."""
    codes, values = factorize(column, "Column 'shown_first'")
    unknown = [value for value in values if value not in _SIDES]
    if unknown:
        raise BattlesError(
            f"Column 'shown_first' holds {unknown[:5]}; use 'model_a', 'model_b' or "
            "null for unknown."
        )
    # Code -1, of a null, picks the zero at the end.
    signs = np.array([*(_SIDES[value] for value in values), 0.0])
    return np.asarray(signs.take(codes))
