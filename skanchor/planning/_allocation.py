"""The allocation of a budget to kinds of rows that lowers a variance most.

The variance ``f(n) = sum_t l_t' (Q + R + sum_q n_q I_q)^-1 l_t`` is convex in the
numbers of rows n. Pairwise Frank-Wolfe steps move spend from the worst part of an
allocation to the best one. The duality gap bounds how far the result is from the
optimum, so that it is its own certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from skanchor._typing import Array

GAP = 1e-3
"""Duality gap, as a share of the variance, at which the search stops."""

MOST_STEPS = 500


@dataclass(frozen=True, slots=True)
class Allocation:
    """An allocation of spend.

    Attributes
    ----------
    spend : ndarray of shape (n_kinds,)
        Spend on each kind.
    value : float
        Variance f.
    gap : float
        Bound on ``(f - least f) / f``.
    """

    spend: Array
    value: float
    gap: float


def allocate(
    solve: Callable[[Array], Array],
    value: Callable[[Array], float],
    gains: Callable[[Array], Array],
    costs: Array,
    budget: float,
    group: NDArray[np.intp],
    floor: float = 0.0,
    tolerance: float = GAP,
) -> Allocation:
    """Spend a budget where it lowers the variance most.

    Parameters
    ----------
    solve : callable
        Weights of the targets at numbers of rows of shape (n_kinds,).
    value : callable
        Variance f of weights.
    gains : callable
        Decrease of f by one row of each kind, of weights.
    costs : ndarray of shape (n_kinds,)
        Cost of a row.
    budget : float
        What is spent.
    group : ndarray of shape (n_kinds,)
        Code of the group of each kind whose share has a floor; -1 for kinds without.
    floor : float, default=0.0
        Least share of each group in what is spent on all groups.
    tolerance : float, default=0.001
        Gap at which the search stops.

    Returns
    -------
    Allocation
    """
    best = _Best(costs, budget, group, floor)
    weights = solve(np.zeros(len(costs)))
    # The allocation is a mixture of parts, each the best one at some gains.
    parts, shares = [best.of(gains(weights) / costs)], [1.0]
    for _ in range(MOST_STEPS):
        spend: Array = np.asarray(shares) @ np.asarray(parts)
        weights = solve(spend / costs)
        rate, found = gains(weights) / costs, value(weights)
        towards = best.of(rate)
        gap = float((towards - spend) @ rate) / found
        if gap <= tolerance:
            break
        worst = int(np.argmin([part @ rate for part in parts]))
        moved = towards - parts[worst]

        def slope(t: float, spend: Array = spend, moved: Array = moved) -> float:
            """Decrease of f by a longer step, to first order."""
            rows = (spend + t * moved) / costs
            return float(gains(solve(rows)) / costs @ moved)

        step = _line_search(slope, shares[worst])
        shares[worst] -= step
        same = [k for k, part in enumerate(parts) if np.array_equal(part, towards)]
        if same:
            shares[same[0]] += step
        else:
            parts.append(towards)
            shares.append(step)
        if shares[worst] <= 0.0:
            del parts[worst], shares[worst]
    return Allocation(spend, found, max(gap, 0.0))


def _line_search(slope: Callable[[float], float], longest: float) -> float:
    """Length of the step at which the decrease along it ends."""
    if slope(longest) >= 0.0:
        return longest
    return float(brentq(slope, 0.0, longest, xtol=1e-9 * longest, rtol=1e-9))


@dataclass(frozen=True, eq=False)
class _Best:
    """Allocations that no other exceeds at fixed gains: all spend where it gains most.

    A group with a floor never stands alone: what goes to the groups is spent on one of
    them, but for the floors of the others.
    """

    costs: Array
    budget: float
    group: NDArray[np.intp]
    floor: float

    def of(self, rate: Array) -> Array:
        """Allocation with the largest ``spend @ rate``, of shape (n_kinds,)."""
        found = np.zeros(len(rate))
        alone = np.flatnonzero(self.group < 0)
        best_alone = -np.inf
        if len(alone):
            single = alone[np.argmax(rate[alone])]
            best_alone = rate[single]
        codes = np.unique(self.group[self.group >= 0])
        if not len(codes):
            found[single] = self.budget
            return found
        tops = []
        for code in codes:
            own = np.flatnonzero(self.group == code)
            tops.append(own[np.argmax(rate[own])])
        top = np.array(tops)
        share = np.full(len(top), self.floor)
        share[np.argmax(rate[top])] += 1.0 - self.floor * len(top)
        if best_alone >= share @ rate[top]:
            found[single] = self.budget
        else:
            found[top] = share * self.budget
        return found


def round_to_budget(spend: Array, costs: Array, budget: float) -> NDArray[np.intp]:
    """Whole numbers of rows within a budget, by largest remainders.

    Parameters
    ----------
    spend : ndarray of shape (n_kinds,)
        Spend on each kind.
    costs : ndarray of shape (n_kinds,)
        Cost of a row of each.
    budget : float
        What may be spent.

    Returns
    -------
    ndarray of shape (n_kinds,)
    """
    exact = spend / costs
    # A whole number that rounding has left just below itself stays whole.
    rows = np.floor(exact + 1e-9).astype(np.intp)
    left = budget * (1.0 + 1e-12) - float(rows @ costs)
    # Equal remainders are served in the order of the kinds, rounding or not.
    for q in np.argsort(np.round(rows - exact, 9), kind="stable").tolist():
        if exact[q] - rows[q] > 1e-9 and costs[q] <= left:
            rows[q] += 1
            left -= costs[q]
    return rows
