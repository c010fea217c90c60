"""A difference with an interval that widens with the favour that is allowed for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skanchor.plotting import _canvas as canvas
from skanchor.results import AnchorResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skanchor._anchor import AnchorPipeline

_POINTS = 41
_BENCHMARKS = {
    "favour": "recorded favour",
    "position_effect": "position effect",
    "item_sd": "item effects (sd)",
    "largest_deviation": "largest item effect",
}


@dataclass(eq=False, repr=False)
class FunnelDisplay(canvas.AxesDisplay):
    """Interval of a difference as a function of the size of unrecorded favours.

    Dotted lines are sizes of recorded effects. A diamond marks the favour with which
    the interval contains zero.

    Parameters
    ----------
    table : DataFrame
        By ``gamma``, ascending from zero: ``low`` and ``high`` of the difference.
    difference : float
        The estimate, in logits.
    breakdown : float
        Favour with which the interval contains zero.
    benchmarks : mapping of str to float
        Sizes of recorded effects in judge logits, by name.
    names : tuple of (model, opponent)
        Labels.
    level : float, default=0.95
        Confidence level.

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
    >>> from skanchor.plotting import FunnelDisplay
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> display = FunnelDisplay.from_estimator(anchor, "ivory-lynx")
    >>> display.names
    ('ivory-lynx', 'blue-heron')
    >>> display.breakdown > 0
    True
    """

    table: pd.DataFrame
    difference: float
    breakdown: float
    benchmarks: Mapping[str, float]
    names: tuple[Hashable, Hashable]
    level: float = 0.95

    @classmethod
    def from_estimator(
        cls,
        estimator: AnchorPipeline,
        model: Hashable = None,
        opponent: Hashable = None,
        level: float = 0.95,
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the funnel of a fitted pipeline.

        Parameters
        ----------
        estimator : AnchorPipeline
            Fitted.
        model : label, optional
            A new model; None means the one with the highest score.
        opponent : label, optional
            Another model; None means the one whose significant difference the smallest
            favour would undo.
        level : float, default=0.95
            Confidence level.
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        FunnelDisplay
            The display, drawn.
        """
        canvas.result_of(estimator)
        return cls._of(estimator, model, opponent, level, ax)

    @classmethod
    def from_result(
        cls,
        result: AnchorResult,
        model: Hashable = None,
        opponent: Hashable = None,
        level: float = 0.95,
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the funnel of a result.

        Parameters
        ----------
        result : AnchorResult
            Such as ``AnchorPipeline.result_``.
        model, opponent, level, ax
            As in :meth:`from_estimator`.

        Returns
        -------
        FunnelDisplay
            The display, drawn.
        """
        canvas.check_result(result)
        return cls._of(result, model, opponent, level, ax)

    @classmethod
    def _of(
        cls,
        fitted: Any,
        model: Hashable,
        opponent: Hashable,
        level: float,
        ax: Axes | None,
    ) -> Self:
        if not hasattr(fitted, "breakdown"):
            raise TypeError(
                "This display needs AnchorPipeline, or its result: other methods have "
                f"no exposures to favours, got {type(fitted).__name__}."
            )
        broken = fitted.breakdown(level=level)
        broken = broken[broken["gamma_sign"].notna()]
        models = broken.index.unique("model")
        if model is None:
            scores = fitted.contrasts()["difference"].groupby(level="model").mean()
            model = scores.reindex(models).idxmax()
        if model not in models:
            raise ValueError(
                f"{model!r} is no new model with a determined score; they are "
                f"{models[:10].tolist()}."
            )
        own = broken.loc[model]
        if opponent is None:
            clear = own[own["gamma_interval"] > 0]
            opponent = (
                own["gamma_sign"].idxmin()
                if clear.empty
                else clear["gamma_interval"].idxmin()
            )
        if opponent not in own.index:
            raise ValueError(
                f"{opponent!r} is no other model; they are {own.index[:10].tolist()}."
            )
        row = own.loc[opponent]
        marks = fitted.benchmarks().loc[model].abs().max()
        known = {
            text: float(marks[name])
            for name, text in _BENCHMARKS.items()
            if marks[name] > 0
        }
        # Far enough for the breakdown, or at least for a difference turned round.
        reach = row["gamma_interval"] or row["gamma_sign"]
        largest = min(1.4 * reach, 1.5) if np.isfinite(reach) else 1.0
        gammas = np.linspace(0.0, max(largest, 0.05), _POINTS)
        table = fitted.sensitivity(gammas, level=level, method="holm")
        table = table.loc[(model, opponent), ["low", "high"]]
        found = cls(
            table, float(row["difference"]), float(row["gamma_interval"]), known,
            (model, opponent), level,
        )  # fmt: skip
        return found.plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the interval against the favour.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        self
        """
        ax = canvas.given_or_new(ax, 9)
        gammas = self.table.index.to_numpy(dtype=float)
        last = gammas[-1]
        ax.fill_between(
            gammas, self.table["low"], self.table["high"], color="#6baed6", alpha=0.45,
            linewidth=0,
        )  # fmt: skip
        for name in ("low", "high"):
            ax.plot(gammas, self.table[name], color=canvas.NEW, linewidth=1)
        ax.axhline(self.difference, color=canvas.NEW, linewidth=1.4)
        ax.axhline(0.0, color="0.5", linewidth=1)
        if 0 < self.breakdown <= last:
            ax.plot(
                [self.breakdown], [0.0], "D", color=canvas.NEW, markersize=6, zorder=3
            )
        top = ax.get_ylim()[1]
        for text, size in self.benchmarks.items():
            if size <= last:
                ax.axvline(size, color=canvas.OLD, linestyle=":", linewidth=1)
                ax.annotate(
                    text, (size, top), (3, -3), textcoords="offset points", fontsize=8,
                    rotation=90, ha="left", va="top", color="0.25",
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.9,
                          "pad": 0.8},
                )  # fmt: skip
        ax.set_xlim(0.0, last)
        canvas.rule(ax)
        canvas.hide_spines(ax)
        first, second = canvas.shorten(self.names)
        ax.set_xlabel("unrecorded favour of every judge, in judge logits", fontsize=9)
        ax.set_ylabel(
            f"{first} minus {second}\n(logits, {100 * self.level:.6g} %)", fontsize=9
        )
        return self._drawn(ax)
