"""Models left out one by one: the estimate against what people say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtri

from skanchor.evaluation import leave_one_model_out
from skanchor.plotting._canvas import (
    NEW,
    OLD,
    canvas,
    hide_spines,
    result_of,
    shorten,
)
from skanchor.ranking import RankingEstimator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["LeftOutDisplay"]

_COLUMNS = ("true_score", "true_error", "score", "low", "high", "compatible")

MOST_NAMES = 8
"""Models that are named where all of them would be too many."""


class LeftOutDisplay:
    """Score of each model as if it were new, against the score of its votes.

    Open marks are scores that the errors of both do not reconcile; they are named.

    Parameters
    ----------
    table : DataFrame
        What :func:`skanchor.evaluation.leave_one_model_out` returns.
    level : float, default=0.95
        The level that it was asked for.

    Attributes
    ----------
    ax_ : matplotlib Axes
        What is drawn on.
    figure_ : matplotlib Figure
        Its figure.
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, table: pd.DataFrame, level: float = 0.95):
        self.table = table
        self.level = level

    @classmethod
    def from_estimator(
        cls,
        estimator: RankingEstimator,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | str | None = None,
        level: float = 0.95,
        ax: Axes | None = None,
    ) -> Self:
        """Leave out each model in turn, and draw.

        Parameters
        ----------
        estimator : RankingEstimator
            Fitted; a clone of it is fitted once for each model.
        X, y, sample_weight, groups
            As in :func:`skanchor.evaluation.leave_one_model_out`.
        level : float, default=0.95
            Confidence level of the intervals.
        ax : matplotlib Axes, optional
            What to draw on; None makes a figure.

        Returns
        -------
        LeftOutDisplay
        """
        result_of(estimator)
        table = leave_one_model_out(
            estimator, X, y, sample_weight=sample_weight, groups=groups, level=level
        )
        return cls.from_result(table, level, ax=ax)

    @classmethod
    def from_result(
        cls, table: pd.DataFrame, level: float = 0.95, *, ax: Axes | None = None
    ) -> Self:
        """Draw what :func:`skanchor.evaluation.leave_one_model_out` has returned.

        Parameters
        ----------
        table : DataFrame
            By model left out.
        level : float, default=0.95
            The level that it was asked for.
        ax : matplotlib Axes, optional
            What to draw on; None makes a figure.

        Returns
        -------
        LeftOutDisplay
        """
        known = getattr(table, "columns", ())
        missing = [name for name in _COLUMNS if name not in known]
        if missing:
            raise ValueError(
                "This display needs the table that leave_one_model_out returns for a "
                f"method with intervals; it lacks {missing}."
            )
        return cls(table, level).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            What to draw on; None makes a figure.

        Returns
        -------
        self
        """
        table = self.table[np.isfinite(self.table["high"] - self.table["low"])]
        ax = canvas(ax, 16)
        z = ndtri(0.5 + self.level / 2.0)
        ends = table[["true_score", "score"]].to_numpy()
        ax.plot(
            [ends.min(), ends.max()], [ends.min(), ends.max()], color=OLD,
            linestyle="--", linewidth=1,
        )  # fmt: skip
        good = table["compatible"].astype(bool)
        for rows, face, label in (
            (good, NEW, "compatible with people"),
            (~good, "white", "not compatible"),
        ):
            part = table[rows]
            if len(part):
                ax.errorbar(
                    part["true_score"], part["score"],
                    xerr=z * part["true_error"],
                    yerr=[part["score"] - part["low"], part["high"] - part["score"]],
                    linestyle="none", marker="o", markersize=5, elinewidth=0.9,
                    color=NEW, markerfacecolor=face, ecolor="0.6", label=label,
                )  # fmt: skip
        self._name(ax, table if len(table) <= MOST_NAMES else table[~good])
        ax.set_xlabel("score by the model's own votes (logits)")
        ax.set_ylabel("score without them (logits)")
        hide_spines(ax)
        ax.set_title(
            f"{good.sum()} of {len(table)} compatible within both errors "
            f"({100 * self.level:.6g} % expected)",
            fontsize=9,
        )
        ax.legend(frameon=False, fontsize=8, loc="lower right")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _name(self, ax: Axes, table: pd.DataFrame) -> None:
        """Name models, at most so many, those that are farthest off first."""
        distance = (table["score"] - table["true_score"]).abs()
        truth = self.table["true_score"].to_numpy()
        shown = table.loc[distance.nlargest(MOST_NAMES).index]
        for name, (_, row) in zip(
            shorten(shown.index.tolist()), shown.iterrows(), strict=True
        ):
            above = row["score"] > row["true_score"]
            # Away from the diagonal, but not over the edge.
            place = (row["true_score"] - truth.min()) / (np.ptp(truth) or 1.0)
            room = 0.013 * len(name) - 0.1
            rightwards = place < room if above else place < 1.0 - room
            ax.annotate(
                name, (row["true_score"], row["score"]),
                (6 if rightwards else -6, 5 if above else -5),
                textcoords="offset points", ha="left" if rightwards else "right",
                va="bottom" if above else "top",
                fontsize=7.5,
            )  # fmt: skip
