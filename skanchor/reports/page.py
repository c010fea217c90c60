"""A report as one HTML page that loads nothing, and the text of a terminal.

The page's content security policy states the hash of its own script, and the browser
runs no other. All text is escaped by jinja2.
"""

from __future__ import annotations

import base64
import hashlib
import math
import textwrap
from functools import cache
from typing import TYPE_CHECKING, Any

from skanchor.io.atomic import check_writable, write_atomically
from skanchor.reports import sentences, tables
from skanchor.reports.facts import Facts
from skanchor.reports.views import board_table, figures_of, tables_of

if TYPE_CHECKING:
    import os

    from jinja2 import Environment

    from skanchor.results import RankingResult
    from skanchor.results.estimators import RankingEstimator

PROSE = 79
"""Widest line of prose on a terminal, in characters."""


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
    script = sentences.template_source("report.js")
    page: str = (
        environment()
        .get_template("report.html")
        .render(
            facts=facts,
            answer=sentences.answer(facts),
            cautions=sentences.cautions(facts),
            tables=tables_of(facts),
            figures=figures_of(facts),
            sentences=sentences,
            script=script,
            script_hash=base64.b64encode(
                hashlib.sha256(script.encode()).digest()
            ).decode(),
            style=sentences.template_source("report.css"),
        )
    )
    return page


def ranking_text(facts: Facts, **screen: Any) -> str:
    """The leaderboard of a run and its facts; ``screen`` as of `render_text`."""
    return render_text("rank", facts=facts, answer=sentences.answer(facts), **screen)


def render_text(
    template: str, *, width: int | None = None, terminal: bool = False, **values: Any
) -> str:
    """The text of a command, for a terminal of some width or for a file.

    Parameters
    ----------
    template : str
        Name of a file of the folder ``templates``, without its suffix.
    width : int, optional
        Width in characters; None lets tables and lines be as wide as they are.
    terminal : bool, default=False
        Whether to use bold and colour.
    **values : object
        What the template reads.

    Returns
    -------
    str
    """

    def table(one: tables.Table) -> str:
        return tables.table_text(one, width or tables.UNBOUNDED, terminal)

    text: str = (
        environment()
        .get_template(f"{template}.txt")
        .render(table=table, width=min(width or PROSE, PROSE), **values)
    )
    return text.strip("\n") + "\n"


@cache
def environment() -> Environment:
    """The templates, with the functions that they may call."""
    made = sentences.new_environment()
    made.filters |= {
        "key": _sort_key,
        "label": tables.label,
        "labels": lambda names: [tables.label(name) for name in names],
        "joined": sentences.joined,
        "percent": sentences.percent,
        "wrap": _wrap,
        "cell": lambda value, form: tables.cell(value, form).text,
        "texts": tables.texts_of,
    }
    made.globals |= {
        "table_of": tables.table_of,
        "board_table": board_table,
        "best_names": sentences.best_names,
        "direction": _direction,
        "axis": Axis,
    }
    return made


def _wrap(text: str, width: int) -> str:
    """Break each line between words; those that follow are indented."""
    # A number is not parted from its sign.
    text = text.replace(" %", "\N{NO-BREAK SPACE}%")
    return "\n".join(
        textwrap.fill(
            line.strip(),
            max(width, 20),
            initial_indent=line[: len(line) - len(line.lstrip(" "))],
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        ).replace("\N{NO-BREAK SPACE}%", " %")
        for line in text.splitlines()
        if line.strip()
    )


def _sort_key(key: float | str) -> str:
    """Sort key of a cell, written so that JavaScript's ``Number`` can read it."""
    if isinstance(key, str):
        return key
    if math.isinf(key):
        return "Infinity" if key > 0 else "-Infinity"
    return f"{key:.6g}"


def _direction(table: tables.Table, column: int) -> str:
    """Value of ``aria-sort`` for a column: the order of the rows by its keys."""
    keys: list[Any] = [row[column].key for row in table.rows]
    if column == table.ordered_by and keys == sorted(keys):
        return "ascending"
    # Undetermined models come last whatever their score, so the rows may be in neither
    # order.
    is_falling = column == table.ordered_by and keys == sorted(keys, reverse=True)
    return "descending" if is_falling else "none"


class Axis:
    """The axis that all bars of a table share, of 100 units.

    Parameters
    ----------
    table : Table
        A table with bars.
    in_percent : bool
        Whether the values are shares.
    """

    def __init__(self, table: tables.Table, in_percent: bool) -> None:
        # The score of a model that lost everything is a convention, and not drawn.
        drawn = [bar for bar in table.bars if all(map(math.isfinite, bar))]
        values = [table.middle, *(value for bar in drawn for value in bar)]
        self.table, self.first, self.last = table, min(values), max(values)
        self.last += self.last <= self.first
        self.ticks = self._ticks(in_percent)

    def at(self, value: float) -> float:
        """Position of a value, with a margin of 4 at each end."""
        return round(4 + 92 * (value - self.first) / (self.last - self.first), 1)

    def _ticks(self, in_percent: bool) -> list[tuple[float, str]]:
        """Positions and labels: the reference, and its sides."""
        middle = self.table.middle
        # The largest of 1, 2 or 5 times a power of ten within the longer side.
        side = 0.9 * max(self.last - middle, middle - self.first)
        power = 10.0 ** math.floor(math.log10(side))
        step = next(power * m for m in (5, 2, 1) if power * m <= side)
        ticks = [middle + k * step for k in (-1, 0, 1)]
        digits = max(0, -math.floor(math.log10(step)))
        texts = [tables.cell(tick, digits).text for tick in ticks]
        if in_percent:
            ticks = [0.0, 0.25, 0.5, 0.75, 1.0]
            texts = [f"{100 * tick:.0f}" for tick in ticks]
        pairs = zip(ticks, texts, strict=True)
        return [(self.at(x), text) for x, text in pairs if self.first <= x <= self.last]

    def bar(self, row: int) -> tuple[float, float, float] | None:
        """Positions of an interval's ends and of its value; None if it is infinite."""
        low, value, high = self.table.bars[row]
        if not all(map(math.isfinite, (low, value, high))):
            return None
        return self.at(low), self.at(value), self.at(high)
