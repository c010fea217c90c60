"""Calibration plot: how often a judge prefers the answer that the fit predicts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd
from scipy.special import expit, ndtri

from skanchor._sample.sample import Sample
from skanchor.plotting import _canvas as canvas

if TYPE_CHECKING:
    from skanchor.pipeline import AnchorPipeline

MOST_JUDGES = 9
"""Number of judges shown if none are named."""

_LONGEST = 26
"""Most letters of a title that fit above a panel of a third of the figure's width."""


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
    order = np.argsort(p, kind="stable")
    found = []
    # At least five rows in a bin; the sizes of bins differ by one row at most.
    for part in np.array_split(order, min(n_bins, max(len(order) // 5, 1))):
        if len(part):
            w = weight[part] / weight[part].sum()
            mean = w @ y[part]
            # Sandwich error of a weighted mean: sqrt(sum w^2 (y - mean)^2), sum w = 1.
            error = np.sqrt((w**2) @ (y[part] - mean) ** 2)
            found.append((w @ p[part], mean, error, len(part)))
    columns = ["predicted", "observed", "standard_error", "rows"]
    return pd.DataFrame(found, columns=columns).rename_axis("bin")


@dataclass(eq=False, repr=False)
class JudgeCalibrationDisplay(canvas.TableDisplay):
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
        ax: canvas.AxesGiven = None,
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

    def plot(self, ax: canvas.AxesGiven = None) -> Self:
        """Draw observed against predicted shares, on the axes of each judge.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, optional
            Axes to draw on, one for each judge; None makes a figure.

        Returns
        -------
        self
        """
        judges = self.calibration.index.get_level_values("judge").unique()
        columns = min(len(judges), 2 if canvas.is_narrow() else 3)
        found = canvas.panels(len(judges), ax, n_rows=6, n_columns=columns, sharey=True)
        z = ndtri(0.5 + self.level / 2.0)
        for panel, judge, name in zip(
            found, judges, canvas.shorten(judges.tolist(), _LONGEST), strict=True
        ):
            part = self.calibration.loc[judge]
            # The diagonal of perfect calibration; oriented rows have p >= 1/2.
            panel.plot(
                [0.5, 1.0], [0.5, 1.0], color=canvas.OLD, linewidth=1, linestyle="--"
            )
            panel.errorbar(
                part["predicted"], part["observed"], yerr=z * part["standard_error"],
                color=canvas.NEW, marker="o", markersize=4, linewidth=1.2, elinewidth=1,
            )  # fmt: skip
            panel.set_title(name, fontsize=8 if len(name) > 18 else 9)
            panel.set_xlim(0.48, 1.02)
            panel.set_ylim(0.28, 1.04)
            canvas.hide_spines(panel)
        for panel in found[::columns]:
            panel.set_ylabel("observed share", fontsize=9)
        for panel in found[-columns:]:
            panel.set_xlabel("predicted", fontsize=9)
        return self._drawn(found)
