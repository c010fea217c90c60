"""Shared parts of displays: axes, names that fit, colours that work in greyscale."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skanchor._text import printable
from skanchor.pipeline import AnchorPipeline
from skanchor.results.estimators import RankingEstimator

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    AxesGiven = Axes | Sequence[Axes] | NDArray[Any] | None

OLD, NEW, FAINT = "0.45", "#08306b", "0.85"
"""Colours of historical and of new models, and of lines of reference."""

LONGEST, LONGEST_IF_NARROW = 31, 22
"""Longest name that a plot shows uncut, in letters."""

ROW, MARGIN = 0.21, 1.25
"""Height of a row, and height around the rows, in inches."""

NARROW = 5.0
"""Width in inches below which panels with names lie below each other, and names are cut
short. Figures are as wide as matplotlib's setting ``figure.figsize`` says."""


class Display:
    """What a fit, or its result, looks like, in scikit-learn's manner.

    Attributes
    ----------
    ax_ : matplotlib Axes, or ndarray of them
        The axes.
    figure_ : matplotlib Figure
        Their figure.
    """

    ax_: Any
    figure_: Figure | SubFigure

    def _drawn(self, ax: Any) -> Self:
        """Store axes and figure."""
        self.ax_, self.figure_ = ax, np.ravel(ax)[0].figure
        return self


class ResultDisplay(Display):
    """A display of a result with intervals, which a fitted estimator has."""

    @classmethod
    def from_estimator(cls, estimator: Any, *args: Any, **more: Any) -> Self:
        """Draw the result of a fitted estimator.

        Parameters
        ----------
        estimator : RankingEstimator
            A fitted estimator with intervals, such as ``AnchorPipeline``.
        *args, **more : object
            As of ``from_result``.

        Returns
        -------
        Display
            The display, drawn.
        """
        check_is_fitted(require(estimator, RankingEstimator))
        made: Any = cls
        drawn: Self = made.from_result(estimator.result_, *args, **more)
        return drawn


class TableDisplay(Display):
    """A display of a table that ``from_estimator`` computes."""

    @classmethod
    def from_result(
        cls, result: Any, level: float = 0.95, *, ax: Any = None, **more: Any
    ) -> Self:
        """Draw a table such as another display of this kind holds.

        Parameters
        ----------
        result : DataFrame
            The first parameter of the class.
        level : float, default=0.95
            Level of intervals.
        ax : matplotlib Axes, or sequence of them, optional
            Axes to draw on; None makes a figure.
        **more : object
            Further parameters of the class.

        Returns
        -------
        Display
            The display, drawn.
        """
        made: Any = cls
        drawn: Self = made(result, level=level, **more).plot(ax)
        return drawn


