"""Pairs of feature columns, ``<name>_a`` and ``<name>_b``: found, checked and read."""

from __future__ import annotations

import math
import re
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles.labels import is_text_column, values_of
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.warning_log import warn

SMALLEST = 1e-10
"""Largest absolute value of a feature below which it is refused: from a hundredth of it
on fits with item effects do not settle."""

LARGEST = 1e100
"""Largest absolute value of a feature; products stay in the range of floats."""

DECLARED = "feature_"
"""Prefix of the name of a pair that is a feature although its name is suspect."""

_RESERVED = ("model_a", "model_b", "judge", "shown_first")
"""Columns that end in _a or _b, or are standard, without being features."""

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
    return any(phrase in name.casefold() for phrase in _PHRASES) or any(
        word.casefold() in _WORDS for word in _WORD.findall(name)
    )


def declared(name: str) -> str:
    """Return the name under which a pair of columns is used as a feature.

    It has ``feature_`` in front if the name suggests the outcome.
    """
    return DECLARED + name if smells_of_outcome(name) else name


def without_declaration(name: str) -> str:
    """Return a feature's name: the pair's, less the prefix of :func:`declared`."""
    inner = name.removeprefix(DECLARED)
    return inner if smells_of_outcome(inner) else name


def other_side(name: str) -> str | None:
    """Name of the other column of a pair such as ``length_a`` and ``length_b``."""
    sides = {"_a": "_b", "_b": "_a"}
    return name[:-2] + sides[name[-2:]] if name[-2:] in sides else None


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
    features: list[str] = []
    suspects: list[str] = []
    for stem in stems:
        sides = [frame[stem + "_a"], frame[stem + "_b"]]
        kinds = [feature_kind(column) for column in sides]
        if set(kinds) == {"text", "number"}:
            raise BattlesError(
                f"Columns {stem}_a and {stem}_b differ in type: "
                f"{sides[0].dtype}, {sides[1].dtype}"
                f"{_first_word(sides[kinds.index('text')])}."
            )
        if kinds == ["number", "number"]:
            is_suspect = smells_of_outcome(stem) and not stem.startswith(DECLARED)
            (suspects if is_suspect else features).append(stem)
        elif kinds == ["text", "text"] and all(map(_holds_numbers, sides)):
            warn(
                DataWarning(
                    f"Columns {stem}_a and {stem}_b hold numbers as text, which is no "
                    "feature; convert them to numbers to use them.",
                    code="numbers-as-text",
                    subject=[stem + "_a", stem + "_b"],
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


def feature_kind(column: nw.Series[Any]) -> str:
    """Classify a column of a pair as "number", "text" or "other" (not read)."""
    kind = column.dtype
    if is_text_column(column):
        return "text"
    if kind.is_numeric() or kind == nw.Boolean:
        return "number"
    # A column of objects is of numbers if any value is one: then all others must be
    # numbers or missing.
    values = column.to_numpy() if kind in (nw.Object, nw.Unknown) else np.empty(0)
    numeric = [isinstance(value, (int, float, np.number)) for value in values]
    odd = ~(np.array(numeric, dtype=bool) | pd.isna(values))
    if any(numeric) and odd.any():
        row = int(np.argmax(odd))
        raise BattlesError(
            f"Feature {column.name!r} must be numeric: row {row} holds "
            f"{values[row]!r}, a {type(values[row]).__name__}."
        )
    return "number" if any(numeric) else "other"


def _first_word(column: nw.Series[Any]) -> str:
    """Part of an error: the first text that is not a number; empty if all are."""
    for row, text in enumerate(column.cast(nw.String).to_list()):
        if text is not None and not is_number(text):
            return f"; row {row} of {column.name} holds {text!r:.60}"
    return ""


def _holds_numbers(column: nw.Series[Any]) -> bool:
    """Whether the first few texts of a column are numbers."""
    head = column.head(100).drop_nulls().cast(nw.String).to_list()[:5]
    return bool(head) and all(map(is_number, head))


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


# ----------------------------------------------------------------------------- values
def feature_blocks(
    frame: nw.DataFrame[Any], stems: tuple[str, ...]
) -> tuple[Array, Array]:
    """Return the features of the two sides, each of shape (n_rows, n_features)."""

    def block(side: str) -> Array:
        names = [stem + side for stem in stems]
        columns = [as_float(values_of(frame[name]), name) for name in names]
        return np.column_stack(columns) if columns else np.empty((len(frame), 0))

    return block("_a"), block("_b")


def as_float(values: NDArray[Any], name: str) -> Array:
    """Return a feature column as floats; raise if it holds other things or infinity."""
    if np.iscomplexobj(values):
        raise BattlesError(f"Complex data not supported: feature {name!r}.")
    try:
        result = np.asarray(values, dtype=np.float64)
    except OverflowError:
        # An integer of hundreds of digits, which is refused below.
        result = np.array([x if abs(x) < LARGEST else np.inf for x in values])
    except (TypeError, ValueError) as error:
        example = next((x for x in values if not isinstance(x, (int, float))), None)
        kind = TypeError if isinstance(error, TypeError) else BattlesError
        raise kind(
            f"Feature {name!r} must be numeric: argument must be a string or a real "
            f"number, got {example!r}."
        ) from None
    if _largest(result) > LARGEST:
        row = int(np.argmax(np.abs(np.nan_to_num(result)) > LARGEST))
        what = "is too large to compute with:"
        if np.isinf(result[row]):
            what = "contains infinity, first in"
        raise BattlesError(
            f"Feature {name!r} {what} row {row} holds {result[row]:.3g}. Rescale it, "
            "put a number, or drop the row."
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
    for at, name in enumerate(names):
        largest = max(_largest(left[:, at]), _largest(right[:, at]))
        if 0 < largest < SMALLEST:
            raise BattlesError(
                f"Feature {name!r} is too small to compute with: its largest value is "
                f"{largest:.3g}. Rescale it, or drop the feature."
            )
