"""Shares of the variance of each new model's score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd

from skanchor.plotting import _canvas as canvas
from skanchor.results import AnchorResult, new_by_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skanchor._anchor import AnchorPipeline

# Column, label, colour and hatch of each part of the variance.
_PARTS = (
    ("human", "votes", canvas.NEW, ""),
    ("judge", "single verdicts", "#9ecae1", "///"),
    ("cross", "shared groups", "0.85", "..."),
    ("items", "item effects", "white", "xxx"),
)


@dataclass(eq=False, repr=False)
class VarianceDisplay(canvas.AxesDisplay):
    """Shares of each new score's variance, and the share that only votes can lower.

    Parameters
    ----------
    variance : DataFrame
        By new model: ``human``, ``judge``, ``cross``, ``items`` and ``lower_bound`` in
        squared logits; NaN for a model whose score is not determined.

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
    >>> from skanchor.plotting import VarianceDisplay
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> display = VarianceDisplay.from_estimator(anchor)
    >>> display.variance.index.tolist()
    ['ivory-lynx', 'jade-finch']
    """

    variance: pd.DataFrame

    @classmethod
    def from_estimator(
        cls, estimator: AnchorPipeline, *, ax: Axes | None = None
    ) -> Self:
        """Draw the variance of a fitted pipeline's new scores.

        Parameters
        ----------
        estimator : AnchorPipeline
            A pipeline fitted on a table with new models.
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        VarianceDisplay
            The display, drawn.
        """
        return cls.from_result(canvas.check_pipeline(estimator).result_, ax=ax)

    @classmethod
    def from_result(cls, result: AnchorResult, *, ax: Axes | None = None) -> Self:
        """Draw the variance of a result's new scores.

        Parameters
        ----------
        result : AnchorResult
            A result such as ``AnchorPipeline.result_``.
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        VarianceDisplay
            The display, drawn.
        """
        canvas.check_result(result)
        if not isinstance(result, AnchorResult):
            raise TypeError(
                "Parts of the variance are known of the result of an AnchorPipeline; "
                f"got {type(result).__name__}."
            )
        order = new_by_score(result)
        table = result.variance.loc[order]
        if table.empty:
            raise ValueError("There is no new model whose variance could be shown.")
        if table["human"].isna().all():
            raise ValueError("A plug-in, debiaser='passthrough', has no variance.")
        # Where the reported error is infinite, its parts mean nothing and become NaN.
        determined = np.isfinite(result.standard_errors.loc[order])
        return cls(table.where(determined, axis=0)).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw a stacked bar for each new model.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        self
        """
        table = self.variance
        ax = canvas.given_or_new(ax, max(len(table), 3) + 2)
        at = np.arange(len(table))
        # In percent of the variance.
        names = [name for name, *_ in _PARTS]
        table = 100.0 * table.div(table[names].sum(axis=1), axis=0)
        # Ends of the bars so far, to the right (True) and left (False) of zero.
        # Negative parts, as the covariance may be, are stacked to the left.
        ends = {True: np.zeros(len(table)), False: np.zeros(len(table))}
        for name, label, color, hatch in _PARTS:
            part = table[name].fillna(0.0).to_numpy()
            if not (np.abs(part) >= 0.5).any():
                # Less than half a percent could not be seen.
                continue
            up = part >= 0
            left = np.where(up, ends[True], ends[False])
            ax.barh(
                at, part, left=left, height=0.6, color=color, hatch=hatch,
                edgecolor="0.25", linewidth=0.7, label=label,
            )  # fmt: skip
            ends[True] += np.where(up, part, 0.0)
            ends[False] += np.where(up, 0.0, part)
        bound = table["lower_bound"].to_numpy()
        ax.plot(
            bound, at, linestyle="none", marker="|", markersize=15, color="#d94801",
            markeredgewidth=2.2, label="share that only votes can lower",
        )  # fmt: skip
        ax.axvline(0.0, color="0.4", linewidth=0.8)
        canvas.not_determined(ax, at[table["human"].isna()])
        canvas.name_axis(ax, table.index.tolist())
        ax.set_xlabel("share of the variance of the score (%)")
        canvas.above(ax)
        return self._drawn(ax)
