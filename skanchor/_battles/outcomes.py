"""Outcomes of battles: what people and judges preferred, as numbers in [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import column_or_1d

from skanchor._battles.labels import factorize, is_text_column, values_of
from skanchor._checks import check_unmasked
from skanchor._typing import Array
from skanchor.exceptions import BattlesError

WINNER_VALUES = {
    "model_a": 1.0,
    "model_b": 0.0,
    "tie": 0.5,
    "tie (bothbad)": 0.5,
    "both_bad": 0.5,
}
"""Outcome labels of a battles table and the preference for ``model_a`` they mean."""

BOTH_BAD = ("tie (bothbad)", "both_bad")
"""Outcome labels that call both responses bad; they count as ties."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Outcomes as preferences for the first side, with the labels of the user.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        Preference for ``model_a`` in [0, 1]; ties are one half.
    classes : ndarray of shape (2,)
        The two labels in sorted order, as scikit-learn requires.
    first_wins : int
        Index in ``classes`` of the label that means "the first side won".
    both_bad : ndarray of shape (n_rows,)
        Ties in which both responses were called bad; by default none.
    """

    values: Array
    classes: NDArray[Any]
    first_wins: int
    both_bad: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(1, bool))

    def __post_init__(self) -> None:
        both_bad = np.broadcast_to(self.both_bad, self.values.shape)
        object.__setattr__(self, "both_bad", both_bad)

    def __getitem__(self, rows: Any) -> Outcomes:
        return replace(self, values=self.values[rows], both_bad=self.both_bad[rows])

    def marked(self, both_bad: NDArray[np.bool_] | bool) -> Outcomes:
        """Return the outcomes with these rows marked as both bad, too."""
        return replace(self, both_bad=self.both_bad | both_bad)

    @property
    def tied_labels(self) -> bool:
        """Whether ties were given as labels, in addition to the two in ``classes``."""
        return self.classes.dtype.kind in "OUST" and bool((self.values == 0.5).any())

    @classmethod
    def encode(cls, y: ArrayLike, *, named: bool) -> Outcomes:
        """Convert outcomes to preferences.

        With a named table, outcomes are labels such as ``model_a`` or numbers in
        [0, 1]; with a bare array they are any two labels.
        """
        if issparse(y):
            raise TypeError("y is sparse; give a dense array of outcomes.")
        check_unmasked("y", y)
        column: Any = nw.from_native(y, series_only=True, pass_through=True)
        if not isinstance(column, nw.Series):
            column = column_or_1d(np.asarray(y), input_name="y", warn=True)
        if not named:
            return cls._two_labels(values_of(column))
        # Text columns are decoded by label, without an array of Python strings.
        if not (isinstance(column, nw.Series) and is_text_column(column)):
            column = values_of(column)
            if column.dtype.kind not in "OUST":
                return cls._numbers(column)
        codes, labels = factorize(column, "y", may_lack=False)
        if not all(isinstance(label, str) for label in labels):
            return cls._numbers(values_of(column))
        unknown = [label for label in labels if label not in WINNER_VALUES]
        if unknown:
            row = int(np.argmax(codes == labels.tolist().index(unknown[0])))
            raise BattlesError(
                f"Unknown outcome labels {unknown[:5]}, first in row {row}; use "
                f"{sorted(WINNER_VALUES)}, or numbers in [0, 1], which are no text."
            )
        # Each distinct label is looked up once, and rows pick its value by their code.
        values = np.array([WINNER_VALUES[label] for label in labels])
        both_bad = np.isin(labels, BOTH_BAD)
        classes = np.array(["model_a", "model_b"])
        return cls(values.take(codes), classes, 0, both_bad.take(codes))

    @classmethod
    def _numbers(cls, y: NDArray[Any]) -> Outcomes:
        """Outcomes that are all numbers in [0, 1]."""
        try:
            if y.dtype.kind in "mMc":
                # Durations, dates and complex numbers could be cast, but mean nothing.
                raise TypeError
            values = y.astype(np.float64, copy=False)
        except (OverflowError, TypeError, ValueError):
            kinds = sorted({type(value).__name__ for value in y})
            raise BattlesError(
                f"Outcomes must be all labels or all numbers in [0, 1], got {kinds}, "
                "or numbers too large for a float."
            ) from None
        # A comparison with NaN is false, so that this form refuses NaN, too.
        inside = (values >= 0.0) & (values <= 1.0)
        if not inside.all():
            row = int(np.argmin(inside))
            raise BattlesError(
                f"Outcomes must be in [0, 1]; row {row} has {float(values[row])!r}. "
                "scikit-learn treats ties as a third class: leave their rows out "
                "there, or use metrics.log_loss_scorer. Files are read by a mapping."
            )
        classes = np.array([0, 1], dtype=y.dtype if y.dtype.kind in "biuf" else int)
        return cls(values, classes, 1)

    @classmethod
    def _two_labels(cls, y: NDArray[Any]) -> Outcomes:
        """Outcomes of a bare array: the larger of two labels is a win of side one."""
        from sklearn.utils import assert_all_finite
        from sklearn.utils.multiclass import check_classification_targets

        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) > 2:
            raise BattlesError(
                "Only binary classification is supported. The type of the target is "
                f"multiclass: {len(classes)} labels, such as {classes[:3].tolist()}."
            )
        if len(classes) < 2:
            raise BattlesError(
                f"Outcomes have only one class, {classes[0]!r}; both sides must win at "
                "least once."
            )
        return cls(codes.astype(np.float64), classes, 1)
