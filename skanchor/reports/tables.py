"""Tables as people read them: columns, headings and rounding, the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from skanchor._text import printable

if TYPE_CHECKING:
    from rich.table import Table as Grid

COLUMNS: dict[str, dict[str, tuple[str, Any]]] = {
    "board": {
        "rank": ("Rank", 0),
        "rank_set": ("Rank set", 0),
        "score": ("Score", "scale"),
        "standard_error": ("Standard error", "scale"),
        "interval": ("Interval", "scale"),
        "n_human": ("Human rows", 0),
        "n_judge": ("Judge rows", 0),
    },
    "contrasts": {
        "win_probability": ("Chance to win", "share"),
        "win_interval": ("Interval", "share"),
        "difference": ("Score difference", "scale"),
        "p_adjusted": ("Adjusted p", "p"),
        "decision": ("Decision", "text"),
    },
    "errors": {
        "half_width": ("Half width", "scale"),
        "human": ("Votes", "part"),
        "judge": ("Single verdicts", "part"),
        "cross": ("Shared groups", "part"),
        "items": ("Item effects", "part"),
        "verdicts": ("With more verdicts", "scale"),
        "judges": ("With new judges", "scale"),
        "votes": ("Votes to halve it", "about"),
    },
    "favours": {
        "side": ("It is", "text"),
        "opponent": ("Opponent", "text"),
        "gamma_interval": ("In doubt from", "favour"),
        "gamma_sign": ("Reversed from", "favour"),
        "weakest_judge": ("Most by", "text"),
        "weakest_gamma": ("By it alone", "favour"),
        "ratio_item_sd": ("Item effects", 1),
        "ratio_favour": ("Recorded favours", 1),
        "ratio_position": ("Position effects", 1),
    },
    "sensitivity": {
        "gamma": ("Favour", 2),
        "low": ("Low", 2),
        "high": ("High", 2),
        "rank_low": ("Best rank", 0),
        "rank_high": ("Worst rank", 0),
    },
    "worth": {
        "verdicts": ("Verdicts", 0),
        "replaces": ("Replace", 0),
        "alone": ("Alone", 0),
        "next_verdict": ("One more", 3),
        "never_more": ("Never more than", 0),
        "cost_per_vote": ("Cost of a vote", 3),
    },
    "outlook": {
        "votes": ("Votes", "rows"),
        "verdicts": ("Verdicts", "rows"),
        "both": ("Of each", "rows"),
    },
    "design": {
        "source": ("Source", "text"),
        "opponent": ("Opponent", "text"),
        "rows": ("Rows", 0),
        "spend": ("Cost", 2),
        "gain": ("Gain (1e-6)", 2),
    },
    "separation": {
        "difference": ("Difference", 2),
        "now": ("Separated now", "yes"),
        "probability": ("Then", "share"),
    },
    "fragility": {
        "difference": ("Difference", 2),
        "t": ("t", 1),
        "allowed": ("Rows", 0),
        "first_order": ("First order", "search"),
        "re_solved": ("Re-solved", "search"),
        "k": ("Needed", "search"),
        "share": ("Share", "fraction"),
        "status": ("", "text"),
    },
    "rows": {
        "model_b": ("model_b", "text"),
        "judge": ("judge", "text"),
        "outcome": ("outcome", 2),
        "count": ("rows", 0),
    },
    "judges": {
        "rows": ("Rows", 0),
        "ties": ("Ties", 0),
        "agreement": ("Agreement", "share"),
        "first_side_rate": ("Prefers first side", "share"),
        "sensitivity": ("Sensitivity", 2),
        "sensitivity_error": ("Standard error", 2),
        "position_effect": ("Position effect", 2),
    },
    "check": {
        "true_score": ("Score by votes", 2),
        "score": ("By judges", 2),
        "z": ("Miss in s.e.", 1),
        "p_adjusted": ("Adjusted p", "p"),
        "compatible": ("Agrees", "yes"),
        "true_rank": ("Rank by votes", 0),
        "rank": ("By judges", 0),
        "rank_set": ("Rank set", 0),
    },
    "methods": {
        "rmse": ("Error", 3),
        "rank_error": ("Places off", 2),
        "own_rank_error": ("Among its own", 2),
        "exact": ("Right place", "share"),
        "compatible": ("Agrees", "share"),
        "width": ("Width", 2),
        "models": ("Models", 0),
    },
    "inspected": {
        "rows": ("Rows", 0),
        "ties": ("Ties", "share"),
        "first_side_rate": ("First side wins", "share"),
        "both_orders": ("Pairs in both orders", "share"),
        "new_models": ("New models", 0),
    },
}
"""By name of a table, heading and form of its columns (see `cell`)."""

LARGEST_FIRST = {
    *("score", "n_human", "n_judge", "win_probability", "difference", "agreement"),
    *("sensitivity", "interval", "win_interval", "human", "judge", "items"),
}
"""Columns that the first click sorts from the largest value down."""

DISPENSABLE = ("n_judge", "n_human", "standard_error")
"""Columns that a narrow terminal leaves out, in the order in which they go."""

WORDS = ("text", "yes")
"""Forms of columns that are aligned on the left."""


class Cell(NamedTuple):
    """What a cell shows, and the value by which a page sorts it."""

    text: str
    key: float | str


class Heading(NamedTuple):
    """Heading of a column, and how it is aligned and sorted."""

    name: str
    text: str
    is_number: bool = True
    largest_first: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column names its rows.

    Attributes
    ----------
    name, caption : str
        Target of links to the table, and what it shows.
    headings : list of Heading
        Headings of the columns.
    rows : list of list of Cell
        Rows, with a cell for each heading.
    marked : list of bool
        Whether each row is of a new model; empty if none is.
    ordered_by : int or None
        Number of the column that the rows are sorted by.
    bars : list of (float, float, float)
        Lower end, value and upper end of an interval for each row, which a page draws
        on a common axis; empty for no bars.
    middle : float
        Reference value marked in every bar.
    """

    name: str
    caption: str
    headings: list[Heading]
    rows: list[list[Cell]]
    marked: Sequence[bool] = ()
    ordered_by: int | None = None
    bars: Sequence[tuple[float, float, float]] = ()
    middle: float = 0.0

    def frame(self) -> pd.DataFrame:
        """The texts of the cells, the names of the rows in the index."""
        texts = [[cell.text for cell in row] for row in self.rows]
        frame = pd.DataFrame(texts, columns=[head.text for head in self.headings])
        return frame.set_index(self.headings[0].text)

    def to_markdown(self) -> str:
        """The table in Markdown, below its caption; needs tabulate."""
        frame = self.frame().reset_index()
        safe = frame.map(lambda text: text.replace("\\", r"\\").replace("|", r"\|"))
        aligned = ["right" if head.is_number else "left" for head in self.headings]
        text = safe.to_markdown(index=False, disable_numparse=True, colalign=aligned)
        return f"{self.caption}\n\n{text}\n" if self.caption else f"{text}\n"

    def to_latex(self) -> str:
        """The table in LaTeX, with rules of booktabs; its caption is a comment."""
        frame = self.frame()
        text: str = (
            frame.rename_axis(index=None, columns=self.headings[0].text)
            .style.format(escape="latex")
            .format_index(escape="latex", axis=0)
            .format_index(escape="latex", axis=1)
            .to_latex(
                hrules=True,
                column_format="".join(
                    "r" if h.is_number else "l" for h in self.headings
                ),
            )
        )
        return f"% {self.caption}\n{text}" if self.caption else text


