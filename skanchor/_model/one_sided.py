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
from scipy.interpolate import CubicHermiteSpline, CubicSpline

from skanchor._model.fit import Fit
from skanchor._model.graph import components
from skanchor._model.item_effects import precision_of
from skanchor._model.layout import Layout
from skanchor._model.linalg import SymmetricSystem
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

_TOLERANCE = 1e-5
"""Squared decrement before the last step of Newton's method, in log likelihood."""

_ROUNDING = 1e-8
"""Share of the largest variance of the opponents' scores that the smallest has."""

_SPACING, _DENSE = 1.0, 32
"""Logits between points of a curve, and parts between them by interpolation."""

_LITTLE, _ALL_SAID = 0.05, 25.0
"""Log likelihood at which a curve begins, and at which it ends."""


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


@dataclass(frozen=True, eq=False)
class Profile:
    """The likelihood of open models, and where it is largest beside a given value.

    Their rows are taken at their likelihood. What other rows have taught is the prior:
    the other scores are normal around their estimates, with their sandwich as
    covariance, sensitivities with their errors, and item effects with their covariance.
    Judges' deviations from other models are part of the offsets.

    Attributes
    ----------
    start, fit : Fit
        Centre of the prior, and most likely parameters; the items are the models.
    sources : list of SourceRows
        The rows.
    free : ndarray of shape (size,)
        Mask of the parameters that are not known.
    """

    start: Fit
    fit: Fit
    sources: list[SourceRows]
    free: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: OpenRows, scores: Array, covariance: Array) -> Profile:
        """Lay out rows, and fit them: scores end as far out as they may be."""
        sources = []
        for judge in np.unique(rows.judge).tolist():
            at = np.flatnonzero(rows.judge == judge)
            y, weight, offset = rows.y[at], rows.weight[at], rows.offset[at]
            some = judge + 1, rows.left[at], rows.right[at], y, weight, offset
            sources.append(SourceRows.apart(*some, len(scores)))
        start, free = _prior(rows, scores, covariance)
        return cls(start, start, sources, free)._fitted(start)

    def _fitted(self, start: Fit) -> Profile:
        fit, _ = minimise(
            start, self.sources, self._weights, self.free, tolerance=_TOLERANCE
        )
        return replace(self, fit=fit)

    @property
    def _weights(self) -> list[Array]:
        return [rows.weight for rows in self.sources]

    @cached_property
    def loss(self) -> float:
        """Minus the log likelihood, with the prior."""
        return self.fit.loss(self.sources, self._weights)

    @cached_property
    def system(self) -> SymmetricSystem:
        """Information of the free parameters, with the prior."""
        fit, at = self.fit, np.flatnonzero(self.free)
        grams = (
            (one.source, one.curvature(one.weight, fit.logits(one)))
            for one in self.sources
        )
        matrix = fit.penalised(fit.information(grams))
        return SymmetricSystem.of(matrix[at[:, None], at])

    def at(
        self, model: int, other: int | None, value: float, near: Point | None = None
    ) -> Point:
        """Most likely parameters beside an open score, or the difference of two.

        ``near`` is a point nearby. A prior pulls to the value. Where the pull balances
        the slope of the likelihood, parameters are most likely beside what they reach.
        """
        target, along = np.zeros((2, len(self.free)))
        target[model] = 1.0
        centre = self.start.x + value * target
        if other is not None:
            target[other] = -1.0
        if near is None:
            # Not from the best parameters, which lie too far out to move from there.
            x = self.start.x + target * value / (target @ target)
        else:
            along[self.free] = near.profile.system.solve(target[self.free])
            x = near.profile.fit.x + along * (value - near.value) / (target @ along)
        precision = self.fit.precision + _PULL * np.outer(target, target)
        start = replace(self.fit, x=x, centre=centre, precision=precision)
        found = self._fitted(start)
        reached = float(target @ found.fit.x)
        slope = _PULL * (value - reached)
        loss = found.loss - slope**2 / (2.0 * _PULL) - self.loss
        return Point(found, reached, loss, slope)

    def variances(self, model: int) -> Array:
        """Variances of the scores, (n_models,), where that of a model is known."""
        root = self.system.inverse_root[: self.fit.layout.n_items]
        with_it = root @ root[model]
        return np.sum(root**2, axis=1) - with_it**2 / with_it[model]


class Point(NamedTuple):
    """A value of a score or of a difference, and the most likely parameters there.

    ``cost`` is the log likelihood that it costs, ``slope`` the derivative of that.
    """

    profile: Profile
    value: float
    cost: float
    slope: float


