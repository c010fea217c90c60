"""Rank sets of all models, drawn as strips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd

from skanchor._ranking import RankingEstimator
from skanchor.plotting import _canvas as canvas
from skanchor.results import RankingResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class RankSetDisplay(canvas.AxesDisplay):
    """Rank set of each model as a strip, with a dot at the rank of its score.

    With probability `level`, all strips contain the true ranks of their models.

    Parameters
    ----------
    board : DataFrame
        A leaderboard, as returned by ``leaderboard``.
    level : float, default=0.95
        Joint level of its rank sets.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.plotting import RankSetDisplay
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> display = RankSetDisplay.from_estimator(anchor)
    >>> display.ax_.get_xlabel()
    'rank, with joint 95 % rank sets'
    """

    board: pd.DataFrame
    level: float = 0.95

    @classmethod
    def from_estimator(
        cls, estimator: RankingEstimator, level: float = 0.95, *, ax: Axes | None = None
    ) -> Self:
        """Draw the rank sets of a fitted estimator.

        Parameters
        ----------
        estimator : RankingEstimator
            A fitted estimator with intervals, such as ``AnchorPipeline``.
        level : float, default=0.95
            Probability that every set holds its model's rank.
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        RankSetDisplay
            The display, drawn.
        """
        return cls.from_result(canvas.result_of(estimator), level, ax=ax)

    @classmethod
    def from_result(
        cls, result: RankingResult, level: float = 0.95, *, ax: Axes | None = None
    ) -> Self:
        """Draw the rank sets of a result.

        Parameters
        ----------
        result : RankingResult
            A result such as ``AnchorPipeline.result_``.
        level : float, default=0.95
            Probability that every set holds its model's rank.
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        RankSetDisplay
            The display, drawn.
        """
        return cls(canvas.check_result(result).leaderboard(level), level).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw a strip for each model, best on top.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        self
        """
        board = self.board
        ax = canvas.given_or_new(ax, len(board))
        at, n = np.arange(len(board)), len(board)
        is_new = board["is_new"].to_numpy()
        # A strip reaches 0.4 beyond both ends, so that a set of one rank is visible.
        low, high = board["rank_low"], board["rank_high"]
        ax.barh(
            at, high - low + 0.8, left=low - 0.4, height=0.62,
            color=np.where(is_new, "#6baed6", "0.82"),
            edgecolor=np.where(is_new, canvas.NEW, "0.6"), linewidth=0.8,
        )  # fmt: skip
        known = board["determined"].to_numpy()
        ax.scatter(
            board["rank"][known], at[known], s=16, zorder=3,
            color=np.where(is_new, canvas.NEW, "0.2")[known],
        )  # fmt: skip
        canvas.name_axis(ax, board.index.tolist(), is_new)
        ax.set_xlim(0.4, n + 0.6)
        # The smallest step that gives at most about twelve ticks.
        step = next(s for s in (1, 2, 5, 10, 20, 50, 100, n) if n / s <= 12)
        ax.set_xticks(sorted({1, *range(step, n + 1, step)}))
        canvas.rule(ax, "x")
        ax.set_xlabel(f"rank, with joint {100 * self.level:.6g} % rank sets")
        if not known.all():
            ax.annotate(
                "without a dot: not determined", (1.0, 0.0), (0, 4),
                xycoords="axes fraction", textcoords="offset points", ha="right",
                fontsize=8, style="italic", color=canvas.OLD,
            )  # fmt: skip
        return self._drawn(ax)
