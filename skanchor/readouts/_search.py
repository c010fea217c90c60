"""The search for few rows that change a statement: first order, then re-solved.

A score without the rows of S is, to an error of second order, the score of all rows
plus ``[sum over the others of a eps + prior score] - [the same sum with all rows]``,
where a are the weights that are solved without S. The plug-in stays: the score is
orthogonal to it, while the weights, which grow as rows go, must not stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skanchor._battles.labels import is_in
from skanchor._model.riesz import Information, influence_of, residuals
from skanchor._model.sources import SourceRows, variance_of
from skanchor._sample.sample import Sample
from skanchor._typing import Array, Indices
from skanchor.exceptions import BattlesError

if TYPE_CHECKING:
    from skanchor import AnchorResult

VOTES, OTHER_VERDICTS, ARRIVALS = range(3)
"""Kinds of rows: votes, verdicts without the models of a statement, and with them."""

MOST = np.array([0.10, 0.10, 0.25])
"""Largest share of each kind that is dropped: the fit fails, or says little, beyond."""

HALVES = 3
"""Blocks that close half of the margin that is left; the next ones close all of it."""

MOST_REFITS = 6
"""Refits for one statement; two or three are usual."""

CLOSE = 0.02
"""Share of a number of units within which the smallest number is looked for."""


@dataclass(frozen=True, eq=False)
class Solved:
    """Weights that were solved without some units.

    Attributes
    ----------
    solution : Information
        The system without them.
    rows : list of SourceRows
        All rows; those that are gone have no weight.
    gone : ndarray of shape (n_gone,)
        What was dropped.
    total : ndarray of shape (n_models,)
        Correction, that by the prior of the item effects included.
    parts : ndarray of shape (2, n_models, n_models)
        Covariance of the scores by sampling, and by item effects.
    """

    solution: Information
    rows: list[SourceRows]
    gone: Indices
    total: Array
    parts: Array


@dataclass(frozen=True, eq=False)
class Dropping:
    """A fit, and what it is to be without some units: single rows, or groups.

    Attributes
    ----------
    result : AnchorResult
        As reported.
    sample : Sample
        Rows of the table that carry the plug-in.
    unit : ndarray of shape (n_rows,)
        Unit of each row; -1 where a row stays.
    kind : ndarray of shape (n_units,)
        Kind of its rows; zero for groups.
    most : ndarray of shape (n_kinds,)
        Largest number of each kind that is dropped.
    """

    result: AnchorResult
    sample: Sample
    unit: Indices
    kind: Indices
    most: Indices

    @classmethod
    def of(
        cls,
        result: AnchorResult,
        sample: Sample,
        models: Sequence[Any],
        rows: str,
        by: str,
    ) -> Self:
        """Find what may go.

        Parameters
        ----------
        result, sample
            As the attributes.
        models : sequence of label
            New models that the statement is about: verdicts on them are the arrivals.
        rows, by
            As in :meth:`skanchor.AnchorPipeline.fragility`.

        Returns
        -------
        Dropping
        """
        X = sample.X
        about = np.append(is_in(X.models, models), False)
        arrives = ~X.is_human & (about[X.left] | about[X.right])
        chosen = {
            "any": np.full(len(sample), True),
            "human": X.is_human,
            "arrival": arrives,
            "history": ~X.is_human & ~X.involves_new,
        }[rows]
        places = np.flatnonzero(chosen & sample.counts & np.isfinite(X.logits()))
        if not len(places):
            raise BattlesError(
                f"The fit has no such row that could be dropped (rows {rows!r})."
            )
        units, share = np.arange(len(places)), MOST
        kind = np.where(X.is_human, VOTES, np.where(arrives, ARRIVALS, OTHER_VERDICTS))
        kind = kind[places]
        if by == "group":
            if sample.groups is None:
                raise BattlesError(
                    "There are no whole groups to drop, as the rows of this fit have "
                    "none. Name their groups, or drop single rows."
                )
            units = np.unique(sample.groups[places], return_inverse=True)[1]
            kind = np.zeros(int(units.max()) + 1, dtype=np.intp)
            share = MOST[[ARRIVALS if rows == "arrival" else VOTES]]
        unit = np.full(len(sample), -1)
        unit[places] = units
        number = np.bincount(kind, minlength=len(share))
        # One of a few may go.
        most = np.where(number > 0, np.maximum(share * number + 1e-9, 1), 0)
        return cls(result, sample, unit, kind, most.astype(np.intp))

    def order(self, change: Array, gone: Indices) -> Indices:
        """Units that lower a margin beside those that are gone, the best ones first.

        There are no more of each kind than may be dropped; ``change`` is that of the
        margin by each unit.
        """
        order = np.argsort(change, kind="stable")
        order = order[(change[order] < 0) & ~np.isin(order, gone)]
        left = self.most - np.bincount(self.kind[gone], minlength=len(self.most))
        kind = pd.Series(self.kind[order])
        stays = kind.groupby(kind).cumcount().to_numpy() < left[kind]
        return np.asarray(order[stays])

    def rows_of(self, gone: Indices) -> Indices:
        """Rows that are gone with some units, in order."""
        return np.flatnonzero(np.isin(self.unit, gone))

    @cached_property
    def base(self) -> Solved:
        """With all rows, from where differences are taken."""
        return self.solve(np.zeros(0, dtype=np.intp))

    @cached_property
    def _rows(self) -> list[SourceRows]:
        """All rows, with the columns of the weights; raters are not looked at."""
        debiaser = self.result.fitted.debiaser
        assert debiaser is not None
        parts = debiaser.weighing_.rows(self.sample)
        return [replace(one, rater=np.full(len(one), -1)) for one in parts]

    @property
    def _scale(self) -> Array:
        """Factor of the errors of each model, where judges disagree."""
        assert self.result.diagnostics is not None
        return self.result.diagnostics.arrivals.scale

    def solve(self, gone: Indices) -> Solved:
        """Weights without some units, at the plug-in of all rows."""
        fitted = self.result.fitted
        assert fitted.debiaser is not None
        riesz, items = fitted.debiaser.solution_, fitted.items
        stays = ~np.isin(self.unit, gone)
        rows = [replace(one, weight=one.weight * stays[one.rows]) for one in self._rows]
        solution = Information.of_rows(riesz.fit, rows, riesz.prior)
        influence = influence_of(solution.weights, rows, 0)
        total = influence.total + solution.weights.prior_score
        inflation = 1.0 if items is None else items.inflation
        of_items = inflation * solution.weights.item_covariance
        parts = np.array([influence.parts.sum(axis=0), of_items])
        return Solved(solution, rows, gone, total, parts)

    def predicted(self, solved: Solved) -> AnchorResult | None:
        """What the result would be; None where a score is left open."""
        result, base = self.result, self.base
        if solved.solution.weights.undetermined.any():
            return None
        # Models that were left out have no part in the changes.
        positions = np.flatnonzero(np.isin(result.models, self.sample.X.models))
        estimates = result.estimates.copy()
        estimates[:, positions] += solved.total - base.total
        change = np.zeros((2, len(result.models), len(result.models)))
        change[:, positions[:, None], positions] = solved.parts - base.parts
        # Errors are longer where judges disagree.
        scale = np.ones(len(result.models))
        scale[positions] = self._scale
        change *= np.outer(scale, scale)
        return replace(
            result,
            estimates=estimates,
            covariances=result.covariances + change.sum(axis=0),
            item_covariances=result.item_covariances + change[1],
        )

    def effects(self, solved: Solved, model: Any, opponent: Any) -> tuple[Array, Array]:
        """What each unit that goes does to a difference, as it is reported.

        Returns
        -------
        shift, spread : ndarray of shape (n_units,)
            Changes of the difference, ``-a eps``, and of its variance,
            ``2 V a^2 - (a eps)^2`` where rows are independent.
        """
        sample, size = self.sample, len(self.kind)
        models = sample.X.models.tolist()
        contrast = np.zeros(len(models))
        contrast[[models.index(model), models.index(opponent)]] = 1.0, -1.0
        weights = solved.solution.weights
        influence, square = np.zeros((2, len(sample)))
        for part in solved.rows:
            a = part.products((weights.local(part.source) @ contrast)[:, None])[:, 0]
            influence[part.rows] = a * residuals(weights, part)
            variance = variance_of(weights.fit.probabilities(part))
            square[part.rows] = (part.weight * a) ** 2 * variance / part.count
        rows = np.flatnonzero(self.unit >= 0)
        unit = self.unit[rows]
        total = np.bincount(unit, influence[rows], size).astype(np.float64)
        spread = 2.0 * np.bincount(unit, square[rows], size) - total**2
        if sample.groups is not None:
            # Errors are by group, of which a unit is a part, or the whole.
            by_group = np.bincount(sample.groups, influence)
            group = np.zeros(size, dtype=np.intp)
            group[unit] = sample.groups[rows]
            spread += 2.0 * total * (total - by_group[group])
        parts_of_rows, scaled = self.base.parts.sum(axis=0), self._scale * contrast
        return -total, spread * (scaled @ parts_of_rows @ scaled) / (
            contrast @ parts_of_rows @ contrast
        )


class Search:
    """The search for few units whose loss changes a statement about two models.

    It starts from the first order: influence is added up until the margin is closed
    (AMIP).

    Parameters
    ----------
    fit : Dropping
        The fit.
    pair : tuple of (model, opponent)
        The models.
    goal : {"sign", "interval"}
        What is to change: the sign of the difference, or whether its interval contains
        zero.
    level : float
        Confidence level.

    Attributes
    ----------
    order : ndarray of shape (n_order,)
        Units in the order in which they are dropped.
    row : dict
        What was found so far: a row of the table of
        :class:`skanchor.readouts.Fragility`.
    """

    def __init__(self, fit: Dropping, pair: tuple[Any, Any], goal: str, level: float):
        self.fit, self.pair, self.goal, self.level = fit, pair, goal, level
        self.now = now = fit.result.contrasts(level).loc[pair]
        self.side = 1.0 if now["difference"] >= 0 else -1.0
        # A difference that is not significant is to become so.
        gains = goal == "interval" and not self._near(now) > 0
        self.sense = -1.0 if gains else 1.0
        self.margin = float(self._margin(now)[0])
        self.order, margins = self._ordered(fit.base, now)
        met = np.flatnonzero(margins < 0)
        self.row: dict[str, Any] = {
            "difference": now["difference"],
            "t": now["difference"] / now["standard_error"],
            "side": self.side,
            "gains": gains,
            "allowed": len(fit.kind),
            "first_order": float(met[0] + 1) if len(met) else np.inf,
            **dict.fromkeys(("re_solved", "k", "share"), np.nan),
            "confirmed": False,
            "status": "first order",
            "after": np.nan,
        }

    def _near(self, now: pd.Series) -> float:
        """Limit of the difference next to zero, positive if it excludes zero."""
        return float(now["low"] if self.side > 0 else -now["high"])

    def _margin(self, now: pd.Series, shift: Any = 0.0, spread: Any = 0.0) -> Array:
        """What is missing after changes of difference and variance, (n_changes,).

        It is negative where the statement has changed, and NaN where the difference is
        not determined: a fit that breaks changes no statement.
        """
        error = now["standard_error"]
        if not np.isfinite([now["difference"], error]).all():
            return np.full(1, np.nan)
        difference = self.side * (now["difference"] + np.atleast_1d(shift))
        if self.goal == "sign":
            return np.asarray(difference)
        # The limit next to zero lies so many errors off.
        ratio = (self.side * now["difference"] - self._near(now)) / error
        later = np.sqrt(np.maximum(error**2 + spread, 0.0))
        return np.asarray(self.sense * (difference - ratio * later))

    def _ordered(self, solved: Solved, now: pd.Series) -> tuple[Indices, Array]:
        """Units to drop next, and the margins as they are dropped."""
        effects = self.fit.effects(solved, *self.pair)
        change = self._margin(now, *effects) - self._margin(now)
        order = self.fit.order(change, solved.gone)
        sums = (np.cumsum(effect[order]) for effect in effects)
        return order, self._margin(now, *sums)

    def _measure(self, result: AnchorResult | None) -> tuple[pd.Series, float]:
        """What a result without units says, and its margin."""
        if result is None:
            return self.now, np.nan
        now = result.contrasts(self.level).loc[self.pair]
        return now, float(self._margin(now)[0])

    def search(self) -> None:
        """Drop units block by block, solving the weights anew after each."""
        state, now, margin = self.fit.base, self.now, self.margin
        fewer, n_blocks, failed = 0, 0, ""
        while margin >= 0:
            others, margins = self._ordered(state, now)
            self.order = np.concatenate([state.gone, others])
            if not len(others):
                failed = "not fragile"
                break
            wanted = margin / 2 if n_blocks < HALVES else margin
            size = int(np.searchsorted(margin - margins, wanted)) + 1
            # Where the margin does not say how many more are needed, a tenth of those
            # that are gone.
            size = max(size, len(state.gone) // 10)
            fewer = len(state.gone)
            state = self.fit.solve(self.order[: fewer + size])
            now, margin = self._measure(self.fit.predicted(state))
            n_blocks += 1
        if failed or np.isnan(margin):
            status = failed or "fit fails first"
            self.row |= {"re_solved": np.inf, "k": np.inf, "status": status}
            return
        gone, most = state.gone, len(state.gone)
        self.order = np.concatenate([gone, self._ordered(state, now)[0]])
        while most - fewer > 1:
            at = (most + fewer) // 2
            state = self.fit.solve(gone[:at])
            if self._measure(self.fit.predicted(state))[1] < 0:
                most = at
            else:
                fewer = at
        self.row |= {"re_solved": float(most), "k": float(most)}

    def confirm(self, refit: Callable[[Indices], AnchorResult | None]) -> None:
        """Refit without the units that were found, if any, and a few more or fewer.

        ``refit`` gives the result without rows, None where the fit breaks.
        """
        if not np.isfinite(self.row["re_solved"]):
            return
        # The largest number that does not change the statement, the smallest that does,
        # and the smallest that breaks the fit; and margins.
        fewer, low, above, high, below = 0, 0, self.margin, np.inf, np.nan
        ceiling, at = len(self.order) + 1, int(self.row["re_solved"])
        self.row["status"] = "not confirmed"
        for _ in range(MOST_REFITS):
            now, margin = self._measure(refit(self.fit.rows_of(self.order[:at])))
            if np.isnan(margin):
                ceiling = at
                if not self.row["confirmed"]:
                    self.row |= {"status": "fit fails first", "k": np.inf}
            elif margin < 0:
                high, below = at, margin
                self.row |= {"k": float(at), "confirmed": True, "status": "confirmed"}
                self.row["after"] = float(now["difference"])
            else:
                fewer, low, above = low, at, margin
            top = int(min(high, ceiling))
            if top - low <= max(1, CLOSE * top):
                break
            if np.isfinite(high):
                guess = low + (high - low) * above / (above - below)
            else:
                # In proportion to what the last refit has closed, a fifth at least.
                closed = max(self.margin - above, 0.2 * self.margin)
                guess = 1.01 * low * self.margin / closed
                if fewer:
                    # Rows count for less the more have gone: go twice as far as before.
                    guess = max(guess, low + 2 * (low - fewer))
            at = int(np.clip(np.ceil(guess), low + 1, top - 1))