def pyplot() -> Any:
    """The module of matplotlib that makes figures, which is imported when needed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib; install it with pip install 'skanchor[plot]'."
        ) from error
    return plt


def is_narrow() -> bool:
    """Whether figures are narrow now."""
    return bool(pyplot().rcParams["figure.figsize"][0] < NARROW)


def arms(table: pd.DataFrame, middle: str = "score") -> NDArray[np.float64]:
    """Distances of an interval's ends from its middle; shape (2, n_rows).

    They are the ``xerr`` of matplotlib, which allows neither NaN nor negative lengths.
    """
    left = table[middle] - table["low"]
    right = table["high"] - table[middle]
    return np.maximum(np.nan_to_num([left, right]), 0.0)


def panels(
    n: int, ax: AxesGiven = None, n_rows: float = 10, n_columns: int = 1, **more: Any
) -> NDArray[Any]:
    """Return the given axes, or those of a new figure.

    Parameters
    ----------
    n : int
        Number of axes.
    ax : matplotlib Axes, or sequence or array of them, optional
        Axes to draw on; None makes a figure.
    n_rows : float, default=10
        Number of rows of names that each of the axes must hold.
    n_columns : int, default=1
        Number of axes side by side.
    **more : object
        Further arguments of ``matplotlib.pyplot.subplots``.

    Returns
    -------
    ndarray of shape (n,)
        Matplotlib Axes, row by row.
    """
    if ax is not None:
        axes_given: NDArray[Any] = np.asarray(ax, dtype=object).ravel()
        if len(axes_given) != n:
            raise ValueError(f"This display needs {n} axes, got {len(axes_given)}.")
        return axes_given
    plt = pyplot()
    lines = -(-n // n_columns)  # rounded up
    height = lines * (MARGIN + ROW * n_rows)
    size = (plt.rcParams["figure.figsize"][0], height)
    figure, axes = plt.subplots(
        lines, n_columns, figsize=size, layout="constrained", squeeze=False, **more
    )
    flat: NDArray[Any] = axes.ravel()
    # The last line of panels may be incomplete.
    for unused in flat[n:]:
        figure.delaxes(unused)
    return flat[:n]


def shorten(labels: Sequence[Hashable], longest: int | None = None) -> list[str]:
    """Cut the middle out of long names, unless two names would become the same."""
    if longest is None:
        longest = LONGEST_IF_NARROW if is_narrow() else LONGEST
    whole = [printable(str(label)).replace("\n", " ") for label in labels]
    # The last letters stay, where versions and sizes of models are.
    end = min(12, longest // 2)
    short = [
        name if len(name) <= longest else f"{name[: longest - end - 1]}…{name[-end:]}"
        for name in whole
    ]
    names = [
        name if short.count(cut) > 1 else cut
        for name, cut in zip(whole, short, strict=True)
    ]
    # Matplotlib reads text between two dollar signs as a formula.
    return [name.replace("$", r"\$") for name in names]


def name_axis(ax: Axes, labels: Sequence[Any], is_new: Any = None) -> None:
    """Write names on the left side, the first on top, those of new models in bold."""
    size = 9 if len(labels) <= 30 else 7.5
    ax.set_yticks(np.arange(len(labels)), shorten(labels), fontsize=size)
    # Row i is at height i. The axis is reversed, so that row 0 is on top.
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    if len(labels) > 30:
        # A tall figure has its scale on top, too, so that no reader must scroll down.
        ax.tick_params(axis="x", top=True, labeltop=True)
    if is_new is not None:
        for text, new in zip(ax.get_yticklabels(), is_new, strict=True):
            if new:
                text.set_fontweight("bold")


def dots(ax: Axes, x: Any, y: Any, **more: Any) -> None:
    """Draw estimates as marks, with their intervals as lines through them."""
    look: Any = {"marker": "o", "color": NEW, "markersize": 4.5, "elinewidth": 1.3}
    ax.errorbar(x, y, linestyle="none", **(look | more))


def dots_of_kinds(
    ax: Axes, kinds: Iterable[tuple[Any, dict[str, Any]]], x: Any, y: Any, **errors: Any
) -> None:
    """Draw estimates, those of each kind of rows in a look of their own."""
    for rows, look in kinds:
        if rows.any():
            arms = {name: error[..., rows] for name, error in errors.items()}
            dots(ax, x[rows], y[rows], **arms, **look)


def not_determined(
    ax: Axes, rows: Iterable[int], limits: pd.DataFrame, digits: int = 2
) -> None:
    """Write what is known in these rows, where an estimate would be drawn.

    ``limits`` has ``low`` and ``high``, one of which is finite for a model that won, or
    lost, all its rows.
    """
    ends = zip(rows, limits["low"], limits["high"], strict=True)
    for row, low, high in ends:
        text = "not determined"
        if np.isfinite(low):
            text = f"above {low:.{digits}f}"
        elif np.isfinite(high):
            text = f"below {high:.{digits}f}"
        note(ax, text, (0.5, row), ("axes fraction", "data"))


def note(
    ax: Axes, text: str, position: Any, coordinates: Any = "axes fraction"
) -> None:
    """Write where nothing is drawn why that is so."""
    look: Any = {"ha": "center", "va": "center", "fontsize": 8, "style": "italic"}
    ax.annotate(text, position, xycoords=coordinates, color="0.4", **look)


def require(value: Any, kind: type) -> Any:
    """Return a value of a kind, or raise and say what the display needs."""
    if not isinstance(value, kind):
        needed, name = kind.__name__, type(value).__name__
        raise TypeError(f"This display needs a {needed}; got {name}.")
    return value


def check_pipeline(estimator: Any) -> AnchorPipeline:
    """Return the argument if it is a fitted pipeline with judges, else raise."""
    checked: AnchorPipeline = require(estimator, AnchorPipeline)
    check_is_fitted(checked)
    if not len(checked.judges_):
        raise ValueError("There are no judges to show: the table has human rows only.")
    return checked


def check_named(what: str, names: Sequence[Any], choices: Sequence[Any]) -> None:
    """Raise if a name that was asked for is unknown, or if none was asked for."""
    strangers = [name for name in names if name not in choices]
    if strangers or not names:
        raise ValueError(
            f"There is no {what} {strangers or names}; known are {list(choices)[:20]}."
        )


def busiest_judges(
    pipeline: AnchorPipeline, judges: Sequence[Hashable] | None, most: int
) -> list[Any]:
    """The judges that are named, or the `most` judges with most rows."""
    rows = pipeline.summary()["rows"].sort_values(ascending=False, kind="stable")
    chosen = rows.index[:most].tolist() if judges is None else list(judges)
    check_named("judge", chosen, rows.index.tolist())
    return chosen
