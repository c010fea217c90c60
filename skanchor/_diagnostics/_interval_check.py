"""Whether intervals hold: tests on models that were left out and placed as new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from skanchor._typing import Array
from skanchor.results.adjustment import JointErrors, holm_adjust
from skanchor.results.intervals import satterthwaite, t_distribution

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
    """Four tests of the intervals, on models that were left out in turn.

    Attributes
    ----------
    table : DataFrame
        Result of :func:`skanchor.evaluation.leave_one_model_out`, with three more
        columns. ``difference_error``: standard error of score minus human score, which
        allows for rows that both use; ``z``: the difference divided by it;
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
        Probability that as few models or fewer agree, if the intervals hold.
    p_value : float
        The p-value of all tests together: the smallest p-value times their number.
    item_effects : str or None
        Treatment of the item effects in all fits; None if the method has none.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.evaluation import check_intervals
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(2000, 200, n_models=6, random_state=0)
    >>> anchor = AnchorPipeline(cv=3, random_state=0).fit(data.X, data.y)
    >>> check = check_intervals(anchor, data.X, data.y)
    >>> check.n_models, check.compatible <= 6
    (6, True)
    >>> check.table.columns.tolist()[:3]
    ['true_score', 'true_error', 'score']
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
            Parts of the error of score minus human score, from rows and from item
            effects. The covariance of two errors is the sum of the products of their
            parts. Without them the errors are treated as uncorrelated.
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
            rows = np.asarray(row_parts, dtype=np.float64)[known]
            effects = np.asarray(item_parts, dtype=np.float64)[known]
            sampling, items = rows @ rows.T, effects @ effects.T
        tests = _Tests(table[known], sampling, items, item_df, level)
        own, largest, top, direction = tests.table_of_models(), None, None, None
        if known.any():
            largest, top = tests.largest(own), tests.top()
        if known.sum() > 2:
            direction = tests.direction()
        compatible, coverage_p = tests.coverage()
        made = [coverage_p]
        made += [test.p_value for test in (largest, top, direction) if test is not None]
        return cls(
            table.join(own),
            level,
            largest,
            top,
            direction,
            compatible,
            int(known.sum()),
            coverage_p,
            min(1.0, len(made) * min(made)),
            item_effects,
        )


class _Tests:
    """Tests of models with the joint law of their misses."""

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
        self.df = satterthwaite(self.variance, self.item_variance, item_df)
        width = (table["high"] - table["low"]).to_numpy(np.float64)
        # Half the length of an interval is this times its standard error.
        self.quantile = width / 2.0 / judged
        self.bound = judged**2 + human**2

    def table_of_models(self) -> pd.DataFrame:
        """Standard error, z and adjusted p-value of each difference."""
        error = np.sqrt(self.variance)
        z = self.difference / error
        return pd.DataFrame(
            # Holm's holds although the variance of item effects is estimated without
            # the very model that deviates most.
            {
                "difference_error": error,
                "z": z,
                "p_adjusted": holm_adjust(_two_sided(z, self.df)),
            },
            index=self.table.index,
        )

    def largest(self, own: pd.DataFrame) -> Miss:
        """Test of the largest miss, from the table of the models."""
        # Equal p-values, such as of one, are those of several models.
        first = own["p_adjusted"] == own["p_adjusted"].min()
        model = own["z"].abs()[first].idxmax()
        z, p = own.loc[model, ["z", "p_adjusted"]]
        return Miss(model, float(z), float(p))

    def top(self) -> Miss:
        """Test of the best model."""
        at = int(np.argmin(self.rank))
        z = self.difference[at] / np.sqrt(self.variance[at])
        p = _two_sided(np.atleast_1d(z), self.df[at : at + 1])
        return Miss(self.table.index[at], float(z), float(p[0]))

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
        df = satterthwaite(np.atleast_1d(total), np.atleast_1d(items), self.item_df)
        found = float(slope @ self.difference)
        p = _two_sided(np.atleast_1d(found / np.sqrt(total)), df)
        return Direction(found * (len(self.rank) - 1), float(p[0]))

    def coverage(self) -> tuple[int, float]:
        """Number of models whose two scores agree, and the p-value of so few."""
        # Estimated variances in each draw, of shape (n_models, n_draws).
        drawn = self.bound[:, None] + self.item_variance[:, None] * (self.ratio - 1.0)
        bound = self.quantile[:, None] * np.sqrt(np.maximum(drawn, 0.0))
        n_missed = (np.abs(self.errors) > bound).sum(axis=0)
        compatible = int(self.table["compatible"].astype(bool).sum())
        as_many = np.sum(n_missed >= len(self.table) - compatible)
        return compatible, float((1 + as_many) / (1 + DRAWS))


def _two_sided(z: Array, df: Array) -> Array:
    """Two-sided p-values of the t law."""
    return np.asarray(2.0 * t_distribution(df, -np.abs(z)))
