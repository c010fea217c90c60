"""Rows of models without a finite estimate: those that won, or lost, everything."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from skanchor._model.linalg import Array


@dataclass(frozen=True, eq=False, slots=True)
class OpenRows:
    """Rows that compare models without a finite estimate with each other or the rest.

    The logit of the outcome is ``c_m (s_winner - s_loser) + offset`` and the difference
    of the item effects of open models; that of a vote has ``c = 1`` and no item
    effects. A tie is two rows of half the weight.

    Attributes
    ----------
    is_open : ndarray of shape (n_models,)
        Models without a finite estimate.
    winner, loser : ndarray of shape (n_rows,)
        Codes of the models.
    judge : ndarray of shape (n_rows,)
        Code of the judge; -1 for people.
    offset : ndarray of shape (n_rows,)
        Logit of the winner's win where the scores are equal.
    weight : ndarray of shape (n_rows,)
        Weights, divided by what they are worth less than independent votes.
    slope, slope_error : ndarray of shape (n_judges,)
        Sensitivities and their standard errors.
    item_covariance : ndarray of shape (n_judges, n_judges)
        Covariance of the item effects of a model; zero without any.
    """

    is_open: NDArray[np.bool_]
    winner: NDArray[np.intp]
    loser: NDArray[np.intp]
    judge: NDArray[np.intp]
    offset: Array
    weight: Array
    slope: Array = field(default_factory=lambda: np.zeros(0))
    slope_error: Array = field(default_factory=lambda: np.zeros(0))
    item_covariance: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def of_outcomes(
        cls,
        is_open: NDArray[np.bool_],
        left: NDArray[np.intp],
        right: NDArray[np.intp],
        y: Array,
        weight: Array,
        square: Array,
        dispersion: float,
        judge: NDArray[np.intp] | None = None,
        offset: Array | None = None,
        doubt: Array | None = None,
        **judges: Array,
    ) -> OpenRows:
        """Take the rows of open models among rows with outcomes.

        Parameters
        ----------
        is_open : ndarray of shape (n_models,)
            Models without a finite estimate.
        left, right, y, weight, square : ndarray of shape (n_rows,)
            Models, preferences for the left one, and sums of the weights of the votes
            that a row stands for, and of their squares.
        dispersion : float
            Variance of the scores of the other models, in that of independent rows.
            Below one it counts as one: rows of open models show no noise of their own.
        judge, offset : ndarray of shape (n_rows,), optional
            Judges, and logits at equal scores; votes of people without a bias if not
            given.
        doubt : ndarray of shape (n_rows,), optional
            How far the logits at equal scores may be off, in favour of each outcome.
        **judges
            ``slope``, ``slope_error`` and ``item_covariance``.

        Returns
        -------
        OpenRows
        """
        used = (is_open[left] | is_open[right]) & (left != right) & (weight > 0)
        left, right, y, weight = left[used], right[used], y[used], weight[used]
        judge = np.full(len(y), -1) if judge is None else judge[used]
        offset = np.zeros(len(y)) if offset is None else offset[used]
        doubt = np.zeros(len(y)) if doubt is None else doubt[used]
        # As a sandwich does not, this does not depend on the unit of the weights.
        unit = square[used].sum() / max(weight.sum(), np.finfo(float).tiny)
        weight = weight / (max(dispersion, 1.0) * max(unit, np.finfo(float).tiny))
        parts = [left, right, judge, offset + doubt, y * weight]
        turned = [right, left, judge, doubt - offset, (1.0 - y) * weight]
        *columns, weight = (
            np.concatenate(pair) for pair in zip(parts, turned, strict=True)
        )
        rows = np.column_stack(columns)[weight > 0]
        distinct, row = np.unique(rows, axis=0, return_inverse=True)
        total = np.zeros(len(distinct))
        np.add.at(total, row.ravel(), weight[weight > 0])
        code = distinct[:, :3].astype(np.intp)
        return cls(
            is_open,
            winner=code[:, 0],
            loser=code[:, 1],
            judge=code[:, 2],
            offset=distinct[:, 3],
            weight=total,
            **judges,
        )

    def padded(self, place: NDArray[np.intp], size: int) -> OpenRows:
        """The same rows among more models, of which these have the ``place``."""
        is_open = np.zeros(size, dtype=bool)
        is_open[place] = self.is_open
        return replace(
            self,
            is_open=is_open,
            winner=place[self.winner],
            loser=place[self.loser],
        )


def dispersion_of(covariance: Array, independent: Array) -> float:
    """Variance of scores in that of independent rows: the median over the models."""
    found, due = covariance.diagonal(), independent.diagonal()
    known = np.isfinite(found) & (found > 0) & np.isfinite(due) & (due > 0)
    return float(np.median(found[known] / due[known])) if known.any() else 1.0
