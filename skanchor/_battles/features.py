"""Pairs of feature columns, ``<name>_a`` and ``<name>_b``: found, checked and read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles.labels import is_text_column, values_of
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.warning_log import warn_of_data

SMALLEST = 1e-10
"""Largest absolute value of a feature below which it is refused: from a hundredth of it
on fits with item effects do not settle."""

LARGEST = 1e100
"""Largest absolute value of a feature; products stay in the range of floats."""

DECLARED = "feature_"
"""Prefix of the name of a pair that is a feature although its name is suspect."""

_RESERVED = ("model_a", "model_b", "judge", "shown_first")
"""Columns that end in _a or _b, or are standard, without being features."""

_SIDES = {"_a": "_b", "_b": "_a"}

# Words that suggest the outcome or an id. A score, a rating or a vote is known only
# after the comparison, and an id is no property of a response. With the outcome as a
# feature, a judge's bias would explain its verdicts by itself.
_WORDS = frozenset(
    "score scores scored rating ratings rated elo trueskill glicko rank ranks "
    "ranked ranking pref prefs preference preferences preferred vote votes voted "
    "upvotes downvotes likes dislikes thumbs win wins won winrate lost losses verdict "
    "verdicts outcome outcomes judgment judgments judgement judgements grade grades "
    "graded reward rewards label labels chosen rejected quality correct incorrect "
    "correctness useful complete creative superficial followed id ids uid uuid "
    "hash".split()
)
_PHRASES = ("clear_formatting", "winner")
# The words of a name in snake_case or camelCase.
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


_NOT_USED = {
    "numbers-as-text": "hold numbers as text, which is no feature; convert them.",
    "suspect-features": "are left out: their names suggest the outcome or ids. "
    "Leave them out with drop_features, or name those to use in features.",
}
"""What is said of pairs of columns that are no features, by the code of the warning."""


# ------------------------------------------------------------------------------ names
def smells_of_outcome(name: str) -> bool:
    """Whether the name of a pair of columns suggests the outcome or ids.

    Parameters
    ----------
    name : str
        Name of the pair, without ``_a`` and ``_b``.

    Returns
    -------
    bool

    Examples
    --------
    >>> from skanchor._battles.features import smells_of_outcome
    >>> [smells_of_outcome(name) for name in ("elo", "questionId", "underscores")]
    [True, True, False]
    """
    words = {word.casefold() for word in _WORD.findall(name)}
    return bool(words & _WORDS) or any(one in name.casefold() for one in _PHRASES)


def declared(name: str) -> str:
    """Return the name under which a pair of columns is used as a feature.

    It has ``feature_`` in front if the name suggests the outcome.
    """
    return DECLARED + name if smells_of_outcome(name) else name


def without_declaration(name: str) -> str:
    """Return a feature's name: the pair's, less the prefix of :func:`declared`."""
    inner = name.removeprefix(DECLARED)
    return inner if smells_of_outcome(inner) else name


def sides_of(names: Iterable[str]) -> list[str]:
    """Names of the two columns of each pair."""
    return [name + side for name in names for side in _SIDES]


def other_side(name: str) -> str | None:
    """Name of the other column of a pair such as ``length_a`` and ``length_b``."""
    side = _SIDES.get(name[-2:])
    return None if side is None else name[:-2] + side


def stems_of(frame: nw.DataFrame[Any]) -> tuple[list[str], list[str]]:
    """Find the pairs of columns ``<name>_a``, ``<name>_b``, and columns without a pair.

    Returns
    -------
    pairs : list of str
        Names without ``_a`` and ``_b``, in the order of the table.
    half : list of str
        Columns that lack the other side, sorted by name.
    """
    names = {name: other_side(name) for name in frame.columns if name not in _RESERVED}
    half = [name for name, other in names.items() if other and other not in names]
    pairs = [name[:-2] for name in names if name[-2:] == "_a" and name not in half]
    return pairs, sorted(half)


def feature_stems(frame: nw.DataFrame[Any]) -> tuple[str, ...]:
    """Return the names of the column pairs that hold features.

    Pairs whose names suggest the outcome or ids are left out with a warning, and so are
    numbers that are kept as text. A column without its other side is an error.
    """
    stems, half = stems_of(frame)
    if half:
        raise BattlesError(
            f"Feature columns {half} lack their other side; features come in pairs "
            "<name>_a and <name>_b. Add the partner, or rename or drop the column."
        )
    of_kind: dict[str, list[str]] = {"features": [], **{code: [] for code in _NOT_USED}}
    for stem in stems:
        sides = [frame[stem + "_a"], frame[stem + "_b"]]
        kinds = {feature_kind(column) for column in sides}
        if kinds == {"text", "number"}:
            raise BattlesError(
                f"Columns {stem}_a and {stem}_b differ in type: {sides[0].dtype}, "
                f"{sides[1].dtype}. Is there a word among the numbers?"
            )
        if kinds == {"number"}:
            is_suspect = smells_of_outcome(stem) and not stem.startswith(DECLARED)
            of_kind["suspect-features" if is_suspect else "features"].append(stem)
        elif kinds == {"text"} and all(map(_holds_numbers, sides)):
            of_kind["numbers-as-text"].append(stem)
    for code, what in _NOT_USED.items():
        if of_kind[code]:
            names = ", ".join(f"{stem}_a and {stem}_b" for stem in of_kind[code])
            warn_of_data(code, sides_of(of_kind[code]), f"Columns {names} {what}")
    return tuple(of_kind["features"])


def feature_kind(column: nw.Series[Any]) -> str:
    """Classify a column of a pair as "number", "text" or "other" (not read)."""
    if is_text_column(column):
        return "text"
    if column.dtype in (nw.Object, nw.Unknown):
        # Of numbers if any value is one: then all others must be, or missing.
        return "number" if _are_numbers(column.to_numpy()).any() else "other"
    is_number = column.dtype.is_numeric() or column.dtype == nw.Boolean
    return "number" if is_number else "other"


def _are_numbers(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which objects are numbers."""
    numbers = (isinstance(value, (int, float, np.number)) for value in values)
    return np.fromiter(numbers, bool, len(values)) & ~pd.isna(values)


