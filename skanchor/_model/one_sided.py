"""Scores without a finite estimate: one-sided limits and tests by likelihood ratio.

The deviance of a value of a score, or of a difference, is twice the log likelihood that
it costs, the rest being as likely as it can be. For a model that lost all its rows it
rises with the value t, and ``exp(-deviance / 2)`` is how much less likely than at an
infinite distance the rows are: with the other scores known, the very probability of
losing them all. So it is the p-value of scores of t or above, and the limit of level
1 - alpha has the p-value alpha / 2, as has each limit of a two-sided interval: which of
the two there is depends on the rows. A chi-square law with one degree of freedom would
not do: at the end of the sample space, its limit of level .95 misses in up to 15 % of
tables (``exp(-3.84 / 2)``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skanchor._model.fit import PEOPLE, Fit, Layout
from skanchor._model.graph import components
from skanchor._model.item_effects import inverse_of, precision_of
from skanchor._model.newton import minimise
from skanchor._model.sources import SourceRows
from skanchor._typing import Array

FARTHEST = 60.0
"""Score in logits, beyond those of all others, that stands for infinity."""

ENOUGH_EVIDENCE, NO_EVIDENCE = 12.0, 1e-2
"""Log likelihood that an infinite score must cost on the side of the limit, so that
there is one for all usual levels; and that it may cost on the other side."""

_LOOSE, _PULL = 1e-10, 1e4
"""Precision of a score that nothing else limits, and of a pull towards a value."""

_MOST_STEPS, _LONGEST = 60, 4.0
"""Most steps to a value of given cost, and their longest length in logits."""

_LITTLE, _NEAR = 0.05, 1e-3
"""Share of the cost that is looked for below which the next step is as from there; and
difference of logarithms of costs below which one more step ends at the limit."""

_TOLERANCE = 1e-5
"""Squared decrement before the last step of Newton's method, in log likelihood."""


@dataclass(frozen=True, eq=False, slots=True)
class OpenRows:
    """Rows that compare models without a finite estimate with each other or the rest.

    The logit of a row is ``c_m (s_left - s_right) + offset`` and the difference of the
    item effects of open models; that of a vote has ``c = 1`` and no item effects.

    Attributes
    ----------
    is_open : ndarray of shape (n_models,)
        Models without a finite estimate.
    sources : list of SourceRows
        The rows by source; the items are the models. Weights are divided by what they
        are worth less than independent votes.
    slope, slope_error : ndarray of shape (n_judges,)
        Sensitivities and their standard errors.
    item_covariance : ndarray of shape (n_judges, n_judges)
        Covariance of the item effects of a model; zero without any.
    """

    is_open: NDArray[np.bool_]
    sources: list[SourceRows]
    slope: Array = field(default_factory=lambda: np.zeros(0))
    slope_error: Array = field(default_factory=lambda: np.zeros(0))
    item_covariance: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def of(
        cls,
        is_open: NDArray[np.bool_],
        rows: SourceRows,
        dispersion: float,
        source: NDArray[np.intp] | int = PEOPLE,
        **judges: Array,
    ) -> OpenRows:
        """Take the rows of open models among others.

        ``source`` has the source of each row. ``dispersion`` is the variance of the
        other scores, in that of independent rows; below one it counts as one, as rows
        of open models show no noise of their own.
        """
        used = (is_open[rows.left] | is_open[rows.right]) & (rows.left != rows.right)
        used &= rows.weight > 0
        block = np.broadcast_to(source, len(rows))[used]
        rows = rows[used]
        # As a sandwich does not, this does not depend on the unit of the weights.
        tiny = np.finfo(float).tiny
        unit = np.sum(rows.weight**2 / rows.count) / max(rows.weight.sum(), tiny)
        weight = rows.weight / (max(dispersion, 1.0) * max(unit, tiny))
        n_blocks = int(block.max(initial=PEOPLE)) + 1
        parts = replace(rows, weight=weight).in_blocks(block, n_blocks)
        sources = [replace(one, source=m) for m, one in enumerate(parts) if len(one)]
        return cls(is_open, sources, **judges)


