"""A document as one self-contained HTML page.

The page loads nothing, and its policy lets no script run but its own, whose hash it
states. All text passes through jinja2's escaping; only drawings are put in as they are.
"""

from __future__ import annotations

import base64
import hashlib
import math
from functools import cache
from importlib.resources import files
from typing import Any

from skanchor.reports.document import (
    Cell,
    Code,
    Document,
    Figure,
    Points,
    Table,
    Text,
)

_KINDS = {
    Text: "text",
    Points: "points",
    Code: "code",
    Table: "table",
    Figure: "figure",
}


def to_html(document: Document) -> str:
    """Set a document as an HTML page.

    Parameters
    ----------
    document : Document
        What to say.

    Returns
    -------
    str
        The whole page.

    Raises
    ------
    ImportError
        If jinja2 is not installed: ``pip install "skanchor[report]"``.
    """
    script, style = _script_hash("report.js"), _script_hash("report.css")
    page: str = _template().render(
        document=document, script=script, style=style, script_hash=_hash(script)
    )
    return page


@cache
def _template() -> Any:
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "An HTML report needs jinja2: pip install 'skanchor[report]'. "
            "Markdown and LaTeX need nothing."
        ) from error
    environment = Environment(
        loader=FunctionLoader(_script_hash),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["kind"] = lambda block: _KINDS[type(block)]
    environment.filters["bar"] = _bar
    environment.filters["key"] = _sort_key
    environment.globals["direction"] = _direction
    return environment.get_template("report.html")


def _script_hash(name: str) -> str:
    return (files("skanchor.reports") / "templates" / name).read_text("utf-8")


def _hash(script: str) -> str:
    """Hash of a script, as a content security policy states it."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _sort_key(cell: Cell) -> str:
    """What a cell is sorted by, as JavaScript reads it."""
    if isinstance(cell.key, str):
        return cell.key
    if math.isinf(cell.key):
        return "Infinity" if cell.key > 0 else "-Infinity"
    return f"{cell.key:.6g}"


def _direction(table: Table, column: int) -> str:
    """How the rows are ordered by a column: as ``aria-sort`` has it."""
    if column != table.ordered_by:
        return "none"
    keys: list[Any] = [row[column].key for row in table.rows]
    if keys == sorted(keys):
        return "ascending"
    # Models that are not determined come last, whatever their score.
    return "descending" if keys == sorted(keys, reverse=True) else "none"


def _bar(table: Table, row: int) -> dict[str, float] | None:
    """Where an interval lies in the width of a column of 100 units."""
    finite = [v for bar in table.bars for v in bar if math.isfinite(v)]
    low, value, high = table.bars[row]
    if not all(map(math.isfinite, (low, value, high))):
        return None
    first, last = min([*finite, table.middle]), max([*finite, table.middle])
    width = (last - first) or 1.0

    def place(at: float) -> float:
        return round(2 + 96 * (at - first) / width, 1)

    return {
        "low": place(low),
        "value": place(value),
        "high": place(high),
        "middle": place(table.middle),
        "width": round(place(high) - place(low), 1),
    }
