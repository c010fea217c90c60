"""Item effects by judge and model, with intervals on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from skanchor.exceptions import BattlesError
from skanchor.plotting import _canvas as canvas
from skanchor.results import AnchorResult, ContextResult
from skanchor.results.adjustment import holm_adjust

MOST_JUDGES = 6
"""Number of judges shown."""


@dataclass(eq=False, repr=False)
class ItemDeviationDisplay(canvas.ResultDisplay):
    """Item effects: how much each judge overrates each model, given score and features.

    A dot is an item effect, and the line through it is its interval. Item effects that
    are significant jointly (by Holm's method) are blue; the others are grey.

    Parameters
    ----------
    deviations : DataFrame
        By judge and model: the item effect ``deviation`` and its ``standard_error``, in
        judge logits.
    models : sequence of labels
        The models, from top to bottom.
    is_new : ndarray of shape (n_models,), optional
        Whether each of them is new.
    level : float, default=0.95
        Level of the intervals, and of all decisions jointly.

    Attributes
    ----------
    ax_ : ndarray of shape (n_shown,)
        The axes, one for each judge that is shown. With more than six judges these are
        the six with the largest item effects in standard errors.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.plotting import ItemDeviationDisplay
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="random", random_state=0).fit(X, y)
    >>> display = ItemDeviationDisplay.from_estimator(anchor)
    >>> len(display.ax_)
    3
    """

    deviations: pd.DataFrame
    models: Sequence[Any]
    is_new: NDArray[np.bool_] | None = None
    level: float = 0.95

    @classmethod
    def from_result(
        cls, result: AnchorResult, level: float = 0.95, *, ax: canvas.AxesGiven = None
    ) -> Self:
        """Draw the item effects of a result.

        Parameters
        ----------
        result : AnchorResult
            A result with item effects.
        level : float, default=0.95
            Level of the intervals, and of all decisions jointly.
        ax : sequence of matplotlib Axes, optional
            Axes to draw on, one for each judge; None makes a figure.

        Returns
        -------
        ItemDeviationDisplay
            The display, drawn.
        """
        if isinstance(result, ContextResult):
            # With contexts, an item is a model in one context, a cell.
            result = result.cells
        diagnostics = getattr(canvas.check_result(result), "diagnostics", None)
        if diagnostics is None or diagnostics.deviations.empty:
            raise BattlesError(
                "This result leaves item effects out, so there are no deviations to "
                "draw. Fit with item_effects='random'.",
            )
        board = result.leaderboard()
        found = diagnostics.deviations
        # Models with item effects, in the order of the leaderboard.
        has_effects = board.index.isin(found.index.get_level_values("model"))
        models = board.index[has_effects].tolist()
        is_new = board["is_new"].to_numpy()[has_effects]
        return cls(found, models, is_new, level).plot(ax)

    def plot(self, ax: canvas.AxesGiven = None) -> Self:
        """Draw a panel for each judge, with a row for each model.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, optional
            Axes to draw on, one for each judge; None makes a figure.

        Returns
        -------
        self
        """
        # Matrices of shape (n_models, n_judges), NaN where a judge has no item effect.
        wide = self.deviations.unstack("judge").reindex(pd.Index(self.models))
        value, error = wide["deviation"], wide["standard_error"]
        z = (value / error).where(error > 0)
        proven = self._proven(z.to_numpy())
        largest = z.abs().max().sort_values(ascending=False, kind="stable")
        order = self.deviations.index.get_level_values("judge").unique()
        judges = [name for name in order if name in largest.index[:MOST_JUDGES]]
        columns = min(len(judges), 3)
        found = canvas.panels(
            len(judges), ax, n_rows=len(self.models) + 1, n_columns=columns
        )
        half = ndtri(0.5 + self.level / 2.0) * error
        # One scale for all panels.
        reach = 1.05 * float(np.nanmax((value.abs() + half).to_numpy()))
        at = np.arange(len(self.models))
        names = canvas.shorten(judges, 14 if columns > 1 else None)
        for place, (panel, judge) in enumerate(zip(found, judges, strict=True)):
            own = proven[:, wide["deviation"].columns.get_loc(judge)]
            panel.axvline(0.0, color="0.5", linewidth=0.9, zorder=0)
            for rows, color in ((~own, "0.62"), (own, canvas.NEW)):
                shown = rows & np.isfinite(value[judge].to_numpy())
                panel.errorbar(
                    value[judge][shown], at[shown], xerr=half[judge][shown],
                    linestyle="none", marker="o", markersize=3.5, elinewidth=1.2,
                    color=color,
                )  # fmt: skip
            canvas.name_axis(panel, self.models, self.is_new)
            if place % columns:
                panel.set_yticklabels([])
            panel.set_xlim(-reach, reach)
            panel.locator_params(axis="x", nbins=3)
            panel.tick_params(axis="x", labelsize=8)
            panel.set_title(names[place], fontsize=8)
        more = len(order) - len(judges)
        said = f"judge logits, with {100 * self.level:.6g} % intervals"
        if more:
            said += f" ({more} more judges are not shown)"
        if ax is None:
            found[0].figure.supxlabel(
                f"underrated by the judge  ←   →  overrated\n{said}", fontsize=8.5
            )
        return self._drawn(found)

    def _proven(self, z: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which item effects differ from zero, all taken together; shape of ``z``."""
        p = 2.0 * ndtr(-np.abs(np.nan_to_num(z)))
        return np.asarray(holm_adjust(p.ravel()) < 1.0 - self.level).reshape(z.shape)
