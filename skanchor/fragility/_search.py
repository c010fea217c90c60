"""The search for few rows that change a statement: first order, then re-solved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from skanchor._typing import Array
from skanchor.fragility._goals import Goal, Standing
from skanchor.fragility._resolved import Fitted, Resolved
from skanchor.fragility._units import Queue

HALVES = 3
"""Blocks that close half of the margin that is left; the next ones close all of it."""


@dataclass(eq=False)
class Trail:
    """What a search has found so far.

    Attributes
    ----------
    goal : Goal
        What is to change.
    margin : float
        How much is missing with all rows, in logits.
    first_order : float
        Smallest number of units whose influence adds up to the margin; infinite where
        no number that may be dropped does.
    resolved : float
        The same where weights are solved anew; NaN where it was not searched for.
    queue : Queue
        Units in the order in which they are dropped.
    path : list of (int, float)
        Numbers of dropped units, and the difference that is left.
    breaks : bool
        Whether scores are not determined before the goal is reached.
    """

    goal: Goal
    margin: float
    first_order: float
    queue: Queue
    resolved: float = np.nan
    path: list[tuple[int, float]] = field(default_factory=list)
    breaks: bool = False


def first_order(fitted: Fitted, goal: Goal) -> Trail:
    """Add up influence until the margin is closed (AMIP).

    Parameters
    ----------
    fitted : Fitted
        The fit.
    goal : Goal
        What is to change.

    Returns
    -------
    Trail
    """
    now, margin = goal.measure(fitted.result)
    shift, spread = fitted.effects(fitted.base, goal.model, goal.opponent)
    queue = fitted.units.queue(goal.change(now, shift, spread), Queue.empty())
    one, copies = queue.units, queue.copies
    margins = goal.reached(
        now, np.cumsum(shift[one] * copies), np.cumsum(spread[one] * copies)
    )
    met, least = np.flatnonzero(margins < 0), np.inf
    if len(met):
        at = met[0]
        before = margin if at == 0 else margins[at - 1]
        # Copies of a unit are alike: the margin is about linear in their number.
        share = before / (before - margins[at])
        within = min(int(share * copies[at]) + 1, copies[at])
        least = float(copies[:at].sum() + within)
    return Trail(goal, margin, least, queue, path=[(0, now.difference)])


def search(fitted: Fitted, trail: Trail, proceed: Callable[[], None]) -> None:
    """Drop units block by block, solving the weights anew after each.

    Parameters
    ----------
    fitted : Fitted
        The fit.
    trail : Trail
        Of :func:`first_order`; what is found is written into it.
    proceed : callable
        Called before each solution; raises to stop.
    """
    goal = trail.goal

    def solved(gone: Queue) -> tuple[Resolved, Standing, float]:
        proceed()
        found = fitted.without(gone)
        now, margin = goal.measure(fitted.predicted(found))
        trail.path.append((len(gone), now.difference))
        return found, now, np.nan if found.undetermined else margin

    found, gone, margin = fitted.base, Queue.empty(), trail.margin
    now, _ = goal.measure(fitted.result)
    for n_blocks in count():
        rest, change = _remaining(fitted, goal, found, now)
        trail.queue = gone + rest
        if margin < 0:
            break
        if not len(rest):
            trail.resolved = np.inf
            return
        wanted = margin / 2 if n_blocks < HALVES else margin
        before, fewer = margin, gone
        gone = gone + _closing(rest, change, wanted, len(gone))
        found, now, margin = solved(gone)
        if np.isnan(margin):
            trail.breaks, trail.resolved = True, np.inf
            return
    least, most, halve = len(fewer), len(gone), False
    while most - least > 1:
        # The margin is nearly linear within a block; halving every other time is safe.
        share = 0.5 if halve else before / (before - margin)
        halve = not halve
        at = int(np.clip(np.ceil(least + share * (most - least)), least + 1, most - 1))
        _, _, between = solved(gone.first(at))
        if between < 0:
            most, margin = at, between
        else:
            least, before = at, between
    trail.resolved = float(most)


def _remaining(
    fitted: Fitted, goal: Goal, found: Resolved, now: Standing
) -> tuple[Queue, Array]:
    """Units that are left to drop, and the change of the margin by each."""
    change = goal.change(now, *fitted.effects(found, goal.model, goal.opponent))
    return fitted.units.queue(change, found.gone), change


def _closing(queue: Queue, change: Array, wanted: float, n_gone: int) -> Queue:
    """First units of a queue whose changes add up to what is wanted."""
    each = -change[queue.units]
    sums = np.cumsum(each * queue.copies)
    at = int(np.searchsorted(sums, wanted))
    if at == len(sums):
        return queue
    before = sums[at] - each[at] * queue.copies[at]
    within = np.clip(np.ceil((wanted - before) / each[at]), 1, queue.copies[at])
    # Where the margin does not say how many more are needed, a tenth of those gone.
    return queue.first(max(int(queue.copies[:at].sum() + within), n_gone // 10))
