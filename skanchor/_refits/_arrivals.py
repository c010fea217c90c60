"""Rows of new models with all but their scores fixed, and the equations for these."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.arrivals import ArrivalRows
from skanchor._typing import Array


@dataclass(frozen=True, eq=False)
class JudgeFits:
    """Judges' parameters, as fitted on the historical rows.

    Attributes
    ----------
    sensitivities : ndarray of shape (n_replicates, n_judges)
        Sensitivity c, NaN for a judge without historical rows.
    biases, positions : ndarray of shape (n_replicates, n_arrivals)
        Bias h and position effect of each arrival row as recorded; zero for human rows.
    """

    sensitivities: Array
    biases: Array
    positions: Array


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Rows that involve new models, with all but the new scores known.

    Attributes
    ----------
    judge : ndarray of shape (n_rows,)
        Judge codes; -1 is human.
    signs : ndarray of shape (n_rows, n_new)
        +1 where the new model is first, -1 where it is second.
    weight, first : ndarray of shape (n_replicates, n_rows)
        Weights, and weights times outcomes.
    opponent : ndarray of shape (n_replicates, n_rows)
        Known part of the score difference: new scores count zero.
    sensitivities : ndarray of shape (n_replicates, n_rows)
        Sensitivity of the row's judge; one for humans.
    biases, positions : ndarray of shape (n_replicates, n_rows)
        Bias and position effect of the row.
    start : ndarray of shape (n_new,)
        First scores.
    tol : float
        Accepted error of the scores.
    """

    judge: NDArray[np.intp]
    signs: Array
    weight: Array
    first: Array
    opponent: Array
    sensitivities: Array
    biases: Array
    positions: Array
    start: Array
    tol: float

    def of_judge(self, judge: int) -> Arrivals:
        """Rows of one judge."""
        at = self.judge == judge
        return replace(
            self,
            judge=self.judge[at],
            signs=self.signs[at],
            **{
                name: getattr(self, name)[:, at]
                for name in (
                    "weight",
                    "first",
                    "opponent",
                    "sensitivities",
                    "biases",
                    "positions",
                )
            },
        )

    def mean_biases(self) -> Array:
        """Mean bias of each judge's arrival rows, seen from the new model's side.

        Returns
        -------
        ndarray of shape (n_replicates, n_rows)
            The mean over the rows of the same judge and new model, turned back to the
            side on which the row has the new model. Rows between two new models keep
            their own bias.
        """
        result = self.biases.copy()
        # Rows with one new model; signs are of shape (n_rows, n_new).
        single = np.abs(self.signs).sum(axis=1) == 1
        for m in np.unique(self.judge[self.judge >= 0]):
            for side in self.signs.T:
                at = np.flatnonzero((self.judge == m) & single & (side != 0))
                # Weighted mean of sign * bias, (n_replicates,).
                weight = self.weight[:, at]
                total = weight.sum(axis=1)
                toward = (weight * self.biases[:, at]) @ side[at]
                mean = np.divide(
                    toward, total, out=np.zeros_like(total), where=total > 0
                )
                result[:, at] = mean[:, None] * side[at]
        return result

    def root(
        self,
        weighting: str,
        *,
        biases: Array | None = None,
        shift: Array | None = None,
    ) -> Array:
        """Solve one equation for each new model g.

        ``mean over its rows of k sign_g (y - sigma(c delta + h)) + shift = 0``, with k
        the sensitivity c, which gives eq:arrival-estimation-v2, or one.

        Parameters
        ----------
        weighting : {"sensitivity", "equal"}
            The factor k.
        biases : ndarray of shape (n_replicates, n_rows), optional
            Bias h to use in place of the rows' own.
        shift : ndarray of shape (n_replicates,), optional
            Added to the mean.

        Returns
        -------
        ndarray of shape (n_replicates, n_new)
            Scores within the bounds, NaN where they are not known: see
            :meth:`ArrivalRows.root`.
        """
        # Logit: c (sign theta_new + opponent) + position + bias; all but theta_new.
        offset = self.sensitivities * self.opponent + self.positions
        offset += self.biases if biases is None else biases
        rows = ArrivalRows(
            self.signs, self.weight, self.first, self.sensitivities, offset
        )
        return rows.root(weighting, self.start, shift=shift, tol=self.tol)
