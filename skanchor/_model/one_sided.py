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

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline, CubicSpline
from scipy.optimize import brentq

from skanchor._model.fit import Fit
from skanchor._model.graph import components
from skanchor._model.item_effects import inverse_covariance
from skanchor._model.layout import Layout
from skanchor._model.linalg import Array, SymmetricSystem
from skanchor._model.newton import minimise
from skanchor._model.open_rows import OpenRows
from skanchor._model.sources import SourceRows

FARTHEST = 60.0
"""Score in logits, beyond those of all others, that stands for infinity."""

ENOUGH_EVIDENCE, NO_EVIDENCE = 12.0, 1e-2
"""Log likelihood that an infinite score must cost on the side of the limit, so that
there is one for all usual levels; and that it may cost on the other side."""

_LOOSE, _NARROW = 1e-10, 1e8
"""Precision of a score that nothing else limits, and of a value that is held fixed."""

_TOLERANCE = 1e-6
"""Squared decrement before the last step of Newton's method, in log likelihood."""

_ROUNDING = 1e-8
"""Share of the largest variance of the opponents' scores that the smallest has."""

_SPACING, _DENSE, _LITTLE, _ENOUGH_SAID = 1.0, 32, 0.2, 25.0
"""Logits between points of a curve, parts of each between which it is interpolated, and
log likelihood at which it ends."""


@dataclass(frozen=True, eq=False)
class Profile:
    """The likelihood of open models that their rows connect.

    Their rows are taken at their likelihood. What other rows have taught is the prior:
    the scores of the opponents are normal around their estimates, with their sandwich
    as covariance, sensitivities with their errors, and item effects with their
    covariance. Judges' deviations from the opponents are part of the offsets.

    Attributes
    ----------
    members : ndarray of shape (n_open,)
        Codes of the open models.
    opponents : ndarray of shape (n_opponents,)
        Codes of the other models that they met; the items of the fit are these, and
        then the open models.
    fit : Fit
        Most likely parameters, where scores are as far out as they may be.
    sources : list of SourceRows
        The rows.
    free : ndarray of shape (size,)
        Mask of the parameters that are not known.
    """

    members: NDArray[np.intp]
    opponents: NDArray[np.intp]
    fit: Fit
    sources: list[SourceRows]
    free: NDArray[np.bool_]

    @classmethod
    def of(
        cls, rows: OpenRows, members: NDArray[np.intp], scores: Array, covariance: Array
    ) -> Profile:
        """Lay out the rows of open models, and fit them."""
        mine = np.isin(rows.winner, members) | np.isin(rows.loser, members)
        met = np.union1d(rows.winner[mine], rows.loser[mine])
        opponents = met[~rows.is_open[met]]
        place = np.zeros(len(scores), dtype=np.intp)
        place[opponents] = np.arange(len(opponents))
        place[members] = len(opponents) + np.arange(len(members))
        sources = []
        for judge in np.unique(rows.judge[mine]).tolist():
            own = mine & (rows.judge == judge)
            left, right = place[rows.winner[own]], place[rows.loser[own]]
            sources.append(
                SourceRows.apart(
                    judge + 1, left, right, np.ones(len(left)), rows.weight[own],
                    rows.offset[own], len(opponents) + len(members),
                )
            )  # fmt: skip
        inner = covariance[np.ix_(opponents, opponents)]
        start, free = _prior(rows, scores[opponents], inner, len(members))
        # Open models start far out, where most of their rows say.
        won, lost = (
            np.bincount(place[side[mine]], rows.weight[mine], len(scores))
            for side in (rows.winner, rows.loser)
        )
        x = start.x.copy()
        x[place[members]] = FARTHEST / 2.0 * np.sign(won - lost)[place[members]]
        return cls(members, opponents, start, sources, free)._fitted(start.moved(x))

    def _fitted(self, start: Fit) -> Profile:
        weights = [rows.weight for rows in self.sources]
        fit, _ = minimise(start, self.sources, weights, self.free, tolerance=_TOLERANCE)
        return replace(self, fit=fit)

    @cached_property
    def loss(self) -> float:
        """Minus the log likelihood."""
        return self.fit.loss(self.sources, [rows.weight for rows in self.sources])

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

    def place(self, model: int) -> int:
        """Place of an open model among the items."""
        return len(self.opponents) + int(np.searchsorted(self.members, model))

    def at(
        self, model: int, other: int | None, value: float, near: Profile | None = None
    ) -> Profile:
        """Profile at a value of the score of a member, or of the difference of two.

        A narrow prior holds the value. ``near`` is the profile at a value nearby.
        """
        target, along = np.zeros(len(self.free)), np.zeros(len(self.free))
        target[self.place(model)] = 1.0
        centre = self.fit.centre + value * target
        if other is not None:
            target[self.place(other)] = -1.0
        precision = self.fit.precision + _NARROW * np.outer(target, target)
        if near is not None:
            along[self.free] = near.system.solve(target[self.free])
        elif other is not None:
            along = target
        else:
            # Open models move together.
            along[len(self.opponents) :][: len(self.members)] = 1.0
        start = self.fit if near is None else near.fit
        x = start.x + along * (value - target @ start.x) / (target @ along)
        return self._fitted(replace(start, x=x, centre=centre, precision=precision))

    def cost(self, model: int, other: int | None, value: float) -> float:
        """Log likelihood that a value of a score or of a difference costs."""
        return max(self.at(model, other, value).loss - self.loss, 0.0)

    def others(
        self, scores: Array, covariance: Array, codes: NDArray[np.intp]
    ) -> tuple[Array, Array]:
        """Most likely scores of other models at these parameters, and their variances.

        They follow the opponents by regression.
        """
        n, both = len(self.opponents), covariance[np.ix_(self.opponents, codes)]
        shares = self.fit.precision[:n, :n] @ both
        moves = np.zeros((int(self.free.sum()), len(codes)))
        moves[:n] = shares
        inner = (moves * self.system.solve(moves)).sum(axis=0)
        rest = covariance[codes, codes] - (both * shares).sum(axis=0)
        shift = self.fit.scores[:n] - scores[self.opponents]
        return scores[codes] + shift @ shares, np.maximum(rest, 0.0) + inner


