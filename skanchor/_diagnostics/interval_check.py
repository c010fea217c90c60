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
        errors = table[["standard_error", "true_error"]].to_numpy(np.float64)
        has_error = np.isfinite(errors).all(axis=1) & (errors[:, 0] > 0)
        tested, (judged, human) = table[has_error], errors[has_error].T ** 2
        covariance, items = np.diag(judged + human), np.zeros((len(tested),) * 2)
        if row_parts is not None and item_parts is not None:
            parts = (
                np.asarray(one, float)[has_error] for one in (row_parts, item_parts)
            )
            sampling, items = (part @ part.T for part in parts)
            covariance = sampling + items
        law = covariance, items, item_df
        difference = (tested["score"] - tested["true_score"]).to_numpy(float)
        error = np.sqrt(covariance.diagonal())
        z = difference / error
        p = _two_sided(difference, covariance.diagonal(), items.diagonal(), item_df)
        # Holm's holds although the variance of item effects is estimated without the
        # very model that deviates most.
        adjusted, tests = holm_adjust(p), list[Any]()
        if len(tested):
            # Equal p-values, such as of one, are those of several models.
            at = np.lexsort((-np.abs(z), adjusted))[0]
            tests.append(Miss(tested.index[at], float(z[at]), float(adjusted[at])))
            # The models are ordered by a mean of both scores whose error is
            # uncorrelated with that of their difference: by the human score alone, its
            # own noise would make good models seem underrated.
            share = human / (judged + human)
            rank = rankdata(-(tested["true_score"] + share * difference))
            at = np.argmin(rank)
            tests.append(Miss(tested.index[at], float(z[at]), float(p[at])))
            if len(tested) > 2:
                tests.append(_direction(rank, difference, *law))
        compatible = int(tested["compatible"].astype(bool).sum())
        coverage_p = _p_of_coverage(tested, compatible, difference, *law)
        p_values = [coverage_p, *(test.p_value for test in tests)]
        together = min(1.0, len(p_values) * min(p_values))
        columns = {"difference_error": error, "z": z, "p_adjusted": adjusted}
        largest, top, direction = [*tests, None, None, None][:3]
        return cls(
            table.join(pd.DataFrame(columns, tested.index)), level, largest, top,
            direction, compatible, len(tested), coverage_p, together, item_effects,
        )  # fmt: skip


def _two_sided(value: Any, variance: Any, items: Any, item_df: float) -> Array:
    """Two-sided p-values, by the t law of a variance with a part from item effects."""
    df = satterthwaite(variance, items, item_df)
    return np.asarray(2.0 * t_distribution(df, -np.abs(value) / np.sqrt(variance)))


def _direction(
    rank: Array, difference: Array, covariance: Array, items: Array, item_df: float
) -> Direction:
    """Test of the misses in the order of the models."""
    # Weighted least squares of the misses on the rank, 1 for the best.
    weight = 1.0 / covariance.diagonal()
    centred = rank - weight @ rank / weight.sum()
    slope = weight * centred / (weight @ centred**2)
    # A common error of scale is among the misses only in second order: judges are
    # calibrated to the other models, whose misses thus have no trend in first order. So
    # the variance is at least that of uncorrelated misses.
    variance, of_items = (
        max(slope @ whole @ slope, slope**2 @ whole.diagonal())
        for whole in (covariance, items)
    )
    trend = float(slope @ difference)
    p = _two_sided(trend, variance, of_items, item_df)
    return Direction(trend * (len(rank) - 1), float(p))


def _p_of_coverage(
    models: pd.DataFrame,
    compatible: int,
    difference: Array,
    covariance: Array,
    items: Array,
    item_df: float,
) -> float:
    """P-value of so few models whose two scores agree."""
    draws = JointErrors.draw(covariance, items, item_df, difference, DRAWS)
    # Half the length of an interval is this times its standard error.
    width = (models["high"] - models["low"]) / models["standard_error"] / 2.0
    squares = models["standard_error"] ** 2 + models["true_error"] ** 2
    # Estimated variances in each draw, of shape (n_models, n_draws).
    excess = items.diagonal()[:, None] * (draws.ratio - 1.0)
    drawn = squares.to_numpy(float)[:, None] + excess
    bound = width.to_numpy(float)[:, None] * np.sqrt(np.maximum(drawn, 0.0))
    n_missed = (np.abs(draws.errors) > bound).sum(axis=0)
    as_many = np.sum(n_missed >= len(models) - compatible)
    return float((1 + as_many) / (1 + DRAWS))
