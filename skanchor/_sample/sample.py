"""A sample: battles with outcomes, weights and groups, admitted once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from skanchor._battles import Comparisons, Inputs, Outcomes, as_frame, is_constant
from skanchor._battles.checks import check_table
from skanchor._battles.features import check_scales
from skanchor._battles.grouping import (
    FEW_GROUPS,
    RowGroups,
    effective_number,
    find_groups,
)
from skanchor._battles.labels import values_of
from skanchor._battles.rows import constant
from skanchor._checks import check_unmasked
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, CountWarning
from skanchor.warning_log import warn_of_data

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

Battles: TypeAlias = "IntoDataFrame | ArrayLike | Comparisons"
"""What rows may come in: a table of pandas, polars or pyarrow, an array of two ids and
features, or encoded battles."""

_BY_ROW = ("X", "outcomes", "weight", "multiplicity", "left_out", "groups", "raters")
"""Attributes of a sample that have an entry for each row, where they are not None."""

WEIGHTS = ("importance", "frequency")
"""What the weight of a row may be: its importance, or a number of equal rows."""

BOTH_BAD_COLUMN = "both_bad"
"""Column in which tables of tools mark votes that call both responses bad."""

COUNT_COLUMN = "count"
"""Column in which tables of counts say how often each row occurred."""

MOST_COUNTED, MOST_LISTED = 10**9, 10**8
"""Rows that counts may stand for where equal ones are put together, and where not."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Battles with their outcomes, weights and groups, validated for a fit.

    Attributes
    ----------
    X : Comparisons
        Encoded battles.
    outcomes : Outcomes
        Encoded outcomes.
    weight : ndarray of shape (n_rows,)
        Row weights; rows of weight zero have no influence.
    multiplicity : ndarray of shape (n_rows,)
        Number of equal rows of the table that each row stands for; ``weight`` is the
        sum of their weights. By default each stands for itself.
    left_out : ndarray of shape (n_rows,)
        Which rows are ties that are left out; by default none.
    groups : ndarray of shape (n_rows,) or None
        Group codes of dependent rows.
    raters : ndarray of shape (n_rows,) or None
        Codes of the raters of votes, -1 in other rows; None if errors do not allow for
        raters.
    inputs : Inputs
        Which parts of the user's table were used.
    unit : float
        The user's weight that is one here.

    Examples
    --------
    >>> from skanchor.datasets import load_demo
    >>> from skanchor._sample.sample import Sample
    >>> X, y = load_demo(return_X_y=True)
    >>> sample = Sample.from_battles(X, y)
    >>> sample.weight.shape
    (4000,)
    """

    X: Comparisons
    outcomes: Outcomes
    weight: Array
    multiplicity: Array = None  # type: ignore[assignment]
    left_out: NDArray[np.bool_] = None  # type: ignore[assignment]
    groups: NDArray[np.intp] | None = None
    raters: NDArray[np.intp] | None = None
    inputs: Inputs = field(default_factory=Inputs)
    unit: float = 1.0

    def __post_init__(self) -> None:
        for name, value in (("multiplicity", 1.0), ("left_out", False)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, constant(value, len(self.X)))

    @classmethod
    def from_battles(
        cls,
        X: Battles,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | RowGroups | str | None = "auto",
    ) -> Sample:
        """Validate and encode the arguments of ``fit``; warn of unusual rows.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.
        y : array-like of shape (n_rows,)
            Outcomes.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights; None is one for each row.
        groups : array-like of shape (n_rows,), str or None, default="auto"
            Groups of dependent rows, or the column that holds them.
            By default the values of ``prompt_id``, if they repeat; errors then also
            allow for raters who voted repeatedly. None treats rows as independent.

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
        # Encoded rows have no table any more, and have been admitted before. A table is
        # wrapped once for all that read it.
        frame = as_frame(X)
        X = X if frame is None else frame
        encoded = Comparisons.from_battles(X)
        if len(encoded) == 0:
            raise BattlesError(
                "Found array with 0 sample(s): the battles table is empty."
            )
        outcomes = Outcomes.encode(y, named=encoded.named)
        check_consistent_length(encoded, outcomes.values)
        weight = check_weight(sample_weight, encoded)
        if not encoded.named and len(np.unique(outcomes.values[weight > 0])) < 2:
            # As if the rows of weight zero were not there.
            raise BattlesError(
                "Outcomes of positive weight have only one class; both sides must win "
                "at least once."
            )
        row_groups = find_groups(groups, X, len(encoded))
        grouped = row_groups.prompts is not None
        if not isinstance(X, Comparisons):
            features = encoded.features_left, encoded.features_right
            check_scales(*features, encoded.feature_names)
            check_table(frame, encoded, outcomes.values, weight, grouped=grouped)
            if sample_weight is None:
                warn_of_unused_counts(frame)
        sample = cls(
            encoded,
            outcomes.marked(_marked_both_bad(frame)),
            weight,
            groups=row_groups.prompts,
            inputs=Inputs.of(
                X, encoded, row_groups if grouped else None, sample_weight
            ),
        )
        return sample if row_groups.raters is None else sample._rated(row_groups.raters)

    def _rated(self, raters: NDArray[np.intp]) -> Sample:
        """The same rows, with raters if some voted repeatedly and they are enough."""
        # On rows of judges the column counts runs, whose verdicts on different prompts
        # are as alike as those of one run.
        is_vote = self.X.is_human & (self.weight > 0)
        raters = np.where(is_vote, raters, -1)
        size = np.bincount(raters[raters >= 0])
        if size.max(initial=0) < 2:
            return self
        by_rater = effective_number(size) >= FEW_GROUPS
        n_raters = int(np.count_nonzero(size))
        if size.max() == np.count_nonzero(is_vote):
            warn_of_data(
                "one-rater",
                ["rater"],
                f"All {size.max()} votes are by one rater (column 'rater'): intervals "
                "do not cover how people differ, and scores are those of this rater. "
                "Add votes of others.",
            )
        inputs = replace(self.inputs, n_raters=n_raters, by_rater=by_rater)
        return replace(self, inputs=inputs, raters=raters if by_rater else None)

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: Any) -> Sample:
        columns = {name: getattr(self, name) for name in _BY_ROW}
        chosen = {
            name: column[rows] for name, column in columns.items() if column is not None
        }
        return replace(self, **chosen)

    # ------------------------------------------------------------ rows, and their sums
    @property
    def y(self) -> Array:
        """Preference for the first side of each row, in [0, 1]."""
        return self.outcomes.values

    @property
    def counts(self) -> NDArray[np.bool_]:
        """Rows that count: usable, of positive weight."""
        return self.X.is_usable & (self.weight > 0)

    @property
    def tied(self) -> NDArray[np.bool_]:
        """Rows of ties, also of those that are left out."""
        return ((self.y == 0.5) & (self.weight > 0)) | self.left_out

    @property
    def both_bad(self) -> NDArray[np.bool_]:
        """Those of the ties in which both responses were called bad."""
        return self.tied & self.outcomes.both_bad

    def number(self, rows: NDArray[Any]) -> int:
        """Number of rows of the table that some rows, or those of a mask, stand for."""
        return int(self.multiplicity[rows].sum())

    def by_source(self, rows: NDArray[np.bool_], values: Any = 1.0) -> Array:
        """Sum of values over some rows of the table, of people and of each judge."""
        at = np.flatnonzero(rows)
        of_rows = self.multiplicity[at] * np.broadcast_to(values, len(self))[at]
        sums = np.bincount(self.X.judge[at] + 1, of_rows, 1 + len(self.X.judges))
        return sums.astype(np.float64)

    @property
    def is_grouped(self) -> bool:
        """Whether rows may depend on each other within groups."""
        return self.groups is not None

    @property
    def n_groups(self) -> int | None:
        """Number of groups of dependent rows; None without groups."""
        return None if self.groups is None else len(np.unique(self.groups))

    @property
    def row_groups(self) -> RowGroups:
        """Groups to be given to ``fit`` along with these rows."""
        return RowGroups(self.groups, self.raters)

    @property
    def digest(self) -> str:
        """SHA-256 of the rows: labels, features, outcomes, weights and groups.

        The same table has the same digest, whatever kind of table or file it came from.
        The digest depends on the order of the rows, but not on the roles of the models.
        """
        X = self.X
        labels = [X.models.tolist(), X.judges.tolist(), list(X.feature_names)]
        digest = sha256(repr(labels).encode())
        for column in (*X.columns, self.y, self.weight, self.groups, self.raters):
            if column is not None:
                kind = np.dtype(np.int64 if column.dtype.kind in "iu" else column.dtype)
                # A column of one value is the same in both ways to store it.
                values = column[:1] if (column == column[:1]).all() else column
                digest.update(repr((column.shape, values.shape, kind.str)).encode())
                digest.update(np.ascontiguousarray(values, dtype=kind).data)
        return digest.hexdigest()

    # ------------------------------------------------------------ rows that are counted
    def counted(self, most: int = MOST_COUNTED) -> Sample:
        """The same rows, with the weights as multiplicities.

        The rows are not repeated. Callers must use the multiplicity.

        Raises
        ------
        BattlesError
            If a weight is not a count, or if they stand for too many rows.
        """
        odd = self.weight != np.round(self.weight)
        if odd.any():
            row = int(np.argmax(odd))
            raise BattlesError(
                "Weights that count equal rows must be whole numbers: "
                f"{odd.sum()} are not, the first is {self.weight[row]:g} in row {row}."
            )
        if self.weight.sum() > most:
            raise BattlesError(
                f"The counts stand for {self.weight.sum():.3g} rows, more than the "
                f"{most:.0e} that are fitted. Use a random part of the rows."
            )
        rows = self[np.flatnonzero(self.weight > 0)]
        inputs = replace(self.inputs, counted=self.inputs.weights is not None)
        # Copies of a vote count as votes of several people.
        return replace(rows, multiplicity=rows.weight, inputs=inputs).without_raters()

    def expanded(self) -> Sample:
        """The rows, each repeated as often as its weight, with weight one.

        A fit to them, and their folds, equal those of a table that lists every row.
        """
        return self.counted(MOST_LISTED).listed()

    def listed(self) -> Sample:
        """The rows of the table, one by one."""
        number = self.multiplicity.astype(np.intp)
        if (number == 1).all():
            return self
        rows = self[np.repeat(np.arange(len(self)), number)]
        one, weight = constant(1.0, len(rows)), rows.weight / rows.multiplicity
        return replace(rows, weight=weight, multiplicity=one)

    # --------------------------------------------------------------- other columns
    def with_battles(self, X: Comparisons) -> Sample:
        """The same sample with battles that have other columns or other roles."""
        return replace(self, X=X)

    def in_contexts(self, contexts: NDArray[Any], name: str) -> Sample:
        """The same sample, in which each model is a model in one context.

        Parameters
        ----------
        contexts : ndarray of shape (n_rows,)
            Context of each row.
        name : str
            Column that holds them.

        Returns
        -------
        Sample
        """
        inputs = self.inputs.with_context(name)
        return replace(self, X=self.X.in_contexts(contexts), inputs=inputs)

    def without_features(self) -> Sample:
        """The same sample for a method that uses no features of responses."""
        inputs = self.inputs.without_features()
        return replace(self, X=self.X.without_features(), inputs=inputs)

    def without_raters(self) -> Sample:
        """The same sample for errors that do not allow for raters."""
        return replace(self, raters=None, inputs=replace(self.inputs, by_rater=False))

    def weighted(self, weight: Array) -> Sample:
        """The same rows with other weights."""
        return replace(self, weight=weight)

    def in_units(self, unit: float) -> Sample:
        """The same rows, their weights in multiples of ``unit``."""
        if unit == 1.0:
            return self
        return replace(self, weight=self.weight / unit, unit=self.unit * unit)


