"""Displays as SVG drawings of a page, each with a title and a description."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape
from importlib.util import find_spec
from io import StringIO
from typing import Any

from skanchor._anchor import AnchorPipeline
from skanchor.reports.answers import label, percent
from skanchor.reports.document import Figure
from skanchor.results import RankingResult, Scale

PAGE_WIDTH = 4.6
"""Width of the drawings in inches: a page on a phone shows them without scrolling, with
letters of seven points, and a wide page two of them side by side."""


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def board_figure(result: RankingResult, level: float, scale: Scale) -> Figure:
    """Draw the leaderboard with rank sets.

    Parameters
    ----------
    result : RankingResult
        The result of a fit.
    level : float
        Level of intervals and rank sets.
    scale : Scale
        Unit and zero of the scores.

    Returns
    -------
    Figure
    """
    from skanchor.plotting import LeaderboardDisplay

    return _figure(
        "figure-leaderboard",
        "Scores of all models",
        f"A dot is a score, the line through it its {percent(level)} interval; "
        f"diamonds are new models. With {percent(level)} confidence the ranks of all "
        "models lie in the rank sets on the right.",
        lambda: LeaderboardDisplay.from_result(result, level, scale=scale),
    )


def contrast_figure(
    result: RankingResult, model: Any, place: int, level: float, scale: Scale
) -> Figure:
    """Draw the contrasts of a new model with every other model.

    Parameters
    ----------
    result : RankingResult
        The result of a fit.
    model : label
        The new model.
    place : int
        Number that makes the name of the figure unique.
    level : float
        Level of the intervals.
    scale : Scale
        Unit of the differences.

    Returns
    -------
    Figure
    """
    from skanchor.plotting import ContrastDisplay

    return _figure(
        f"figure-wins-{place}",
        f"{label(model)} against every other model",
        f"Differences of score with {percent(level)} intervals, and chances to win. "
        "Filled marks are decided, all comparisons taken together.",
        lambda: ContrastDisplay.from_result(result, model, level, scale=scale.name),
    )


def judge_figures(anchor: AnchorPipeline, level: float) -> Iterator[Figure]:
    """Draw sensitivities, calibration, biases and item effects of the judges.

    Parameters
    ----------
    anchor : AnchorPipeline
        A fitted pipeline.
    level : float
        Level of intervals.

    Yields
    ------
    Figure
    """
    from skanchor.plotting import (
        BiasDisplay,
        ItemDeviationDisplay,
        JudgeCalibrationDisplay,
        JudgeDisplay,
    )

    yield _figure(
        "figure-judges",
        "Sensitivity and position effect of each judge",
        "Right of one, a judge reacts more sharply than people; away from zero, it "
        "favours a side.",
        lambda: JudgeDisplay.from_estimator(anchor, level),
    )
    yield _figure(
        "figure-calibration",
        "How often each judge decides as predicted",
        "Share of verdicts for the answer that was expected to win, against the chance "
        "that was expected, in bins; on the diagonal both agree.",
        lambda: JudgeCalibrationDisplay.from_estimator(anchor, level=level),
    )
    if len(anchor.features_):
        yield _figure(
            "figure-bias",
            "What each judge favours, by feature",
            "How a feature of a response moves the judge's log-odds, at equal quality.",
            lambda: BiasDisplay.from_estimator(anchor, level=level),
        )
    found = anchor.result_.diagnostics
    if found is not None and not found.deviations.empty:
        yield _figure(
            "figure-deviations",
            "By how much each judge overrates each model",
            "Item effects, beyond score and features, with intervals. Blue ones are "
            "significant jointly; grey ones may be chance.",
            lambda: ItemDeviationDisplay.from_estimator(anchor, level),
        )


# ------------------------------------------------------------------------------- SVG
def _figure(name: str, title: str, description: str, draw: Callable[[], Any]) -> Figure:
    import matplotlib
    import matplotlib.pyplot as plt

    from skanchor.plotting import figure_width

    file = StringIO()
    # "none" stores text as text instead of outlines, and one font keeps it short. The
    # fixed salt and the missing date make the SVG reproducible: the same drawing gives
    # the same bytes. Another salt for each drawing keeps their ids apart.
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "font.sans-serif": ["DejaVu Sans"],
    }
    with matplotlib.rc_context(settings), figure_width(PAGE_WIDTH):
        figure = draw().figure_
        figure.savefig(
            file,
            format="svg",
            transparent=True,
            metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")),
        )
        plt.close(figure)
    svg = file.getvalue()
    # Groups have the same ids in all drawings, and nothing refers to them.
    svg = re.sub(r'<g id="[^"]*"', "<g", svg[svg.index("<svg") :])
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)
    return Figure(name, svg, title, description)
