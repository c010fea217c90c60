"""Displays as SVG drawings of a page, each with a title, a description and own ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape
from importlib.util import find_spec
from io import StringIO
from typing import Any
from zlib import crc32

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
    # "none" stores text as text instead of outlines. The fixed salt and the missing
    # date make the SVG reproducible: the same drawing gives the same bytes.
    with (
        matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}),
        figure_width(PAGE_WIDTH),
    ):
        figure = draw().figure_
        figure.savefig(
            file,
            format="svg",
            transparent=True,
            metadata={"Date": None, "Creator": None},
        )
        plt.close(figure)
    return Figure(name, _inline(file.getvalue(), name, title, description), title,
                  description)  # fmt: skip


def _inline(svg: str, name: str, title: str, description: str) -> str:
    """Turn an SVG file into an element that can share a page with other drawings."""
    # An element within HTML has no XML declaration and no doctype.
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.S)
    # A style element would apply to the whole page, which has a style of its own.
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>\s*", "", svg, flags=re.S)
    # Only tags are shortened; text between them, such as names of models, is not.
    known: dict[str, str] = {}
    svg = re.sub(r"<[^>]*>", lambda tag: _short_id(tag[0], name, known), svg)
    svg = re.sub(r">\s+<", "><", svg)
    # Of the attributes of <svg> only viewBox is used; title and description are linked.
    head, end, body = svg.partition(">")
    size = re.search(r'viewBox="[^"]*"', head)
    assert size is not None
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size[0]} role="img" '
        f'xmlns:xlink="http://www.w3.org/1999/xlink" width="{_width(size[0])}" '
        f'aria-labelledby="{name}-title {name}-desc"{end}'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>{body}'
    )


def _short_id(tag: str, name: str, known: dict[str, str]) -> str:
    """Give a tag ids that are unique on the page, and remove what a page need not have.

    `known` maps the ids of matplotlib to the new ones, and is updated.
    """

    def own(found: re.Match[str]) -> str:
        # The hash of the drawing's name keeps the ids of two drawings apart.
        short = f"f{crc32(name.encode()):08x}"[:5]
        return known.setdefault(found[0], f"{short}-{len(known)}")

    if tag.startswith("<g"):
        # No other element refers to the id of a group.
        tag = re.sub(r' id="[^"]*"', "", tag)
    # The page decides the font.
    tag = re.sub(r"font-family: [^;\"]*;? ?", "", tag)
    # Where an id is defined (id="...") or referred to (url(#...), href="#...").
    tag = re.sub(r"(?:(?<= id=\")|(?<=url\(#)|(?<=href=\"#))[^\")]+", own, tag)
    # Coordinates of two digits or more are cut to tenths of a point. Numbers of one
    # digit, as in the shapes of marks, keep hundredths, which are visible there.
    tag = re.sub(r"(\d\d\.\d)\d+", r"\1", tag)
    tag = re.sub(r"(\d\.\d\d)\d+", r"\1", tag)
    tag = re.sub(r"\s+", " ", tag)
    return re.sub(r"(?<=[:;]) ", "", tag) if 'style="' in tag else tag


def _width(view_box: str) -> str:
    """Width of a drawing in points: the third number of ``viewBox="0 0 w h"``."""
    return f"{float(view_box.split()[2]):.0f}pt"
