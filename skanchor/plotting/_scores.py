"""Scores of all models, and differences of a new one to the others."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from skanchor.plotting import _canvas as canvas
from skanchor.results import RankingResult, Scale, strongest_first
from skanchor.results.adjustment import is_significant

# Win probabilities marked on the upper axis, where it is narrow and where it is wide.
_FINE, _COARSE = (0.2, 0.35, 0.5, 0.65, 0.8), (0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99)


@dataclass(eq=False, repr=False)
class LeaderboardDisplay(canvas.Display):
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
        Unit and zero of its scores; logits by default.

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

    board: pd.DataFrame
    level: float = 0.95
    scale: Scale = field(default_factory=Scale)

    @classmethod
    def from_result(
        cls,
        result: RankingResult,
        level: float = 0.95,
        *,
        scale: Literal["logit", "elo"] | Scale = "logit",
        anchor: Mapping[Any, float] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the leaderboard of a result.

        Parameters
        ----------
        result : RankingResult
            A result such as ``AnchorPipeline.result_``.
        level : float, default=0.95
            Confidence level of the intervals, and jointly of the rank sets.
        scale, anchor
            As in :meth:`skanchor.results.RankingResult.leaderboard`.
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        LeaderboardDisplay
            The display, drawn.
        """
        table = canvas.require(result, RankingResult).leaderboard(level, scale, anchor)
        return cls(table, level, Scale.of(scale, anchor)).plot(ax)

    def _draw(self, ax: Any) -> Any:
        """Draw scores with intervals, one row for each model."""
        board = self.board
        (ax,) = canvas.panels(1, ax, n_rows=len(board))
        has_error = np.isfinite(board["standard_error"].to_numpy())
        is_new = board["is_new"].to_numpy()
        # Mean score of the historical models, or score of the anchor.
        ax.axvline(self.scale.value, color=canvas.FAINT, zorder=0)
        x, at, xerr = board["score"], np.arange(len(board)), canvas.arms(board)
        old: Any = {"label": "historical", "color": canvas.OLD}
        canvas.dots(ax, x, at, has_error & ~is_new, xerr, **old)
        canvas.dots(ax, x, at, has_error & is_new, xerr, label="new", marker="D")
        canvas.not_determined(ax, board, ~has_error, self.scale.digits)
        canvas.name_axis(ax, board.index.tolist(), is_new)
        # Rank sets stand on the right.
        ends = zip(board["rank_low"], board["rank_high"], strict=True)
        sets = [f"{low}" if low == high else f"{low}–{high}" for low, high in ends]
        right = ax.secondary_yaxis("right")
        size = ax.get_yticklabels()[0].get_fontsize()
        right.set_yticks(ax.get_yticks(), sets, fontsize=size)
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)
        right.set_ylabel(f"rank set (joint, {self._level})", fontsize=8)
        unit = "logits" if self.scale.name == "logit" else "Elo points"
        since = "" if self.scale.anchor is None else " from the anchor"
        ax.set_xlabel(f"score in {unit}{since}, with {self._level} intervals")
        if is_new.any() and not is_new.all():
            ax.legend(loc="lower right")
        return ax