def _holds_numbers(column: nw.Series[Any]) -> bool:
    """Whether the first few texts of a column are numbers."""
    head = column.head(100).drop_nulls().cast(nw.String).to_list()[:5]
    return bool(head) and bool(np.isfinite(pd.to_numeric(head, errors="coerce")).all())


# ----------------------------------------------------------------------------- values
def feature_block(
    columns: Sequence[nw.Series[Any] | NDArray[Any]], names: Sequence[str], n_rows: int
) -> Array:
    """Return feature columns side by side, of shape (n_rows, n_features)."""
    pairs = zip(map(values_of, columns), names, strict=True)
    return np.column_stack([np.empty((n_rows, 0)), *(as_float(*one) for one in pairs)])


def as_float(values: NDArray[Any], name: str) -> Array:
    """Return a feature column as floats; raise if it holds other things or infinity."""
    if np.iscomplexobj(values):
        raise BattlesError(f"Complex data not supported: feature {name!r}.")
    if values.dtype.kind in "OUST":
        odd = ~(_are_numbers(values) | pd.isna(values))
        if odd.any():
            row = int(np.argmax(odd))
            raise BattlesError(
                f"Feature {name!r} must be numeric: row {row} holds {values[row]!r}, a "
                f"{type(values[row]).__name__}."
            )
        # Integers of hundreds of digits are no floats, but larger than is allowed.
        values = np.clip(np.where(pd.isna(values), np.nan, values), -1e300, 1e300)
    result = np.asarray(values, dtype=np.float64)
    if _largest(result) > LARGEST:
        row = int(np.argmax(np.abs(np.nan_to_num(result)) > LARGEST))
        raise BattlesError(
            f"Feature {name!r} contains infinity or a number too large: row {row} "
            f"holds {result[row]:.3g}. Rescale it, put a number, or drop the row."
        )
    return result


def _largest(values: Array) -> float:
    """Largest absolute value of a feature; NaN are ignored."""
    return max(np.fmax.reduce(values, initial=0), -np.fmin.reduce(values, initial=0))


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
    for name, *sides in zip(names, left.T, right.T, strict=True):
        largest = max(map(_largest, sides))
        if 0 < largest < SMALLEST:
            raise BattlesError(
                f"Feature {name!r} is too small to compute with: its largest value is "
                f"{largest:.3g}. Rescale it, or drop the feature."
            )
