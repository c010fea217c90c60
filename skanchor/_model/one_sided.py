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

from skanchor._model.fit import Fit
from skanchor._model.graph import components
from skanchor._model.item_effects import precision_of
from skanchor._model.layout import Layout
from skanchor._model.linalg import with_eigenvalues
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

_ROUNDING = 1e-8
"""Share of the largest variance of the opponents' scores that the smallest has."""


@dataclass(frozen=True, eq=False, slots=True)
class OpenRows:
    """Rows that compare models without a finite estimate with each other or the rest.

    The logit of a row is ``c_m (s_left - s_right) + offset`` and the difference of the
    item effects of open models; that of a vote has ``c = 1`` and no item effects.

    Attributes
    ----------
    is_open : ndarray of shape (n_models,)
        Models without a finite estimate.
    left, right : ndarray of shape (n_rows,)
        Codes of the models.
    y : ndarray of shape (n_rows,)
        Preference for the left one.
    weight : ndarray of shape (n_rows,)
        Weights, divided by what they are worth less than independent votes.
    judge : ndarray of shape (n_rows,)
        Code of the judge; -1 for people.
    offset : ndarray of shape (n_rows,)
        Logit where the scores are equal.
    slope, slope_error : ndarray of shape (n_judges,)
        Sensitivities and their standard errors.
    item_covariance : ndarray of shape (n_judges, n_judges)
        Covariance of the item effects of a model; zero without any.
    """

    is_open: NDArray[np.bool_]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    y: Array
    weight: Array
    judge: NDArray[np.intp]
    offset: Array
    slope: Array = field(default_factory=lambda: np.zeros(0))
    slope_error: Array = field(default_factory=lambda: np.zeros(0))
    item_covariance: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def of(
        cls,
        is_open: NDArray[np.bool_],
        votes: tuple[NDArray[np.intp], NDArray[np.intp], Array, Array],
        square: Array,
        dispersion: float,
        judge: NDArray[np.intp] | int = -1,
        offset: Array | float = 0.0,
        **judges: Array,
    ) -> OpenRows:
        """Take the rows of open models among others.

        ``votes`` are left and right models, preferences for the left one, and weights,
        which may be sums over several votes, of whose squares ``square`` is the sum.
        ``dispersion`` is the variance of the other scores, in that of independent rows;
        below one it counts as one, as rows of open models show no noise of their own.
        """
        left, right, _, weight = votes
        used = (is_open[left] | is_open[right]) & (left != right) & (weight > 0)
        columns = np.broadcast_arrays(*votes, judge, offset)
        left, right, y, weight, code, logit = (column[used] for column in columns)
        # As a sandwich does not, this does not depend on the unit of the weights.
        unit = square[used].sum() / max(weight.sum(), np.finfo(float).tiny)
        weight = weight / (max(dispersion, 1.0) * max(unit, np.finfo(float).tiny))
        return cls(is_open, left, right, y, weight, code, logit, **judges)

    def padded(self, place: NDArray[np.intp], size: int) -> OpenRows:
        """The same rows among more models, of which these have the ``place``."""
        is_open = np.zeros(size, dtype=bool)
        is_open[place] = self.is_open
        left, right = place[self.left], place[self.right]
        return replace(self, is_open=is_open, left=left, right=right)


def dispersion_of(covariance: Array, independent: Array) -> float:
    """Variance of scores in that of independent rows: the median over the models."""
    found, due = covariance.diagonal(), independent.diagonal()
    known = np.isfinite(found) & (found > 0) & np.isfinite(due) & (due > 0)
    return float(np.median(found[known] / due[known])) if known.any() else 1.0


class Point(NamedTuple):
    """A value of a score or of a difference, and the most likely parameters there.

    ``cost`` is the log likelihood that it costs, ``slope`` the derivative of that.
    """

    fit: Fit
    value: float
    cost: float
    slope: float


