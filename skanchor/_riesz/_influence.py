"""Sums over the influence of rows: the correction and its sampling covariance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.groups import GroupTotals, Membership
from skanchor._numerics.sums import SourceSums
from skanchor._typing import Array


@dataclass(frozen=True, slots=True)
class InfluenceSums:
    """Additive sums over influence values.

    Attributes
    ----------
    total : ndarray of shape (n_models,)
        The correction.
    outer : ndarray of shape (3, n_models, n_models)
        Summed products of influence values: of human rows, of judge rows, and across
        them, where a group has both.
    largest : ndarray of shape (n_models,)
        Largest influence of a row, in size, among those that are at hand; NaN where
        none is.
        Of a group instead, once :meth:`with_closed_groups` has multiplied groups.
    by_group : tuple of (GroupTotals, GroupTotals) or None
        Influence by group of dependent rows, of people and of judges, as long as
        groups may gain rows; :meth:`with_closed_groups` multiplies them.
    """

    total: Array
    outer: Array
    largest: Array
    by_group: tuple[GroupTotals, GroupTotals] | None = None

    @property
    def sampling(self) -> Array:
        """Sampling covariance, of shape (n_models, n_models)."""
        return np.asarray(self.outer.sum(axis=0))

    @property
    def parts(self) -> Array:
        """Human, judge and cross parts of the variances, of shape (3, n_models)."""
        # (3, n_models, n_models) to (3, n_models).
        return np.diagonal(self.outer, axis1=1, axis2=2)

    @classmethod
    def of(
        cls,
        influence: Array,
        is_human: NDArray[np.bool_],
        groups: Membership | None,
        multiplicity: Array | None = None,
    ) -> InfluenceSums:
        """Sum rows.

        Parameters
        ----------
        influence : ndarray of shape (n_rows, n_models)
            Influence of each row on each score.
        is_human : ndarray of shape (n_rows,)
            Which rows are human.
        groups : Membership or None
            Groups of dependent rows.
        multiplicity : ndarray of shape (n_rows,), optional
            As in :meth:`of_rows`.

        Returns
        -------
        InfluenceSums
        """
        if groups is None:
            if not is_human.any():
                return cls.of_rows(influence, human=False, multiplicity=multiplicity)
            parts = [
                cls.of_rows(
                    influence[some],
                    human=human,
                    multiplicity=None if multiplicity is None else multiplicity[some],
                )
                for human, some in ((True, is_human), (False, ~is_human))
            ]
            return parts[0] + parts[1]
        size = influence.shape[1]
        each = influence
        if multiplicity is not None:
            each = influence / multiplicity[:, None]
        by_group = groups.split_totals(each, is_human)
        # The largest of a group is known once groups are closed.
        return cls(
            influence.sum(axis=0), np.zeros((3, size, size)), np.zeros(size), by_group
        )

    @classmethod
    def of_rows(
        cls, influence: Array, *, human: bool, multiplicity: Array | None = None
    ) -> InfluenceSums:
        """Sum rows that no group ties together, all of people or all of judges.

        Parameters
        ----------
        influence : ndarray of shape (n_rows, n_models)
            Influence of each row on each score.
        human : bool
            Whether they are of people.
        multiplicity : ndarray of shape (n_rows,), optional
            How many equal rows each stands for, whose influence is summed.

        Returns
        -------
        InfluenceSums
        """
        each = influence
        if multiplicity is not None:
            each = influence / multiplicity[:, None]
        outer = np.zeros((3, influence.shape[1], influence.shape[1]))
        # Of k equal rows with influence v each, the squares are k v v' = (k v) v'.
        outer[0 if human else 1] = influence.T @ each
        return cls(influence.sum(axis=0), outer, _largest(each))

    @classmethod
    def of_source(
        cls,
        residuals: SourceSums,
        columns: Array,
        largest: Array | None = None,
        *,
        human: bool,
    ) -> InfluenceSums:
        """Read the sums of one source off those of its residuals.

        Parameters
        ----------
        residuals : SourceSums
            Of the rows held out, by local column.
        columns : ndarray of shape (n_columns, n_models)
            What the weights of rows multiply these columns with.
        largest : ndarray of shape (n_models,), optional
            Largest influence of a row, in size, where rows are at hand.
        human : bool
            Whether they are of people.

        Returns
        -------
        InfluenceSums
        """
        size = columns.shape[1]
        outer, by_group = np.zeros((3, size, size)), None
        assert residuals.score is not None
        if residuals.outer is not None:
            outer[0 if human else 1] = columns.T @ residuals.outer @ columns
        elif residuals.by_group is not None:
            mine = residuals.by_group @ columns
            none = GroupTotals(mine.groups[:0], mine.totals[:0])
            by_group = (mine, none) if human else (none, mine)
        if largest is None:
            largest = np.full(size, np.nan)
        return cls(residuals.score @ columns, outer, largest, by_group)

    def __add__(self, other: InfluenceSums) -> InfluenceSums:
        return InfluenceSums.joined([self, other])

    @classmethod
    def joined(cls, parts: Sequence[InfluenceSums]) -> InfluenceSums:
        """Sums over the rows of all parts."""
        total = reduce(add, [one.total for one in parts])
        outer = reduce(add, [one.outer for one in parts])
        largest = reduce(np.fmax, [one.largest for one in parts])
        grouped = [one.by_group for one in parts if one.by_group is not None]
        by_group = grouped[0] if grouped else None
        if len(grouped) > 1:
            human, judge = zip(*grouped, strict=True)
            by_group = GroupTotals.joined(human), GroupTotals.joined(judge)
        return cls(total, outer, largest, by_group)

    def with_closed_groups(self) -> InfluenceSums:
        """The same sums once no group gains rows any more."""
        if self.by_group is None:
            return self
        human, judge = self.by_group
        # A group's influence is h + j, the parts of people and judges: its square is
        # h h' + j j' + (h j' + j h'). The last needs groups that have both.
        shared_human, shared_judge = human.totals, judge.totals
        if not np.array_equal(human.groups, judge.groups):
            _, at_human, at_judge = np.intersect1d(
                human.groups, judge.groups, assume_unique=True, return_indices=True
            )
            shared_human, shared_judge = shared_human[at_human], shared_judge[at_judge]
        cross = shared_human.T @ shared_judge
        squared = [
            human.totals.T @ human.totals,
            judge.totals.T @ judge.totals,
            cross + cross.T,
        ]
        both = human + judge
        return replace(
            self,
            outer=self.outer + np.array(squared),
            # Target by target in memory, in which order the largest is found faster.
            largest=np.abs(both.totals.T, order="C").max(axis=1, initial=0.0),
            by_group=None,
        )


def _largest(influence: Array) -> Array:
    """Largest influence of a row, in size, by model."""
    low, high = (
        influence.min(axis=0, initial=0.0),
        influence.max(axis=0, initial=0.0),
    )
    return np.asarray(np.maximum(high, -low))
