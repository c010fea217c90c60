"""Features of new models' responses beside those that judges were calibrated on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd

from skanchor.plotting import _canvas as canvas
from skanchor.sample import Sample

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skanchor._anchor import AnchorPipeline

QUANTILES = (0.01, 0.25, 0.5, 0.75, 0.99)
"""Quantiles of a feature's values that are shown."""


def feature_ranges(sample: Sample) -> pd.DataFrame:
    """Quantiles of each feature among responses of historical and of new models.

    Parameters
    ----------
    sample : Sample
        Rows with the roles of their models: ``AnchorPipeline._sample``.

    Returns
    -------
    DataFrame
        By ``feature`` and kind of ``model``, ``historical`` or ``new``: the quantiles,
        in historical standard deviations from the historical mean; and the share of
        responses ``outside`` the historical range.
    """
    X = sample.X
    judged = sample.counts & ~X.is_human
    # Whether a model is new, by code. Code -1 (no model) reads the last entry, False.
    new = np.append(X.is_new, False)
    sides = ((X.left, X.features_left), (X.right, X.features_right))
    # Responses of historical models in historical rows, which calibrate the judges, and
    # of new models in all rows, both of shape (n_responses, n_features). A row has two
    # responses.
    old_rows = judged & ~X.involves_new
    old = np.vstack([features[old_rows] for _, features in sides])
    late = np.vstack([features[judged & new[codes]] for codes, features in sides])
    # A constant feature has standard deviation zero, and is only centred.
    mean, deviation = old.mean(axis=0), old.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    found = {}
    for k, name in enumerate(X.feature_names):
        low, high = old[:, k].min(), old[:, k].max()
        for kind, values in (("historical", old[:, k]), ("new", late[:, k])):
            scaled = (np.quantile(values, QUANTILES) - mean[k]) / deviation[k]
            outside = float(np.mean((values < low) | (values > high)))
            found[name, kind] = [*scaled, outside]
    index = pd.MultiIndex.from_tuples(found, names=["feature", "model"])
    return pd.DataFrame(list(found.values()), index, [*QUANTILES, "outside"])


@dataclass(eq=False, repr=False)
class FeatureOverlapDisplay(canvas.AxesDisplay):
    """Ranges of features among responses of new models and of historical ones.

    Thick lines hold the middle half of the responses, thin lines 98 % of them.

    Parameters
    ----------
    ranges : DataFrame
        By feature: quantiles of its values. ``from_estimator`` makes the table.

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
    >>> from skanchor.plotting import FeatureOverlapDisplay
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> display = FeatureOverlapDisplay.from_estimator(anchor)
    >>> display.ax_.get_xlabel()
    'standard deviations from the historical mean'
    """

    ranges: pd.DataFrame

    @classmethod
    def from_estimator(
        cls,
        estimator: AnchorPipeline,
        features: Sequence[str] | None = None,
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the overlap of a fitted pipeline's features.

        Parameters
        ----------
        estimator : AnchorPipeline
            A pipeline fitted on a table with features and new models.
        features : sequence of str, optional
            Features to show; None means all.
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        FeatureOverlapDisplay
            The display, drawn.
        """
        pipeline = canvas.check_pipeline(estimator)
        known = pipeline.features_.tolist()
        if not known or not len(pipeline.new_models_):
            what = "features" if not known else "new models"
            raise ValueError(f"The fit has no {what}, so that nothing can overlap.")
        shown = known if features is None else list(features)
        canvas.check_named("feature", shown, known)
        ranges = feature_ranges(pipeline._sample)
        return cls(ranges.loc[shown]).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the quantiles of both kinds of models, two lines for each feature.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        self
        """
        names = self.ranges.index.get_level_values("feature").unique()
        ax = canvas.given_or_new(ax, 2 * len(names) + 1)
        at = np.arange(len(names))
        ax.axvline(0.0, color=canvas.FAINT, zorder=0)
        for kind, color, mark, shift in (
            ("historical", canvas.OLD, "o", -0.17),
            ("new", canvas.NEW, "D", 0.17),
        ):
            part = self.ranges.xs(kind, level="model").loc[names]
            low, first, middle, third, high = (part[q] for q in QUANTILES)
            ax.hlines(at + shift, low, high, color=color, linewidth=1.2)
            ax.hlines(at + shift, first, third, color=color, linewidth=4)
            ax.plot(
                middle, at + shift, linestyle="none", marker=mark, markersize=6,
                color=color, markerfacecolor="white",
                label=f"{kind} models",
            )  # fmt: skip
        canvas.name_axis(ax, names.tolist())
        outside = self.ranges.xs("new", level="model").loc[names, "outside"]
        for row, share in enumerate(outside):
            if share > 0:
                percent = f"{share:.0%}" if share >= 0.005 else "under 1%"
                # Outside the axes, because lines may reach the edge of the axes.
                ax.annotate(
                    f"{percent}\noutside", (1.0, row), (3, 0), fontsize=7.5,
                    xycoords=("axes fraction", "data"), textcoords="offset points",
                    ha="left", va="center", color=canvas.NEW,
                )  # fmt: skip
        ax.set_xlabel("standard deviations from the historical mean")
        canvas.above(ax)
        return self._drawn(ax)