@dataclass(frozen=True, eq=False)
class Profile:
    """The likelihood of open models, and where it is largest beside a given value.

    Their rows are taken at their likelihood. What other rows have taught is the prior:
    the other scores are normal around their estimates, with their sandwich as
    covariance, sensitivities with their errors, and item effects with their covariance.
    Judges' deviations from other models are part of the offsets.

    Attributes
    ----------
    prior : Fit
        Centre of the prior, with its precision; the items are the models.
    sources : list of SourceRows
        The rows.
    free : ndarray of shape (size,)
        Mask of the parameters that are not known.
    is_open : ndarray of shape (n_kept,)
        Models without a finite estimate.
    """

    prior: Fit
    sources: list[SourceRows]
    free: NDArray[np.bool_]
    is_open: NDArray[np.bool_]

    @classmethod
    def of(
        cls, rows: OpenRows, scores: Array, covariance: Array, kept: NDArray[np.intp]
    ) -> Profile:
        """Lay out rows, of which ``kept`` are the models and one more may be."""
        place = np.zeros(len(scores), dtype=np.intp)
        place[kept] = np.arange(len(kept))
        left, right, n = place[rows.left], place[rows.right], len(kept)
        sources = [
            SourceRows.apart(
                judge + 1, left[at], right[at], rows.y[at], rows.weight[at], n,
                offset=rows.offset[at],
            )
            for judge in np.unique(rows.judge).tolist()
            for at in [np.flatnonzero(rows.judge == judge)]
        ]  # fmt: skip
        is_open, model = rows.is_open[kept], np.arange(n)
        has_effects, n_sources = bool(rows.item_covariance.any()), 1 + len(rows.slope)
        if has_effects:
            # All other models are one, whose effects are zero.
            model = np.where(is_open, np.cumsum(is_open) - 1, is_open.sum())
        everyone, none = np.ones(n, dtype=bool), np.zeros(n, dtype=np.intp)
        layout = Layout(
            everyone, none, model, (0,) * n_sources, (False,) * n_sources, has_effects
        )
        centre, diagonal = np.zeros((2, layout.size))
        centre[layout.scores] = np.where(is_open, 0.0, scores[kept])
        centre[layout.sensitivities] = np.append(1.0, np.nan_to_num(rows.slope))
        error = np.append(0.0, np.nan_to_num(rows.slope_error))
        diagonal[layout.scores][is_open] = _LOOSE
        diagonal[layout.sensitivities][error > 0] = error[error > 0] ** -2.0
        precision, known = np.diag(diagonal), np.flatnonzero(~is_open)
        measured = covariance[np.ix_(kept[~is_open], kept[~is_open])]

        def inverse(values: Array) -> Array:
            least = _ROUNDING * (values.max(initial=0.0) or 1.0)
            return 1.0 / np.maximum(values, least)

        precision[np.ix_(known, known)] = with_eigenvalues(measured, inverse)
        if has_effects:
            at = layout.item_effects
            precision[at, at] = precision_of(rows.item_covariance, layout.n_models)
        free = layout.of_scores(everyone) | layout.of_item_effects(is_open)
        free[layout.sensitivities] = error > 0
        return cls(
            Fit(layout, centre, precision, centre=centre), sources, free, is_open
        )

    def fitted(self, start: Fit) -> Fit:
        """Most likely parameters under the prior of a start."""
        weights = [rows.weight for rows in self.sources]
        return minimise(start, self.sources, weights, self.free, tolerance=_TOLERANCE)[
            0
        ]

    def loss(self, fit: Fit) -> float:
        """Minus the log likelihood, with the prior of a fit."""
        return fit.loss(self.sources, [rows.weight for rows in self.sources])

    @cached_property
    def best(self) -> Fit:
        """Most likely parameters; open scores end as far out as they may be."""
        return self.fitted(self.prior)

    @cached_property
    def least(self) -> float:
        """The loss there."""
        return self.loss(self.best)

    def at(
        self, model: int, other: int | None, value: float, near: Point | None = None
    ) -> Point:
        """Most likely parameters beside an open score, or the difference to another.

        ``near`` is a point nearby. A prior pulls to the value. Where the pull balances
        the slope of the likelihood, parameters are most likely beside what they reach.
        """
        target, centre = np.zeros(len(self.free)), self.prior.x.copy()
        target[model], centre[model] = 1.0, value
        if other is not None:
            target[other] = -1.0
            centre[model] += centre[other]
        # Not from the best parameters, which lie too far out to move from there. Open
        # models move together, as their rows may say little of how far they are apart.
        moving = self.is_open & (np.arange(len(self.is_open)) != other)
        x = centre.copy() if near is None else near.fit.x.copy()
        if near is None:
            x[: len(moving)][moving] = centre[model]
        else:
            x[: len(moving)][moving] += value - near.value
        precision = self.prior.precision + _PULL * np.outer(target, target)
        start = replace(self.prior, x=x, centre=centre, precision=precision)
        found = self.fitted(start)
        reached = float(target @ found.x)
        slope = _PULL * (value - reached)
        cost = self.loss(found) - slope**2 / (2.0 * _PULL) - self.least
        return Point(found, reached, cost, slope)


