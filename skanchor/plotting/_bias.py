"""What judges favour: features of a response, and single models."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from skanchor._diagnostics.judges import partial_effects
from skanchor.exceptions import BattlesError
from skanchor.pipeline import AnchorPipeline
from skanchor.plotting import _canvas as canvas
from skanchor.results import AnchorResult, ContextResult, RankingResult
from skanchor.results.adjustment import holm_adjust

MOST_FEATURES, MOST_JUDGES = 4, 4
"""Number of features and of judges shown if none are named."""

# Colour and line style of each judge, so that curves differ in greyscale, too.
_STYLES = (
    ("#08306b", "-"), ("#d95f0e", "--"), ("#238b45", "-."), ("0.1", ":"),
    ("#807dba", (0, (5, 1))), ("#a50f15", (0, (1, 1))),
)  # fmt: skip

MOST_WITH_EFFECTS = 6
"""Number of judges shown."""


@dataclass(eq=False, repr=False)
class BiasDisplay(canvas.Display):
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
        ax: Any = None,
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
        all_features = pipeline.features_.tolist()
        if not all_features:
            raise ValueError("The fit has used no features, so that there is no bias.")
        chosen = canvas.busiest_judges(pipeline, judges, MOST_JUDGES)
        effects = partial_effects(pipeline._sample, pipeline.calibrator_, chosen)
        if features is None:
            # The largest effect on any judge at any value of the feature.
            largest = effects["effect"].abs().groupby(level="feature").max()
            largest = largest.sort_values(ascending=False, kind="stable")
            features = largest.index[:MOST_FEATURES].tolist()
        canvas.check_named("feature", features, all_features)
        by_feature = [effects[effects.index.isin([f], "feature")] for f in features]
        return cls(pd.concat(by_feature), level).plot(ax)

    def _draw(self, ax: Any) -> Any:
        """Draw one curve for each judge, on the axes of each feature."""
        names = self.effects.index.unique("feature").tolist()
        judges = self.effects.index.unique("judge").tolist()
        columns = min(len(names), 2)
        panels = canvas.panels(len(names), ax, n_rows=8, n_columns=columns, sharey=True)
        z = ndtri(0.5 + self.level / 2.0)  # two-sided normal quantile
        for panel, feature in zip(panels, names, strict=True):
            panel.axhline(0.0, color=canvas.FAINT, zorder=0)
            part = self.effects.xs(feature, level="feature")
            labels = zip(judges, canvas.shorten(judges), strict=True)
            for (judge, label), (color, style) in zip(labels, cycle(_STYLES)):
                curve = part.loc[judge]
                value, effect = curve["value"], curve["effect"]
                ends = (
                    effect - z * curve["standard_error"],
                    effect + z * curve["standard_error"],
                )
                panel.fill_between(value, *ends, alpha=0.15, color=color, linewidth=0)
                panel.plot(value, effect, color=color, linestyle=style, label=label)
            panel.set_xlabel(canvas.shorten([feature])[0])
        # The first panel of each row of panels.
        for panel in panels[::columns]:
            panel.set_ylabel("bias (judge logits)")
        if ax is not None:
            panels[0].legend()
            return panels
        # One legend above all panels of a figure of its own.
        figure, ncols = panels[0].figure, 1 if canvas.is_narrow() else 2
        handles = panels[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper center", ncols=ncols)
        return panels


@dataclass(eq=False, repr=False)
class ItemDeviationDisplay(canvas.Display):
    """Item effects: how much each judge overrates each model, given score and features.

    A dot is an item effect, and the line through it is its interval. Item effects that
    are significant jointly (by Holm's method) are blue; the others are grey.

    Parameters
    ----------
    deviations : DataFrame
        By judge and model: the item effect ``deviation`` and its ``standard_error``, in
        judge logits.
    models : sequence of labels
        The models, from top to bottom.
    is_new : ndarray of shape (n_models,), optional
        Whether each of them is new.
    level : float, default=0.95
        Level of the intervals, and of all decisions jointly.

    Attributes
    ----------
    ax_ : ndarray of shape (n_shown,)
        The axes, one for each judge that is shown. With more than six judges these are
        the six with the largest item effects in standard errors.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.plotting import ItemDeviationDisplay
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="random", random_state=0).fit(X, y)
    >>> display = ItemDeviationDisplay.from_estimator(anchor)
    >>> len(display.ax_)
    3
    """

    deviations: pd.DataFrame
    models: Sequence[Any]
    is_new: NDArray[np.bool_] | None = None
    level: float = 0.95

    @classmethod
    def from_result(
        cls, result: AnchorResult, level: float = 0.95, *, ax: Any = None
    ) -> Self:
        """Draw the item effects of a result.

        Parameters
        ----------
        result : AnchorResult
            A result with item effects.
        level : float, default=0.95
            Level of the intervals, and of all decisions jointly.
        ax : sequence of matplotlib Axes, optional
            Axes to draw on, one for each judge; None makes a figure.

        Returns
        -------
        ItemDeviationDisplay
            The display, drawn.
        """
        if isinstance(result, ContextResult):
            # With contexts, an item is a model in one context, a cell.
            result = result.cells
        diagnostics = getattr(
            canvas.require(result, RankingResult), "diagnostics", None
        )
        if diagnostics is None or diagnostics.deviations.empty:
            raise BattlesError(
                "This result leaves item effects out, so there are no deviations to "
                "draw. Fit with random item effects."
            )
        leaderboard = result.leaderboard()
        deviations = diagnostics.deviations
        # Models with item effects, in the order of the leaderboard.
        has_effects = leaderboard.index.isin(deviations.index.get_level_values("model"))
        models = leaderboard.index[has_effects].tolist()
        is_new = leaderboard["is_new"].to_numpy()[has_effects]
        return cls(deviations, models, is_new, level).plot(ax)

    def _draw(self, ax: Any) -> Any:
        """Draw a panel for each judge, with a row for each model."""
        # Matrices of shape (n_models, n_judges), NaN where a judge has no item effect.
        wide = self.deviations.unstack("judge").reindex(pd.Index(self.models))
        value, error = wide["deviation"], wide["standard_error"]
        z = (value / error).where(error > 0)
        # Which item effects differ from zero, all taken together.
        p = 2.0 * ndtr(-np.abs(np.nan_to_num(z.to_numpy())))
        proven = (holm_adjust(p.ravel()) < 1.0 - self.level).reshape(p.shape)
        largest = z.abs().max().sort_values(ascending=False, kind="stable")
        order = self.deviations.index.unique("judge")
        judges = [name for name in order if name in largest.index[:MOST_WITH_EFFECTS]]
        columns = min(len(judges), 3)
        panels = canvas.panels(
            len(judges), ax, n_rows=len(self.models) + 1, n_columns=columns
        )
        half = ndtri(0.5 + self.level / 2.0) * error
        # One scale for all panels.
        reach = 1.05 * float(np.nanmax((value.abs() + half).to_numpy()))
        at = np.arange(len(self.models))
        names = canvas.shorten(judges, 14 if columns > 1 else None)
        for number, (panel, judge) in enumerate(zip(panels, judges, strict=True)):
            x, xerr = value[judge], half[judge]
            is_proven = proven[:, value.columns.get_loc(judge)]
            panel.axvline(0.0, color="0.5", linewidth=0.9, zorder=0)
            for rows, color in ((~is_proven, "0.62"), (is_proven, canvas.NEW)):
                canvas.dots(panel, x, at, rows & np.isfinite(x), xerr, color=color)
            canvas.name_axis(panel, self.models, self.is_new)
            if number % columns:
                panel.set_yticklabels([])
            panel.set_xlim(-reach, reach)
            panel.locator_params(axis="x", nbins=3)
            panel.tick_params(axis="x", labelsize=8)
            panel.set_title(names[number], fontsize=8)
        label = f"judge logits, with {self._level} intervals"
        if len(order) > len(judges):
            label += f" ({len(order) - len(judges)} more judges are not shown)"
        if ax is None:
            sides = "underrated by the judge  ←   →  overrated"
            panels[0].figure.supxlabel(f"{sides}\n{label}", fontsize=8.5)
        return panels