def dispersion_of(covariance: Array, independent: Array) -> float:
    """Variance of scores in that of independent rows: the median over the models."""
    variance, expected = covariance.diagonal(), independent.diagonal()
    used = (variance > 0) & (expected > 0) & np.isfinite(variance + expected)
    return float(np.median(variance[used] / expected[used])) if used.any() else 1.0


class Point(NamedTuple):
    """A value of a score or of a difference, and the most likely parameters there.

    ``cost`` is the log likelihood that it costs, ``slope`` the derivative of that.
    """

    fit: Fit
    value: float
    cost: float
    slope: float


@dataclass(frozen=True, eq=False)
class OpenScores:
    """Limits of scores without a finite estimate, and tests of their differences.

    Rows of open models are taken at their likelihood. What other rows have taught is
    the prior: the other scores are normal around their estimates, with their sandwich
    as covariance, sensitivities with their errors, and item effects with their
    covariance. Judges' deviations from other models are part of the offsets.

    Attributes
    ----------
    rows : OpenRows
        Rows of open models.
    scores : ndarray of shape (n_models,)
        Estimates of the others.
    covariance : ndarray of shape (n_models, n_models)
        Of these.
    """

    rows: OpenRows
    scores: Array
    covariance: Array

    @cached_property
    def _prior(self) -> Fit:
        """Centre of the prior, with its precision; the items are the models."""
        rows, is_open, n = self.rows, self.rows.is_open, len(self.scores)
        has_effects, n_sources = bool(rows.item_covariance.any()), 1 + len(rows.slope)
        # All other models are one, whose item effects are zero.
        model = np.where(is_open, np.cumsum(is_open) - 1, is_open.sum())
        layout = Layout(
            np.ones(n, dtype=bool), np.zeros(n, dtype=np.intp), model,
            (0,) * n_sources, (False,) * n_sources, has_effects,
        )  # fmt: skip
        centre, diagonal = np.zeros((2, layout.size))
        centre[layout.scores] = np.where(is_open, 0.0, self.scores)
        centre[layout.sensitivities] = np.append(1.0, np.nan_to_num(rows.slope))
        diagonal[layout.scores][is_open] = _LOOSE
        error = np.append(0.0, np.nan_to_num(rows.slope_error))
        diagonal[layout.sensitivities][error > 0] = error[error > 0] ** -2.0
        precision = np.diag(diagonal)
        box = np.ix_(np.flatnonzero(~is_open), np.flatnonzero(~is_open))
        precision[box] = inverse_of(self.covariance[box])
        if has_effects:
            at = layout.item_effects
            precision[at, at] = precision_of(rows.item_covariance, layout.n_models)
        return Fit(layout, centre, precision, centre=centre)

    def _fitted(self, start: Fit) -> tuple[Fit, float]:
        """Most likely parameters under the prior of a start, and their loss."""
        layout, sources = start.layout, self.rows.sources
        weights = [rows.weight for rows in sources]
        free = layout.of_scores(layout.is_new)
        free |= layout.of_item_effects(self.rows.is_open)
        # Known sensitivities have no prior.
        at = layout.sensitivities
        free[at] = start.precision.diagonal()[at] > 0
        fit, _ = minimise(start, sources, weights, free, tolerance=_TOLERANCE)
        return fit, fit.loss(sources, weights)

    @cached_property
    def _best(self) -> tuple[Fit, float]:
        """Most likely parameters; open scores end as far out as they may be."""
        return self._fitted(self._prior)

    def _at(
        self, model: int, other: int | None, value: float, near: Point | None = None
    ) -> Point:
        """Most likely parameters beside an open score, or the difference to another.

        ``near`` is a point nearby. A prior pulls to the value. Where the pull balances
        the slope of the likelihood, parameters are most likely beside what they reach.
        """
        prior, moving = self._prior, self.rows.is_open.copy()
        target, centre = np.zeros_like(prior.x), prior.x.copy()
        target[model], centre[model] = 1.0, value
        if other is not None:
            target[other], moving[other] = -1.0, False
            centre[model] += centre[other]
        # Not from the best parameters, which lie too far out to move from there. Open
        # models move together, as their rows may say little of how far they are apart.
        x = centre.copy()
        x[: len(moving)][moving] = centre[model]
        if near is not None:
            x = near.fit.x.copy()
            x[: len(moving)][moving] += value - near.value
        pull = prior.precision + _PULL * np.outer(target, target)
        fit, loss = self._fitted(replace(prior, x=x, centre=centre, precision=pull))
        reached = float(target @ fit.x)
        slope = _PULL * (value - reached)
        cost = loss - slope**2 / (2.0 * _PULL) - self._best[1]
        return Point(fit, reached, cost, slope)

    @cached_property
    def side(self) -> NDArray[np.intp]:
        """1 where a score has a lower limit alone, -1 where an upper one, else 0."""
        is_open = self.rows.is_open
        side, inside = np.zeros(len(is_open), np.intp), self.scores[~is_open]
        low = inside.min(initial=0.0) - FARTHEST
        high = inside.max(initial=0.0) + FARTHEST
        for model in np.flatnonzero(is_open).tolist():
            costs = [self._at(model, None, end).cost for end in (low, high)]
            if min(costs) <= NO_EVIDENCE and max(costs) >= ENOUGH_EVIDENCE:
                side[model] = np.sign(costs[0] - costs[1])
        return side

    def limit(self, model: int, other: int | None, level: float) -> tuple[float, float]:
        """Interval of a score, or of the difference to another, with at most one limit.

        ``level`` is that of a two-sided interval.
        """
        is_open, quantile = self.rows.is_open, -np.log((1.0 - level) / 2.0)
        if not is_open[model]:
            assert other is not None
            low, high = self.limit(other, model, level)
            return -high, -low
        sign = int(self.side[model])
        # On the same side both may be infinite, at any distance, and an open model
        # without a limit may be anywhere.
        if not sign or (
            other is not None and is_open[other] and self.side[other] in (0, sign)
        ):
            return -np.inf, np.inf
        value, point = 0.0, None
        for _ in range(_MOST_STEPS):
            point = self._at(model, other, value, point)
            # Newton's method: the cost is nearly exponential where it is low.
            cost = max(point.cost, _LITTLE * quantile)
            excess = float(np.log(cost / quantile))
            step = excess * cost / max(-sign * point.slope, 1e-3 * cost)
            value = point.value + sign * float(np.clip(step, -_LONGEST, _LONGEST))
            if abs(excess) <= _NEAR:
                return (value, np.inf) if sign > 0 else (-np.inf, value)
            if abs(value) > 2.0 * FARTHEST:
                break
        return -np.inf, np.inf

    def replaced(
        self, p: Array, better: NDArray[np.intp], worse: NDArray[np.intp]
    ) -> Array:
        """P-values of "better does not exceed worse", for open models by likelihood.

        ``p`` has those of the other pairs. Where rows do not tell they are one.
        """
        is_open = self.rows.is_open
        p_of_open = np.exp(-np.maximum(self._evidence[better, worse], 0.0))
        return np.where(is_open[better] | is_open[worse], p_of_open, p)

    @cached_property
    def _evidence(self) -> Array:
        """Log likelihood that equal scores of two models cost, one at least being open.

        It has the shape (n_models, n_models), and is negative where rows say that the
        first is below the second.
        """
        side, is_open = self.side, self.rows.is_open
        evidence, met = np.zeros((2, len(side), len(side)))
        for rows in self.rows.sources:
            met[rows.left, rows.right] = is_open[rows.left] & is_open[rows.right]
        part = components(met > 0, "weak")
        limited, others = np.flatnonzero(side).tolist(), np.flatnonzero(~is_open)
        pairs = [(one, two) for one in limited for two in others.tolist()]
        for one, two in [*pairs, *combinations(limited, 2)]:
            if side[one] == side[two] and part[one] != part[two]:
                # Both may be infinite, and equal.
                continue
            point = self._at(one, two, 0.0)
            # To first order from where the point is.
            cost = point.cost - point.slope * point.value
            gap = float(side[one])
            if is_open[two]:
                # Where the likelihood is largest they are as far out as they may be.
                gap = float(self._best[0].x[one] - self._best[0].x[two])
            evidence[one, two] = np.sign(gap) * cost
            evidence[two, one] = -evidence[one, two]
        return evidence
