"""The allocation of a budget to kinds of rows that lowers a variance most.

The variance ``f(n) = sum_t l_t' (Q + R + sum_q n_q I_q)^-1 l_t`` is convex in the
numbers of rows n. Pairwise Frank-Wolfe steps move spend from the worst part of an
allocation to the best one. The duality gap bounds how far the result is from the
optimum, so that it is its own certificate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from skanchor._typing import Array

GAP = 1e-3
"""Duality gap, as a share of the variance, at which the search stops."""

MOST_STEPS = 500


def allocate(
    solve: Callable[[Array], Array],
    targets: Array,
    gains: Callable[[Array], Array],
    costs: Array,
    budget: float,
    group: NDArray[np.intp],
    floor: float = 0.0,
    tolerance: float = GAP,
) -> tuple[Array, float]:
    """Spend a budget where it lowers the variance most.

    Parameters
    ----------
    solve : callable
        Weights w of the targets at numbers of rows of shape (n_kinds,).
    targets : ndarray of shape (p, n_targets)
        L, so that the variance f is the sum of ``l'w``.
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
    spend : ndarray of shape (n_kinds,)
    gap : float
        Bound on ``(f - least f) / f``.
    """
    weights = solve(np.zeros(len(costs)))
    # The allocation is a mixture of parts, each the best one at some gains.
    parts = [budget * _best_shares(gains(weights) / costs, group, floor)]
    shares = [1.0]
    for _ in range(MOST_STEPS):
        spend: Array = np.asarray(shares) @ np.asarray(parts)
        weights = solve(spend / costs)
        rate = gains(weights) / costs
        towards = budget * _best_shares(rate, group, floor)
        gap = float((towards - spend) @ rate / np.sum(targets * weights))
        if gap <= tolerance:
            break
        worst = int(np.argmin([part @ rate for part in parts]))
        moved = towards - parts[worst]

        def slope(t: float, spend: Array = spend, moved: Array = moved) -> float:
            """Decrease of f by a longer step, to first order."""
            rows = (spend + t * moved) / costs
            return float(gains(solve(rows)) / costs @ moved)

        step = shares[worst]
        if slope(step) < 0.0:
            step = float(brentq(slope, 0.0, step, xtol=1e-9 * step, rtol=1e-9))
        shares[worst] -= step
        same = [k for k, part in enumerate(parts) if np.array_equal(part, towards)]
        if same:
            shares[same[0]] += step
        else:
            parts.append(towards)
            shares.append(step)
        if shares[worst] <= 0.0:
            del parts[worst], shares[worst]
    return spend, max(gap, 0.0)


def _best_shares(rate: Array, group: NDArray[np.intp], floor: float) -> Array:
    """Shares of the spend that gain most at fixed gains per unit of money.

    All goes to one kind without a group, or to the groups: the floors to the best kind
    of each of them, and what is left to the best of these.
    """
    options = np.zeros((2, len(rate)))
    codes = np.unique(group)
    best = {code: np.where(group == code, rate, -np.inf).argmax() for code in codes}
    if -1 in best:
        options[0, best.pop(-1)] = 1.0
    if best:
        tops = np.array(list(best.values()))
        options[1, tops] = floor
        options[1, tops[rate[tops].argmax()]] += 1.0 - floor * len(tops)
    of_option = np.where(options.any(axis=1), options @ rate, -np.inf)
    return np.asarray(options[of_option.argmax()])


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
