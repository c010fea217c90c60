"""Item deviations, judge by model: squares whose size and filling greyscale keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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
    """How far each judge overrates each model beyond score and features.

    A square is filled where the judge overrates the model and open where it underrates
    it; its side grows with the deviation. Those of less than two standard errors are
    pale.

    Parameters
    ----------
    deviations : DataFrame
        By judge and model: ``deviation`` and ``standard_error`` in judge logits.
    models : sequence of labels
        The order of the models.
    is_new : ndarray of shape (n_models,), optional
        Which of them are new.

    Attributes
    ----------
    ax_ : matplotlib Axes
        What is drawn on.
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
        """Draw the deviations of a fitted pipeline.

        Parameters
        ----------
        estimator : AnchorPipeline
            Fitted, with item effects.
        ax : matplotlib Axes, optional
            What to draw on; None makes a figure.

        Returns
        -------
        ItemDeviationDisplay
        """
        return cls.from_result(check_pipeline(estimator).result_, ax=ax)

    @classmethod
    def from_result(cls, result: AnchorResult, *, ax: Axes | None = None) -> Self:
        """Draw the deviations of a result.

        Parameters
        ----------
        result : AnchorResult
            With item effects, such as ``AnchorPipeline.results_["random"]``.
        ax : matplotlib Axes, optional
            What to draw on; None makes a figure.

        Returns
        -------
        ItemDeviationDisplay
        """
        if isinstance(result, ContextResult):
            # Judges deviate from models in contexts.
            result = result.cells
        diagnostics = getattr(check_result(result), "diagnostics", None)
        if diagnostics is None or diagnostics.deviations.empty:
            raise ValueError(
                "This result leaves item effects out; there are deviations in "
                "results_['random'], or after a fit with item_effects='random'."
            )
        board = result.leaderboard()
        found = diagnostics.deviations
        kept = board.index.isin(found.index.get_level_values("model"))
        models = board.index[kept].tolist()
        return cls(found, models, board["is_new"].to_numpy()[kept]).plot(ax)

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
        judges = self.deviations.index.get_level_values("judge").unique()
        wide = self.deviations.unstack("judge").reindex(pd.Index(self.models))
        value = wide["deviation"][judges].to_numpy()
        error = wide["standard_error"][judges].to_numpy()
        ax = canvas(ax, len(self.models) + 3)
        largest = np.nanmax(np.abs(value))
        row, column = np.nonzero(np.isfinite(value))
        shown, sure = value[row, column], np.abs(value) > 2.0 * error
        # The area of the largest square, in points, is that of a row.
        side = 12.0 if len(self.models) <= 30 else 10.0
        size = side**2 * np.abs(shown) / (largest or 1.0)
        ink = np.where(sure[row, column], NEW, "0.62")
        ax.scatter(
            column, row, s=np.maximum(size, 1.0), marker="s", linewidths=1.1,
            edgecolors=ink.tolist(), facecolors=np.where(shown > 0, ink, "white"),
        )  # fmt: skip
        name_axis(ax, self.models, self.is_new)
        names = shorten(judges.tolist())
        # The last one must not reach over the edge.
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
