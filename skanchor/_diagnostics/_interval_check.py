"""Whether intervals hold: tests on models that were left out and placed as new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from skanchor._inference import satterthwaite, t_distribution
from skanchor._multiplicity import JointErrors, romano_wolf_adjust
from skanchor._typing import Array

__all__ = ["Direction", "IntervalCheck", "Miss"]

DRAWS = 9_999
"""Draws from the joint law of the errors; a p-value of .05 is off by .002."""


@dataclass(frozen=True, slots=True)
class Miss:
    """How far the two scores of a model lie apart.

    Attributes
    ----------
    model : label
        The model left out.
    z : float
        Score less human score, in standard errors of this difference.
    p_value : float
        Chance of a miss as large, of this model or, for the largest miss, of any.
    """

    model: Any
    z: float
    p_value: float


@dataclass(frozen=True, slots=True)
class Direction:
    """How the misses change from the best model to the worst.

    Attributes
    ----------
    gap : float
        By how much more the last model is overrated than the first, in logits, on the
        line through all misses. Above zero, good models are placed too low and bad ones
        too high.
    p_value : float
        Two-sided.
    """

    gap: float
    p_value: float


@dataclass(frozen=True, eq=False)
class IntervalCheck:
    """Four tests of the intervals, by the models that were left out in turn.

    Attributes
    ----------
    table : DataFrame
        Result of :func:`skanchor.evaluation.leave_one_model_out`, with three columns
        more. ``difference_error``: standard error of score less human score, which
        allows for rows that both rest on; ``z``: the difference divided by it;
        ``p_adjusted``: two-sided p-value, adjusted for all models.
    level : float
        Level of the intervals.
    largest : Miss or None
        Test of the largest miss. None if no model has a finite error.
    top : Miss or None
        Test of the best model by both scores.
    direction : Direction or None
        Test of the misses in the order of the models; None with fewer than three.
    compatible, n_models : int
        Models whose two scores agree within the errors of both, and models tested.
    coverage_p : float
        Chance that as few or fewer would agree.
    p_value : float
        Chance that the smallest of the four p-values is as small.
    item_effects : str or None
        Treatment of the item effects in all fits; None where the method has none.
    """

    table: pd.DataFrame
    level: float
    largest: Miss | None
    top: Miss | None
    direction: Direction | None
    compatible: int
    n_models: int
    coverage_p: float
    p_value: float
    item_effects: str | None = None

    @property
    def coverage(self) -> float:
        """Share of models whose two scores agree within the errors of both."""
        return float(self.table["compatible"].mean())

    @property
    def covered(self) -> float:
        """Share of models whose interval contains the human score itself."""
        return float(self.table["covered"].mean())

    @classmethod
    def of(
        cls,
        table: pd.DataFrame,
        row_parts: Sequence[Sequence[float]] | None = None,
        item_parts: Sequence[Sequence[float]] | None = None,
        item_df: float = np.inf,
        level: float = 0.95,
        item_effects: str | None = None,
    ) -> Self:
        """Test the models of a table.

        Parameters
        ----------
        table : DataFrame
            Result of :func:`skanchor.evaluation.leave_one_model_out`.
        row_parts, item_parts : array-like of shape (n_models, n_parts), optional
            Parts of the error of score less human score, those from rows and those from
            item effects. The covariance of two errors is the sum of the products of
            their parts. Without them the errors are taken as uncorrelated.
        item_df : float, default=inf
            Degrees of freedom of the estimated variance of the item effects.
        level : float, default=0.95
            Level of the intervals.
        item_effects : str, optional
            Treatment of the item effects in all fits.

        Returns
        -------
        IntervalCheck
        """
        error = table["standard_error"].to_numpy(np.float64)
        human = table["true_error"].to_numpy(np.float64)
        known = np.isfinite(error) & np.isfinite(human) & (error > 0)
        if row_parts is None or item_parts is None:
            sampling, items = np.diag(error**2 + human**2)[known][:, known], None
        else:
            rows, effects = (
                np.asarray(parts, dtype=np.float64)[known]
                for parts in (row_parts, item_parts)
            )
            sampling, items = rows @ rows.T, effects @ effects.T
        tests = _Tests(table[known], sampling, items, item_df, level)
        own, largest, top, direction = tests.table_of_models(), None, None, None
        p = [1.0]
        if known.any():
            largest, top = tests.largest(own), tests.top()
            p += [largest.p_value, top.p_value]
        if known.sum() > 2:
            direction = tests.direction()
            p += [direction.p_value]
        compatible, coverage_p = tests.coverage()
        # The smallest p-value of each draw, against the smallest of the data.
        smallest = np.minimum.reduce(tests.drawn_p)
        together = (1 + np.sum(smallest <= min(*p, coverage_p))) / (1 + DRAWS)
        return cls(
            table.join(own),
            level,
            largest,
            top,
            direction,
            compatible,
            int(known.sum()),
            coverage_p,
            float(together),
            item_effects,
        )


class _Tests:
    """Tests of models, and of draws in which their intervals hold.

    Attributes
    ----------
    drawn_p : list of ndarray of shape (n_draws,)
        By test, its p-value in each draw.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        sampling: Array,
        items: Array | None,
        item_df: float,
        level: float,
    ):
        self.table, self.item_df = table, item_df
        judged, human, score, true_score = (
            table[name].to_numpy(np.float64)
            for name in ("standard_error", "true_error", "score", "true_score")
        )
        self.difference = score - true_score
        # The models are ordered by a mean of both scores whose error is uncorrelated
        # with that of their difference: by the human score alone, its own noise would
        # make good models seem underrated.
        share = human**2 / (judged**2 + human**2)
        self.rank = rankdata(-(true_score + share * self.difference))
        self.items = np.zeros_like(sampling) if items is None else items
        self.covariance = sampling + self.items
        self.variance = np.diagonal(self.covariance)
        self.item_variance = np.diagonal(self.items)
        # Draws must not depend on the order of the table.
        order = np.lexsort((self.variance, self.difference))
        errors = JointErrors.draw(self.covariance, items, item_df, order, DRAWS)
        self.errors, self.ratio = errors.errors, errors.ratio
        width = (table["high"] - table["low"]).to_numpy(np.float64)
        # Half the length of an interval is this times its standard error.
        self.quantile = width / 2.0 / judged
        self.bound = judged**2 + human**2
        self.drawn_p: list[Array] = []

    def _drawn_variance(self, variance: Array, items: Array) -> Array:
        """Estimated variances in each draw, of shape (n, n_draws)."""
        found = variance[:, None] + items[:, None] * (self.ratio - 1.0)
        return np.asarray(np.maximum(found, 0.0))

    def _p(self, difference: Array, variance: Array, df: Array) -> Array:
        """Two-sided p-values of differences of mean zero."""
        error = np.sqrt(variance)
        z = np.divide(
            np.abs(difference), error, out=np.zeros_like(difference), where=error > 0
        )
        return np.asarray(2.0 * t_distribution(np.broadcast_to(df, z.shape), -z))

    def _df(self, at: Any) -> Array:
        return satterthwaite(self.variance[at], self.item_variance[at], self.item_df)

    def _null_p(self, at: NDArray[np.intp]) -> Array:
        """Two-sided p-values of some models in each draw."""
        variance = self._drawn_variance(self.variance[at], self.item_variance[at])
        return self._p(self.errors[at], variance, self._df(at)[:, None])

    def table_of_models(self) -> pd.DataFrame:
        """Standard error, z and adjusted p-value of each difference."""
        everyone = np.arange(len(self.table))
        p = self._p(self.difference, self.variance, self._df(everyone))
        error = np.sqrt(self.variance)
        return pd.DataFrame(
            {
                "difference_error": error,
                "z": self.difference / error,
                "p_adjusted": romano_wolf_adjust(p, self._null_p, DRAWS),
            },
            index=self.table.index,
        )

    def largest(self, own: pd.DataFrame) -> Miss:
        """Test of the largest miss, from the table of the models."""
        # Equal p-values, such as of one, are those of several models.
        first = own["p_adjusted"] == own["p_adjusted"].min()
        model = own["z"].abs()[first].idxmax()
        least = self._null_p(np.arange(len(own))).min(axis=0)
        self.drawn_p.append(rankdata(least, method="max") / DRAWS)
        z, p = own.loc[model, ["z", "p_adjusted"]]
        return Miss(model, float(z), float(p))

    def top(self) -> Miss:
        """Test of the best model."""
        at = np.atleast_1d(np.argmin(self.rank))
        p = self._p(self.difference[at], self.variance[at], self._df(at))
        self.drawn_p.append(self._null_p(at)[0])
        z = self.difference[at] / np.sqrt(self.variance[at])
        return Miss(self.table.index[at[0]], float(z[0]), float(p[0]))

    def direction(self) -> Direction:
        """Test of the misses in the order of the models."""
        weight = 1.0 / self.variance
        # Weighted least squares of the misses on the rank, 1 for the best.
        centred = self.rank - weight @ self.rank / weight.sum()
        slope = weight * centred / (weight @ centred**2)
        squares = slope**2
        # A common error of scale is among the misses only in second order: judges are
        # calibrated to the other models, whose misses thus have no trend in first
        # order. So the variance is at least that of uncorrelated misses.
        items = max(slope @ self.items @ slope, squares @ self.item_variance)
        total = max(slope @ self.covariance @ slope, squares @ self.variance)
        variance, of_items = np.atleast_1d(total), np.atleast_1d(items)
        df = satterthwaite(variance, of_items, self.item_df)
        found = np.atleast_1d(slope @ self.difference)
        p = self._p(found, variance, df)
        drawn = self._drawn_variance(variance, of_items)[0]
        self.drawn_p.append(self._p(slope @ self.errors, drawn, df))
        return Direction(float(found[0] * (len(self.rank) - 1)), float(p[0]))

    def coverage(self) -> tuple[int, float]:
        """Number of models whose two scores agree, and the p-value of so few."""
        variance = self._drawn_variance(self.bound, self.item_variance)
        missed = np.abs(self.errors) > self.quantile[:, None] * np.sqrt(variance)
        n_missed = missed.sum(axis=0)
        self.drawn_p.append(rankdata(-n_missed, method="max") / DRAWS)
        compatible = int(self.table["compatible"].astype(bool).sum())
        as_many = np.sum(n_missed >= len(self.table) - compatible)
        return compatible, float((1 + as_many) / (1 + DRAWS))
