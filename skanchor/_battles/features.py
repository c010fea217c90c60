"""Feature columns of a battles table: pairs of numbers, one for each response."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles.labels import to_numpy
from skanchor._battles.outcomes import is_number
from skanchor._battles.suspects import feature_label
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.warning_log import warn

SMALLEST = 1e-10
"""Largest absolute value of a feature below which it is refused: from a hundredth of it
on fits with item effects do not settle."""

LARGEST = 1e100
"""Largest absolute value of a feature; products stay in the range of floats."""

_FEW = 10_000
"""Rows up to which all feature columns are read and checked as one array."""

# Columns that end in _a or _b, or are standard, without being features.
_RESERVED = ("model_a", "model_b", "judge", "shown_first")


def stems_of(frame: nw.DataFrame[Any]) -> tuple[list[str], list[str]]:
    """Find the pairs of columns ``<name>_a``, ``<name>_b``, and columns without a pair.

    Parameters
    ----------
    frame : DataFrame
        A battles table.

    Returns
    -------
    pairs : list of str
        Names without ``_a`` and ``_b``, in the order of the table.
    half : list of str
        Columns that lack the other side, sorted by name.
    """
    names = [name for name in frame.columns if name not in _RESERVED]
    stems_a = [name[:-2] for name in names if name.endswith("_a")]
    stems_b = [name[:-2] for name in names if name.endswith("_b")]
    half = [f"{stem}_a" for stem in stems_a if stem not in stems_b]
    half += [f"{stem}_b" for stem in stems_b if stem not in stems_a]
    return [stem for stem in stems_a if stem in stems_b], sorted(half)


def feature_stems(frame: nw.DataFrame[Any]) -> tuple[str, ...]:
    """Return the names of the column pairs that hold features.

    Pairs whose names suggest the outcome or ids are left out with a warning, and so are
    texts that read as numbers. A column without its other side is an error.
    """
    stems, half = stems_of(frame)
    if half:
        raise BattlesError(
            f"Feature columns {half} lack their other side; features come in pairs "
            "<name>_a and <name>_b. Add the partner, or rename or drop the column."
        )
    features: list[str] = []
    suspects: list[str] = []
    numeric = _numeric_columns(frame, stems) if stems else set()
    for stem in stems:
        sides = [stem + side for side in ("_a", "_b")]
        # If both columns have numeric types, no value needs to be looked at.
        is_numeric = numeric.issuperset(sides)
        columns = [] if is_numeric else [frame[name] for name in sides]
        kinds = [feature_kind(column) for column in columns]
        if set(kinds) == {"text", "number"}:
            types = ", ".join(str(column.dtype) for column in columns)
            raise BattlesError(
                f"Columns {stem}_a and {stem}_b differ in type: {types}"
                f"{_first_word(columns[kinds.index('text')])}."
            )
        if is_numeric or kinds == ["number", "number"]:
            (suspects if feature_label(stem) is None else features).append(stem)
        elif kinds == ["text", "text"] and all(map(_reads_as_numbers, columns)):
            warn(
                DataWarning(
                    f"Columns {stem}_a and {stem}_b hold numbers as text, which is no "
                    "feature; convert them to numbers to use them.",
                    code="numbers-as-text",
                    subject=sides,
                ),
                stacklevel=7,
            )
    if suspects:
        names = ", ".join(f"{stem}_a and {stem}_b" for stem in suspects)
        warn(
            DataWarning(
                f"Columns {names} are left out: by their names they hold the outcome "
                "or ids, no features of responses. Leave them out with "
                "drop_features, or name those that are features in features.",
                code="suspect-features",
                subject=[stem + side for stem in suspects for side in ("_a", "_b")],
            ),
            stacklevel=7,
        )
    return tuple(features)


def _numeric_columns(frame: nw.DataFrame[Any], stems: list[str]) -> set[str]:
    """Names of columns of a numeric type, at least those that belong to pairs."""
    plain = _plain_columns(frame)
    if all(stem + side in plain for stem in stems for side in ("_a", "_b")):
        return set(plain)
    return {name for name, kind in frame.schema.items() if kind.is_numeric()}


def _plain_columns(frame: nw.DataFrame[Any]) -> dict[str, int]:
    """Positions of the float64 columns of a pandas table; none for other tables."""
    native = frame.to_native()
    if not isinstance(native, pd.DataFrame):
        return {}
    # To ask pandas for all types at once is faster than to ask column by column.
    kinds = zip(frame.columns, native.dtypes.tolist(), strict=True)
    return {name: i for i, (name, kind) in enumerate(kinds) if kind == np.float64}


def declared_label(stem: str) -> str:
    """Return a feature's name: the pair's, less the prefix of :func:`declared`."""
    return feature_label(stem) or stem


def feature_kind(column: nw.Series[Any]) -> str:
    """Classify a column of a pair as "number", "text" or "other" (not read)."""
    kind = column.dtype
    if isinstance(kind, (nw.String, nw.Categorical, nw.Enum)):
        return "text"
    if kind.is_numeric() or kind == nw.Boolean:
        return "number"
    # A column of objects is of numbers if any value is one: then all others must be
    # numbers or missing.
    values = column.to_numpy() if kind in (nw.Object, nw.Unknown) else np.empty(0)
    if np.iscomplexobj(values):
        raise BattlesError(f"Complex data not supported: feature {column.name!r}.")
    numeric = [isinstance(value, (int, float, np.number)) for value in values]
    if any(numeric):
        odd = ~(np.array(numeric) | pd.isna(values))
        if odd.any():
            row = int(np.argmax(odd))
            raise BattlesError(
                f"Feature {column.name!r} must be numeric: row {row} holds "
                f"{values[row]!r}, a {type(values[row]).__name__}."
            )
        return "number"
    return "other"


def _first_word(column: nw.Series[Any]) -> str:
    """Part of an error: the first text that is not a number; empty if all are."""
    for row, text in enumerate(column.cast(nw.String).to_list()):
        if text is not None and not is_number(text):
            return f"; row {row} of {column.name} holds {text!r:.60}"
    return ""


def _reads_as_numbers(column: nw.Series[Any]) -> bool:
    """Whether the first few texts of a column are numbers."""
    head = column.head(100).drop_nulls().cast(nw.String).to_list()[:5]
    return bool(head) and all(map(is_number, head))


def feature_blocks(
    frame: nw.DataFrame[Any], names: tuple[str, ...]
) -> tuple[Array, Array]:
    """Return the features of the two sides, each of shape (n_rows, n_features)."""
    if not names:
        none = np.empty((len(frame), 0))
        return none, none
    sides = [[name + side for name in names] for side in ("_a", "_b")]
    plain = _plain_columns(frame) if len(frame) <= _FEW else {}
    if all(name in plain for own in sides for name in own):
        # In small tables one array of all columns, first the _a, then the _b ones, is
        # faster than a loop over columns.
        at = [plain[name] for own in sides for name in own]
        both = frame.to_native().take(at, axis=1).to_numpy()
        # fmax ignores NaN. If a value is too large or infinite, the loop below finds
        # which, for its error.
        if not np.fmax.reduce(np.abs(both), axis=None, initial=0.0) > LARGEST:
            left, right = np.hsplit(both, 2)
            return np.ascontiguousarray(left), np.ascontiguousarray(right)
    left, right = (
        np.column_stack([as_float(_column_values(frame, name), name) for name in own])
        for own in sides
    )
    return left, right


def _column_values(frame: nw.DataFrame[Any], name: str) -> NDArray[Any]:
    """Values of a column; numpy columns of pandas are read without narwhals."""
    native = frame.to_native()
    if isinstance(native, pd.DataFrame):
        column = native[name]
        if isinstance(column.dtype, np.dtype):
            return column.to_numpy()
    return to_numpy(frame[name])


def as_float(values: NDArray[Any], name: str) -> Array:
    """Return a feature column as floats; raise if it holds other things or infinity."""
    if np.iscomplexobj(values):
        raise BattlesError(f"Complex data not supported: feature {name!r}.")
    try:
        result = np.asarray(values, dtype=np.float64)
    except OverflowError:
        # An integer of hundreds of digits becomes infinity, which is refused below.
        result = np.array([_float(value) for value in values])
    except (TypeError, ValueError) as error:
        example = next(
            (value for value in values if not isinstance(value, (int, float))), None
        )
        kind = TypeError if isinstance(error, TypeError) else BattlesError
        raise kind(
            f"Feature {name!r} must be numeric: argument must be a string or a real "
            f"number, got {example!r}."
        ) from None
    largest = np.abs(result).max(initial=0.0, where=~np.isnan(result))
    if np.isinf(largest):
        raise BattlesError(
            f"Feature {name!r} contains infinity, first in row "
            f"{int(np.argmax(np.isinf(result)))}. Put a number, or drop the rows."
        )
    if largest > LARGEST:
        row = int(np.argmax(np.abs(result) > LARGEST))
        raise BattlesError(
            f"Feature {name!r} is too large to compute with: row {row} holds "
            f"{result[row]:.3g}. Rescale it, or drop the row."
        )
    return result


def check_scales(left: Array, right: Array, names: tuple[str, ...]) -> None:
    """Refuse features that are not zero and yet too small to fit.

    Parameters
    ----------
    left, right : ndarray of shape (n_rows, n_features)
        Features of the two sides.
    names : tuple of str
        Names of the features.

    Raises
    ------
    BattlesError
        If the values of a feature are all but rounding.
    """
    if not names or not len(left):
        return
    with np.errstate(invalid="ignore"):
        largest = np.fmax.reduce(
            [
                np.fmax(np.fmax.reduce(side), -np.fmin.reduce(side))
                for side in (left, right)
            ]
        )
    small = np.flatnonzero((largest > 0) & (largest < SMALLEST))
    if len(small):
        at = int(small[0])
        raise BattlesError(
            f"Feature {names[at]!r} is too small to compute with: its largest value is "
            f"{largest[at]:.3g}. Rescale it, or drop the feature."
        )


def _float(value: Any) -> float:
    """Number as a float; infinity, with its sign, if it is too large."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else -float("inf")
