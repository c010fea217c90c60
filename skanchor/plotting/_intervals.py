"""Whether intervals hold for models left out one by one, and what shorter ones cost."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtri

from skanchor._sample.sample import Battles
from skanchor.evaluation import leave_one_model_out
from skanchor.pipeline import AnchorPipeline
from skanchor.plotting import _canvas as canvas
from skanchor.results.estimators import RankingEstimator

_COLUMNS = ("true_score", "true_error", "score", "low", "high", "compatible")

MOST_NAMES = 8
"""Largest number of models that are named."""

_STEPS = 10
# Column, label, colour and style of each way to spend.
_WAYS = (
    ("design", "best allocation", canvas.NEW, "-"),
    ("verdicts", "verdicts divided evenly", canvas.OLD, "--"),
    ("votes", "votes divided evenly", canvas.OLD, "-."),
)


@dataclass(eq=False, repr=False)
class LeftOutDisplay(canvas.Display):
    """Score of each model treated as new, against its score from people's votes.

    Open marks with names are models whose two scores differ by more than both standard
    errors together explain.

    Parameters
    ----------
    table : DataFrame
        A table returned by :func:`skanchor.evaluation.leave_one_model_out`.
    level : float, default=0.95
        Level of its intervals.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.evaluation import leave_one_model_out
    >>> from skanchor.plotting import LeftOutDisplay
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(2000, 200, n_models=6, random_state=0)
    >>> anchor = AnchorPipeline(cv=3, random_state=0)
    >>> table = leave_one_model_out(anchor, data.X, data.y)
    >>> display = LeftOutDisplay.from_result(table)
    >>> display.ax_.get_ylabel()
    'score without them (logits)'
    """

    table: pd.DataFrame
    level: float = 0.95

    @classmethod
    def from_estimator(
        cls,
        estimator: RankingEstimator,
        X: Battles,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | str | None = "auto",
        level: float = 0.95,
        ax: Any = None,
    ) -> Self:
        """Treat each historical model in turn as if it were new, and draw the scores.

        Parameters
        ----------
        estimator : RankingEstimator
            An estimator, fitted or not; a clone is fitted once for each model.
        X, y, sample_weight, groups
            As in :func:`skanchor.evaluation.leave_one_model_out`.
        level : float, default=0.95
            Confidence level of the intervals.
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        LeftOutDisplay
            The display, drawn.
        """
        canvas.require(estimator, RankingEstimator)
        table = leave_one_model_out(
            estimator, X, y, sample_weight=sample_weight, groups=groups, level=level
        )
        return cls(table, level).plot(ax)

    def _draw(self, ax: Any) -> Any:
        """Draw both scores of each model with their intervals."""
        missing = [name for name in _COLUMNS if name not in self.table]
        if missing:
            raise ValueError(
                "This display needs the table that leave_one_model_out returns for a "
                f"method with intervals; it lacks {missing}."
            )
        # Models without a finite interval are not drawn.
        table = self.table[np.isfinite(self.table["high"] - self.table["low"])]
        (ax,) = canvas.panels(1, ax, n_rows=16)
        # The diagonal, where both scores are equal.
        middle = (table["score"].mean(),) * 2
        ax.axline(middle, slope=1.0, color=canvas.OLD, linestyle="--", linewidth=1)
        good = table["compatible"].to_numpy(dtype=bool)
        for rows, label, color in (
            (good, "compatible with people", canvas.NEW),
            (~good, "not compatible", "white"),
        ):
            canvas.dots(
                ax,
                table["true_score"],
                table["score"],
                rows,
                ndtri(0.5 + self.level / 2.0) * table["true_error"],
                canvas.arms(table),
                **{"ecolor": "0.6", "label": label, "markerfacecolor": color},
            )
        ax.margins(y=0.08)
        # Names of the models farthest from the diagonal; away from it there is room.
        shown = table if len(table) <= MOST_NAMES else table[~good]
        distance = (shown["score"] - shown["true_score"]).abs()
        shown = shown.loc[distance.nlargest(MOST_NAMES).index]
        points = zip(shown["true_score"], shown["score"], strict=True)
        names = canvas.shorten(shown.index.tolist())
        for name, (x, y) in zip(names, points, strict=True):
            side, ha, va = (-1, "right", "bottom") if y > x else (1, "left", "top")
            look: Any = {"ha": ha, "va": va, "textcoords": "offset points"}
            ax.annotate(name, (x, y), (6 * side, -5 * side), **look, fontsize=7.5)
        ax.set_xlabel("score by the model's own votes (logits)")
        ax.set_ylabel("score without them (logits)")
        ax.set_title(
            f"{good.sum()} of {len(table)} compatible within both errors "
            f"({self._level} expected)"
        )
        ax.legend(loc="lower right")
        return ax


@dataclass(eq=False, repr=False)
class CostDisplay(canvas.Display):
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
        ax: Any = None,
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
        widths: dict[float, dict[Any, float]] = {}
        # The whole budget first, so that one which buys nothing is refused.
        for spent in budget * np.arange(_STEPS, 0, -1) / _STEPS:
            if widths and spent < min(costs.values()):
                break
            design = pipeline.design(spent, costs, targets=[model], level=level)
            half = design.half_widths.iloc[0]
            widths[0.0] = dict.fromkeys(half.index, half["now"])
            widths[float(spent)] = half.to_dict()
        table = pd.DataFrame.from_dict(widths, orient="index").sort_index()
        table = table[[name for name, *_ in _WAYS]].rename_axis("cost")
        # What is not offered is not drawn at the start, either.
        table.loc[:, table.iloc[-1].isna()] = np.nan
        limit = float(limits["verdicts"].iloc[0])
        return cls(table, limit, model, level).plot(ax)

    def _draw(self, ax: Any) -> Any:
        """Draw a line for each way to spend."""
        (ax,) = canvas.panels(1, ax, n_rows=9)
        spent = self.table.index.to_numpy(dtype=float)
        for name, label, color, style in _WAYS:
            half = self.table[name]
            if half.notna().any():
                ax.plot(spent, half, style, color=color, linewidth=1.4, label=label)
        top = float(np.nanmax(self.table.to_numpy()))
        if self.limit > 0.02 * top:
            look: Any = {"color": "0.4", "linestyle": ":", "linewidth": 1.2}
            ax.axhline(self.limit, label="verdicts without end", **look)
        ax.set_xlim(0.0, spent[-1])
        ax.set_ylim(0.0, 1.08 * top)
        ax.grid(axis="y", color=canvas.FAINT, linewidth=0.6)
        ax.set_axisbelow(True)
        (name,) = canvas.shorten([self.model])
        ax.set_xlabel("cost of further rows")
        ax.set_ylabel(f"half width for {name}\n(logits, {self._level})")
        # Above the axes, from the right, where it hides nothing.
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
        return ax
