"""Scores without a finite estimate: one-sided limits and tests by likelihood ratio."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from skanchor._model.graph import components
from skanchor._model.linalg import Array
from skanchor._model.open_rows import OpenRows
from skanchor._model.profile import (
    ENOUGH_EVIDENCE,
    FARTHEST,
    LONGEST_STEP,
    MOST_STEPS,
    Component,
    Curve,
)

_NO_EVIDENCE = 1e-2
"""Log likelihood that an infinite score may cost on the side without a limit."""

_RELATIVE = 1e-8
"""Share of the deviance of a limit by which it may be off."""


@dataclass(frozen=True, eq=False)
class OpenScores:
    """Limits of scores without a finite estimate, and tests of their differences.

    The deviance of a value t of a score, or of a difference, is twice the log
    likelihood that it costs, the rest being as likely as it can be. For a model that
    lost all its rows it rises with t, and ``exp(-deviance / 2)`` is how much less
    likely than at an infinite distance the rows are: with the other scores known, the
    very probability of losing them all. So it is the p-value of scores of t or above,
    and the limit of level 1 - alpha has the p-value alpha / 2, as has each limit of a
    two-sided interval: which of the two there is depends on the rows. A chi-square law
    with one degree of freedom would not do: at the end of the sample space, its limit
    of level .95 misses in up to 15 % of tables (``exp(-3.84 / 2)``).

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
    def _component(self) -> dict[int, Component]:
        """Component of each open model."""
        rows, size = self.rows, len(self.scores)
        within = rows.is_open[rows.winner] & rows.is_open[rows.loser]
        met = np.zeros((size, size), dtype=bool)
        met[rows.winner[within], rows.loser[within]] = True
        part, found = components(met, "weak"), {}
        for code in np.unique(part[rows.is_open]):
            members = np.flatnonzero(rows.is_open & (part == code))
            found.update(dict.fromkeys(members.tolist(), self._joined(members)))
        return found

    def _joined(self, members: NDArray[np.intp]) -> Component:
        return Component.of(self.rows, members, self.scores, self.covariance)

    def _component_of(self, model: int, other: int | None) -> Component:
        """Component of a model, or of two, of which the first at least is open."""
        one = self._component[model]
        two = one if other is None else self._component.get(other, one)
        if two is one:
            return one
        return self._joined(np.concatenate([one.members, two.members]))

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Scores that stand for infinity on either side."""
        inside = self.scores[~self.rows.is_open]
        if not len(inside):
            return -FARTHEST, FARTHEST
        return float(inside.min() - FARTHEST), float(inside.max() + FARTHEST)

    @cached_property
    def side(self) -> NDArray[np.intp]:
        """1 where a score has a lower limit alone, -1 where an upper one, else 0."""
        side = np.zeros(len(self.scores), dtype=np.intp)
        for model, part in self._component.items():
            if not len(part.opponents):
                # Nothing joins it to the other models.
                continue
            a, constant = part.target(model, None)
            low, high = (
                part.minimum(a, end - constant).loss - part.supremum.loss
                for end in self._ends
            )
            if min(low, high) <= _NO_EVIDENCE and max(low, high) >= ENOUGH_EVIDENCE:
                side[model] = 1 if high < low else -1
        return side

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
        sides = self.side[model], 0 if other is None else -self.side[other]
        is_open = [
            code is not None and self.rows.is_open[code] for code in (model, other)
        ]
        sign = sum(sides)
        consistent = [s == np.sign(sign) for s in np.array(sides)[is_open]]
        if not sign or not all(consistent):
            # Both may be infinite on the same side, or anywhere.
            return -np.inf, np.inf
        if not is_open[0]:
            assert other is not None
            low, high = self.limit(other, model, level)
            return -high, -low
        due = -np.log((1.0 - level) / 2.0)
        if other is not None and not is_open[1]:
            at = self._place[other]
            value = float(self._curves[model].limits(due, sign)[at])
        else:
            value = self._root(model, other, due, sign)
        return (value, np.inf) if sign > 0 else (-np.inf, value)

    @cached_property
    def _others(self) -> NDArray[np.intp]:
        """Codes of the models with an estimate."""
        return np.flatnonzero(~self.rows.is_open)

    @cached_property
    def _place(self) -> NDArray[np.intp]:
        """Place of each model among the open ones, or among the others."""
        is_open = self.rows.is_open
        return np.where(is_open, np.cumsum(is_open), np.cumsum(~is_open)) - 1

    @cached_property
    def _curves(self) -> dict[int, Curve]:
        """Curve of each open model that has a limit."""
        return {
            model: part.curve(model, int(self.side[model]), self._others)
            for model, part in self._component.items()
            if self.side[model]
        }

    def _root(self, model: int, other: int | None, due: float, sign: int) -> float:
        """Value of a score, or of a difference of open models, that costs ``due``."""
        part = self._component_of(model, other)
        a, _ = part.target(model, other)
        due = due + part.supremum.loss
        # Newton's method for the root of the loss, which falls towards the open side.
        value, bracket = 0.0, [-np.inf, np.inf]
        best = part.minimum(a, value)
        for _ in range(MOST_STEPS):
            excess = best.loss - due
            if abs(excess) < _RELATIVE * abs(due):
                break
            bracket[0 if (excess > 0) == (sign > 0) else 1] = value
            step = -excess / best.slope if best.slope else -sign * np.inf
            trial = value + float(np.clip(step, -LONGEST_STEP, LONGEST_STEP))
            if not bracket[0] < trial < bracket[1]:
                trial = 0.5 * (bracket[0] + bracket[1])
            if abs(trial) > FARTHEST:
                return sign * -np.inf
            value, best = trial, part.minimum(a, trial, best.x)
        return value

    def replaced(
        self, p: Array, better: NDArray[np.intp], worse: NDArray[np.intp]
    ) -> Array:
        """P-values of pairs, those that involve open models by likelihood ratio."""
        found = self.p_better(better, worse)
        return np.where(np.isnan(found), p, found)

    def p_better(self, better: NDArray[np.intp], worse: NDArray[np.intp]) -> Array:
        """P-values of "better does not exceed worse", by likelihood ratio.

        Parameters
        ----------
        better, worse : ndarray of shape (n_pairs,)
            Codes of models.

        Returns
        -------
        ndarray of shape (n_pairs,)
            NaN where both have a finite estimate, and one where rows do not tell.
        """
        is_open = self.rows.is_open
        p = np.where(is_open[better] | is_open[worse], 1.0, np.nan)
        cost, is_above = self._evidence
        for first, second, wins in ((better, worse, True), (worse, better, False)):
            at = np.flatnonzero(is_open[first])
            row, column = self._place[first[at]], second[at]
            proven = is_above[row, column] == wins
            p[at[proven]] = np.exp(-cost[row, column])[proven]
        return p

    @cached_property
    def _evidence(self) -> tuple[Array, NDArray[np.bool_]]:
        """Log likelihood that equal scores of an open and any model cost.

        And whether the open one is above; both of shape (n_open, n_models).
        """
        models = np.flatnonzero(self.rows.is_open)
        cost = np.zeros((len(models), len(self.scores)))
        is_above = np.zeros(cost.shape, dtype=bool)
        for row, model in enumerate(models.tolist()):
            if self.side[model]:
                cost[row, self._others] = self._curves[model].evidence()
                is_above[row] = self.side[model] > 0
        for row, other in combinations(range(len(models)), 2):
            pair = models[[row, other]]
            parts = [self._component[model] for model in pair.tolist()]
            sides = self.side[pair]
            if not sides.all() or (parts[0] is not parts[1] and sides[0] == sides[1]):
                # Both may be infinite, and equal.
                continue
            part = self._component_of(*pair.tolist())
            a, _ = part.target(*pair.tolist())
            most = part.supremum
            cost[row, pair[1]] = cost[other, pair[0]] = part.minimum(a).loss - most.loss
            is_above[row, pair[1]] = a @ most.x > 0
            is_above[other, pair[0]] = a @ most.x < 0
        return np.maximum(cost, 0.0), is_above