def _marked_both_bad(frame: nw.DataFrame[Any] | None) -> NDArray[np.bool_] | bool:
    """Rows that a table of a tool marks as both bad; its outcomes may be numbers."""
    if frame is None or BOTH_BAD_COLUMN not in frame.columns:
        return False
    # Of objects, as where pandas has put together tables with the column and without.
    marks = pd.Series(values_of(frame[BOTH_BAD_COLUMN]), dtype=object)
    is_mark = marks.isin([True, False]) | marks.isna()
    return is_mark.all() & marks.isin([True]).to_numpy()


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
    except (OverflowError, ValueError) as error:
        if isinstance(error, ValueError) and "could not convert" not in str(error):
            raise
        raise ValueError(f"sample_weight must be numbers: {error}.") from None
    if not weight.any():
        raise ValueError(
            "Sample weights must contain at least one non-zero number: every "
            "sample_weight is zero."
        )
    return weight


def warn_of_counts(sample: Sample) -> None:
    """Warn of importance weights that look like counts.

    With groups nothing is lost: a row that counts n times is n rows of one group.
    """
    if sample.groups is not None or is_constant(sample.weight):
        return
    positive = sample.weight[sample.weight > 0]
    if positive.min() < positive.max() and (positive == np.round(positive)).all():
        warn_of_data(
            "weights-like-counts",
            (),
            f"All weights are whole numbers, up to {positive.max():g}, and are read as "
            "importance. If they count equal rows, errors are too long: set weights to "
            "frequency (on its BTLRegressor if a method has no such parameter). "
            "Otherwise divide them by their mean.",
            CountWarning,
        )


def warn_of_unused_counts(frame: nw.DataFrame[Any] | None) -> None:
    """Warn of a column of counts that does not weigh the rows."""
    if frame is None or COUNT_COLUMN not in frame.columns:
        return
    # Counts are floats where some are missing.
    counts = frame[COUNT_COLUMN].drop_nulls()
    if not counts.dtype.is_numeric() or not len(counts):
        return
    most = counts.max()
    if counts.min() >= 0 and most > 1 and (counts % 1 == 0).all():
        warn_of_data(
            "counts-not-used",
            [COUNT_COLUMN],
            f"Column 'count' holds whole numbers, up to {most:.0f}, and is not used. "
            "If these are numbers of equal rows, set weights to frequency, and in "
            "Python give the column as sample_weight.",
        )
