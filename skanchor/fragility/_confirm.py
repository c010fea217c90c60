"""Refits without the rows that a search has found: the word that counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from skanchor._cells import Cells
from skanchor.exceptions import BattlesError
from skanchor.fragility._goals import Standing
from skanchor.fragility._search import Trail
from skanchor.fragility._units import Queue, Units
from skanchor.results import AnchorResult
from skanchor.sample import Sample
from skanchor.warning_log import WarningLog

MOST_REFITS = 6
"""Refits for one statement; two or three are usual."""

CLOSE = 0.02
"""Share of a number of units within which the smallest number is looked for."""


class Refit(Protocol):
    """A fit of other rows by the settings, folds and item effects of a fit."""

    def __call__(self, sample: Sample, *, anew: bool = False) -> AnchorResult:
        """Fit; ``anew`` estimates the covariance of the item effects again."""


@dataclass(eq=False)
class Confirmed:
    """What refits say.

    Attributes
    ----------
    k : float
        Smallest number of dropped units with which a refit has reached the goal; NaN
        where none has.
    refits : list of (int, Standing or None)
        Number of dropped units, and the difference in the refit; None where it broke.
    after : Standing or None
        In the refit with ``k``.
    anew : Standing or None
        In a refit that estimates the covariance of the item effects anew.
    anew_reached : bool
        Whether that one has reached the goal, too.
    """

    k: float = np.nan
    refits: list[tuple[int, Standing | None]] = field(default_factory=list)
    after: Standing | None = None
    anew: Standing | None = None
    anew_reached: bool = False

    @property
    def breaks(self) -> bool:
        """Whether a fit broke, and none reached the goal."""
        return bool(np.isnan(self.k)) and any(now is None for _, now in self.refits)


def rows_of_units(cells: Cells, units: Units, queue: Queue) -> NDArray[np.intp]:
    """Rows of the table that a queue drops.

    Parameters
    ----------
    cells : Cells
        Rows of the table.
    units : Units
        Units of its rows, or of its cells.
    queue : Queue
        What is dropped.

    Returns
    -------
    ndarray of shape (n_dropped,)
        Row numbers, in order.
    """
    unit = units.unit
    if units.sample.multiplicity is not None:
        assert cells.cell is not None
        unit = unit[cells.cell]
    # Rows by unit, then the number of each among those of its unit.
    order = np.argsort(unit, kind="stable")
    order = order[unit[order] >= 0]
    sizes = np.bincount(unit[order], minlength=len(units.copies))
    within = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    number = units.counts(queue)
    whole = np.where(units.by_group & (number > 0), sizes, number)
    return np.sort(order[within < whole[unit[order]]])


@dataclass(frozen=True, eq=False)
class Refits:
    """Fits of the table without some of its rows.

    Attributes
    ----------
    refit : Refit
        Fits other rows.
    result : AnchorResult
        The result of all rows.
    cells : Cells
        Rows of the table.
    units : Units
        What may be dropped.
    with_items : bool
        Whether item effects were estimated, which a last refit does anew.
    """

    refit: Refit
    result: AnchorResult
    cells: Cells
    units: Units
    with_items: bool

    def confirm(
        self, trail: Trail, found: Confirmed, proceed: Callable[[], None]
    ) -> None:
        """Refit without the units that were found, and a few more or fewer.

        Parameters
        ----------
        trail : Trail
            What the search has found.
        found : Confirmed
            What refits say is written into it.
        proceed : callable
            Called before each refit; raises to stop.
        """
        # The largest number that does not reach the goal, the smallest that does, and
        # the smallest that breaks the fit; and margins.
        fewer, low, above, high, below = 0, 0, trail.margin, np.inf, np.nan
        ceiling, k = len(trail.queue) + 1, int(trail.resolved)
        for _ in range(MOST_REFITS):
            proceed()
            now, margin = self._margin(trail, k)
            found.refits.append((k, now))
            if now is None:
                ceiling = k
            elif margin < 0:
                high, below = k, margin
                found.k, found.after = float(k), now
            else:
                fewer, low, above = low, k, margin
            top = int(min(high, ceiling))
            if top - low <= max(1, CLOSE * top):
                break
            if np.isfinite(high):
                guess = low + (high - low) * above / (above - below)
            else:
                # In proportion to what the last refit has closed, a fifth at least.
                closed = max(trail.margin - above, 0.2 * trail.margin)
                guess = 1.01 * low * trail.margin / closed
                if fewer:
                    # Rows count for less the more have gone: go twice as far as before.
                    guess = max(guess, low + 2 * (low - fewer))
            k = int(np.clip(np.ceil(guess), low + 1, top - 1))
        if self.with_items and np.isfinite(found.k):
            proceed()
            found.anew, margin = self._margin(trail, int(found.k), anew=True)
            found.anew_reached = bool(margin < 0)

    def _margin(
        self, trail: Trail, k: int, *, anew: bool = False
    ) -> tuple[Standing | None, float]:
        """What a refit without the first k units says; None where it breaks."""
        rows = rows_of_units(self.cells, self.units, trail.queue.first(k))
        result = self._fitted(_without(self.cells.rows, rows), anew=anew)
        if result is None:
            return None, np.nan
        now, margin = trail.goal.measure(result)
        return (None if np.isnan(margin) else now), margin

    def _fitted(self, sample: Sample, *, anew: bool) -> AnchorResult | None:
        """Result of other rows; None where the fit breaks."""
        try:
            # What these rows would be warned of is no fault of the table.
            with WarningLog():
                result = self.refit(sample, anew=anew)
        except (BattlesError, np.linalg.LinAlgError):
            return None
        error = result.all_standard_errors.reindex(self.result.models)
        lost = ~np.isfinite(error) & np.isfinite(self.result.all_standard_errors)
        return None if lost.any() else result


def _without(rows: Sample, at: NDArray[np.intp]) -> Sample:
    """The rows of the table with the weight of some set to zero."""
    weight = np.array(rows.weight)
    weight[at] = 0.0
    return rows.weighted(weight)
