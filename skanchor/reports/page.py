"""A report as one self-contained HTML page.

The page loads nothing. Its content security policy states the hash of its own script,
and the browser runs no other. All text is escaped by jinja2; only drawings are inserted
as they are.
"""

from __future__ import annotations

import base64
import hashlib
import math
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from skanchor.io.atomic import check_writable, write_atomically
from skanchor.reports.document import Cell, Document, Table, number
from skanchor.reports.sections import report_document

if TYPE_CHECKING:
    import os

    from skanchor.results import RankingResult
    from skanchor.results.estimators import RankingEstimator


def write_report(
    fitted: RankingEstimator | RankingResult,
    path: str | os.PathLike[str],
    level: float = 0.95,
    *,
    overwrite: bool = True,
    **layout: Any,
) -> None:
    """Write a report as an HTML page that loads nothing.

    Parameters
    ----------
    fitted : RankingEstimator or RankingResult
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
    ImportError
        If jinja2 is not installed: ``pip install "skanchor[report]"``. Without
        matplotlib the page has no drawings.
    OSError
        If the file cannot be written, or exists and may not be replaced.

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
    page = to_html(report_document(fitted, level, figures=True, **layout))
    write_atomically(path, page, overwrite=overwrite)


def to_html(document: Document) -> str:
    """Render a document as an HTML page.

    Parameters
    ----------
    document : Document
        The report.

    Returns
    -------
    str
        The whole page.

    Raises
    ------
    ImportError
        If jinja2 is not installed: ``pip install "skanchor[report]"``.
    """
    script, style = _template_text("report.js"), _template_text("report.css")
    page: str = _template().render(
        document=document, script=script, style=style, script_hash=_hash(script)
    )
    return page


@cache
def _template() -> Any:
    """The jinja2 template of the page, with the filters that it uses."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "A report needs jinja2: pip install 'skanchor[report]'."
        ) from error
    environment = Environment(
        loader=FunctionLoader(_template_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["kind"] = lambda block: type(block).__name__.lower()
    environment.filters["bar"] = _bar
    environment.filters["axis"] = _axis
    environment.filters["key"] = _sort_key
    environment.globals["direction"] = _direction
    return environment.get_template("report.html")


def _template_text(name: str) -> str:
    """Text of a file of the folder ``templates``."""
    return (files("skanchor.reports") / "templates" / name).read_text("utf-8")


def _hash(script: str) -> str:
    """Hash of a script in the notation of a content security policy."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _sort_key(cell: Cell) -> str:
    """Sort key of a cell, written so that JavaScript's ``Number`` can read it."""
    if isinstance(cell.key, str):
        return cell.key
    if math.isinf(cell.key):
        return "Infinity" if cell.key > 0 else "-Infinity"
    return f"{cell.key:.6g}"


def _direction(table: Table, column: int) -> str:
    """Value of ``aria-sort`` for a column: the order of the rows by its keys."""
    if column != table.ordered_by:
        return "none"
    keys: list[Any] = [row[column].key for row in table.rows]
    if keys == sorted(keys):
        return "ascending"
    # Undetermined models come last whatever their score, so the rows may be in neither
    # order.
    return "descending" if keys == sorted(keys, reverse=True) else "none"


def _shared_scale(table: Table) -> tuple[float, float]:
    """Ends of the axis that all bars of a table share; it includes the reference."""
    # Bars that are drawn: the score of a model that lost everything is a convention.
    drawn = [bar for bar in table.bars if all(map(math.isfinite, bar))]
    finite = [value for bar in drawn for value in bar]
    first, last = min([*finite, table.middle]), max([*finite, table.middle])
    return first, last if last > first else first + 1.0


def _place_on_page(table: Table, at: float) -> float:
    """Position of a value on an axis of 100 units, with a margin of 4 at each end."""
    first, last = _shared_scale(table)
    return round(4 + 92 * (at - first) / (last - first), 1)


def _axis(table: Table) -> list[tuple[float, str]]:
    """Positions and labels of the ticks of an axis: the reference, and its sides."""
    first, last = _shared_scale(table)
    # The largest of 1, 2 or 5 times a power of ten that lies within the longer side.
    side = 0.9 * max(last - table.middle, table.middle - first)
    power = 10.0 ** math.floor(math.log10(side))
    step = next(power * m for m in (5, 2, 1) if power * m <= side)
    if table.bars_in_percent:
        ticks = [tick for tick in (0.0, 0.25, 0.5, 0.75, 1.0) if first <= tick <= last]
        return [(_place_on_page(table, tick), f"{100 * tick:.0f}") for tick in ticks]
    ticks = [table.middle + k * step for k in (-1, 0, 1)]
    ticks = [tick for tick in ticks if first <= tick <= last]
    digits = max(0, -math.floor(math.log10(step)))
    return [(_place_on_page(table, tick), number(tick, digits).text) for tick in ticks]


def _bar(table: Table, row: int) -> dict[str, float] | None:
    """Positions of an interval on the axis; None if it is infinite."""
    low, value, high = table.bars[row]
    if not all(map(math.isfinite, (low, value, high))):
        return None
    return {
        "low": _place_on_page(table, low),
        "value": _place_on_page(table, value),
        "high": _place_on_page(table, high),
        "width": round(_place_on_page(table, high) - _place_on_page(table, low), 1),
    }
