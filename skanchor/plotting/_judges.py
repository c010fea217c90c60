"""Sensitivity and position effect of each judge, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd
from scipy.special import ndtri

from skanchor._diagnostics import judge_errors
from skanchor.plotting import _canvas as canvas

if TYPE_CHECKING:
    from skanchor.pipeline import AnchorPipeline

# Column, label of the axis, and neutral value of each panel.
_PANELS = (
    ("sensitivity", "sensitivity\n(1: as sharp as people)", 1.0),
    ("position_effect", "favour for the side shown first\n(judge logits)", 0.0),
)


@dataclass(eq=False, repr=False)
class JudgeDisplay(canvas.TableDisplay):
    """Sensitivity and position effect of every judge, with intervals.

    Parameters
    ----------
    judges : DataFrame
        By judge: ``sensitivity``, ``sensitivity_error``, ``position_effect``,
        ``position_error``; NaN where there is none.
    level : float, default=0.95
        Confidence level of the intervals. Intervals of position effects take the scores
        as known.

    Attributes
    ----------
    ax_ : ndarray of shape (2,)
        The axes of sensitivities and of position effects.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.plotting import JudgeDisplay
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> display = JudgeDisplay.from_estimator(anchor)
    >>> display.ax_.shape
    (2,)
    """

    judges: pd.DataFrame
    level: float = 0.95

    @classmethod
    def from_estimator(
        cls,
        estimator: AnchorPipeline,
        level: float = 0.95,
        *,
        ax: canvas.AxesGiven = None,
    ) -> Self:
        """Draw the judges of a fitted pipeline.

        Parameters
        ----------
        estimator : AnchorPipeline
            A fitted pipeline.
        level : float, default=0.95
            Confidence level of the intervals.
        ax : sequence of two matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        JudgeDisplay
            The display, drawn.
        """
        pipeline = canvas.check_pipeline(estimator)
        sample, calibrator = pipeline._sample, pipeline.calibrator_
        table = pipeline.summary().sort_values("sensitivity", ascending=False)
        if "sensitivity_error" not in table:
            # The plug-in alone (debiaser="passthrough") has no standard errors.
            table["sensitivity_error"] = np.nan
        errors = judge_errors(sample, calibrator)
        table["position_error"] = [
            errors[judge].position_effect for judge in table.index
        ]
        table.loc[~table["has_position_effect"], "position_effect"] = np.nan
        columns = ["sensitivity", "sensitivity_error", "position_effect"]
        return cls(table[[*columns, "position_error"]], level).plot(ax)

    def plot(self, ax: canvas.AxesGiven = None) -> Self:
        """Draw both panels, one row for each judge.

        Parameters
        ----------
        ax : sequence of two matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        self
        """
        table = self.judges
        columns = 1 if canvas.is_narrow() else 2
        found = canvas.panels(2, ax, n_rows=max(len(table), 4), n_columns=columns)
        at, z = np.arange(len(table)), ndtri(0.5 + self.level / 2.0)
        for panel, (name, label, neutral) in zip(found, _PANELS, strict=True):
            # Errors are in the columns sensitivity_error and position_error.
            error = table[f"{name.split('_')[0]}_error"]
            panel.axvline(neutral, color=canvas.FAINT, zorder=0)
            panel.errorbar(
                table[name], at, xerr=z * error.where(np.isfinite(error), 0.0),
                linestyle="none", marker="o", markersize=4.5, color=canvas.NEW,
            )  # fmt: skip
            canvas.name_axis(panel, table.index.tolist())
            panel.set_xlabel(label, fontsize=9)
        if ax is not None or columns == 2:
            # Side by side, both panels have the same rows: names at one are enough.
            found[1].set_yticklabels([])
        if table["position_effect"].isna().all():
            found[1].annotate(
                "no position effect was fitted", (0.5, 0.5), fontsize=8,
                xycoords="axes fraction", ha="center", style="italic", color="0.4",
            )  # fmt: skip
        return self._drawn(found)
