"""A report as one HTML page that loads nothing.

The page's content security policy states the hash of its own script, and the browser
runs no other. All text is escaped by jinja2.
"""

from __future__ import annotations

import base64
import hashlib
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skanchor.io.atomic import check_writable, write_atomically
from skanchor.reports import sentences
from skanchor.reports.facts import Facts
from skanchor.reports.figures import figures_of
from skanchor.reports.tables import Table, text_of
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
            axis_of=axis_of,
            script=script,
            script_hash=base64.b64encode(digest).decode(),
            style=template_source("report.css"),
        )
    )
    return page


class Axis(NamedTuple):
    """What a page draws for the bars of a table, in percent of the width.

    Attributes
    ----------
    ticks : list of (float, str)
        Positions and labels of the reference value and of its sides.
    bars : list of list of float
        Ends and value of the interval of each row; empty where it is infinite.
    """

    ticks: list[tuple[float, str]]
    bars: list[list[float]]


def axis_of(table: Table) -> Axis:
    """The axis that all bars of a table share, with a margin of 4 at each end."""
    bars, middle = np.array(table.bars, dtype=float), table.middle
    # The score of a model that lost everything is a convention, and not drawn.
    is_drawn = np.isfinite(bars).all(axis=1)
    values = np.append(bars[is_drawn], middle)
    first, last = float(values.min()), float(values.max())
    last += last <= first

    def at(value: float) -> float:
        return round(4.0 + 92.0 * (value - first) / (last - first), 1)

    # The largest of 1, 2 or 5 times a power of ten within the longer side.
    side = 0.9 * max(last - middle, middle - first)
    power = 10.0 ** math.floor(math.log10(side))
    step = max(k * power for k in (1, 2, 5) if k * power <= side)
    digits = max(0, -math.floor(math.log10(step)))
    ticks = [middle - step, middle, middle + step]
    return Axis(
        [(at(x), text_of(x, digits)) for x in ticks if first <= x <= last],
        [list(map(at, bar)) if ok else []
         for bar, ok in zip(bars.tolist(), is_drawn, strict=True)],
    )  # fmt: skip