def _prior(
    rows: OpenRows, scores: Array, covariance: Array, n_open: int
) -> tuple[Fit, NDArray[np.bool_]]:
    """What other rows have taught, as a prior, and the parameters that are not known.

    ``scores`` and ``covariance`` are those of the opponents.
    """
    n, has_effects = len(scores), bool(rows.item_covariance.any())
    is_open = np.arange(n + n_open) >= n
    model = np.arange(n + n_open)
    if has_effects:
        # All opponents are one model, whose effects are zero.
        model = np.where(is_open, model - n, n_open)
    n_sources = 1 + len(rows.slope)
    layout = Layout(
        np.ones_like(is_open), np.zeros(len(model), np.intp), model, (0,) * n_sources,
        (False,) * n_sources, has_effects,
    )  # fmt: skip
    centre, diagonal = np.zeros((2, layout.size))
    centre[:n] = scores
    centre[layout.sensitivities] = np.append(1.0, np.nan_to_num(rows.slope))
    error = np.append(0.0, np.nan_to_num(rows.slope_error))
    diagonal[layout.of_scores(is_open)] = _LOOSE
    diagonal[layout.sensitivities][error > 0] = error[error > 0] ** -2.0
    precision = np.diag(diagonal)
    values, vectors = np.linalg.eigh(covariance)
    least = _ROUNDING * (values.max(initial=0.0) or 1.0)
    precision[:n, :n] = (vectors / np.maximum(values, least)) @ vectors.T
    if has_effects:
        inverse, at = inverse_covariance(rows.item_covariance), layout.item_effects
        precision[at, at] = np.kron(inverse, np.eye(layout.n_models))
    free = layout.of_scores(np.ones_like(is_open)) | layout.of_item_effects(is_open)
    free[layout.sensitivities] = error > 0
    return Fit(layout, centre, precision, centre=centre), free


