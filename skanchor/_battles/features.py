"""Features of the two responses of each comparison: what a bias learner sees."""

from __future__ import annotations

import math
import re
from functools import cached_property, lru_cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles.labels import to_numpy
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

# Words, and parts of names, that suggest the outcome or an id. A score, a rating or a
# vote is known only after the comparison, and an id is no property of a response. With
# the outcome as a feature, a judge's bias would explain its verdicts by itself.
_WORDS = frozenset(
    "score scores scored rating ratings rated elo trueskill glicko rank ranks ranked "
    "ranking pref prefs preference preferences preferred vote votes voted upvotes "
    "downvotes likes dislikes thumbs win wins won winrate lost losses verdict verdicts "
    "outcome outcomes judgment judgments judgement judgements grade grades graded "
    "reward rewards label labels chosen rejected quality correct incorrect correctness "
    "useful complete creative superficial followed id ids uid uuid hash".split()
)
_PHRASES = ("clear_formatting",)
# The words of a name in snake_case or camelCase.
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@lru_cache(maxsize=1024)
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
    lower = name.casefold()
    return (
        lower.startswith("winner")
        or any(phrase in lower for phrase in _PHRASES)
        or any(word.casefold() in _WORDS for word in _WORD.findall(name))
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

    Pairs whose names suggest the outcome or ids are left out with a warning. A column
    without its other side is an error.
    """
    stems, half = stems_of(frame)
    if half:
        raise BattlesError(
            f"Feature columns {half} lack their other side; features come in pairs "
            "<name>_a and <name>_b. Add the partner, or rename or drop the column."
        )
    features: list[str] = []
    suspects: list[str] = []
    # To ask for all types at once is faster than to ask column by column.
    types = frame.schema
    numeric = (
        {name for name, kind in types.items() if kind.is_numeric()} if stems else {}
    )
    for stem in stems:
        sides = [stem + side for side in ("_a", "_b")]
        kinds = [
            "number" if name in numeric else feature_kind(frame[name]) for name in sides
        ]
        if set(kinds) == {"text", "number"}:
            raise BattlesError(
                f"Columns {stem}_a and {stem}_b differ in type: "
                f"{', '.join(str(types[name]) for name in sides)}"
                f"{_first_word(frame[sides[kinds.index('text')]])}."
            )
        if kinds == ["number", "number"]:
            is_suspect = smells_of_outcome(stem) and not stem.startswith(DECLARED)
            (suspects if is_suspect else features).append(stem)
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
    if not any(numeric):
        return "other"
    odd = ~(np.array(numeric) | pd.isna(values))
    if odd.any():
        row = int(np.argmax(odd))
        raise BattlesError(
            f"Feature {column.name!r} must be numeric: row {row} holds "
            f"{values[row]!r}, a {type(values[row]).__name__}."
        )
    return "number"


def _first_word(column: nw.Series[Any]) -> str:
    """Part of an error: the first text that is not a number; empty if all are."""
    for row, text in enumerate(column.cast(nw.String).to_list()):
        if text is not None and not is_number(text):
            return f"; row {row} of {column.name} holds {text!r:.60}"
    return ""


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def feature_blocks(
    frame: nw.DataFrame[Any], stems: tuple[str, ...]
) -> tuple[Array, Array]:
    """Return the features of the two sides, each of shape (n_rows, n_features)."""
    native = frame.to_native()
    # Columns of numpy are read from pandas itself, which is faster.
    kinds = native.dtypes.to_dict() if isinstance(native, pd.DataFrame) else {}

    def values(name: str) -> Array:
        plain = isinstance(kinds.get(name), np.dtype)
        column = native[name].to_numpy() if plain else to_numpy(frame[name])
        return as_float(column, name)

    left, right = ([values(stem + side) for stem in stems] for side in ("_a", "_b"))
    none = np.empty((len(frame), 0))
    return np.column_stack(left or [none]), np.column_stack(right or [none])


def as_float(values: NDArray[Any], name: str) -> Array:
    """Return a feature column as floats; raise if it holds other things or infinity."""
    if np.iscomplexobj(values):
        raise BattlesError(f"Complex data not supported: feature {name!r}.")
    try:
        result = np.asarray(values, dtype=np.float64)
    except OverflowError:
        # An integer of hundreds of digits, which is refused below.
        is_large = [isinstance(x, int) and abs(x) > LARGEST for x in values]
        result = np.where(is_large, np.inf, 0.0)
    except (TypeError, ValueError) as error:
        numbers = (int, float)
        example = next((x for x in values if not isinstance(x, numbers)), None)
        kind = TypeError if isinstance(error, TypeError) else BattlesError
        raise kind(
            f"Feature {name!r} must be numeric: argument must be a string or a real "
            f"number, got {example!r}."
        ) from None
    if _largest(result) > LARGEST:
        row = int(np.argmax(np.abs(np.nan_to_num(result)) > LARGEST))
        what = "is too large to compute with: "
        if np.isinf(result[row]):
            what = "contains infinity, first in "
        raise BattlesError(
            f"Feature {name!r} {what}row {row} holds {result[row]:.3g}. Rescale it, "
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


class FeaturePairs:
    """Features of the two responses of each comparison: what a bias learner sees.

    Rows are copied out of the table only when a side or the contrast is first read:
    most learners read the contrast alone.

    Parameters
    ----------
    left, right : ndarray of shape (n_table, n_features)
        Features of the first and of the second response.
    names : tuple of str
        Names of the features.
    rows : ndarray of shape (n_rows,), optional
        Row numbers in the table; None means all rows.
    """

    def __init__(
        self,
        left: Array,
        right: Array,
        names: tuple[str, ...] = (),
        rows: NDArray[np.intp] | None = None,
    ):
        self.names = names
        self._table = left, right
        self._rows = rows

    @classmethod
    def of(cls, X: Any) -> FeaturePairs:
        """Return pairs as they are; pair an array of responses with zero features."""
        if isinstance(X, FeaturePairs):
            return X
        return cls(X, np.zeros_like(X))

    def __len__(self) -> int:
        return len(self._table[0] if self._rows is None else self._rows)

    def __getitem__(self, rows: Any) -> FeaturePairs:
        inside = np.arange(len(self)) if self._rows is None else self._rows
        part = FeaturePairs(*self._table, self.names, inside[rows])
        if "contrast" in self.__dict__:
            # The part takes over a contrast that is already computed. It is stored by
            # columns, so rows are taken from the transpose, which keeps that order.
            numbers = isinstance(rows, np.ndarray) and rows.dtype.kind == "i"
            part.__dict__["contrast"] = (
                self.contrast.T.take(rows, axis=1).T if numbers else self.contrast[rows]
            )
        return part

    @property
    def n_features(self) -> int:
        """Number of features of a response."""
        return self._table[0].shape[1]

    def _side(self, side: int) -> Array:
        """Features of one side, (n_rows, n_features); read-only if rows were chosen."""
        table = self._table[side]
        if self._rows is None:
            return table
        chosen = table.take(self._rows, axis=0)
        # All stages share this array, so a learner must not write into it.
        chosen.flags.writeable = False
        return chosen

    @cached_property
    def left(self) -> Array:
        """Features of the first response, of shape (n_rows, n_features)."""
        return self._side(0)

    @cached_property
    def right(self) -> Array:
        """Features of the second response, of shape (n_rows, n_features)."""
        return self._side(1)

    @cached_property
    def contrast(self) -> Array:
        """Features of the first response minus those of the second, read-only."""
        # Stored by columns (Fortran order), as fits multiply whole columns by weights.
        contrast = np.subtract(self._side(0), self._side(1), order="F")
        contrast.flags.writeable = False
        return contrast