def table_of(
    columns: str,
    frame: pd.DataFrame,
    caption: str = "",
    *,
    name: str = "",
    scale_digits: int = 2,
    **more: Any,
) -> Table:
    """Turn a DataFrame into a table as people read it.

    Parameters
    ----------
    columns : str
        Key of `COLUMNS`; columns that the frame lacks are left out.
    frame : DataFrame
        The data; its index names the rows. Cells that are `Cell` stay as they are.
    caption : str
        What the table shows.
    name : str, optional
        Target of links; the key of the columns by default.
    scale_digits : int, default=2
        Decimals of scores and of their differences.
    **more : object
        Further attributes of the table.

    Returns
    -------
    Table
    """
    chosen = {key: form for key, form in COLUMNS[columns].items() if key in frame}
    headings = [Heading("", str(frame.index.name or "").capitalize(), is_number=False)]
    headings += [
        Heading(key, text, form not in WORDS, key in LARGEST_FIRST)
        for key, (text, form) in chosen.items()
    ]
    forms = [scale_digits if form == "scale" else form for _, form in chosen.values()]
    rows = [
        [word(label), *map(cell, (row[key] for key in chosen), forms)]
        for label, row in zip(frame.index, frame.to_dict("records"), strict=True)
    ]  # fmt: skip
    return Table(name or columns, caption, headings, rows, **more)


# ------------------------------------------------------------------------------ cells
def cell(value: Any, form: Any) -> Cell:
    """A value as a cell.

    ``form`` is a number of decimals, or "text", "yes" (of truth values), "share" (in
    percent), "part" (the same, may be negative), "fraction" (two digits of a percent),
    "p", "favour" (zero is "now"), "rows" or "search" (whole numbers, infinite ones in
    words) or "about" (two digits).
    """
    if isinstance(value, Cell):
        return value
    if form == "text":
        return word("–" if value is None or value != value else value)
    if value != value:  # NaN
        return Cell(
            {"search": "not searched", "fraction": ""}.get(form, "–"), -math.inf
        )
    if form == "yes":
        return word("yes" if value else "no")
    value = float(value)
    return Cell(_number(value, form), value)