@dataclass(frozen=True, eq=False)
class OpenScores:
    """Limits of scores without a finite estimate, and tests of their differences.

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
    _profiles: dict[int, Profile] = field(default_factory=dict)

    @cached_property
    def _met(self) -> NDArray[np.bool_]:
        """Mask of the open models and those that they met: rows are of these alone."""
        met = self.rows.is_open.copy()
        met[self.rows.left] = met[self.rows.right] = True
        return met

    def _at(
        self, model: int, other: int | None, value: float, near: Point | None = None
    ) -> Point:
        """Most likely parameters beside a value; see :meth:`Profile.at`."""
        # A model that none of them met matters by the correlation of scores alone.
        met, further = self._met.copy(), -1
        if other is not None and not met[other]:
            met[other], further = True, other
        if further not in self._profiles:
            self._profiles[further] = Profile.of(
                self.rows, self.scores, self.covariance, np.flatnonzero(met)
            )
        place = np.cumsum(met) - 1
        second = None if other is None else int(place[other])
        return self._profiles[further].at(int(place[model]), second, value, near)

    @cached_property
    def side(self) -> NDArray[np.intp]:
        """1 where a score has a lower limit alone, -1 where an upper one, else 0."""
        side, inside = np.zeros(len(self.scores), dtype=np.intp), self.scores
        inside = np.append(inside[~self.rows.is_open], 0.0)
        ends = inside.min() - FARTHEST, inside.max() + FARTHEST
        for model in np.flatnonzero(self.rows.is_open).tolist():
            low, high = (self._at(model, None, end).cost for end in ends)
            if min(low, high) <= NO_EVIDENCE and max(low, high) >= ENOUGH_EVIDENCE:
                side[model] = 1 if high < low else -1
        return side

    def _costing(self, model: int, other: int | None, due: float, sign: int) -> float:
        """Score of an open model, or difference, that costs ``due``; inf if none."""
        value, point = 0.0, None
        for _ in range(_MOST_STEPS):
            point = self._at(model, other, value, point)
            # Newton's method: the cost is nearly exponential where it is low.
            cost = max(point.cost, _LITTLE * due)
            excess = float(np.log(cost / due))
            step = excess * cost / max(-sign * point.slope, 1e-3 * cost)
            value = point.value + sign * float(np.clip(step, -_LONGEST, _LONGEST))
            if abs(excess) <= _NEAR:
                return value
            if abs(value) > 2.0 * FARTHEST:
                break
        return -sign * np.inf

    def limit(self, model: int, other: int | None, level: float) -> tuple[float, float]:
        """Interval of a score, or of the difference to another, with at most one limit.

        ``level`` is that of a two-sided interval.
        """
        is_open, due = self.rows.is_open, -np.log((1.0 - level) / 2.0)
        if not is_open[model]:
            assert other is not None
            low, high = self.limit(other, model, level)
            return -high, -low
        sign = int(self.side[model])
        # On the same side both may be infinite, at any distance.
        if not sign or (other is not None and sign == self.side[other]):
            return -np.inf, np.inf
        # An open model without a limit may be anywhere.
        if other is not None and is_open[other] and not self.side[other]:
            return -np.inf, np.inf
        value = self._costing(model, other, due, sign)
        return (value, np.inf) if sign > 0 else (-np.inf, value)

    def replaced(
        self, p: Array, better: NDArray[np.intp], worse: NDArray[np.intp]
    ) -> Array:
        """P-values of "better does not exceed worse", for open models by likelihood.

        ``p`` has those of the other pairs. Where rows do not tell they are one.
        """
        is_open, (cost, is_above) = self.rows.is_open, self._evidence
        found = np.where(is_above[better, worse], np.exp(-cost[better, worse]), 1.0)
        return np.where(is_open[better] | is_open[worse], found, p)

    @cached_property
    def _evidence(self) -> tuple[Array, NDArray[np.bool_]]:
        """Log likelihood that equal scores of two models cost, one at least being open.

        And whether rows say that the first is above the second; both of the shape
        (n_models, n_models).
        """
        size, side, is_open = len(self.scores), self.side, self.rows.is_open
        cost, is_above = np.zeros((size, size)), np.zeros((size, size), dtype=bool)
        met, limited = np.zeros((size, size), dtype=bool), np.flatnonzero(side)
        left, right = self.rows.left, self.rows.right
        met[left, right] = is_open[left] & is_open[right]
        part, others = components(met, "weak"), np.flatnonzero(~is_open)
        pairs = [(one, two) for one in limited.tolist() for two in others.tolist()]
        for one, two in [*pairs, *combinations(limited.tolist(), 2)]:
            if side[one] == side[two] and part[one] != part[two]:
                # Both may be infinite, and equal.
                continue
            point = self._at(one, two, 0.0)
            # To first order from where the point is.
            cost[one, two] = cost[two, one] = point.cost - point.slope * point.value
            gap = float(side[one])
            if is_open[two]:
                first, second = self._best[[one, two]]
                gap = first - second
            is_above[one, two], is_above[two, one] = gap > 0.0, gap < 0.0
        return cost, is_above

    @property
    def _best(self) -> Array:
        """Scores where the likelihood is largest, as far out as they may be."""
        found = self.scores.copy()
        found[self._met] = self._profiles[-1].best.scores
        return found
