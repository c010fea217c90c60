"""The drawings of a page: displays as images that a style sheet can invert."""

from __future__ import annotations

from importlib.util import find_spec
from io import BytesIO
from typing import Any, NamedTuple
from urllib.parse import quote

from skanchor.pipeline import AnchorPipeline
from skanchor.reports.facts import Facts

PAGE_WIDTH = 4.6
"""Width of drawings in inches: a phone shows them without scrolling, with letters of
seven points, and a wide page two of them side by side."""

_OF_JUDGES = (
    (
        "JudgeDisplay",
        "Sensitivity and position effect of each judge",
        "Right of one, a judge reacts more sharply than people; away from zero, it "
        "favours a side.",
    ),
    (
        "JudgeCalibrationDisplay",
        "How often each judge decides as predicted",
        "Share of verdicts for the answer that was expected to win, against the chance "
        "that was expected, in bins; on the diagonal both agree.",
    ),
    (
        "BiasDisplay",
        "What each judge favours, by feature",
        "How a feature of a response moves the judge's log-odds, at equal quality.",
    ),
    (
        "ItemDeviationDisplay",
        "By how much each judge overrates each model",
        "Item effects, beyond score and features, with intervals. Blue ones are "
        "significant jointly; grey ones may be chance.",
    ),
)
"""Displays of the judges, with title and description."""

# Text stays text instead of outlines, and one font keeps it short. The fixed salt and
# the missing date make the same drawing give the same bytes.
_SVG: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "skanchor",
    "font.sans-serif": ["DejaVu Sans"],
}


class Figure(NamedTuple):
    """A drawing as the address of an image, with its title and description."""

    name: str
    source: str
    title: str
    description: str


def figures_of(facts: Facts) -> dict[str, list[Figure]]:
    """Drawings of a page by its sections; none without matplotlib, nor of a result.

    Intervals of scores and contrasts are bars in the tables, and not drawn again.
    """
    anchor = facts.fitted
    is_pipeline = isinstance(anchor, AnchorPipeline)
    if find_spec("matplotlib") is None or not is_pipeline or not len(facts.judges):
        return {}
    found = anchor.result_.diagnostics
    absent = set()
    if not len(anchor.features_):
        absent.add("BiasDisplay")
    if found is None or found.deviations.empty:
        absent.add("ItemDeviationDisplay")
    return {
        "judges": [
            Figure(f"figure-{name}", _source(name, facts), title, description)
            for name, title, description in _OF_JUDGES
            if name not in absent
        ]
    }


def _source(display: str, facts: Facts) -> str:
    """A display of the judges as an SVG image inside the page."""
    import matplotlib
    import matplotlib.pyplot as plt

    from skanchor import plotting

    draw = getattr(plotting, display).from_estimator
    file = BytesIO()
    with matplotlib.rc_context(_SVG), plotting.figure_width(PAGE_WIDTH):
        figure = draw(facts.fitted, level=facts.level).figure_
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", transparent=True, metadata=nothing)
        plt.close(figure)
    text = " ".join(file.getvalue().decode().split())
    # Most signs are left as they are, which is shorter than base64. Single quotes and
    # ampersands are not: the address stands between single quotes in the page.
    source = quote(text[text.index("<svg") :], safe=' =:/;,()-.!?@*$+<>"')
    return f"data:image/svg+xml,{source}"
