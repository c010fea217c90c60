"""Units of rows that may be dropped: single rows, or groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skanchor._typing import Array, Indices
from skanchor.exceptions import BattlesError

if TYPE_CHECKING:
    from skanchor._sample.sample import Sample


HUMAN_ROWS, OTHER_VERDICTS, ARRIVALS = range(3)
"""Kinds of rows: votes, verdicts without the models of a statement, and with them."""

MOST = np.array([0.10, 0.10, 0.25])
"""Largest share of each kind that is dropped: the fit fails, or says little, beyond."""


@dataclass(frozen=True, eq=False)
class Units:
    """What may be dropped of the rows of a fit.

    Attributes
    ----------
    sample : Sample
        Rows of the table that carry the plug-in.
    unit : ndarray of shape (n_rows,)
        Unit of each row; -1 where a row stays.
    kind : ndarray of shape (n_units,)
        Kind of its rows; zero for groups.
    most : ndarray of shape (n_kinds,)
        Largest number of each kind that is dropped.
    """

    sample: Sample
    unit: Indices
    kind: Indices
    most: Indices

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
        unit, share = np.full(len(sample), -1), MOST
        unit[places] = np.arange(len(places))
        kind = np.where(X.is_human, HUMAN_ROWS, OTHER_VERDICTS)
        kind = np.where(arrives, ARRIVALS, kind)[places]
        if by == "group":
            if sample.groups is None:
                raise BattlesError(
                    "There are no whole groups to drop, as the rows of this fit have "
                    "none. Name their groups, or drop single rows."
                )
            _, unit[places] = np.unique(sample.groups[places], return_inverse=True)
            kind = np.zeros(int(unit.max()) + 1, dtype=np.intp)
            share = MOST[[ARRIVALS if rows == "arrival" else HUMAN_ROWS]]
        number = np.bincount(kind, minlength=len(share))
        # One of a few may go.
        most = np.where(number > 0, np.maximum(share * number + 1e-9, 1), 0)
        return cls(sample, unit, kind, most.astype(np.intp))

    @property
    def allowed(self) -> int:
        """Number of units that are there."""
        return len(self.kind)

    def order(self, change: Array, gone: Indices) -> Indices:
        """Units that lower a margin, those first that lower it most.

        Parameters
        ----------
        change : ndarray of shape (n_units,)
            Change of the margin by each.
        gone : ndarray of shape (n_gone,)
            What is gone already.

        Returns
        -------
        ndarray of shape (n_order,)
            No more of each kind than may be dropped.
        """
        order = np.argsort(change, kind="stable")
        order = order[(change[order] < 0) & ~np.isin(order, gone)]
        left = self.most - np.bincount(self.kind[gone], minlength=len(self.most))
        stays = np.zeros(len(order), dtype=bool)
        for kind, most in enumerate(left):
            stays[np.flatnonzero(self.kind[order] == kind)[:most]] = True
        return np.asarray(order[stays])

    def rows(self, gone: Indices) -> Indices:
        """Rows that are gone with some units, in order."""
        return np.flatnonzero(np.isin(self.unit, gone))
