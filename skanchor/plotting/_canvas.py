"""Shared parts of displays: axes, names that fit, colours that work in greyscale."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
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

OLD, NEW, FAINT = "0.45", "#08306b", "0.85"
"""Colours of historical and of new models, and of lines of reference."""

LONGEST, LONGEST_IF_NARROW = 31, 22
"""Longest name that a plot shows uncut, in letters."""

ROW, MARGIN = 0.21, 1.25
"""Height of a row, and height around the rows, in inches."""

NARROW = 5.0
"""Width in inches below which panels with names lie below each other, and names are cut
short. Figures are as wide as matplotlib's setting ``figure.figsize`` says."""

_STYLE: Any = {
    **dict.fromkeys(["axes.spines.top", "axes.spines.right", "legend.frameon"], False),
    **dict.fromkeys(["axes.labelsize", "axes.titlesize"], 9),
    "legend.fontsize": 8,
}


class Display:
    """What a fit, or its result, looks like, in scikit-learn's manner.

    Attributes
    ----------
    level : float
        Level of intervals.
    ax_ : matplotlib Axes, or ndarray of them
        The axes.
    figure_ : matplotlib Figure
        Their figure.
    """

    level: float
    ax_: Any
    figure_: Figure | SubFigure

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
        return cls.from_result(estimator.result_, *args, **more)

    @classmethod
    def from_result(cls, result: Any, *args: Any, **more: Any) -> Self:
        """Draw a table such as another display of this kind holds.

        Parameters
        ----------
        result : DataFrame
            The first parameter of the class.
        *args, **more : object
            Further parameters of the class, such as ``level``, and ``ax`` to draw on.

        Returns
        -------
        Display
            The display, drawn.
        """
        made: Any = cls
        ax = more.pop("ax", None)
        drawn: Self = made(result, *args, **more).plot(ax)
        return drawn

    def plot(self, ax: Any = None) -> Self:
        """Draw on a new figure, or on axes of your own.

        Parameters
        ----------
        ax : matplotlib Axes, or sequence of them, optional
            Axes to draw on, as many as the display has; None makes a figure.

        Returns
        -------
        self
        """
        with pyplot().rc_context(_STYLE):
            self.ax_ = self._draw(ax)
        self.figure_ = np.ravel(self.ax_)[0].figure
        return self

    def _draw(self, ax: Any) -> Any:
        """Draw, and return the axes."""
        raise NotImplementedError

    @property
    def _level(self) -> str:
        """The level as text."""
        return f"{100 * self.level:.6g} %"


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
    n: int, ax: Any = None, n_rows: float = 10, n_columns: int = 1, **more: Any
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
        axes: NDArray[Any] = np.asarray(ax, dtype=object).ravel()
        if len(axes) != n:
            raise ValueError(f"This display needs {n} axes, got {len(axes)}.")
        return axes
    plt = pyplot()
    lines = -(-n // n_columns)  # rounded up
    size = (plt.rcParams["figure.figsize"][0], lines * (MARGIN + ROW * n_rows))
    figure, axes = plt.subplots(
        lines, n_columns, figsize=size, layout="constrained", squeeze=False, **more
    )
    # The last line of panels may be incomplete.
    for unused in axes.ravel()[n:]:
        figure.delaxes(unused)
    return axes.ravel()[:n]


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
    names = zip(whole, short, strict=True)
    # Matplotlib reads text between two dollar signs as a formula.
    return [
        (name if short.count(cut) > 1 else cut).replace("$", r"\$")
        for name, cut in names
    ]


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
        for row in np.flatnonzero(is_new):
            ax.get_yticklabels()[row].set_fontweight("bold")


def dots(
    ax: Axes, x: Any, y: Any, rows: Any, xerr: Any = None, yerr: Any = None, **more: Any
) -> None:
    """Draw the estimates of some rows as marks, with intervals as lines through them.

    ``xerr`` and ``yerr`` are those of matplotlib, for all rows.
    """
    look: Any = {"marker": "o", "color": NEW, "markersize": 4.5, "elinewidth": 1.3}
    for name, error in (("xerr", xerr), ("yerr", yerr)):
        if error is not None:
            look[name] = np.asarray(error)[..., rows]
    if np.any(rows):
        look |= {"linestyle": "none"} | more
        ax.errorbar(np.asarray(x)[rows], np.asarray(y)[rows], **look)


def not_determined(ax: Axes, table: pd.DataFrame, rows: Any, digits: int = 2) -> None:
    """Write what is known in some rows, where an estimate would be drawn.

    ``table`` has ``low`` and ``high``, one of which is finite for a model that won, or
    lost, all its rows.
    """
    for row in np.flatnonzero(rows):
        text = "not determined"
        for side, end in (("above", "low"), ("below", "high")):
            limit = table[end].iloc[row]
            if np.isfinite(limit):
                text = f"{side} {limit:.{digits}f}"
        note(ax, text, (0.5, row), ("axes fraction", "data"))


def note(ax: Axes, text: str, position: Any, where: Any = "axes fraction") -> None:
    """Write where nothing is drawn why that is so."""
    look: Any = {"ha": "center", "va": "center", "fontsize": 8, "style": "italic"}
    ax.annotate(text, position, xycoords=where, color="0.4", **look)


# ------------------------------------------------------------------------ refusals
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