def _prior(
    rows: OpenRows, scores: Array, covariance: Array
) -> tuple[Fit, NDArray[np.bool_]]:
    """What other rows have taught, as a prior, and mask of what is not known."""
    is_open, n_sources = rows.is_open, 1 + len(rows.slope)
    has_effects, model = bool(rows.item_covariance.any()), np.arange(len(scores))
    if has_effects:
        # All other models are one, whose effects are zero.
        model = np.where(is_open, np.cumsum(is_open) - 1, is_open.sum())
    everyone, shape = np.ones_like(is_open), ((0,) * n_sources, (False,) * n_sources)
    layout = Layout(everyone, np.zeros(len(scores), int), model, *shape, has_effects)
    centre, precision = np.zeros(layout.size), np.zeros((layout.size, layout.size))
    centre[layout.scores] = np.where(is_open, 0.0, scores)
    centre[layout.sensitivities] = np.append(1.0, np.nan_to_num(rows.slope))
    error = np.append(0.0, np.nan_to_num(rows.slope_error))
    diagonal = np.zeros(layout.size)
    diagonal[layout.scores][is_open] = _LOOSE
    diagonal[layout.sensitivities][error > 0] = error[error > 0] ** -2.0
    np.fill_diagonal(precision, diagonal)
    known = np.flatnonzero(~is_open)
    values, vectors = np.linalg.eigh(covariance[np.ix_(known, known)])
    least = _ROUNDING * (values.max(initial=0.0) or 1.0)
    precision[np.ix_(known, known)] = (vectors / np.maximum(values, least)) @ vectors.T
    if has_effects:
        at = layout.item_effects
        precision[at, at] = precision_of(rows.item_covariance, layout.n_models)
    free = layout.of_scores(everyone) | layout.of_item_effects(is_open)
    free[layout.sensitivities] = error > 0
    return Fit(layout, centre, precision, centre=centre), free


