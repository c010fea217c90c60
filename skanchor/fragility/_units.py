"""Units of rows that may be dropped: single rows, copies of equal ones, or groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.sample import Sample

ROWS = ("any", "human", "arrival", "history")
"""Which rows may be dropped."""

BY = ("row", "group")
"""What is dropped as a whole."""

HUMAN_ROWS, OTHER_VERDICTS, ARRIVALS = range(3)
"""Kinds of rows: votes, verdicts without the models of a statement, and with them."""

MOST = np.array([0.10, 0.10, 0.25])
"""Largest share of each kind that is dropped: the fit fails, or says little, beyond."""


@dataclass(frozen=True, eq=False, slots=True)
class Queue:
    """Units in the order in which they are dropped, some of them with copies.

    Attributes
    ----------
    units : ndarray of shape (n_queued,)
        Their codes.
    copies : ndarray of shape (n_queued,)
        How many equal ones of each.
    """

    units: NDArray[np.intp]
    copies: NDArray[np.intp]

    @classmethod
    def empty(cls) -> Self:
        """A queue of none."""
        return cls(np.zeros(0, np.intp), np.zeros(0, np.intp))

    def __len__(self) -> int:
        return int(self.copies.sum())

    def first(self, number: int) -> Queue:
        """The first ``number`` of them."""
        before = np.cumsum(self.copies) - self.copies
        copies = np.clip(number - before, 0, self.copies)
        some = copies > 0
        return Queue(self.units[some], copies[some])

    def __add__(self, other: Queue) -> Queue:
        return Queue(
            np.concatenate([self.units, other.units]),
            np.concatenate([self.copies, other.copies]),
        )


@dataclass(frozen=True, eq=False)
class Units:
    """What may be dropped of the rows of a fit.

    Attributes
    ----------
    sample : Sample
        Rows, or cells of equal ones, that carry the plug-in.
    unit : ndarray of shape (n_rows,)
        Unit of each row; -1 where a row stays.
    copies : ndarray of shape (n_units,)
        Rows of the table that are equal, of which each counts as one.
    kind : ndarray of shape (n_units,)
        Kind of its rows; zero for groups.
    most : ndarray of shape (n_kinds,)
        Largest number of each kind that is dropped.
    by_group : bool
        Whether units are groups.
    """

    sample: Sample
    unit: NDArray[np.intp]
    copies: NDArray[np.intp]
    kind: NDArray[np.intp]
    most: NDArray[np.intp]
    by_group: bool

    @classmethod
    def of(cls, sample: Sample, models: Sequence[Any], rows: str, by: str) -> Self:
        """Units of the rows that may go.

        Parameters
        ----------
        sample : Sample
            Rows of a fit, in their roles.
        models : sequence of label
            New models that the statement is about: verdicts on them are the arrivals.
        rows, by
            As in :meth:`skanchor.AnchorPipeline.fragility`.

        Returns
        -------
        Units

        Raises
        ------
        BattlesError
            If there is no such row, or there are no groups.
        """
        X = sample.X
        about = np.append([model in models for model in X.models.tolist()], False)
        arrives = ~X.is_human & (about[X.left] | about[X.right])
        kind = np.where(X.is_human, HUMAN_ROWS, OTHER_VERDICTS)
        kind[arrives] = ARRIVALS
        allowed = sample.counts & np.isfinite(X.logits())
        if rows == "human":
            allowed &= X.is_human
        elif rows == "arrival":
            allowed &= arrives
        elif rows == "history":
            allowed &= ~X.is_human & ~X.involves_new
        if not allowed.any():
            what = {"human": "human vote", "arrival": f"verdict on {list(models)}"}
            raise BattlesError(
                f"rows={rows!r}: the fit has no {what.get(rows, 'such row')} that "
                "could be dropped."
            )
        unit = np.full(len(sample), -1, dtype=np.intp)
        if by == "group":
            if sample.groups is None:
                raise BattlesError(
                    "There are no whole groups to drop, as the rows of this fit have "
                    "none. Name their groups, or drop single rows."
                )
            _, unit[allowed] = np.unique(sample.groups[allowed], return_inverse=True)
            size = int(unit.max()) + 1
            share = MOST[ARRIVALS if rows == "arrival" else HUMAN_ROWS]
            one = np.ones(size, np.intp)
            most = np.array([max(1, int(share * size))])
            return cls(sample, unit, one, 0 * one, most, True)
        places = np.flatnonzero(allowed)
        unit[places] = np.arange(len(places))
        times = sample.multiplicity_of(places)
        copies = np.ones(len(places)) if times is None else times
        kind = kind[places]
        found = np.bincount(kind, copies, len(MOST))
        most = np.where(found > 0, np.maximum(MOST * found + 1e-9, 1), 0)
        return cls(
            sample,
            unit,
            copies.astype(np.intp),
            kind.astype(np.intp),
            most.astype(np.intp),
            False,
        )

    @property
    def allowed(self) -> int:
        """Number of units that are there."""
        return int(self.copies.sum())

    def counts(self, queue: Queue) -> NDArray[np.intp]:
        """How many of each unit a queue has, of shape (n_units,)."""
        return np.bincount(queue.units, queue.copies, len(self.copies)).astype(np.intp)

    def queue(self, change: Array, gone: Queue) -> Queue:
        """Units that lower a margin, those first that lower it most.

        Parameters
        ----------
        change : ndarray of shape (n_units,)
            Change of the margin by each copy.
        gone : Queue
            What is gone already.

        Returns
        -------
        Queue
            No more of each kind than may be dropped.
        """
        counts = self.counts(gone)
        order = np.argsort(change, kind="stable")
        order = order[(change[order] < 0) & (counts[order] < self.copies[order])]
        copies = self.copies[order] - counts[order]
        left = self.most - np.bincount(self.kind, counts, len(self.most))
        for kind in range(len(self.most)):
            own = self.kind[order] == kind
            before = np.cumsum(copies[own]) - copies[own]
            copies[own] = np.clip(left[kind] - before, 0, copies[own])
        some = copies > 0
        return Queue(order[some], copies[some].astype(np.intp))

    def changed(self, queue: Queue) -> Sample:
        """The sample without these units."""
        sample = self.sample
        share = np.append(self.counts(queue) / self.copies, 0.0)[self.unit]
        number = sample.multiplicity
        if number is not None:
            # A cell that is empty keeps a number to divide by; its weight is zero.
            number = np.where(share < 1.0, number * (1.0 - share), number)
        # Shares of whole numbers may leave a rounding error of a weight.
        weight = np.where(share < 1.0, sample.weight * (1.0 - share), 0.0)
        return replace(sample, weight=weight, multiplicity=number)