@dataclass(eq=False, repr=False)
class ContrastDisplay(canvas.Display):
    """Differences between a new model and every other, and win probabilities.

    Filled marks are differences that are significant, all of them jointly at ``level``.

    Parameters
    ----------
    contrasts : DataFrame
        By opponent, best first: ``difference``, ``low``, ``high`` in logits,
        ``p_adjusted``, and optionally ``is_new``, by which names are bold.
    model : label
        The new model.
    level : float, default=0.95
        Level of intervals and decisions.
    scale : {"logit", "elo"}, default="logit"
        Unit in which differences are shown.

    Attributes
    ----------
    decided : ndarray of shape (n_opponents,)
        Whether the difference is significant.
    ax_ : matplotlib Axes
        The axes; the upper axis shows the win probability.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.plotting import ContrastDisplay
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> display = ContrastDisplay.from_estimator(anchor, "ivory-lynx")
    >>> len(display.decided)
    9
    """

    contrasts: pd.DataFrame
    model: Hashable
    level: float = 0.95
    scale: Literal["logit", "elo"] = "logit"

    @property
    def decided(self) -> np.ndarray:
        """Whether the difference is significant."""
        return is_significant(self.contrasts["p_adjusted"].to_numpy(), self.level)

    @classmethod
    def from_result(
        cls,
        result: RankingResult,
        model: Hashable = None,
        level: float = 0.95,
        *,
        scale: Literal["logit", "elo"] = "logit",
        ax: Any = None,
    ) -> Self:
        """Draw the contrasts of a result.

        Parameters
        ----------
        result : RankingResult
            A result such as ``AnchorPipeline.result_``.
        model : label, optional
            A new model; None means the one with the highest score.
        level : float, default=0.95
            Confidence level of each interval, and of all decisions jointly.
        scale : {"logit", "elo"}, default="logit"
            Unit in which differences are shown.
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        ContrastDisplay
            The display, drawn.
        """
        scores = canvas.require(result, RankingResult).scores
        names = scores.nlargest(1).index.tolist() if model is None else [model]
        canvas.check_named("new model", names, scores.index.tolist())
        [model] = names
        Scale.of(scale)  # raises if the name is unknown, before any computation
        contrasts: Any = result.contrasts(level).xs(model, level="model")
        table = strongest_first(contrasts)
        is_new = pd.Series(result.is_new, result.models)[table.index]
        return cls(table.assign(is_new=is_new), model, level, scale).plot(ax)

    def _draw(self, ax: Any) -> Any:
        """Draw differences with intervals, one row for each opponent."""
        per = Scale.of(self.scale).per_logit
        table = self.contrasts[["difference", "low", "high"]] * per
        (ax,) = canvas.panels(1, ax, n_rows=len(table) + 2)
        ax.axvline(0.0, color="0.5", linewidth=1, zorder=0)
        x, at = table["difference"], np.arange(len(table))
        has_limits = np.isfinite(table[["low", "high"]].to_numpy()).all(axis=1)
        kinds = {
            "decided, all together": (self.decided, canvas.NEW),
            "not decided": (~self.decided, "white"),
        }
        for label, (rows, color) in kinds.items():
            look: Any = {"marker": "D", "markerfacecolor": color, "label": label}
            xerr = canvas.arms(table, "difference")
            canvas.dots(ax, x, at, has_limits & rows, xerr, **look)
        canvas.not_determined(ax, table, ~has_limits)
        canvas.name_axis(ax, table.index.tolist(), self.contrasts.get("is_new"))
        ax.tick_params(axis="x", top=False, labeltop=False)
        (name,) = canvas.shorten([self.model])
        unit = "logits" if per == 1.0 else "Elo points"
        ax.set_xlabel(f"{name} minus the other\n({unit}, with {self._level} intervals)")
        # An upper axis with the win probability, expit(difference in logits), in both
        # directions. The inverse is clipped: 0 and 1 would be infinite logits.
        directions = (
            lambda x: expit(np.asarray(x) / per),
            lambda p: per * logit(np.clip(p, 1e-12, 1.0 - 1e-12)),
        )
        top = ax.secondary_xaxis("top", functions=directions)
        low, high = np.array(ax.get_xlim()) / per
        chances = _FINE if high - low < 4.0 else _COARSE
        shown = [chance for chance in chances if low <= logit(chance) <= high]
        top.set_xticks(shown, [f"{100 * p:g} %" for p in shown], fontsize=8)
        top.set_xlabel("chance that people prefer it")
        # The strongest opponents are on top, where differences are small or negative,
        # so the upper right corner is free.
        ax.legend(loc="upper right")
        return ax