def _number(value: float, form: Any) -> str:
    """Text of a number that is not NaN."""
    if form in ("rows", "search") and math.isinf(value):
        return "never" if form == "rows" else "more"
    if form in ("rows", "search"):
        return f"{math.ceil(value):,}"
    if form == "share":
        # 0 and 100 % only for shares that are exactly that.
        shown = round(100 * value)
        return f"{min(max(shown, 1), 99) if 0 < value < 1 else shown} %"
    if form == "part":
        return f"{round(100 * value):d} %".replace("-", "−")
    if form == "fraction":
        return f"{100 * value:.2g} %"
    if form == "favour" and value == 0:
        return "now"
    if form == "about":
        return rounded(value)
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if form == "p":
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    digits = 2 if form == "favour" else form
    # Adding zero turns -0.0 into 0.0, so that "-0.00" is never shown.
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def rounded(value: float) -> str:
    """A number to two digits, with commas between thousands."""
    if math.isinf(value):
        return "never"
    if value < 10:
        return f"{math.ceil(value)}"
    digits = 1 - math.floor(math.log10(value))
    return f"{round(value, digits):,.0f}"


def word(text: Any) -> Cell:
    """A name as a cell, sorted by its letters; a fraction has three digits."""
    shown = f"{text:.3f}" if isinstance(text, float) else label(text)
    return Cell(shown, shown)


def label(name: Any) -> str:
    """A name as it is shown: on one line, with control characters visible."""
    return printable(str(name)).replace("\n", "\\n")


def span(low: int, high: int) -> Cell:
    """A range of ranks as a cell, sorted by its lower end."""
    return Cell(str(low) if low == high else f"{low}–{high}", float(low))


def interval(low: float, high: float, form: Any) -> Cell:
    """Both ends of an interval as one cell, sorted by the lower one."""
    ends = cell(low, form), cell(high, form)
    return Cell(f"{ends[0].text} to {ends[1].text}", ends[0].key)


def ranks_of(table: pd.DataFrame) -> Any:
    """Rank sets of a table with ``rank_low`` and ``rank_high``, as cells."""
    ends = zip(table["rank_low"], table["rank_high"], strict=True)
    return [span(int(low), int(high)) for low, high in ends]


def records_of(frame: pd.DataFrame, **names: str) -> list[dict[Any, Any]]:
    """Rows of a DataFrame as dicts, its index included, perhaps by another name."""
    if "index" in names:
        frame = frame.rename_axis(names["index"])
    return frame.reset_index().to_dict("records")


# ----------------------------------------------------------------------- the terminal
UNBOUNDED = 1_000_000
"""More columns than any terminal has, in characters."""


def table_text(table: Table, width: int = UNBOUNDED, terminal: bool = False) -> str:
    """Lay out a table as text, new models with a star.

    Parameters
    ----------
    table : Table
        The table.
    width : int, optional
        Characters in a line. `DISPENSABLE` columns go until the table fits; names and
        numbers are never broken.
    terminal : bool, default=False
        Whether to use bold and colour (`NO_COLOR` is respected).

    Returns
    -------
    str
        Lines without trailing blanks.
    """
    from io import StringIO

    from rich.console import Console

    gone: list[str] = []
    for name in (None, *DISPENSABLE):
        gone += [name] if name else []
        grid = _grid(table, gone)
        console = Console(
            file=StringIO(),
            width=UNBOUNDED,
            force_terminal=terminal,
            color_system="auto" if terminal else None,
            legacy_windows=False,
        )
        if console.measure(grid).maximum <= width:
            break
    with console.capture() as capture:
        console.print(grid, crop=False)
    lines = [line.rstrip() for line in capture.get().splitlines()]
    if gone:
        texts = [h.text for h in table.headings if h.name in gone]
        lines += ["", f"Columns left out: {', '.join(texts)}"] if texts else []
    return "\n".join(lines)


def _grid(table: Table, gone: Iterable[str]) -> Grid:
    """The table for rich, without some columns."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    shown = [
        at for at, head in enumerate(table.headings) if head.name not in gone or not at
    ]
    for at in shown:
        head = table.headings[at]
        justify: Any = "right" if head.is_number else "left"
        grid.add_column(head.text.replace(" ", "\n") if at else head.text,
                        justify=justify, no_wrap=True, vertical="bottom")  # fmt: skip
    for place, row in enumerate(table.rows):
        is_new = bool(table.marked) and bool(table.marked[place])
        texts = [row[at].text for at in shown]
        if any(table.marked):
            texts[0] = f"{'*' if is_new else ' '} {texts[0]}"
        # As Text, a name with square brackets is not read as markup.
        grid.add_row(*map(Text, texts), style="bold green" if is_new else None)
    return grid


def texts_of(mapping: Mapping[Any, Any]) -> str:
    """Pairs of a mapping, as in ``a 1, b 2``."""
    return ", ".join(f"{label(name)} {value}" for name, value in mapping.items())
