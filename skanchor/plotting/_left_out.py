"""Models left out one by one: score from judges against score from people's votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtri

from skanchor._sample.sample import Battles
from skanchor.evaluation import leave_one_model_out
from skanchor.plotting import _canvas as canvas
from skanchor.results.estimators import RankingEstimator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMNS = ("true_score", "true_error", "score", "low", "high", "compatible")

MOST_NAMES = 8
"""Largest number of models that are named."""


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
                canvas.dots(
                    ax, part["true_score"], part["score"], label=label, ecolor="0.6",
                    xerr=z * part["true_error"], yerr=canvas.arms(part),
                    markerfacecolor=face,
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
        distance = table["score"] - table["true_score"]
        shown = table.loc[distance.abs().nlargest(MOST_NAMES).index]
        names = canvas.shorten(shown.index.tolist())
        points = shown[["true_score", "score"]].to_numpy(dtype=float)
        written: list[Any] = []
        for name, (x, y) in zip(names, points, strict=True):
            # Away from the diagonal there is room; if not, one of the other corners.
            side = -1 if y > x else 1
            for right, up in (
                (side, -side),
                (side, side),
                (-side, -side),
                (-side, side),
            ):
                text = ax.annotate(
                    name, (x, y), (6 * right, 5 * up), textcoords="offset points",
                    ha="left" if right > 0 else "right",
                    va="bottom" if up > 0 else "top", fontsize=7.5,
                )  # fmt: skip
                box = text.get_window_extent()
                if not any(box.overlaps(other) for other in written):
                    break
                text.remove()
            else:
                # No corner is free: one name lies upon another.
                ax.add_artist(text)
            written.append(box)
