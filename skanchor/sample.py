"""A sample: battles with outcomes, weights and groups, admitted once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from skanchor._checks import check_unmasked
from skanchor._typing import Array
from skanchor.comparisons import Comparisons, Inputs, Outcomes, as_frame, constant
from skanchor.comparisons.labels import exact_values, factorize
from skanchor.comparisons.oddities import warn_of_odd_rows
from skanchor.exceptions import Advice, BattlesError, Remedy, Term

__all__ = ["Sample", "check_weight", "resolve_groups"]


@dataclass(frozen=True, eq=False)
class Sample:
    """What an estimator is fitted on.

    Attributes
    ----------
    X : Comparisons
        Encoded battles.
    outcomes : Outcomes
        Encoded outcomes.
    weight : ndarray of shape (n_rows,)
        Row weights; rows of weight zero count for nothing.
    groups : ndarray of shape (n_rows,) or None
        Group codes of dependent rows.
    inputs : Inputs
        What of the user's table this is.
    """

    X: Comparisons
    outcomes: Outcomes
    weight: Array
    groups: NDArray[np.intp] | None = None
    inputs: Inputs = field(default_factory=Inputs)

    @classmethod
    def admit(
        cls, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> Sample:
        """Validate and encode what a user gives to ``fit``; warn of odd rows.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.
        y : array-like of shape (n_rows,)
            Outcomes.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights; None is one for each row.
        groups : array-like of shape (n_rows,) or str, optional
            Groups of dependent rows, or the column that holds them.

        Returns
        -------
        Sample

        Raises
        ------
        BattlesError
            If battles, outcomes or groups cannot be used.
        """
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: give the outcomes "
                "(see split_battles)."
            )
        encoded = Comparisons.from_battles(X)
        if len(encoded) == 0:
            raise BattlesError(
                "Found array with 0 sample(s): the battles table is empty."
            )
        outcomes = Outcomes.encode(y, named=encoded.named, models=encoded.models)
        check_consistent_length(encoded, outcomes.values)
        weight = check_weight(sample_weight, encoded)
        if not encoded.named and len(np.unique(outcomes.values[weight > 0])) < 2:
            # As if the rows of weight zero were not there.
            raise BattlesError(
                "Outcomes of positive weight have only one class; both sides must win "
                "at least once."
            )
        codes = resolve_groups(groups, X, len(encoded))
        if not isinstance(X, Comparisons):
            # Encoded rows have been through this door before.
            warn_of_odd_rows(as_frame(X), encoded, outcomes.values, weight)
        return cls(encoded, outcomes, weight, codes, Inputs.of(X, encoded, groups))

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: Any) -> Sample:
        return Sample(
            self.X[rows],
            replace(self.outcomes, values=self.y[rows]),
            self.weight[rows],
            None if self.groups is None else self.groups[rows],
            self.inputs,
        )

    @property
    def y(self) -> Array:
        """Preference for the first side of each row, in [0, 1]."""
        return self.outcomes.values

    @property
    def counts(self) -> NDArray[np.bool_]:
        """Rows that count: usable, of positive weight."""
        return self.X.is_usable & (self.weight > 0)

    def with_battles(self, X: Comparisons) -> Sample:
        """The same sample, its battles with other columns or in other roles."""
        return replace(self, X=X)

    def without_features(self) -> Sample:
        """The same sample for a method that uses no features of responses."""
        return replace(
            self, X=self.X.without_features(), inputs=self.inputs.without_features()
        )

    def weighted(self, weight: Array) -> Sample:
        """The same rows with other weights."""
        return replace(self, weight=weight)


def check_weight(sample_weight: Any, X: Comparisons) -> Array:
    """Validate row weights; None is one for each row."""
    if sample_weight is None:
        return constant(1.0, len(X))
    check_unmasked("sample_weight", sample_weight)
    if getattr(getattr(sample_weight, "dtype", None), "kind", "f") in "mM":
        raise TypeError("sample_weight must be numbers, got dates or times.")
    try:
        # Array-API dispatch asks for an array here.
        weight: Array = _check_sample_weight(
            sample_weight, X.left, dtype=np.float64, ensure_non_negative=True
        )
    except OverflowError:
        raise ValueError(
            "sample_weight has numbers too large for a float; rescale it."
        ) from None
    if not weight.any():
        raise ValueError(
            "Sample weights must contain at least one non-zero number: every "
            "sample_weight is zero."
        )
    return weight


def resolve_groups(groups: Any, table: Any, n_rows: int) -> NDArray[np.intp] | None:
    """Group codes from an array, or from the column of the table with that name."""
    if groups is None:
        return None
    if isinstance(groups, str):
        frame = as_frame(table)
        if frame is None or groups not in frame.columns:
            known = frame.columns[:20] if frame is not None else "none"
            raise BattlesError(
                Term.GROUPS,
                f" names the column {groups!r}, which X lacks (columns: {known}).",
                advice=Advice(Remedy.GIVE_GROUPS),
            )
        groups = exact_values(frame[groups])
    check_unmasked("groups", groups)
    groups = np.asarray(groups)
    if groups.shape != (n_rows,):
        raise BattlesError(
            f"groups must have one entry per row, {n_rows}, got shape {groups.shape}."
        )
    codes, _ = factorize(groups, "groups")
    if (codes < 0).any():
        raise BattlesError(
            f"groups has missing values, the first in row {int(np.argmin(codes))}."
        )
    return codes
