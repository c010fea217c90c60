"""The likelihood of open models as a function of a score, or of a difference.

Rows of these models are taken at their likelihood, the scores of the others as normal
around their estimates: the log likelihood of all rows together, to second order in the
others' scores, with their sandwich in place of the inverse information.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from skanchor._model.linalg import Array
from skanchor._model.link import sigmoid
from skanchor._model.open_rows import OpenRows

FARTHEST = 60.0
"""Score in logits, beyond those of all others, that stands for infinity."""

ENOUGH_EVIDENCE = 12.0
"""Log likelihood that an infinite score must cost on the side of the limit: there is
one for all usual levels then."""

MOST_STEPS, LONGEST_STEP = 100, 4.0
"""Newton steps, and logits that a parameter may move by one."""

_MOST_HALVES, _TOLERANCE = 30, 1e-9
"""Halvings of a step; squared decrement of the last one, in squared standard errors."""

_LOOSE = 1e-7
"""Ridge on scores that nothing else limits."""

_ROUNDING = 1e-10
"""Share of the largest variance, or of a loss, below which one is rounding."""

_SPACING, _DENSE, _LITTLE = 0.5, 16, 0.2
"""Logits between points of a curve, parts of each between which it is interpolated, and
loss at which it ends."""

_LEAST_VARIANCE = 1e-3
"""Variance of a score beside a curve, which a finer one would need for less."""


class Optimum(NamedTuple):
    """Minimum of a constrained loss: its value, slope in the constraint, parameters."""

    loss: float
    slope: float
    x: Array


@dataclass(frozen=True, eq=False, slots=True)
class Curve:
    """Loss along the score of an open model, with the law of the others beside it.

    To second order in the others' scores, a difference of ``t - s_j`` costs
    ``loss + (t - centre_j - difference)^2 / (2 variance_j)`` at the score t, which is
    then as likely as it can be.

    Attributes
    ----------
    at : ndarray of shape (n_points,)
        Scores t, in rising order.
    loss : ndarray of shape (n_points,)
        Loss beyond that of an infinite score.
    centre, variance : ndarray of shape (n_points, n_others)
        Most likely scores of the others there, and their variances.
    """

    at: Array
    loss: Array
    centre: Array
    variance: Array

    @classmethod
    def of(cls, at: Array, loss: Array, centre: Array, variance: Array) -> Curve:
        """Interpolate a curve, by splines, at points close to each other."""
        if len(at) < 2:
            return cls(at, loss, centre, variance)
        dense = np.linspace(at[0], at[-1], 1 + _DENSE * (len(at) - 1))
        # A loss is nearly exponential at its open end.
        values = [np.log(np.maximum(loss, 1e-300)), centre, np.log(variance)]
        fine = [CubicSpline(at, value)(dense) for value in values]
        return cls(dense, np.exp(fine[0]), fine[1], np.exp(fine[2]))

    def evidence(self) -> Array:
        """Log likelihood that equal scores cost, of shape (n_others,)."""
        gap = self.at[:, None] - self.centre
        return -_largest(-self.loss[:, None] - gap**2 / (2.0 * self.variance))

    def limits(self, due: float, sign: int) -> Array:
        """Differences ``t - s_j``, farthest from the open side, that cost ``due``."""
        rising = np.argsort(self.loss)
        if due >= self.loss[rising[-1]]:
            return np.full(self.centre.shape[1], -sign * np.inf)
        left = np.maximum(due - self.loss, 0.0)[:, None]
        reach = -sign * (self.at[:, None] - self.centre)
        inside = reach + np.sqrt(2.0 * self.variance * left)
        inside = np.where(self.loss[:, None] <= due, inside, -np.inf)
        # At the edge all is spent on the score, and none on those of the others.
        share = np.interp(due, self.loss[rising], np.arange(len(rising)))
        below, above = (reach[rising[int(f(share))]] for f in (np.floor, np.ceil))
        edge = below + (share % 1.0) * (above - below)
        return -sign * np.maximum(_largest(inside), edge)


def _largest(values: Array) -> Array:
    """Largest value of each column, between rows by a parabola through three."""
    columns = np.arange(values.shape[1])
    at = np.argmax(values, axis=0)
    best = values[at, columns]
    inside = (at > 0) & (at < len(values) - 1)
    left, right = (
        values[np.clip(at + d, 0, len(values) - 1), columns] for d in (-1, 1)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        bend = left + right - 2.0 * best
        gain = -((right - left) ** 2) / (8.0 * bend)
    return np.where(inside & np.isfinite(gain) & (bend < 0), best + gain, best)


@dataclass(frozen=True, eq=False)
class Component:
    """Open models that their own rows connect, and the law of all that they met.

    The parameters are: standard normal variables of the scores of the opponents, scores
    of the open models, standard normal variables of the sensitivities and of the item
    effects, and one more of a model that none of these has met.

    Attributes
    ----------
    rows : OpenRows
        Rows of the open models of the component.
    members : ndarray of shape (n_open,)
        Their codes.
    scores : ndarray of shape (n_models,)
        Estimates of the other models.
    opponents : ndarray of shape (n_opponents,)
        Codes of other models that they met.
    root, inverse_root : ndarray
        Root of the covariance of the opponents' scores, of shape (n_opponents, rank),
        and its pseudo-inverse.
    covariance : ndarray of shape (n_models, n_models)
        Of the estimates.
    """

    rows: OpenRows
    members: NDArray[np.intp]
    scores: Array
    opponents: NDArray[np.intp]
    root: Array
    inverse_root: Array
    covariance: Array

    @classmethod
    def of(
        cls, rows: OpenRows, members: NDArray[np.intp], scores: Array, covariance: Array
    ) -> Component:
        mine = np.isin(rows.winner, members) | np.isin(rows.loser, members)
        own = replace(
            rows,
            winner=rows.winner[mine],
            loser=rows.loser[mine],
            judge=rows.judge[mine],
            offset=rows.offset[mine],
            weight=rows.weight[mine],
        )
        met = np.union1d(own.winner, own.loser)
        opponents = met[~rows.is_open[met]]
        inner = covariance[np.ix_(opponents, opponents)]
        values, vectors = np.linalg.eigh(inner)
        kept = values > _ROUNDING * max(values.max(initial=0.0), np.finfo(float).tiny)
        deviation = np.sqrt(values[kept])
        root = vectors[:, kept] * deviation
        inverse = vectors[:, kept].T / deviation[:, None]
        return cls(own, members, scores, opponents, root, inverse, covariance)

    @cached_property
    def _sizes(self) -> tuple[int, int, int, int]:
        """Variables of opponents, open models, sensitivities and item effects."""
        n_judges = len(self.rows.slope)
        n_effects = n_judges * len(self.members) * bool(self.rows.item_root.any())
        return self.root.shape[1], len(self.members), n_judges, n_effects

    @cached_property
    def _design(self) -> Array:
        """Derivatives of the score differences by the parameters; the known part last.

        Of shape (n_rows, n_parameters + 1).
        """
        by_model = np.zeros((len(self.scores), sum(self._sizes) + 1))
        normal, n_open = self._sizes[:2]
        by_model[self.opponents, :normal] = self.root
        by_model[self.members, normal + np.arange(n_open)] = 1.0
        by_model[self.opponents, -1] = self.scores[self.opponents]
        return np.asarray(by_model[self.rows.winner] - by_model[self.rows.loser])

    @cached_property
    def _effects(self) -> Array:
        """Derivatives of the logits by the item effects, (n_rows, n_parameters)."""
        rows, (*sizes, n_effects) = self.rows, self._sizes
        effects = np.zeros((len(rows.winner), sum(self._sizes)))
        if n_effects:
            place = np.zeros(len(self.scores), dtype=np.intp)
            place[self.members] = np.arange(len(self.members))
            n_judges = len(rows.slope)
            for models, sign in ((rows.winner, 1.0), (rows.loser, -1.0)):
                at = np.flatnonzero(rows.is_open[models] & (rows.judge >= 0))
                start = sum(sizes) + place[models[at], None] * n_judges
                columns = start + np.arange(n_judges)
                effects[at[:, None], columns] = sign * rows.item_root[rows.judge[at]]
        return effects

    def target(self, model: int, other: int | None) -> tuple[Array, float]:
        """Score of a model, or its difference to another, as ``a' x + constant``.

        The last entry of ``a`` is of a standard normal variable of its own: what the
        opponents do not say of another model.
        """
        a, constant = np.zeros(sum(self._sizes) + 1), 0.0
        normal = self._sizes[0]
        for code, sign in ((model, 1.0), (other, -1.0)):
            if code is None:
                continue
            if code in self.members:
                a[normal + int(np.flatnonzero(self.members == code)[0])] += sign
                continue
            # The regression of its score on those of the opponents.
            own = self.inverse_root @ self.covariance[self.opponents, code]
            rest = self.covariance[code, code] - own @ own
            a[:normal] += sign * own
            a[-1] = np.sqrt(max(rest, 0.0))
            constant += sign * self.scores[code]
        return a, constant

    @cached_property
    def _precision(self) -> Array:
        """Diagonal of the prior: standard normal variables, and scores without one."""
        normal, n_open = self._sizes[:2]
        precision = np.ones(sum(self._sizes) + 1)
        precision[normal : normal + n_open] = _LOOSE
        return precision

    def _logits(self, x: Array) -> tuple[Array, Array]:
        """Logit of each row's outcome, and its derivatives by the parameters."""
        rows, judged = self.rows, self.rows.judge >= 0
        judge = rows.judge[judged]
        slopes = sum(self._sizes[:2]) + judge
        gap = self._design[:, :-1] @ x[:-1] + self._design[:, -1]
        factor = np.ones(len(gap))
        factor[judged] = rows.slope[judge] + rows.slope_error[judge] * x[slopes]
        columns = np.zeros((len(gap), len(x)))
        columns[:, :-1] = factor[:, None] * self._design[:, :-1] + self._effects
        columns[judged, slopes] += rows.slope_error[judge] * gap[judged]
        return factor * gap + rows.offset + self._effects @ x[:-1], columns

    def _loss(self, x: Array, logits: Array) -> float:
        losses = self.rows.weight @ np.logaddexp(0.0, -logits)
        return float(losses + 0.5 * (self._precision * x) @ x)

    def _hessian(self, logits: Array, columns: Array) -> Array:
        curvature = self.rows.weight * sigmoid(logits) * sigmoid(-logits)
        weighted = columns.T @ (columns * curvature[:, None])
        return np.asarray(weighted + np.diag(self._precision))

    def _begin(self, a: Array, value: float, x: Array) -> Array:
        """Nearby parameters for which ``a' x`` has a value."""
        normal, n_open = self._sizes[:2]
        # Open models move together, as far as that meets the constraint.
        together = np.zeros(len(x))
        together[normal : normal + n_open] = 1.0
        direction = together if abs(a @ together) > 0.5 else a / self._precision
        return np.asarray(x + direction * (value - a @ x) / (a @ direction))

    def minimum(
        self, a: Array | None = None, value: float = 0.0, start: Array | None = None
    ) -> Optimum:
        """Least loss where ``a' x`` has a value; without ``a``, of all."""
        x, multiplier = np.zeros(len(self._precision)), 0.0
        if a is not None:
            x = self._begin(a, value, self.supremum.x if start is None else start)
        logits, columns = self._logits(x)
        loss = self._loss(x, logits)
        for _ in range(MOST_STEPS):
            p = sigmoid(-logits)
            gradient = self._precision * x - columns.T @ (self.rows.weight * p)
            hessian = self._hessian(logits, columns)
            if a is None:
                step = np.linalg.solve(hessian, -gradient)
            else:
                # Steps stay within the constraint.
                step, along = np.linalg.solve(
                    hessian, np.column_stack([-gradient, a])
                ).T
                multiplier = float(a @ step) / float(a @ along)
                step = step - multiplier * along
            decrement = float(-gradient @ step)
            step *= min(1.0, LONGEST_STEP / max(np.abs(step).max(), 1e-300))
            before = loss
            for _ in range(_MOST_HALVES):
                logits, columns = self._logits(x + step)
                loss = self._loss(x + step, logits)
                if loss <= before + _ROUNDING * (1.0 + before):
                    break
                step /= 2.0
            x = x + step
            if decrement <= _TOLERANCE:
                break
        return Optimum(loss, -multiplier, x)

    def curve(self, model: int, sign: int, codes: NDArray[np.intp]) -> Curve:
        """Loss along the score of an open model, and where other models are there.

        Parameters
        ----------
        model : int
            Code of a member.
        sign : int
            Side on which its score has no limit.
        codes : ndarray of shape (n_others,)
            Codes of models with an estimate.

        Returns
        -------
        Curve
        """
        normal, size = self._sizes[0], len(self._precision)
        # The regression of the scores on those of the opponents, and what it leaves.
        shares = self.inverse_root @ self.covariance[np.ix_(self.opponents, codes)]
        rest = self.covariance[codes, codes] - (shares**2).sum(axis=0)
        others = np.zeros((size, len(codes)))
        others[:normal] = shares
        scores = self.scores[codes]
        deviation = np.sqrt(self.covariance.diagonal()[codes].max())
        a, _ = self.target(model, None)
        # From behind all others, where rows speak against it, to where they do no more.
        value = -sign * (np.max(-sign * scores) + 1.0 + 3.0 * deviation)
        lowest, best = self.supremum.loss, self.minimum(a, value)
        while best.loss - lowest < ENOUGH_EVIDENCE and abs(value) < 2.0 * FARTHEST:
            value -= sign
            best = self.minimum(a, value, best.x)
        points = []
        while abs(value) < 3.0 * FARTHEST:
            best = self.minimum(a, value, best.x)
            logits, columns = self._logits(best.x)
            hessian = self._hessian(logits, columns)
            solved = np.linalg.solve(hessian, np.column_stack([a, others]))
            along, inner = solved[:, 0], solved[:, 1:]
            inner = inner - np.outer(along, (a @ inner) / (a @ along))
            variance = np.maximum(rest, 0.0) + (others * inner).sum(axis=0)
            variance = np.maximum(variance, _LEAST_VARIANCE)
            points.append((value, best.loss, scores + others.T @ best.x, variance))
            if best.loss - lowest < _LITTLE:
                break
            value += sign * _SPACING
        at = np.array([point[0] for point in points])
        order = np.argsort(at)
        loss, centre, variance = (
            np.array([point[k] for point in points])[order] for k in (1, 2, 3)
        )
        return Curve.of(at[order], loss - lowest, centre, variance)

    @cached_property
    def supremum(self) -> Optimum:
        """Least loss, where scores are as far out as they may be."""
        return self.minimum()
