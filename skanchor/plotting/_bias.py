"""What judges favour: bias as one feature changes, the others at their medians."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import pandas as pd
from scipy.special import ndtri

from skanchor._diagnostics import partial_effects
from skanchor.plotting import _canvas as canvas

if TYPE_CHECKING:
    from skanchor.pipeline import AnchorPipeline

MOST_FEATURES, MOST_JUDGES = 4, 4
"""Number of features and of judges shown if none are named."""

SHORT_NAME = 14
"""Four names of at most so many letters fit side by side in a legend."""

# Colour and line style of each judge, so that curves differ in greyscale, too.
_STYLES = (
    ("#08306b", "-"), ("#d95f0e", "--"), ("#238b45", "-."), ("0.1", ":"),
    ("#807dba", (0, (5, 1))), ("#a50f15", (0, (1, 1))),
)  # fmt: skip


@dataclass(eq=False, repr=False)
class BiasDisplay(canvas.TableDisplay):
    """Bias of judges as one feature of a response changes, the others at their medians.

    Parameters
    ----------
    effects : DataFrame
        By ``judge``, ``feature`` and ``point``: ``value``, ``effect`` in judge logits
        and its ``standard_error``.
    level : float, default=0.95
        Level of the pointwise bands, which take the scores as known. A learner without
        coefficients has no band.

    Attributes
    ----------
    ax_ : ndarray of shape (n_features,)
        The axes, one for each feature.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.plotting import BiasDisplay
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> display = BiasDisplay.from_estimator(anchor)
    >>> len(display.ax_)
    2
    >>> display.effects.columns.tolist()
    ['value', 'effect', 'standard_error']
    """

    effects: pd.DataFrame
    level: float = 0.95

    @classmethod
    def from_estimator(
        cls,
        estimator: AnchorPipeline,
        features: Sequence[str] | None = None,
        judges: Sequence[Hashable] | None = None,
        level: float = 0.95,
        *,
        ax: canvas.AxesGiven = None,
    ) -> Self:
        """Draw the biases of a fitted pipeline.

        Parameters
        ----------
        estimator : AnchorPipeline
            A pipeline fitted on a table with features.
        features : sequence of str, optional
            Features to show; None means the four with the largest effects.
        judges : sequence of labels, optional
            Judges to show; None means the four with most rows.
        level : float, default=0.95
            Level of the bands.
        ax : sequence of matplotlib Axes, optional
            Axes to draw on, one for each feature; None makes a figure.

        Returns
        -------
        BiasDisplay
            The display, drawn.
        """
        pipeline = canvas.check_pipeline(estimator)
        known = pipeline.features_.tolist()
        if not known:
            raise ValueError("The fit has used no features, so that there is no bias.")
        chosen = canvas.busiest_judges(pipeline, judges, MOST_JUDGES)
        effects = partial_effects(pipeline._sample, pipeline.calibrator_, chosen)
        if features is None:
            # The largest effect on any judge at any value of the feature.
            by_feature = effects["effect"].abs().groupby(level="feature").max()
            largest = by_feature.sort_values(ascending=False, kind="stable")
            features = largest.index[:MOST_FEATURES].tolist()
        canvas.check_named("feature", features, known)
        chosen_effects = [
            effects.xs(f, level="feature", drop_level=False) for f in features
        ]
        return cls(pd.concat(chosen_effects), level).plot(ax)

    def plot(self, ax: canvas.AxesGiven = None) -> Self:
        """Draw one curve for each judge, on the axes of each feature.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, optional
            Axes to draw on, one for each feature; None makes a figure.

        Returns
        -------
        self
        """
        names = self.effects.index.get_level_values("feature").unique()
        columns = min(len(names), 2)
        found = canvas.panels(len(names), ax, n_rows=8, n_columns=columns, sharey=True)
        z = ndtri(0.5 + self.level / 2.0)  # two-sided normal quantile
        for panel, feature in zip(found, names, strict=True):
            panel.axhline(0.0, color=canvas.FAINT, zorder=0)
            part = self.effects.xs(feature, level="feature")
            judges = part.index.get_level_values("judge").unique()
            for i, (judge, label) in enumerate(
                zip(judges, canvas.shorten(judges.tolist()), strict=True)
            ):
                color, style = _STYLES[i % len(_STYLES)]
                curve = part.loc[judge]
                value, effect = curve["value"], curve["effect"]
                half = z * curve["standard_error"]
                panel.fill_between(
                    value, effect - half, effect + half, alpha=0.15, color=color,
                    linewidth=0,
                )  # fmt: skip
                panel.plot(value, effect, color=color, linestyle=style, label=label)
            panel.set_xlabel(canvas.shorten([feature])[0])
            canvas.hide_spines(panel)
        # The first panel of each row of panels.
        for panel in found[::columns]:
            panel.set_ylabel("bias (judge logits)", fontsize=9)
        if ax is None:
            # One legend above all panels of a figure of its own.
            handles, labels = found[0].get_legend_handles_labels()
            columns = 4 if max(map(len, labels)) <= SHORT_NAME else 2
            columns = columns // 2 if canvas.is_narrow() else columns
            found[0].figure.legend(
                handles, labels, loc="outside upper center", ncols=columns,
                frameon=False, fontsize=8,
            )  # fmt: skip
        else:
            found[0].legend(frameon=False, fontsize=8)
        return self._drawn(found)
