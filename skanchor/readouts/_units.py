"""Units of rows that may be dropped: single rows, copies of equal ones, or groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skanchor._typing import Array
from skanchor.exceptions import BattlesError

if TYPE_CHECKING:
    from skanchor._cells import Cells
    from skanchor.sample import Sample

Indices = NDArray[np.intp]

HUMAN_ROWS, OTHER_VERDICTS, ARRIVALS = range(3)
"""Kinds of rows: votes, verdicts without the models of a statement, and with them."""

MOST = np.array([0.10, 0.10, 0.25])
"""Largest share of each kind that is dropped: the fit fails, or says little, beyond."""


@dataclass(frozen=True, eq=False)
class Units:
    """What may be dropped of the rows of a fit.

    Units are dropped in an order, in which one with copies occurs once for each.

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
    unit: Indices
    copies: Indices
    kind: Indices
    most: Indices
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
        """
        X = sample.X
        about = np.append([model in models for model in X.models.tolist()], False)
        arrives = ~X.is_human & (about[X.left] | about[X.right])
        chosen = {
            "any": np.full(len(sample), True),
            "human": X.is_human,
            "arrival": arrives,
            "history": ~X.is_human & ~X.involves_new,
        }[rows]
        places = np.flatnonzero(chosen & sample.counts & np.isfinite(X.logits()))
        if not len(places):
            what = {"human": "human vote", "arrival": f"verdict on {list(models)}"}
            raise BattlesError(
                f"rows={rows!r}: the fit has no {what.get(rows, 'such row')} that "
                "could be dropped."
            )
        unit = np.full(len(sample), -1)
        if by == "group":
            if sample.groups is None:
                raise BattlesError(
                    "There are no whole groups to drop, as the rows of this fit have "
                    "none. Name their groups, or drop single rows."
                )
            _, unit[places] = np.unique(sample.groups[places], return_inverse=True)
            copies = np.ones(int(unit.max()) + 1, dtype=np.intp)
            share = MOST[[ARRIVALS if rows == "arrival" else HUMAN_ROWS]]
            kind = np.zeros_like(copies)
        else:
            unit[places] = np.arange(len(places))
            times = sample.multiplicity_of(places)
            times = np.ones(len(places)) if times is None else times
            copies = times.astype(np.intp)
            kind = np.where(X.is_human, HUMAN_ROWS, OTHER_VERDICTS)
            kind, share = np.where(arrives, ARRIVALS, kind)[places], MOST
        number = np.bincount(kind, copies, len(share))
        # One of a few may go.
        most = np.where(number > 0, np.maximum(share * number + 1e-9, 1), 0)
        return cls(sample, unit, copies, kind, most.astype(np.intp), by == "group")

    @property
    def allowed(self) -> int:
        """Number of units that are there."""
        return int(self.copies.sum())

    def counts(self, gone: Indices) -> Indices:
        """How many of each unit are gone, of shape (n_units,)."""
        return np.bincount(gone, minlength=len(self.copies))

    def order(self, change: Array, gone: Indices) -> Indices:
        """Units that lower a margin, those first that lower it most.

        Parameters
        ----------
        change : ndarray of shape (n_units,)
            Change of the margin by each copy.
        gone : ndarray of shape (n_gone,)
            What is gone already.

        Returns
        -------
        ndarray of shape (n_order,)
            No more of each kind than may be dropped.
        """
        counts = self.counts(gone)
        order = np.argsort(change, kind="stable")
        order = order[change[order] < 0]
        order = np.repeat(order, self.copies[order] - counts[order])
        left = self.most - np.bincount(self.kind, counts, len(self.most)).astype(int)
        kind, stays = self.kind[order], np.zeros(len(order), dtype=bool)
        for number, most in enumerate(left):
            stays[np.flatnonzero(kind == number)[:most]] = True
        return np.asarray(order[stays])

    def without(self, gone: Indices) -> Sample:
        """The sample without these units."""
        sample = self.sample
        share = np.append(self.counts(gone) / self.copies, 0.0)[self.unit]
        number = sample.multiplicity
        if number is not None:
            # A cell that is empty keeps a number to divide by; its weight is zero.
            number = np.where(share < 1.0, number * (1.0 - share), number)
        # Shares of whole numbers may leave a rounding error of a weight.
        weight = np.where(share < 1.0, sample.weight * (1.0 - share), 0.0)
        return replace(sample, weight=weight, multiplicity=number)

    def rows(self, cells: Cells, gone: Indices) -> Indices:
        """Rows of the table that are gone, in order."""
        unit, number = self.unit, self.counts(gone)
        if self.sample.multiplicity is not None:
            assert cells.cell is not None
            unit = unit[cells.cell]
        # Rows by unit, then the number of each among those of its unit.
        order = np.argsort(unit, kind="stable")
        order = order[unit[order] >= 0]
        sizes = np.bincount(unit[order], minlength=len(self.copies))
        within = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        if self.by_group:
            number = number * sizes
        return np.sort(order[within < number[unit[order]]])
