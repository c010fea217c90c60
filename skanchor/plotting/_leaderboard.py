"""The leaderboard as dots with intervals, and rank sets beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd

from skanchor.plotting import _canvas as canvas
from skanchor.results import RankingResult, Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LeaderboardDisplay(canvas.ResultDisplay):
    """Score, interval and rank set of every model, best on top.

    Rank sets stand on the right. With probability `level` all of them hold the true
    ranks of their models; each interval has its level by itself.

    Parameters
    ----------
    board : DataFrame
        A leaderboard, as returned by ``leaderboard``.
    level : float, default=0.95
        Level of its intervals, and joint level of its rank sets.
    scale : Scale, optional
        Unit and zero of its scores; None means logits.

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
    >>> from skanchor.plotting import LeaderboardDisplay
    >>> anchor = AnchorPipeline(random_state=0).fit(*load_demo(return_X_y=True))
    >>> display = LeaderboardDisplay.from_estimator(anchor, scale="elo")
    >>> display.ax_.get_xlabel()
    'score in Elo points, with 95 % intervals'
    """

    def __init__(
        self, board: pd.DataFrame, level: float = 0.95, scale: Scale | None = None
    ):
        self.board = board
        self.level = level
        self.scale = Scale() if scale is None else scale

    @classmethod
    def from_result(
        cls,
        result: RankingResult,
        level: float = 0.95,
        *,
        scale: Literal["logit", "elo"] | Scale = "logit",
        anchor: Mapping[Any, float] | None = None,
        sort: Literal["score", "low"] = "score",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the leaderboard of a result.

        Parameters
        ----------
        result : RankingResult
            A result such as ``AnchorPipeline.result_``.
        level : float, default=0.95
            Confidence level of the intervals, and jointly of the rank sets.
        scale, anchor, sort
            As in :meth:`skanchor.results.RankingResult.leaderboard`.
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        LeaderboardDisplay
            The display, drawn.
        """
        board = canvas.check_result(result).leaderboard(level, scale, anchor, sort)
        return cls(board, level, Scale.of(scale, anchor)).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw scores with intervals, one row for each model.

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
        known = np.isfinite(board["standard_error"].to_numpy())
        is_new = board["is_new"].to_numpy()
        at = np.arange(len(board))
        # Mean score of the historical models, or score of the anchor.
        ax.axvline(self.scale.value, color=canvas.FAINT, zorder=0)
        for who, color, marker, label in (
            (~is_new, canvas.OLD, "o", "historical"),
            (is_new, canvas.NEW, "D", "new"),
        ):
            rows = who & known
            if rows.any():
                part = board[rows]
                ax.errorbar(
                    part["score"], at[rows], xerr=canvas.arms(part), linestyle="none",
                    color=color,
                    marker=marker, markersize=4.5, elinewidth=1.6, label=label,
                )  # fmt: skip
        canvas.not_determined(ax, at[~known], board[~known], self.scale.digits)
        canvas.name_axis(ax, board.index.tolist(), is_new)
        self._write_rank_sets(ax)
        unit = "logits" if self.scale.name == "logit" else "Elo points"
        since = "" if self.scale.anchor is None else " from the anchor"
        ax.set_xlabel(
            f"score in {unit}{since}, with {100 * self.level:.6g} % intervals"
        )
        if is_new.any() and not is_new.all():
            ax.legend(loc="lower right", frameon=False, fontsize=8)
        return self._drawn(ax)

    def _write_rank_sets(self, ax: Axes) -> None:
        """Write the rank set of each model on the right side."""
        sets = [
            str(low) if low == high else f"{low}–{high}"
            for low, high in zip(
                self.board["rank_low"], self.board["rank_high"], strict=True
            )
        ]
        right = ax.secondary_yaxis("right")
        size = ax.get_yticklabels()[0].get_fontsize()
        right.set_yticks(ax.get_yticks(), sets, fontsize=size)
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)
        right.set_ylabel(f"rank set (joint, {100 * self.level:.6g} %)", fontsize=8)
