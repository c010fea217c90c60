"""Human votes that count: their rows, weights, and sums by pair of models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._battles import is_constant
from skanchor._human_bias import vote_biases
from skanchor._model.btl import VoteCells
from skanchor._model.btl_errors import ScoreErrors
from skanchor._model.open_rows import OpenRows
from skanchor._numerics.groups import Membership
from skanchor._typing import Array
from skanchor.sample import Sample

LEAST_WEIGHT = 1e-150
"""Weight of a vote, in that of the heaviest, whose square is still a number."""


@dataclass(frozen=True, slots=True)
class HumanVotes:
    """Votes of a sample that count, and their sums over the models that have any.

    Attributes
    ----------
    sample : Sample
        Battles in their roles.
    rows : ndarray of int, or slice
        Numbers of the rows that are votes and count.
    weight : ndarray of shape (n_votes,) or (1,)
        Weight of one of the votes that each row stands for, in units of the heaviest;
        one number if all are equal.
    unit : float
        Weight of the heaviest.
    present : ndarray of shape (n_present,)
        Models with a vote, by their place in the vocabulary of the sample.
    cells : VoteCells
        Sums by pair of these models and outcome.
    """

    sample: Sample
    rows: NDArray[np.intp] | slice
    weight: Array
    unit: float
    present: NDArray[np.intp]
    cells: VoteCells

    @classmethod
    def of(cls, sample: Sample) -> Self:
        """Add up the votes of a sample.

        Raises
        ------
        ValueError
            If a weight is too small beside the largest.
        """
        X, rows = sample.X, _counted_votes(sample)
        weight, count = sample.weight[rows], sample.multiplicity_of(rows)
        if is_constant(weight):
            weight = weight[:1]
        count = np.ones(1) if count is None else count
        weight = weight / count
        # Squares of tiny or huge weights leave the range of floats.
        unit = float(weight.max(initial=0.0)) or 1.0
        weight = weight / unit
        n_lost = int((weight < LEAST_WEIGHT).sum())
        if n_lost:
            raise ValueError(
                f"sample_weight spans too much: {n_lost} rows weigh less than "
                f"{LEAST_WEIGHT:g} of the heaviest. Rescale it, or set them to zero."
            )
        sides = X.left[rows], X.right[rows], sample.y[rows]
        cells = VoteCells.of(*sides, weight * count, count, len(X.models))
        present = cells.models
        return cls(sample, rows, weight, unit, present, cells.among(present))

    @property
    def n_groups(self) -> int:
        """Number of groups of dependent rows that have votes."""
        members = self.sample.membership(self.rows)
        return 0 if members is None else len(np.unique(members.place))

    def totals(self, members: Membership, errors: ScoreErrors) -> csr_array:
        """Derivative of the log likelihood of the votes of a group, by model."""
        X, place = self.sample.X, np.full(len(self.sample.X.models), -1)
        place[self.present] = np.arange(len(self.present))
        left, right = place[X.left[self.rows]], place[X.right[self.rows]]
        y = self.sample.y[self.rows]
        vectors = errors.score_vectors(left, right, y, self.weight)
        return csr_array(members.matrix() @ vectors)

    def open_rows(
        self, is_open: NDArray[np.bool_], dispersion: float, bias: Any
    ) -> OpenRows | None:
        """Votes on models without a finite estimate.

        Parameters
        ----------
        is_open : ndarray of shape (n_present,)
            Which models are without one.
        dispersion : float
            As in :meth:`OpenRows.of_outcomes`.
        bias : learner or None
            Fitted bias of people.

        Returns
        -------
        OpenRows or None
            None where all models have an estimate.
        """
        if not is_open.any():
            return None
        cells = self.cells
        if bias is None:
            votes = cells.left, cells.right, cells.y, cells.weight, cells.square
            return OpenRows.of_outcomes(is_open, *votes, dispersion)
        # The style of a vote is its own.
        X, rows, place = self.sample.X, self.rows, np.zeros(len(self.sample.X.models))
        place[self.present] = np.arange(len(self.present))
        left, right = (place.astype(np.intp)[side[rows]] for side in (X.left, X.right))
        weight, count = self.sample.weight[rows], self.sample.multiplicity_of(rows)
        square = weight**2 / (1.0 if count is None else count)
        votes = left, right, self.sample.y[rows], weight, square
        offset = vote_biases(bias, X)[rows]
        return OpenRows.of_outcomes(is_open, *votes, dispersion, offset=offset)


def _counted_votes(sample: Sample) -> NDArray[np.intp] | slice:
    """Rows that count: human votes of positive weight on historical models."""
    X = sample.X
    votes = sample.counts & X.is_human & ~X.involves_new
    # Without a copy of the columns where all rows are votes.
    return slice(None) if votes.all() else np.flatnonzero(votes)
