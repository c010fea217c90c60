"""Judges: sensitivity and position effect, and whether they decide as predicted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.special import expit, ndtri

from skanchor._diagnostics.judges import judge_errors
from skanchor._sample.sample import Sample
from skanchor.pipeline import AnchorPipeline
from skanchor.plotting import _canvas as canvas

_COLUMNS = ("sensitivity", "sensitivity_error", "position_effect", "position_error")
# Column, label of the axis, and neutral value of each panel.
_PANELS = (
    ("sensitivity", "sensitivity\n(1: as sharp as people)", 1.0),
    ("position_effect", "favour for the side shown first\n(judge logits)", 0.0),
)

MOST_JUDGES = 9
"""Number of judges shown if none are named."""

_LONGEST = 26
"""Most letters of a title that fit above a panel of a third of the figure's width."""


@dataclass(eq=False, repr=False)
class JudgeDisplay(canvas.Display):
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
        cls, estimator: AnchorPipeline, level: float = 0.95, *, ax: Any = None
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
        table = pipeline.summary().sort_values("sensitivity", ascending=False)
        errors = judge_errors(pipeline._sample, pipeline.calibrator_)
        has_position = table["has_position_effect"]
        table["position_error"] = [
            np.sqrt(errors[judge][1, 1]) if has else np.nan
            for judge, has in has_position.items()
        ]
        table.loc[~has_position, "position_effect"] = np.nan
        # The plug-in alone (debiaser="passthrough") has no standard errors.
        return cls(table.reindex(columns=_COLUMNS), level).plot(ax)

    def _draw(self, ax: Any) -> Any:
        """Draw both panels, one row for each judge."""
        table = self.judges
        columns = 1 if canvas.is_narrow() else 2
        panels = canvas.panels(2, ax, n_rows=max(len(table), 4), n_columns=columns)
        at, z = np.arange(len(table)), ndtri(0.5 + self.level / 2.0)
        for panel, (name, label, neutral) in zip(panels, _PANELS, strict=True):
            # Errors are in the columns sensitivity_error and position_error.
            error = table[f"{name.split('_')[0]}_error"]
            panel.axvline(neutral, color=canvas.FAINT, zorder=0)
            xerr = z * error.where(np.isfinite(error), 0.0)
            canvas.dots(panel, table[name], at, at >= 0, xerr)
            canvas.name_axis(panel, table.index.tolist())
            panel.set_xlabel(label)
        if ax is not None or columns == 2:
            # Side by side, both panels have the same rows: names at one are enough.
            panels[1].set_yticklabels([])
        if table["position_effect"].isna().all():
            canvas.note(panels[1], "no position effect was fitted", (0.5, 0.5))
        return panels