@dataclass(frozen=True, eq=False, slots=True)
class Curve:
    """What differences of the score of an open model to others cost.

    Attributes
    ----------
    reach : ndarray of shape (n_points, n_others + 1)
        Differences of its score to each of the others, and in the last column the score
        itself; rising from the side that has no limit, of which they have the sign.
    log_cost : ndarray of shape (n_points, n_others + 1)
        Logarithm of the log likelihood that they cost, which rises with them.
    """

    reach: Array
    log_cost: Array

    @classmethod
    def of(
        cls, at: Array, loss: Array, slope: Array, centre: Array, variance: Array
    ) -> Curve:
        """Interpolate points, at which the others' scores are normal.

        Parameters
        ----------
        at : ndarray of shape (n_points,)
            Scores t of the open model, rising from the side without a limit.
        loss, slope : ndarray of shape (n_points,)
            Log likelihood that they cost, and its derivative.
        centre, variance : ndarray of shape (n_points, n_others)
            Most likely scores of the others there, and their variances.
        """
        dense = np.linspace(at[0], at[-1], 1 + _DENSE * (len(at) - 1))
        # A loss is nearly exponential at its open end.
        splines = [
            CubicHermiteSpline(at, np.log(loss), slope / loss),
            CubicSpline(at, centre),
            CubicSpline(at, variance),
        ]
        loss, centre, variance = (spline(dense) for spline in splines)
        slope, turn, spread = (spline(dense, 1) for spline in splines)
        loss = np.exp(loss)[:, None]
        slope = loss * slope[:, None]
        # The difference t - s costs loss + (t - s - gap)^2 / (2 variance), where gap is
        # t - centre. At the t that makes it least the force f on s, (t - s - gap) /
        # variance, has slope + f (1 - turn) - f^2 spread / 2 = 0.
        turn = 1.0 - turn
        root = np.sqrt(np.maximum(turn**2 + 2.0 * spread * slope, 0.0))
        force = 2.0 * slope / (turn + root)
        reach = dense[:, None] - centre + force * variance
        cost = np.log(loss + force**2 * variance / 2.0)
        return cls(*(np.maximum.accumulate(one) for one in (reach, cost)))

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
    def _open(self) -> list[int]:
        return np.flatnonzero(self.rows.is_open).tolist()

    @cached_property
    def _others(self) -> NDArray[np.intp]:
        """Codes of the models with an estimate."""
        return np.flatnonzero(~self.rows.is_open)

    @cached_property
    def _part(self) -> NDArray[np.intp]:
        """Number of the open models that rows connect, by model."""
        rows, size = self.rows, len(self.scores)
        within = rows.is_open[rows.winner] & rows.is_open[rows.loser]
        met = np.zeros((size, size), dtype=bool)
        met[rows.winner[within], rows.loser[within]] = True
        return components(met, "weak")

    def _joined(self, *parts: int) -> Profile:
        members = np.flatnonzero(self.rows.is_open & np.isin(self._part, parts))
        return Profile.of(self.rows, members, self.scores, self.covariance)

    @cached_property
    def _profiles(self) -> dict[int, Profile]:
        """Profile of each part."""
        return {part: self._joined(part) for part in set(self._part[self._open])}

    def _profile(self, model: int, other: int) -> Profile:
        """Profile of two open models."""
        one, two = self._part[model], self._part[other]
        return self._profiles[one] if one == two else self._joined(one, two)

    @cached_property
    def side(self) -> NDArray[np.intp]:
        """1 where a score has a lower limit alone, -1 where an upper one, else 0."""
        side = np.zeros(len(self.scores), dtype=np.intp)
        inside = np.append(self.scores[self._others], 0.0)
        ends = inside.min() - FARTHEST, inside.max() + FARTHEST
        for model in self._open:
            profile = self._profiles[self._part[model]]
            low, high = (profile.cost(model, None, end) for end in ends)
            if min(low, high) <= NO_EVIDENCE and max(low, high) >= ENOUGH_EVIDENCE:
                side[model] = 1 if high < low else -1
        return side

    @cached_property
    def _curves(self) -> dict[int, Curve]:
        """Curve of each open model that has a limit."""
        return {model: self._curve(model) for model in self._open if self.side[model]}

    def _curve(self, model: int) -> Curve:
        sign, others = int(self.side[model]), self._others
        profile = self._profiles[self._part[model]]
        known = self.scores, self.covariance, others
        # From where rows say no more to behind all others, or to where all is said.
        error = np.sqrt(self.covariance.diagonal()[others].max(initial=0.0))
        behind = 1.0 + 3.0 * error + np.max(-sign * self.scores[others], initial=0.0)
        value = -sign * float(profile.fit.scores[profile.place(model)])
        points, here, loss = [], None, 0.0
        while (
            loss < _ENOUGH_SAID
            and abs(value) < 3.0 * FARTHEST
            and (loss < ENOUGH_EVIDENCE or value < behind)
        ):
            here = profile.at(model, None, -sign * value, here)
            loss = here.loss - profile.loss
            if loss < _LITTLE / 4:
                value += 4.0 * _SPACING
                continue
            centre, variance = here.others(*known)
            # The score itself is a difference to zero.
            slope = _NARROW * (value + sign * here.fit.scores[here.place(model)])
            points.append(
                (
                    value,
                    loss,
                    slope,
                    np.append(-sign * centre, 0.0),
                    np.append(variance, 0.0),
                )
            )
            value += _SPACING
        return Curve.of(*map(np.array, zip(*points, strict=True)))

    def limit(self, model: int, other: int | None, level: float) -> tuple[float, float]:
        """Interval of a score, or of a difference, that has no limit on one side.

        Parameters
        ----------
        model : int
            Code of a model.
        other : int or None
            Code of another; None for the score.
        level : float
            Confidence level, as of a two-sided interval.

        Returns
        -------
        low, high : float
            Both infinite where rows give no limit.
        """
        is_open, due = self.rows.is_open, -np.log((1.0 - level) / 2.0)
        if not is_open[model]:
            assert other is not None
            low, high = self.limit(other, model, level)
            return -high, -low
        sign, value = int(self.side[model]), -np.inf
        if other is not None and is_open[other]:
            if sign and sign == -self.side[other]:
                value = self._root(model, other, due, sign)
        elif sign:
            place = -1 if other is None else int(np.searchsorted(self._others, other))
            value = -self._curves[model].limit(due, place)
        # Both may be infinite on the same side, or anywhere.
        return (value, np.inf) if sign > 0 else (-np.inf, -value)

    def _root(self, model: int, other: int, due: float, sign: int) -> float:
        """Difference of two open models, of a sign, that costs ``due``."""
        profile = self._profile(model, other)

        def excess(value: float) -> float:
            cost = profile.cost(model, other, sign * value)
            return float(np.log(max(cost, 1e-300) / due))

        if excess(-FARTHEST) <= 0.0:
            return -np.inf
        return float(brentq(excess, -FARTHEST, FARTHEST))

    def replaced(
        self, p: Array, better: NDArray[np.intp], worse: NDArray[np.intp]
    ) -> Array:
        """P-values of "better does not exceed worse", by likelihood ratio.

        Parameters
        ----------
        p : ndarray of shape (n_pairs,)
            Those of pairs that both have a finite estimate.
        better, worse : ndarray of shape (n_pairs,)
            Codes of models.

        Returns
        -------
        ndarray of shape (n_pairs,)
            One where rows do not tell.
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
        for pair in combinations(self._curves, 2):
            one, two = pair
            if self._part[one] != self._part[two] and side[one] == side[two]:
                # Both may be infinite, and equal.
                continue
            profile = self._profile(one, two)
            first, second = (profile.fit.scores[profile.place(one)] for one in pair)
            cost[one, two] = cost[two, one] = profile.cost(one, two, 0.0)
            is_above[one, two], is_above[two, one] = first > second, second > first
        return cost, is_above
