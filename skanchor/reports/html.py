"""A document as one self-contained HTML page.

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
    script, style = _script_hash("report.js"), _script_hash("report.css")
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


def _bar(table: Table, row: int) -> dict[str, float] | None:
    """Positions of an interval in a column 100 units wide; None if it is infinite."""
    finite = [v for bar in table.bars for v in bar if math.isfinite(v)]
    low, value, high = table.bars[row]
    if not all(map(math.isfinite, (low, value, high))):
        return None
    # All bars of a table share one scale, which includes the reference value.
    first, last = min([*finite, table.middle]), max([*finite, table.middle])
    width = (last - first) or 1.0

    def place(at: float) -> float:
        # A margin of 2 units on either side.
        return round(2 + 96 * (at - first) / width, 1)

    return {
        "low": place(low),
        "value": place(value),
        "high": place(high),
        "middle": place(table.middle),
        "width": round(place(high) - place(low), 1),
    }
