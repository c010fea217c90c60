"""Half width of an interval against what further rows cost."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skanchor.plotting import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skanchor.pipeline import AnchorPipeline

_STEPS = 10
# Column, label, colour and style of each way to spend.
_WAYS = (
    ("design", "best allocation", canvas.NEW, "-"),
    ("verdicts", "verdicts divided evenly", canvas.OLD, "--"),
    ("votes", "votes divided evenly", canvas.OLD, "-."),
)


@dataclass(eq=False, repr=False)
class CostDisplay(canvas.TableDisplay):
    """Half width of a new model's interval against what is spent on further rows.

    A dotted line is the smallest half width that any number of verdicts can reach.

    Parameters
    ----------
    table : DataFrame
        By cost, ascending from zero: half widths of the ``design``, and with the same
        money on ``verdicts`` or ``votes`` divided evenly; NaN for what is not offered.
    limit : float
        Half width with infinitely many verdicts and no further votes.
    model : label
        The new model.
    level : float, default=0.95
        Confidence level.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor.plotting import CostDisplay
    >>> cost = pd.Index([0.0, 5.0, 20.0], name="cost")
    >>> columns = {"design": [0.3, 0.2, 0.15], "verdicts": [0.3, 0.25, 0.2]}
    >>> widths = pd.DataFrame({**columns, "votes": [0.3, 0.21, 0.16]}, index=cost)
    >>> display = CostDisplay(widths, limit=0.12, model="ivory-lynx").plot()
    >>> display.ax_.get_xlabel()
    'cost of further rows'
    """

    table: pd.DataFrame
    limit: float
    model: Hashable
    level: float = 0.95

    @classmethod
    def from_estimator(
        cls,
        estimator: AnchorPipeline,
        budget: float,
        costs: Mapping[Any, float],
        model: Hashable | None = None,
        level: float = 0.95,
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the half widths of a fitted pipeline.

        Parameters
        ----------
        estimator : AnchorPipeline
            A pipeline fitted on a table with new models.
        budget : float
            Largest cost that is drawn.
        costs : mapping of label to float
            Cost of a row by source, as in :meth:`skanchor.AnchorPipeline.design`.
        model : label, optional
            A new model; None means the first whose score is determined.
        level : float, default=0.95
            Confidence level.
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        CostDisplay
            The display, drawn.
        """
        pipeline = canvas.check_pipeline(estimator)
        limits = pipeline.outlook(model=model, level=level).limits
        model = limits.index[0]
        found: dict[float, dict[Any, float]] = {}
        # The whole budget first, so that one which buys nothing is refused.
        for spent in budget * np.arange(_STEPS, 0, -1) / _STEPS:
            if found and spent < min(costs.values()):
                break
            design = pipeline.design(spent, costs, targets=[model], level=level)
            half = design.half_widths.iloc[0]
            found[0.0] = dict.fromkeys(half.index, half["now"])
            found[float(spent)] = half.to_dict()
        table = pd.DataFrame.from_dict(found, orient="index").sort_index()
        table = table[[name for name, *_ in _WAYS]].rename_axis("cost")
        # What is not offered is not drawn at the start, either.
        table.loc[:, table.iloc[-1].isna()] = np.nan
        limit = float(limits["verdicts"].iloc[0])
        return cls(table, limit, model, level).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw a line for each way to spend.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        self
        """
        ax = canvas.given_or_new(ax, 9)
        spent = self.table.index.to_numpy(dtype=float)
        for name, label, color, style in _WAYS:
            half = self.table[name]
            if half.notna().any():
                ax.plot(spent, half, style, color=color, linewidth=1.4, label=label)
        top = float(np.nanmax(self.table.to_numpy()))
        if self.limit > 0.02 * top:
            ax.axhline(
                self.limit, color="0.4", linestyle=":", linewidth=1.2,
                label="verdicts without end",
            )  # fmt: skip
        ax.set_xlim(0.0, spent[-1])
        ax.set_ylim(0.0, 1.08 * top)
        ax.grid(axis="y", color=canvas.FAINT, linewidth=0.6)
        ax.set_axisbelow(True)
        canvas.hide_spines(ax)
        (name,) = canvas.shorten([self.model])
        ax.set_xlabel("cost of further rows", fontsize=9)
        ax.set_ylabel(
            f"half width for {name}\n(logits, {100 * self.level:.6g} %)", fontsize=9
        )
        # Above the axes, from the right, where it hides nothing.
        ax.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False,
            fontsize=8,
        )  # fmt: skip
        return self._drawn(ax)