@dataclass(frozen=True, eq=False, slots=True)
class Curve:
    """What differences of the score of an open model to others cost.

    Attributes
    ----------
    sign : int
        1 where the score has a lower limit, -1 where an upper one.
    reach : ndarray of shape (n_points, n_others + 1)
        Differences of its score to each of the others, and in the last column the score
        itself, times minus the sign; rising, from where there is no limit.
    log_cost : ndarray of shape (n_points, n_others + 1)
        Logarithm of the log likelihood that they cost, which rises with them.
    """

    sign: int
    reach: Array
    log_cost: Array

    @classmethod
    def of(
        cls, sign: int, points: list[Point], model: int, others: NDArray[np.intp]
    ) -> Curve:
        """Interpolate points, in the order of ``reach``, at which others are normal."""
        at, loss, slope = (
            np.array([getattr(point, name) for point in points])
            for name in ("value", "cost", "slope")
        )
        centre, variance = np.zeros((2, len(points), len(others) + 1))
        for number, point in enumerate(points):
            centre[number, :-1] = point.profile.fit.scores[others]
            variance[number, :-1] = point.profile.variances(model)[others]
        at, slope, centre = -sign * at, -sign * slope, -sign * centre
        # A loss is nearly exponential at its open end.
        splines = [
            CubicHermiteSpline(at, np.log(loss), slope / loss),
            CubicSpline(at, centre),
            CubicSpline(at, variance),
        ]
        dense = np.linspace(at[0], at[-1], 1 + _DENSE * (len(at) - 1))
        loss, centre, variance = (spline(dense) for spline in splines)
        slope, turn, spread = (spline(dense, 1) for spline in splines)
        loss = np.exp(loss)[:, None]
        slope = loss * slope[:, None]
        # The difference t - s costs loss + (t - s - gap)^2 / (2 variance), where gap is
        # t - centre. At the t that makes it least the force f on s, (t - s - gap) /
        # variance, has slope = f (1 - turn) + f^2 spread / 2.
        turn = 1.0 - turn
        root = np.sqrt(np.maximum(turn**2 + 2.0 * spread * slope, 0.0))
        force = 2.0 * slope / (turn + root)
        reach = dense[:, None] - centre + force * variance
        cost = np.log(loss + force**2 * variance / 2.0)
        return cls(sign, *(np.maximum.accumulate(one) for one in (reach, cost)))

    def evidence(self) -> Array:
        """Log likelihood that scores equal to the others' cost, (n_others,)."""
        pairs = zip(self.reach.T[:-1], self.log_cost.T, strict=False)
        return np.exp([np.interp(0.0, reach, cost) for reach, cost in pairs])

    def limit(self, due: float, place: int) -> float:
        """Difference to one of the others that costs ``due``; infinite if none does."""
        reach, cost = self.reach[:, place], self.log_cost[:, place]
        return float(np.interp(np.log(due), cost, reach, right=np.inf))


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

    @cached_property
    def _profile(self) -> Profile:
        return Profile.of(self.rows, self.scores, self.covariance)

    @cached_property
    def _others(self) -> NDArray[np.intp]:
        """Codes of the models with an estimate."""
        return np.flatnonzero(~self.rows.is_open)

    @cached_property
    def side(self) -> NDArray[np.intp]:
        """1 where a score has a lower limit alone, -1 where an upper one, else 0."""
        side = np.zeros(len(self.scores), dtype=np.intp)
        for model, curve in self._curves.items():
            side[model] = curve.sign
        return side

    @cached_property
    def _curves(self) -> dict[int, Curve]:
        """Curve of each open model that has a limit."""
        found, profile = {}, self._profile
        inside = np.append(self.scores[self._others], 0.0)
        ends = inside.min() - FARTHEST, inside.max() + FARTHEST
        for model in np.flatnonzero(self.rows.is_open).tolist():
            best = Point(profile, float(profile.fit.scores[model]), 0.0, 0.0)
            low, high = (profile.at(model, None, end, best).cost for end in ends)
            if min(low, high) <= NO_EVIDENCE and max(low, high) >= ENOUGH_EVIDENCE:
                sign = 1 if high < low else -1
                points = self._points(model, sign)
                if len(points) > 1 and points[-1].cost >= ENOUGH_EVIDENCE:
                    found[model] = Curve.of(sign, points, model, self._others)
        return found

    def _points(self, model: int, sign: int) -> list[Point]:
        """Scores of an open model, from where rows say little to where all is said."""
        variance = self.covariance.diagonal()[self._others].max(initial=0.0)
        scores = -sign * self.scores[self._others]
        behind = 1.0 + 3.0 * np.sqrt(variance) + scores.max(initial=0.0)
        value, point = self._costing(model, None, _LITTLE, sign, within=1.0)
        points: list[Point] = []
        while abs(value) < 3.0 * FARTHEST:
            point = self._profile.at(model, None, value, point)
            cost, last = point.cost, points[-1].cost if points else 0.0
            if cost <= last:
                # Rows speak for two sides: there is no limit.
                break
            points.append(point)
            if cost >= (ENOUGH_EVIDENCE if -sign * value >= behind else _ALL_SAID):
                break
            value = point.value - sign * _SPACING * min(1.0, cost / abs(point.slope))
        return points

    def _costing(
        self, model: int, other: int | None, due: float, sign: int, within: float
    ) -> tuple[float, Point | None]:
        """Value of a score, or of a difference, that costs ``due``, and a point nearby.

        It is infinite where none does. The logarithm of the cost of the point is
        ``within`` that of ``due``.
        """
        value, point = 0.0, None
        for _ in range(_MOST_STEPS):
            point = self._profile.at(model, other, value, point)
            # Newton's method: the cost is nearly exponential where it is low.
            cost = max(point.cost, _LITTLE * due)
            excess = float(np.log(cost / due))
            step = excess * cost / max(-sign * point.slope, 1e-3 * cost)
            value = point.value + sign * float(np.clip(step, -_LONGEST, _LONGEST))
            if abs(excess) <= within:
                return value, point
            if abs(value) > 2.0 * FARTHEST:
                break
        return -sign * np.inf, None

    def limit(self, model: int, other: int | None, level: float) -> tuple[float, float]:
        """Interval of a score, or of the difference to another, with at most one limit.

        ``level`` is that of a two-sided interval.
        """
        is_open, due = self.rows.is_open, -np.log((1.0 - level) / 2.0)
        if not is_open[model]:
            assert other is not None
            low, high = self.limit(other, model, level)
            return -high, -low
        sign, value = int(self.side[model]), -np.inf
        if other is not None and is_open[other]:
            # On the same side both may be infinite, at any distance.
            if sign and sign == -self.side[other]:
                value = sign * self._costing(model, other, due, sign, within=0.01)[0]
        elif sign:
            place = -1 if other is None else int(np.searchsorted(self._others, other))
            value = -self._curves[model].limit(due, place)
        return (value, np.inf) if sign > 0 else (-np.inf, -value)

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
        size, side = len(self.scores), self.side
        cost, is_above = np.zeros((size, size)), np.zeros((size, size), dtype=bool)
        for model, curve in self._curves.items():
            cost[model, self._others] = cost[self._others, model] = curve.evidence()
            is_above[model, self._others] = side[model] > 0
            is_above[self._others, model] = side[model] < 0
        met = np.zeros((size, size), dtype=bool)
        is_open, left, right = self.rows.is_open, self.rows.left, self.rows.right
        met[left, right] = is_open[left] & is_open[right]
        part = components(met, "weak")
        for one, two in combinations(self._curves, 2):
            if side[one] == side[two] and part[one] != part[two]:
                # Both may be infinite, and equal.
                continue
            point = self._profile.at(one, two, 0.0)
            # To first order from where the point is.
            cost[one, two] = cost[two, one] = point.cost - point.slope * point.value
            first, second = self._profile.fit.scores[[one, two]]
            is_above[one, two], is_above[two, one] = first > second, second > first
        return cost, is_above
