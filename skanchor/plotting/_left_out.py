"""Models left out one by one: score from judges against score from people's votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtri

from skanchor._typing import Array
from skanchor.evaluation import leave_one_model_out
from skanchor.plotting import _canvas as canvas
from skanchor.results.estimators import RankingEstimator
from skanchor.sample import Battles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMNS = ("true_score", "true_error", "score", "low", "high", "compatible")

MOST_NAMES = 8
"""Largest number of models that are named."""

_LETTER, _LINE, _GAP, _MARK = 0.0115, 0.04, 0.015, 0.01
"""Width of a letter, height of a line, distance of a name from its mark, and half the
width of a mark, as shares of axes of the default size."""


@dataclass(eq=False, repr=False)
class LeftOutDisplay(canvas.AxesDisplay):
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
        ax: Axes | None = None,
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
        canvas.check_ranks(estimator)
        table = leave_one_model_out(
            estimator, X, y, sample_weight=sample_weight, groups=groups, level=level
        )
        return cls.from_result(table, level, ax=ax)

    @classmethod
    def from_result(
        cls, table: pd.DataFrame, level: float = 0.95, *, ax: Axes | None = None
    ) -> Self:
        """Draw a table returned by :func:`skanchor.evaluation.leave_one_model_out`.

        Parameters
        ----------
        table : DataFrame
            The table, one row for each model left out.
        level : float, default=0.95
            Level of its intervals.
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        LeftOutDisplay
            The display, drawn.
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
        """Draw both scores of each model with their intervals.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        self
        """
        # Models without a finite interval are not drawn.
        table = self.table[np.isfinite(self.table["high"] - self.table["low"])]
        ax = canvas.given_or_new(ax, 16)
        z = ndtri(0.5 + self.level / 2.0)
        # The diagonal, where both scores are equal, over the range of all scores.
        ends = table[["true_score", "score"]].to_numpy()
        ax.plot(
            [ends.min(), ends.max()], [ends.min(), ends.max()], color=canvas.OLD,
            linestyle="--", linewidth=1,
        )  # fmt: skip
        good = table["compatible"].astype(bool)
        for rows, face, label in (
            (good, canvas.NEW, "compatible with people"),
            (~good, "white", "not compatible"),
        ):
            part = table[rows]
            if len(part):
                ax.errorbar(
                    part["true_score"], part["score"],
                    xerr=z * part["true_error"],
                    yerr=[part["score"] - part["low"], part["high"] - part["score"]],
                    linestyle="none", marker="o", markersize=5, elinewidth=0.9,
                    color=canvas.NEW, markerfacecolor=face, ecolor="0.6", label=label,
                )  # fmt: skip
        ax.margins(y=0.08)
        self._name(ax, table if len(table) <= MOST_NAMES else table[~good])
        ax.set_xlabel("score by the model's own votes (logits)")
        ax.set_ylabel("score without them (logits)")
        canvas.hide_spines(ax)
        ax.set_title(
            f"{good.sum()} of {len(table)} compatible within both errors "
            f"({100 * self.level:.6g} % expected)",
            fontsize=9,
        )
        ax.legend(frameon=False, fontsize=8, loc="lower right")
        return self._drawn(ax)

    def _name(self, ax: Axes, table: pd.DataFrame) -> None:
        """Write the names of the `MOST_NAMES` models farthest from the diagonal."""
        distance = (table["score"] - table["true_score"]).abs()
        shown = table.loc[distance.nlargest(MOST_NAMES).index]
        names = canvas.shorten(shown.index.tolist())
        points = shown[["true_score", "score"]].to_numpy(dtype=float)
        left, right = ax.get_xlim()
        low, high = ax.get_ylim()
        # Positions as shares of the width and height of the axes, shape (n_names, 2).
        shares = (points - [left, low]) / [right - left, high - low]
        for name, (x, y), (rightwards, upwards) in zip(
            names, points, corners(shares, [len(name) for name in names]), strict=True
        ):
            ax.annotate(
                name, (x, y), (6 if rightwards else -6, 5 if upwards else -5),
                textcoords="offset points", ha="left" if rightwards else "right",
                va="bottom" if upwards else "top",
                fontsize=7.5,
            )  # fmt: skip


def corners(points: Array, lengths: Sequence[int]) -> list[tuple[bool, bool]]:
    """Choose the corner of its point at which each name is written without overlap.

    Parameters
    ----------
    points : ndarray of shape (n_names, 2)
        Positions of the points, as shares of width and height of the axes.
    lengths : sequence of int
        Number of letters of each name.

    Returns
    -------
    list of (bool, bool)
        For each name, whether it is to the right of its point, and whether above it.
        A corner away from the diagonal is preferred if it is free.
    """
    # Boxes (left, right, low, high) of the marks, and then of the names placed so far.
    taken = [np.array([x - _MARK, x + _MARK, y - _MARK, y + _MARK]) for x, y in points]
    chosen = []
    for (x, y), length in zip(points, lengths, strict=True):
        # Points above the diagonal get their names above left, others below right.
        above = y > x
        best = (not above, above)
        order = (best, (above, above), (not above, not above), (above, not above))
        boxes = [_box(x, y, _LETTER * length, *corner) for corner in order]
        hidden = [
            sum(_shared_area(box, other) for other in taken) + _overhang(box)
            for box in boxes
        ]
        # argmin takes the first of equal corners, so the order is that of preference.
        at = int(np.argmin(hidden))
        taken.append(boxes[at])
        chosen.append(order[at])
    return chosen


def _box(x: float, y: float, width: float, rightwards: bool, upwards: bool) -> Array:
    """Left, right, lower and upper end of a name written at a corner of (x, y)."""
    left = x + _GAP if rightwards else x - _GAP - width
    low = y + _GAP if upwards else y - _GAP - _LINE
    return np.array([left, left + width, low, low + _LINE])


def _shared_area(one: Array, other: Array) -> float:
    width = min(one[1], other[1]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[2], other[2])
    return max(width, 0.0) * max(height, 0.0)


def _overhang(box: Array) -> float:
    """Penalty for the part of a name beyond the edge of the axes."""
    over = np.maximum([-box[0], box[1] - 1.0, -box[2], box[3] - 1.0], 0.0)
    # Excess to the left or right times the height of a line is an area; excess below or
    # above counts more.
    return float(over @ [_LINE, _LINE, 1.0, 1.0])
