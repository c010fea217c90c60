"""A difference against the number of rows that are dropped."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skanchor.fragility import Fragility
from skanchor.plotting import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skanchor._anchor import AnchorPipeline


@dataclass(eq=False, repr=False)
class DropPathDisplay(canvas.AxesDisplay):
    """A difference of scores, as the rows that support it are dropped one by one.

    The line is computed with Riesz weights that are solved again, the dots are refits.
    A dotted line marks the number of rows with which the statement changes.

    Parameters
    ----------
    path : DataFrame
        ``dropped``, ``difference``, and ``by``: "re-solved" or "refit".
    number : float
        Number of dropped units with which the statement changes; infinite if there is
        none.
    names : tuple of (model, opponent)
        Labels.
    what : str, default="rows"
        What is dropped.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor.plotting import DropPathDisplay
    >>> path = pd.DataFrame({"dropped": [0, 5, 9], "difference": [0.2, 0.1, -0.1]})
    >>> path["by"] = ["refit", "re-solved", "refit"]
    >>> display = DropPathDisplay(path, 9, ("ivory-lynx", "cedar-fox")).plot()
    >>> display.names
    ('ivory-lynx', 'cedar-fox')
    """

    path: pd.DataFrame
    number: float
    names: tuple[Hashable, Hashable]
    what: str = "rows"

    @classmethod
    def from_estimator(
        cls,
        estimator: AnchorPipeline,
        X: Any,
        y: ArrayLike,
        model: Hashable | None = None,
        opponent: Hashable | None = None,
        *,
        ax: Axes | None = None,
        **asked: Any,
    ) -> Self:
        """Search for few rows, and draw what was found.

        Parameters
        ----------
        estimator : AnchorPipeline
            Fitted.
        X, y : table and outcomes
            The data that it was fitted on.
        model : label, optional
            A new model; None means the one with the highest score.
        opponent : label, optional
            Another model; None means the one next to it in score.
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.
        **asked
            Further arguments of :meth:`skanchor.AnchorPipeline.fragility`, such as
            ``rows="arrival"``.

        Returns
        -------
        DropPathDisplay
            The display, drawn.
        """
        canvas.result_of(estimator)
        if not hasattr(estimator, "fragility"):
            raise TypeError(
                "This display needs AnchorPipeline: other methods are not refitted "
                f"without some rows, got {type(estimator).__name__}."
            )
        if model is None:
            model = estimator.scores_.idxmax()
        if opponent is None:
            contrasts = estimator.contrasts()["difference"]
            opponent = contrasts.xs(model, level="model").abs().idxmin()
        found = estimator.fragility(X, y, opponent, model=model, **asked)
        return cls.from_fragility(found, model, opponent, ax=ax)

    @classmethod
    def from_fragility(
        cls,
        found: Fragility,
        model: Hashable,
        opponent: Hashable | None = None,
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Draw what a search has found.

        Parameters
        ----------
        found : Fragility
            Of :meth:`skanchor.AnchorPipeline.fragility`.
        model : label
            A new model.
        opponent : label, optional
            Another model; None means the one that needs the fewest rows.
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        DropPathDisplay
            The display, drawn.
        """
        key = found.key(model, opponent)
        what = "groups" if found.by == "group" else "rows"
        number = float(found.table.loc[key, "k"])
        return cls(found.path(*key), number, key, f"{what} dropped").plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the difference against the number of dropped rows.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; None makes a figure.

        Returns
        -------
        self
        """
        ax = canvas.given_or_new(ax, 9)
        by = self.path["by"] == "refit"
        line = self.path[~by].drop_duplicates("dropped").sort_values("dropped")
        ax.plot(line["dropped"], line["difference"], color=canvas.NEW, linewidth=1.4,
                label="weights solved anew")  # fmt: skip
        if by.any():
            dots = self.path[by]
            ax.plot(dots["dropped"], dots["difference"], "o", color=canvas.OLD,
                    markersize=5, label="refits")  # fmt: skip
        ax.axhline(0.0, color="0.5", linewidth=1)
        if np.isfinite(self.number):
            ax.axvline(self.number, color=canvas.OLD, linestyle=":", linewidth=1)
            ax.annotate(
                f"{self.number:,.0f}", (self.number, ax.get_ylim()[1]), (2, -2),
                textcoords="offset points", fontsize=8, va="top", color=canvas.OLD,
            )  # fmt: skip
        ax.set_xlim(0.0, None)
        canvas.rule(ax)
        canvas.hide_spines(ax)
        first, second = canvas.shorten(self.names)
        ax.set_xlabel(self.what, fontsize=9)
        ax.set_ylabel(f"{first} minus {second}\n(logits)", fontsize=9)
        ax.legend(fontsize=8, frameon=False)
        return self._drawn(ax)
