"""A report as one HTML page that loads nothing.

The page's content security policy states the hash of its own script, and the browser
runs no other. All text is escaped by jinja2.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from skanchor.reports.facts import Facts
from skanchor.reports.sentences import (
    answer,
    cautions,
    check_record,
    environment,
    template_source,
    words,
)
from skanchor.reports.tables import tables_of

if TYPE_CHECKING:
    import os

    from skanchor.results import RankingResult
    from skanchor.results.estimators import RankingEstimator

PAGE_WIDTH = 4.6
"""Width of drawings in inches: a phone shows them without scrolling, with letters of
seven points, and a wide page two of them side by side."""

# Text stays text instead of outlines, and one font keeps it short. The fixed salt and
# the missing date make the same drawing give the same bytes.
_SVG: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "skanchor",
    "font.sans-serif": ["DejaVu Sans"],
    "figure.figsize": (PAGE_WIDTH, PAGE_WIDTH),
}


def write_report(
    result: RankingEstimator | RankingResult,
    path: str | os.PathLike[str],
    level: float = 0.95,
    *,
    overwrite: bool = True,
    **layout: Any,
) -> None:
    """Write a report as an HTML page that loads nothing.

    Parameters
    ----------
    result : RankingEstimator or RankingResult
        A fitted method with standard errors, such as ``AnchorPipeline``; or its result,
        which has no information on judges and settings.
    path : str or path
        The file, which is written completely or stays as it was.
    level : float, default=0.95
        Level of intervals and rank sets.
    overwrite : bool, default=True
        Whether a file that exists may be replaced.
    **layout : dict
        ``scale`` and ``anchor`` of
        :meth:`skanchor.AnchorPipeline.leaderboard`.

    Raises
    ------
    OSError
        If the file cannot be written, or exists and may not be replaced.

    Notes
    -----
    The page has drawings if matplotlib is installed (``skanchor[report]``).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.reports import write_report
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "report.html")
    ...     write_report(anchor, path)
    ...     path.read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    """
    # The readers of battles, which this imports, are slow to import.
    from skanchor.io.atomic import check_writable, write_atomically

    check_writable(path, overwrite=overwrite)
    page = render_page(Facts(result, level, **layout))
    write_atomically(path, page, overwrite=overwrite)


def render_page(facts: Facts) -> str:
    """The report of a run as an HTML page."""
    script = template_source("report.js")
    digest = hashlib.sha256(script.encode()).digest()
    # Texts are made here: what a macro returns inside a page would count as escaped.
    run = words("run.jinja")
    lines = {"before": cautions(facts)}
    if len(facts.best):
        lines["leaderboard"] = [(run.best(facts), "")]
    if facts.check is not None:
        check = check_record(facts.check)
        lines["check"] = [(check["verdict"], check["advice"])]
        lines["check"] += [(line, "") for line in check["findings"]]
    lines["settings"] = [(line, "") for line in run.lines(facts).splitlines() if line]
    template = environment().get_template("report.html")
    page: str = template.render(
        facts=facts,
        answer=answer(facts),
        lines=lines,
        tables=tables_of(facts),
        drawings=_drawings(facts),
        script=script,
        script_hash=base64.b64encode(digest).decode(),
    )
    return page


def _drawings(facts: Facts) -> dict[str, str]:
    """Address of the drawing of each display; none without matplotlib or judges.

    Intervals of scores and contrasts are bars in the tables, and not drawn again.
    """
    anchor = facts.pipeline
    if anchor is None or find_spec("matplotlib") is None or facts.judges.empty:
        return {}
    shown = ["JudgeDisplay", "JudgeCalibrationDisplay"]
    if len(anchor.features_):
        shown.append("BiasDisplay")
    if facts.diagnostics is not None and not facts.diagnostics.deviations.empty:
        shown.append("ItemDeviationDisplay")

    import matplotlib
    import matplotlib.pyplot as plt

    from skanchor import plotting

    drawings = {}
    for name in shown:
        file = BytesIO()
        with matplotlib.rc_context(_SVG):
            display = getattr(plotting, name).from_estimator(anchor, level=facts.level)
            nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
            display.figure_.savefig(
                file, format="svg", transparent=True, metadata=nothing
            )
            plt.close(display.figure_)
        text = " ".join(file.getvalue().decode().split())
        # Most signs are left as they are, which is shorter than base64. Single quotes
        # and ampersands are not: the address stands between single quotes in the page.
        safe = quote(text[text.index("<svg") :], safe=' =:/;,()-.!?@*$+<>"')
        drawings[name] = f"data:image/svg+xml,{safe}"
    return drawings
