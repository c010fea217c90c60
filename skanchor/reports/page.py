"""A report as one HTML page that loads nothing.

The page's content security policy states the hash of its own script, and the browser
runs no other. All text is escaped by jinja2.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

from skanchor.io.atomic import check_writable, write_atomically
from skanchor.reports import sentences
from skanchor.reports.facts import Facts
from skanchor.reports.figures import figures_of
from skanchor.reports.views import tables_of
from skanchor.reports.wording import environment, template_source

if TYPE_CHECKING:
    import os

    from skanchor.results import RankingResult
    from skanchor.results.estimators import RankingEstimator


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
        ``scale``, ``anchor``, ``sort`` and ``ranks`` of
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
    check_writable(path, overwrite=overwrite)
    page = render_page(Facts(result, level, **layout))
    write_atomically(path, page, overwrite=overwrite)


def render_page(facts: Facts) -> str:
    """The report of a run as an HTML page."""
    script = template_source("report.js")
    digest = hashlib.sha256(script.encode()).digest()
    page: str = (
        environment()
        .get_template("report.html")
        .render(
            facts=facts,
            answer=sentences.answer(facts),
            lines=sentences.by_section(facts),
            tables=tables_of(facts),
            figures=figures_of(facts),
            script=script,
            script_hash=base64.b64encode(digest).decode(),
            style=template_source("report.css"),
        )
    )
    return page
