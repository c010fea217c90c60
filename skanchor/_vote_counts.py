"""Human votes that count, and their sums by pair of models.

Scores need no more of the votes than these sums, and neither have errors of votes that
are independent. Errors of votes that depend on each other read the rows again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from skanchor._comparisons.labels import is_constant
from skanchor._numerics.groups import Membership
from skanchor._numerics.pair_counts import PairCounts
from skanchor._typing import Array
from skanchor.sample import Sample

LEAST_WEIGHT = 1e-150
"""Weight of a vote, in that of the heaviest, whose square is still a number."""


@dataclass(frozen=True, slots=True)
class GroupedVotes:
    """Votes that may depend on each other within groups.

    Attributes
    ----------
    left, right : ndarray of shape (n_rows,)
        Places of the models.
    y, weight : ndarray of shape (n_rows,)
        Outcomes, and weights or the one weight of all.
    groups : ndarray of shape (n_rows,)
        Group of each row.
    """

    left: NDArray[np.intp]
    right: NDArray[np.intp]
    y: Array
    weight: Array
    groups: NDArray[np.intp]

    def residuals(self, rows: NDArray[np.bool_], gap: Array) -> Array:
        """Weighted residuals of some rows, of which ``gap`` has the logits."""
        # Neither side of a rare event is lost in rounding.
        y = self.y[rows]
        residual = y * expit(-gap) - (1.0 - y) * expit(gap)
        return residual * (self.weight if self.weight.size == 1 else self.weight[rows])


@dataclass(frozen=True, slots=True)
class VoteCounts:
    """Votes of a sample that count, and their sums over the models that have any.

    Attributes
    ----------
    sample : Sample
        Battles in their roles.
    rows : ndarray of int, or slice
        Numbers of the rows that are votes and count.
    share : ndarray of shape (n_votes,) or (1,)
        Weights in units of the heaviest; one number if all are equal.
    unit : float
        Weight of the heaviest.
    present : ndarray of shape (n_present,)
        Models with a vote, by their place in the vocabulary of the sample.
    by_pair : PairCounts
        Sums by pair of these models.
    """

    sample: Sample
    rows: NDArray[np.intp] | slice
    share: Array
    unit: float
    present: NDArray[np.intp]
    by_pair: PairCounts

    @classmethod
    def of(cls, sample: Sample) -> Self:
        """Add up the votes of a sample."""
        X, rows = sample.X, _counted_votes(sample)
        times = sample.multiplicity_of(rows)
        share, unit = _in_units_of_the_heaviest(sample.weight[rows], times)
        sums = PairCounts.from_rows(
            X.left[rows], X.right[rows], sample.y[rows], share, len(X.models), times
        )
        games = sums.weight + sums.weight.T
        present = np.flatnonzero(games.sum(axis=1) > 0)
        # Models without a vote have no score: the sums are those among the others.
        sums = sums.among(present) if len(present) else sums
        return cls(sample, rows, share, unit, present, sums)

    def by_group(self, members: Membership | None) -> GroupedVotes:
        """List the votes with their groups, those of different groups apart."""
        X, rows, times = (
            self.sample.X,
            self.rows,
            self.sample.multiplicity_of(self.rows),
        )
        assert members is not None
        group, at, number = members.entries()
        weight = self.share
        if weight.size > 1:
            # What a row stands for weighs alike.
            each = weight if times is None else weight / times
            weight = each[at] * number
        place = np.full(len(X.models), -1)
        place[self.present] = np.arange(len(self.present))
        left, right = place[X.left[rows]], place[X.right[rows]]
        y = self.sample.y[rows]
        return GroupedVotes(left[at], right[at], y[at], weight, group)


def _counted_votes(sample: Sample) -> NDArray[np.intp] | slice:
    """Rows that count: human votes of positive weight on historical models.

    Parameters
    ----------
    sample : Sample
        Battles in their roles.

    Returns
    -------
    ndarray of int, or slice
        Row numbers.
    """
    X, weight = sample.X, sample.weight
    if (
        not sample.is_grouped
        and all(map(is_constant, (weight, X.judge, X.involves_new)))
        and len(X)
        and X.judge[0] == -1
        and X.rows.all_known
    ):
        # Nothing tells rows apart, and there is no need to look at each; models
        # against themselves fall on the diagonal of the counts.
        return slice(None)
    votes = X.is_human & ~X.involves_new & (weight > 0)
    return np.flatnonzero(votes & X.is_usable)


def _in_units_of_the_heaviest(
    weight: Array, multiplicity: Array | None = None
) -> tuple[Array, float]:
    """Weights of votes over the largest, one number if all are equal; the largest.

    Parameters
    ----------
    weight : ndarray of shape (n_votes,)
        Positive.
    multiplicity : ndarray of shape (n_votes,), optional
        How many votes each stands for, whose weights are summed.

    Returns
    -------
    share : ndarray of shape (n_votes,) or (1,)
    unit : float

    Raises
    ------
    ValueError
        If a weight is too small beside the largest.
    """
    if is_constant(weight):
        weight = weight[:1]
    each = weight if multiplicity is None else weight / multiplicity
    # Squares of tiny or huge weights leave the range of floats.
    unit = each.max() if each.size else 1.0
    share = weight / unit
    lost = int((each < LEAST_WEIGHT * unit).sum())
    if lost:
        raise ValueError(
            f"sample_weight spans too much: {lost} rows weigh less than "
            f"{LEAST_WEIGHT:g} of the heaviest. Rescale it, or set them to zero."
        )
    return share, unit
