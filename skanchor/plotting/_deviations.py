"""Item effects by judge and model, as squares that are readable in greyscale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor.exceptions import Advice, BattlesError, Remedy
from skanchor.plotting._canvas import (
    NEW,
    canvas,
    check_pipeline,
    check_result,
    name_axis,
    shorten,
)
from skanchor.results import AnchorResult, ContextResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from skanchor._anchor import AnchorPipeline

__all__ = ["ItemDeviationDisplay"]


class ItemDeviationDisplay:
    """By how much each judge overrates each model, beyond its score and features.

    A square is filled where the judge overrates the model and open where it underrates
    it. Its area is proportional to the item effect. Effects of less than two standard
    errors are pale.

    Parameters
    ----------
    deviations : DataFrame
        By judge and model: the item effect ``deviation`` and its ``standard_error``, in
        judge logits.
    models : sequence of labels
        The models, from top to bottom.
    is_new : ndarray of shape (n_models,), optional
        Whether each of them is new.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Its figure.
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(
        self,
        deviations: pd.DataFrame,
        models: Sequence[Any],
        is_new: NDArray[np.bool_] | None = None,
    ):
        self.deviations = deviations
        self.models = models
        self.is_new = is_new

    @classmethod
    def from_estimator(
        cls, estimator: AnchorPipeline, *, ax: Axes | None = None
    ) -> Self:
        """Draw the item effects of a fitted pipeline.

        Parameters
        ----------
        estimator : AnchorPipeline
            A pipeline fitted with item effects.
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        ItemDeviationDisplay
            The display, drawn.
        """
        return cls.from_result(check_pipeline(estimator).result_, ax=ax)

    @classmethod
    def from_result(cls, result: AnchorResult, *, ax: Axes | None = None) -> Self:
        """Draw the item effects of a result.

        Parameters
        ----------
        result : AnchorResult
            A result with item effects, such as ``AnchorPipeline.results_["random"]``.
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        ItemDeviationDisplay
            The display, drawn.
        """
        if isinstance(result, ContextResult):
            # With contexts, an item is a model in one context, a cell.
            result = result.cells
        diagnostics = getattr(check_result(result), "diagnostics", None)
        if diagnostics is None or diagnostics.deviations.empty:
            raise BattlesError(
                "This result leaves item effects out, so there are no deviations to "
                "draw.",
                advice=Advice(Remedy.FIT_ITEM_EFFECTS),
            )
        board = result.leaderboard()
        found = diagnostics.deviations
        # Models with item effects, in the order of the leaderboard.
        has_effects = board.index.isin(found.index.get_level_values("model"))
        models = board.index[has_effects].tolist()
        return cls(found, models, board["is_new"].to_numpy()[has_effects]).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw a square for each model (row) and judge (column).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        self
        """
        judges = self.deviations.index.get_level_values("judge").unique()
        # Matrices of shape (n_models, n_judges), NaN where a judge has no item effect.
        wide = self.deviations.unstack("judge").reindex(pd.Index(self.models))
        value = wide["deviation"][judges].to_numpy()
        error = wide["standard_error"][judges].to_numpy()
        ax = canvas(ax, len(self.models) + 3)
        largest = np.nanmax(np.abs(value))
        row, column = np.nonzero(np.isfinite(value))
        shown, sure = value[row, column], np.abs(value) > 2.0 * error
        # Sizes are areas in square points; the largest square is as high as a row.
        side = 12.0 if len(self.models) <= 30 else 10.0
        size = side**2 * np.abs(shown) / (largest or 1.0)
        ink = np.where(sure[row, column], NEW, "0.62")
        ax.scatter(
            column, row, s=np.maximum(size, 1.0), marker="s", linewidths=1.1,
            edgecolors=ink.tolist(), facecolors=np.where(shown > 0, ink, "white"),
        )  # fmt: skip
        name_axis(ax, self.models, self.is_new)
        names = shorten(judges.tolist())
        # Long names are turned steeply, so that the last one stays within the figure.
        steep = 35 if max(map(len, names)) <= 20 else 75
        turned = len(names) > 3 or max(map(len, names)) > 14
        ax.set_xticks(np.arange(len(names)), names, fontsize=8)
        ax.tick_params(
            axis="x", length=0, bottom=False, labelbottom=False, labeltop=True
        )
        if turned:
            for text in ax.get_xticklabels():
                text.set(rotation=steep, ha="left", rotation_mode="anchor")
        ax.set_xlim(-0.6, len(names) - 0.4)
        ax.set_xlabel(
            "filled: the judge overrates the model; open: underrates it;\n"
            f"largest: {largest:.2g} judge logits; pale: less than two standard errors",
            fontsize=8,
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self