def judge_calibration(sample: Sample, judge: Hashable, n_bins: int = 8) -> pd.DataFrame:
    """Observed and predicted shares of a judge's verdicts, in bins.

    Each row is oriented so that the answer predicted to be preferred comes first. The
    result then does not depend on the order of the two sides. A tie is half a win.

    Parameters
    ----------
    sample : Sample
        Rows with fitted scores, sensitivities and biases: ``AnchorPipeline._sample``.
    judge : label
        One of its judges.
    n_bins : int, default=8
        Number of bins, with equally many rows each.

    Returns
    -------
    DataFrame
        By bin: weighted mean ``predicted`` and ``observed`` share, the
        ``standard_error`` of the latter, and the number of ``rows``.
    """
    X = sample.X
    cut = X.by_judge(X.judges.tolist().index(judge))
    # Fitted logits of the judge's rows. They are NaN where nothing was learned.
    eta = X.logits()[cut.rows]
    used = sample.counts[cut.rows] & np.isfinite(eta)
    rows, eta = cut.rows[used], eta[used]
    # Orient each row: sigma(|eta|) is the predicted chance of the predicted winner, and
    # y its outcome.
    y = np.where(eta >= 0, sample.y[rows], 1.0 - sample.y[rows])
    p, weight = expit(np.abs(eta)), sample.weight[rows]
    # At least five rows in a bin; the sizes of bins differ by one row at most.
    n_bins = min(n_bins, max(len(p) // 5, 1))
    bins = np.empty(len(p), dtype=np.intp)
    bins[np.argsort(p, kind="stable")] = np.arange(len(p)) * n_bins // max(len(p), 1)
    weight = weight / np.bincount(bins, weight)[bins]
    observed = np.bincount(bins, weight * y)
    # Sandwich error of a weighted mean: sqrt(sum w^2 (y - mean)^2), sum w = 1.
    squares = np.bincount(bins, (weight * (y - observed[bins])) ** 2)
    table = {
        "predicted": np.bincount(bins, weight * p),
        "observed": observed,
        "standard_error": np.sqrt(squares),
        "rows": np.bincount(bins),
    }
    return pd.DataFrame(table).rename_axis("bin")


@dataclass(eq=False, repr=False)
class JudgeCalibrationDisplay(canvas.Display):
    """Observed against predicted shares of each judge's verdicts.

    Parameters
    ----------
    calibration : DataFrame
        By ``judge`` and ``bin``: ``predicted``, ``observed``, ``standard_error``.
    level : float, default=0.95
        Level of the intervals of the observed shares.

    Attributes
    ----------
    ax_ : ndarray of shape (n_judges,)
        The axes, one for each judge.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.plotting import JudgeCalibrationDisplay
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> display = JudgeCalibrationDisplay.from_estimator(anchor)
    >>> display.calibration.columns.tolist()
    ['predicted', 'observed', 'standard_error', 'rows']
    """

    calibration: pd.DataFrame
    level: float = 0.95

    @classmethod
    def from_estimator(
        cls,
        estimator: AnchorPipeline,
        judges: Sequence[Hashable] | None = None,
        *,
        n_bins: int = 8,
        level: float = 0.95,
        ax: Any = None,
    ) -> Self:
        """Draw the calibration of a fitted pipeline's judges, on the rows of the fit.

        Parameters
        ----------
        estimator : AnchorPipeline
            A fitted pipeline.
        judges : sequence of labels, optional
            Judges to show; None means the nine with most rows.
        n_bins : int, default=8
            Number of bins, with equally many rows each.
        level : float, default=0.95
            Level of the intervals of the observed shares.
        ax : sequence of matplotlib Axes, optional
            Axes to draw on, one for each judge; None makes a figure.

        Returns
        -------
        JudgeCalibrationDisplay
            The display, drawn.
        """
        pipeline = canvas.check_pipeline(estimator)
        chosen = canvas.busiest_judges(pipeline, judges, MOST_JUDGES)
        sample = pipeline._sample
        tables = {judge: judge_calibration(sample, judge, n_bins) for judge in chosen}
        return cls(pd.concat(tables, names=["judge"]), level).plot(ax)

    def _draw(self, ax: Any) -> Any:
        """Draw observed against predicted shares, on the axes of each judge."""
        judges = self.calibration.index.unique("judge").tolist()
        columns = min(len(judges), 2 if canvas.is_narrow() else 3)
        panels = canvas.panels(
            len(judges), ax, n_rows=6, n_columns=columns, sharey=True
        )
        z = ndtri(0.5 + self.level / 2.0)
        names = canvas.shorten(judges, _LONGEST)
        for panel, judge, name in zip(panels, judges, names, strict=True):
            part = self.calibration.loc[judge]
            # The diagonal of perfect calibration; oriented rows have p >= 1/2.
            line: Any = {"color": canvas.OLD, "linewidth": 1, "linestyle": "--"}
            panel.axline((0.5, 0.5), slope=1.0, **line)
            look: Any = {"linestyle": "-", "yerr": z * part["standard_error"]}
            canvas.dots(panel, part["predicted"], part["observed"], slice(None), **look)
            panel.set_title(name, fontsize=8 if len(name) > 18 else 9)
            panel.set_xlim(0.48, 1.02)
            panel.set_ylim(0.28, 1.04)
        for panel in panels[::columns]:
            panel.set_ylabel("observed share")
        for panel in panels[-columns:]:
            panel.set_xlabel("predicted")
        return panels
