"""Shared parts of displays: axes, names that fit, colours that work in greyscale."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skanchor._text import printable
from skanchor.results import RankingResult
from skanchor.results.estimators import RankingEstimator

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from skanchor.pipeline import AnchorPipeline

    AxesGiven = Sequence[Axes] | NDArray[Any] | None

OLD, NEW, FAINT = "0.45", "#08306b", "0.85"
"""Colours of historical and of new models, and of lines of reference."""

LONGEST, LONGEST_IF_NARROW = 34, 22
"""Longest name that a plot shows uncut, in letters."""

ROW, MARGIN = 0.21, 1.25
"""Height of a row, and height around the rows, in inches."""

WIDTH = 6.8
"""Width of a figure in inches."""

NARROW = 5.0
"""Width below which panels with names lie below each other, and names are cut short."""

_width: ContextVar[float] = ContextVar("width", default=WIDTH)


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
        check_ranks(estimator)
        check_is_fitted(estimator)
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


@contextmanager
def figure_width(inches: float) -> Iterator[None]:
    """Give the figures that are made inside the block another width.

    Parameters
    ----------
    inches : float
        Width in inches. Text keeps its size.
    """
    token = _width.set(inches)
    try:
        yield
    finally:
        _width.reset(token)


def is_narrow() -> bool:
    """Whether figures are narrow now."""
    return _width.get() < NARROW


def given_or_new(ax: Axes | None, n_rows: int) -> Axes:
    """Return the given axes, or axes of a new figure with `n_rows` rows of names."""
    return ax if ax is not None else panels(1, n_rows=n_rows)[0]


def arms(table: pd.DataFrame, middle: str = "score") -> NDArray[np.float64]:
    """Distances of an interval's ends from its middle; shape (2, n_rows).

    They are the ``xerr`` of matplotlib, which allows neither NaN nor negative lengths.
    """
    left = table[middle] - table["low"]
    right = table["high"] - table[middle]
    return np.maximum(np.nan_to_num([left, right]), 0.0)


def panels(
    n: int,
    given: AxesGiven = None,
    *,
    n_rows: float = 10.0,
    n_columns: int = 1,
    sharey: bool = False,
) -> NDArray[Any]:
    """Return the given axes, or those of a new figure.

    Parameters
    ----------
    n : int
        Number of axes.
    given : sequence or array of matplotlib Axes, optional
        Axes to draw on; None makes a figure.
    n_rows : float, default=10
        Number of rows of names that each of the axes must hold.
    n_columns : int, default=1
        Number of axes side by side.
    sharey : bool, default=False
        Whether they share the vertical scale.

    Returns
    -------
    ndarray of shape (n,)
        Matplotlib Axes, row by row.
    """
    if given is not None:
        known: NDArray[Any] = np.asarray(given, dtype=object).ravel()
        if len(known) != n:
            raise ValueError(f"This display needs {n} axes, got {len(known)}.")
        return known
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib; install it with pip install 'skanchor[plot]'."
        ) from error
    lines = -(-n // n_columns)  # rounded up
    height = lines * (MARGIN + ROW * n_rows)
    figure, axes = plt.subplots(
        lines,
        n_columns,
        figsize=(_width.get(), height),
        layout="constrained",
        squeeze=False,
        sharey=sharey,
    )
    found: NDArray[Any] = axes.ravel()
    # The last line of panels may be incomplete.
    for unused in found[n:]:
        figure.delaxes(unused)
    return found[:n]


def shorten(labels: Sequence[Hashable], longest: int | None = None) -> list[str]:
    """Cut the middle out of long names, unless two names would become the same."""
    if longest is None:
        longest = LONGEST_IF_NARROW if is_narrow() else LONGEST
    whole = [printable(str(label)).replace("\n", " ") for label in labels]
    short = [_cut(name, longest) for name in whole]
    names = [
        name if short.count(cut) > 1 else cut
        for name, cut in zip(whole, short, strict=True)
    ]
    # Matplotlib reads text between two dollar signs as a formula.
    return [name.replace("$", r"\$") for name in names]


def _cut(name: str, longest: int) -> str:
    if len(name) <= longest:
        return name
    # The ellipsis and the last letters, where versions and sizes of models are.
    end = min(12, longest // 2)
    return f"{name[: longest - end - 1]}…{name[-end:]}"


def name_axis(ax: Axes, labels: Sequence[Any], is_new: Any = None) -> None:
    """Write names on the left side, the first on top, those of new models in bold."""
    size = 9 if len(labels) <= 30 else 7.5
    ax.set_yticks(np.arange(len(labels)), shorten(labels), fontsize=size)
    # Row i is at height i. The axis is reversed, so that row 0 is on top.
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    hide_spines(ax, "top", "right", "left")
    if len(labels) > 30:
        # A tall figure has its scale on top, too, so that no reader must scroll down.
        ax.tick_params(axis="x", top=True, labeltop=True)
    if is_new is not None:
        for text, new in zip(ax.get_yticklabels(), is_new, strict=True):
            if new:
                text.set_fontweight("bold")


def hide_spines(ax: Axes, *sides: str) -> None:
    """Hide the lines along these sides; along top and right if none is named."""
    for side in sides or ("top", "right"):
        ax.spines[side].set_visible(False)


def dots(
    ax: Axes,
    x: Any,
    y: Any,
    *,
    xerr: Any = None,
    yerr: Any = None,
    marker: str = "o",
    color: str = NEW,
    **more: Any,
) -> None:
    """Draw estimates as marks, with their intervals as lines through them."""
    ax.errorbar(
        x, y, yerr, xerr, linestyle="none", marker=marker, markersize=4.5,
        elinewidth=1.3, color=color, **more,
    )  # fmt: skip


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
        ax.annotate(
            text, (0.5, row), xycoords=("axes fraction", "data"),
            ha="center", va="center", fontsize=8, style="italic", color="0.4",
        )  # fmt: skip


def require(value: Any, kind: type, needs: str) -> Any:
    """Return a value of a kind, or raise and say what the display ``needs``."""
    if not isinstance(value, kind):
        raise TypeError(f"This display needs {needs}; got {type(value).__name__}.")
    return value


def check_ranks(estimator: Any) -> RankingEstimator:
    """Return the argument if it is an estimator with intervals, fitted or not."""
    needs = "an estimator that ranks with intervals, such as AnchorPipeline"
    checked: RankingEstimator = require(estimator, RankingEstimator, needs)
    return checked


def check_result(result: Any) -> RankingResult:
    """Return the argument if it is a result with standard errors, else raise."""
    needs = "a result with intervals, such as AnchorPipeline.result_"
    checked: RankingResult = require(result, RankingResult, needs)
    return checked


def check_pipeline(estimator: Any) -> AnchorPipeline:
    """Return the argument if it is a fitted pipeline with judges, else raise."""
    from skanchor.pipeline import AnchorPipeline

    needs = "a fitted AnchorPipeline, which knows its judges"
    checked: AnchorPipeline = require(estimator, AnchorPipeline, needs)
    check_is_fitted(checked)
    if not len(checked.judges_):
        raise ValueError("There are no judges to show: the table has human rows only.")
    return checked


def check_named(what: str, asked: Sequence[Any], known: Sequence[Any]) -> None:
    """Raise if a name that was asked for is unknown, or if none was asked for."""
    strangers = [name for name in asked if name not in known]
    if strangers or not asked:
        raise ValueError(
            f"There is no {what} {strangers or asked}; known are {list(known)[:20]}."
        )


def busiest_judges(
    pipeline: AnchorPipeline, judges: Sequence[Hashable] | None, most: int
) -> list[Any]:
    """The judges that are named, or the `most` judges with most rows."""
    rows = pipeline.summary()["rows"].sort_values(ascending=False, kind="stable")
    chosen = rows.index[:most].tolist() if judges is None else list(judges)
    check_named("judge", chosen, rows.index.tolist())
    return chosen
