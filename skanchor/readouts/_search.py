"""The search for few rows that change a statement: first order, then re-solved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skanchor._typing import Array, Indices
from skanchor.readouts._resolved import NOTHING, Dropping, Solved

if TYPE_CHECKING:
    from skanchor import AnchorResult

HALVES = 3
"""Blocks that close half of the margin that is left; the next ones close all of it."""

MOST_REFITS = 6
"""Refits for one statement; two or three are usual."""

CLOSE = 0.02
"""Share of a number of units within which the smallest number is looked for."""


class Search:
    """The search for few units whose loss changes a statement about two models.

    It starts from the first order: influence is added up until the margin is closed
    (AMIP).

    Parameters
    ----------
    fit : Dropping
        The fit.
    model, opponent : label
        The models.
    goal : {"sign", "interval"}
        What is to change: the sign of the difference, or whether its interval contains
        zero.
    level : float
        Confidence level.
    status : str
        Outcome as long as nothing was solved again.

    Attributes
    ----------
    order : ndarray of shape (n_order,)
        Units in the order in which they are dropped.
    row : dict
        What was found so far: a row of the table of
        :class:`skanchor.readouts.Fragility`.
    path : list of (int, float, str)
        Numbers of dropped units, the difference that is left, and by what.
    """

    def __init__(
        self,
        fit: Dropping,
        model: Any,
        opponent: Any,
        goal: str,
        level: float,
        status: str,
    ):
        self.fit, self.pair, self.goal, self.level = fit, (model, opponent), goal, level
        self.now = now = fit.result.contrasts(level).loc[self.pair]
        self.side = 1.0 if now["difference"] >= 0 else -1.0
        # A difference that is not significant is to become so.
        gains = goal == "interval" and not self._near(now) > 0
        self.sense = -1.0 if gains else 1.0
        self.margin = float(self._margin(now)[0])
        self.order, sums = self._ordered(fit.base, now)
        met = np.flatnonzero(self._margin(now, *sums) < 0)
        self.path = [(0, now["difference"], "re-solved")]
        self.row: dict[str, Any] = {
            "difference": now["difference"],
            "t": now["difference"] / now["standard_error"],
            "side": self.side,
            "gains": gains,
            "allowed": fit.units.allowed,
            "first_order": float(met[0] + 1) if len(met) else np.inf,
            **dict.fromkeys(("re_solved", "k", "share"), np.nan),
            "confirmed": False,
            "status": status,
            **dict.fromkeys(("after", "anew"), np.nan),
            "anew_confirmed": False,
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

    def _ordered(
        self, solved: Solved, now: pd.Series
    ) -> tuple[Indices, tuple[Array, Array]]:
        """Units to drop next, and the sums of their effects as they are dropped."""
        effects = self.fit.effects(solved, *self.pair)
        change = self._margin(now, *effects) - self._margin(now)
        order = self.fit.units.order(change, solved.gone)
        shift, spread = (np.cumsum(each[order]) for each in effects)
        return order, (shift, spread)

    def _measure(
        self, result: AnchorResult | None, by: str, number: int
    ) -> tuple[pd.Series, float]:
        """What a result without units says, and its margin; the path notes it."""
        if result is None:
            return self.now, np.nan
        now = result.contrasts(self.level).loc[self.pair]
        margin = float(self._margin(now)[0])
        if np.isfinite(margin) and by:
            self.path.append((number, float(now["difference"]), by))
        return now, margin

    def _solved(self, gone: Indices) -> tuple[Solved, pd.Series, float]:
        """Weights without some units, what they predict, and its margin."""
        found = self.fit.solve(gone)
        return found, *self._measure(self.fit.predicted(found), "re-solved", len(gone))

    def search(self) -> Iterator[None]:
        """Drop units block by block, solving the weights anew after each.

        Yields
        ------
        None
            Before each solution, so that the search can be stopped.
        """
        found, now, margin, gone = self.fit.base, self.now, self.margin, NOTHING
        before, fewer = margin, 0
        for n_blocks in count():
            if np.isnan(margin):
                self.row |= dict(re_solved=np.inf, k=np.inf, status="fit fails first")
                return
            others, (shift, spread) = self._ordered(found, now)
            self.order = np.concatenate([gone, others])
            if margin < 0:
                break
            if not len(others):
                self.row |= dict(re_solved=np.inf, k=np.inf, status="not fragile")
                return
            wanted = margin / 2 if n_blocks < HALVES else margin
            left = self._margin(now, shift, spread)
            size = int(np.searchsorted(margin - left, wanted)) + 1
            # Where the margin does not say how many more are needed, a tenth of those
            # that are gone.
            size = max(size, len(gone) // 10)
            before, fewer = margin, len(gone)
            gone = np.concatenate([gone, others[:size]])
            yield
            found, now, margin = self._solved(gone)
        most, halve = len(gone), False
        while most - fewer > 1:
            # The margin is nearly linear within a block; halving every other time is
            # safe.
            share = 0.5 if halve else before / (before - margin)
            halve, at = not halve, fewer + int(np.ceil(share * (most - fewer)))
            at = min(max(at, fewer + 1), most - 1)
            yield
            _, _, between = self._solved(gone[:at])
            if between < 0:
                most, margin = at, between
            else:
                fewer, before = at, between
        self.row |= dict(re_solved=float(most), k=float(most))

    def confirm(
        self, refit: Callable[..., AnchorResult | None], has_item_effects: bool
    ) -> Iterator[None]:
        """Refit without the units that were found, and a few more or fewer.

        Parameters
        ----------
        refit : callable
            Result without rows, None where the fit breaks; ``anew=True`` estimates
            the covariance of the item effects again.
        has_item_effects : bool
            Whether a last refit estimates this covariance.

        Yields
        ------
        None
            Before each refit.
        """
        # The largest number that does not change the statement, the smallest that does,
        # and the smallest that breaks the fit; and margins.
        fewer, low, above, high, below = 0, 0, self.margin, np.inf, np.nan
        ceiling, at = len(self.order) + 1, int(self.row["re_solved"])
        failed: dict[str, Any] = dict(status="not confirmed")
        for _ in range(MOST_REFITS):
            yield
            result = refit(self.fit.units.rows(self.order[:at]))
            now, margin = self._measure(result, "refit", at)
            if np.isnan(margin):
                ceiling, failed = at, dict(status="fit fails first", k=np.inf)
            elif margin < 0:
                high, below = at, margin
                self.row |= dict(k=float(at), confirmed=True, status="confirmed")
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
        if not self.row["confirmed"]:
            self.row |= failed
        elif has_item_effects:
            yield
            gone = self.fit.units.rows(self.order[: int(self.row["k"])])
            now, margin = self._measure(refit(gone, anew=True), "", 0)
            anew = np.nan if np.isnan(margin) else float(now["difference"])
            self.row |= dict(anew=anew, anew_confirmed=bool(margin < 0))
